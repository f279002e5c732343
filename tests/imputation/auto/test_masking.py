"""Values hidden for evaluation have the pattern of missing ones."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation import scans
from gpukit.imputation.auto import masking
from gpukit.imputation.auto.judging import finite_estimate
from gpukit.imputation.auto.plan import BY_NAME
from imputation.auto.test_auto import asked


def test_hidden_vertices_are_whole_and_each_is_hidden_once():
    seen = np.ones((50, 9), bool)
    seen[:10] = False
    folds = masking.folds_of(asked(np.ones((50, 9)), seen, False), 0)
    rows = [np.flatnonzero(hidden.values.all(axis=1)) for hidden in folds]
    assert sum(hidden.values.sum() for hidden in folds) == 9 * sum(map(len, rows))
    assert sorted(np.concatenate(rows)) == list(range(10, 50))


@pytest.mark.parametrize("whole", [False, True])
def test_folds_do_not_depend_on_the_order_of_the_vertices(whole):
    rng = np.random.default_rng(0)
    seen, values, order = rng.random((30, 80)) > 0.1, rng.poisson(0.3, (30, 80)).astype(float), rng.permutation(30)
    seen[:6] &= not whole
    folds = masking.folds_of(asked(values, seen), 0)
    others = masking.folds_of(asked(values[order], seen[order]), 0)
    for fold, other in zip(folds, others, strict=True):
        np.testing.assert_array_equal(fold.values[order], other.values)
        np.testing.assert_array_equal(fold.lost[order], other.lost)


def test_few_vertices_are_hidden_one_by_one_and_each_of_them():
    seen = np.ones((12, 30), bool)
    seen[[2, 7]] = False
    folds = masking.folds_of(asked(np.ones((12, 30)), seen, False), 0)
    rows = [np.flatnonzero(hidden.values.all(axis=1)) for hidden in folds]
    assert all(len(row) == 1 for row in rows) and sorted(np.concatenate(rows)) == np.flatnonzero(seen[:, 0]).tolist()


def test_where_runs_are_few_folds_are_more():
    seen = np.ones((6, 1000), bool)
    seen[:, -20:] = False
    assert len(masking.folds_of(asked(np.ones((6, 1000)), seen), 0)) == 12
    seen[np.random.default_rng(0).random(seen.shape) < 0.2] = False
    assert len(masking.folds_of(asked(np.ones((6, 1000)), seen), 0)) == masking.FOLDS


def test_hidden_runs_are_as_long_as_those_that_miss():
    seen = np.ones((40, 300), bool)
    for row in range(40):
        seen[row, 7 * row : 7 * row + 12] = False
    for hidden, _ in masking.folds_of(asked(np.ones((40, 300)), seen), 3):
        assert 0.02 < hidden.mean() < 0.06 and not (hidden & ~seen).any()
        assert hidden.sum() / len(scans.runs(hidden)[0]) > 8
    assert masking.folds_of(asked(np.ones((3, 1)), np.ones((3, 1), bool)), 0) == []


def test_runs_stay_whole_however_many_folds_there_are():
    seen = np.ones((40, 300), bool)
    for row in range(40):
        seen[row, 7 * row : 7 * row + 12] = False
    folds = masking.folds_of(asked(np.ones((40, 300)), seen), 3, 8)
    assert len(folds) == 8 and np.sum([one.values for one in folds], axis=0).max() == 1
    for hidden, _ in folds:
        assert hidden.sum() / len(scans.runs(hidden)[0]) > 9
    hidden, taken = np.array([[1, 1, 0, 1], [1, 0, 1, 1]], bool), np.array([[0, 1, 0, 0], [0, 0, 1, 1]], bool)
    np.testing.assert_array_equal(masking.keep_untouched(hidden, taken), [[0, 0, 0, 1], [1, 0, 0, 0]])


def test_a_forecast_uses_earlier_values():
    seen = np.ones((6, 100), bool)
    seen[:, -10:] = False
    folds = masking.folds_of(asked(np.ones((6, 100)), seen), 0)
    assert len(folds) == 4  # half of a series stays observed
    for number, (hidden, lost) in enumerate(folds):
        begin = 80 - 10 * number
        assert hidden[:, begin : begin + 10].all() and hidden.sum() == 60
        assert lost[:, begin:90].all() and not lost[:, :begin].any() and not lost[:, 90:].any()


def begun_late(rows):
    """Series with a quarter of the rows that start late.

    One of them has a later gap.
    """
    seen = np.ones((rows, 200), bool)
    for row in range(rows // 4):
        seen[row, : 20 + row] = False
    seen[0, 100:110] = False
    return seen


def test_sensors_that_begin_late_are_judged_at_those_times():
    seen = begun_late(20)
    folds = masking.folds_of(asked(np.ones((20, 200)), seen), 1)
    early = [hidden[:, :60] for hidden, _ in folds]
    begun = [np.flatnonzero(one[:, :20].all(axis=1)) for one in early]
    assert len(begun[0]) == 3 and 9 <= len(np.concatenate(begun)) <= 15
    for one, rows, (hidden, lost) in zip(early, begun, folds):
        assert (rows >= 5).all() and (hidden == lost).all()
        assert set(one[rows].argmin(axis=1)) <= set(range(20, 25))
    assert np.sum(early, axis=0).max() == 1
    assert any(hidden[:, 60:].any() for hidden, _ in folds)


def test_to_learn_from_they_are_moved():
    seen = begun_late(20)
    folds = masking.folds_of(asked(np.ones(seen.shape), seen), 0, anywhere=True)
    places = np.concatenate([np.nonzero(hidden)[1] for hidden, _ in folds])
    assert np.ptp(places) > 100 and all((hidden == lost).all() for hidden, lost in folds)


def test_where_few_can_tell_the_row_itself_loses_values_too():
    seen = np.ones((5, 100), bool)
    seen[1, -12:] = False
    folds = masking.folds_of(asked(np.ones(seen.shape), seen), 0)
    own = [hidden[1] for hidden, _ in folds if hidden[1].any()]
    assert (
        len(own) == 3 and [int(one.argmax()) for one in own] == [76, 64, 52] and {int(one.sum()) for one in own} == {12}
    )
    others = {int(row) for hidden, _ in folds for row in np.flatnonzero(hidden.any(axis=1)) if row != 1}
    assert others == {0, 2, 3, 4} and all(
        hidden[row, -12:].all() for hidden, _ in folds for row in others if hidden[row].any()
    )
    for hidden, lost in folds:
        for row in np.flatnonzero(hidden.any(axis=1)):
            assert not (seen & ~lost)[row, hidden[row].argmax() :].any()
        assert np.count_nonzero(hidden.any(axis=1)) <= 2


def test_the_only_other_row_stays():
    seen = np.ones((2, 100), bool)
    seen[1, -12:] = False
    folds = masking.folds_of(asked(np.ones(seen.shape), seen), 0)
    assert len(folds) == 3 and not any(lost[0].any() for _, lost in folds)


@pytest.mark.parametrize("length, run", [(40, 10), (25, 12), (10, 10)])
def test_ends_are_hidden_at_three_times_however_long_they_are(length, run):
    seen = np.ones((6, 100), bool)
    seen[:, -length:] = False
    folds = masking.folds_of(asked(np.ones(seen.shape), seen), 0)
    assert len(folds) >= 3 and [int(hidden.sum()) for hidden, _ in folds] == [6 * run] * len(folds)
    last = 100 - length
    for number, (hidden, lost) in enumerate(folds):
        begin = last - (number + 1) * run
        assert hidden[:, begin : begin + run].all() and lost[:, begin:last].all() and not lost[:, :begin].any()


def test_a_few_at_both_ends():
    seen = np.ones((40, 100), bool)
    seen[:4, :9] = seen[2:8, -30:] = False
    lengths = masking.split_pattern(~seen, False)[2]
    free = seen.copy()
    free[8:12] = False
    hidden = masking.hide_at_both_ends(masking.hide_in_other_rows, seen, free, lengths, np.random.default_rng(0))
    first, last = hidden[:, :50].sum(axis=1), hidden[:, 50:].sum(axis=1)
    assert sorted(first)[-4:] == [9] * 4 and first.sum() == 36 and not first[:4].any() and hidden[first > 0, :9].all()
    assert sorted(last)[-6:] == [30] * 6 and last.sum() == 180 and not last[2:8].any() and hidden[last > 0, -30:].all()
    assert not (hidden & ~free).any()


def test_days_that_all_miss_are_hidden_of_all():
    rng, seen = np.random.default_rng(0), np.ones((10, 400), bool)
    for day in rng.permutation(np.arange(1, 19))[:5]:
        seen[:, 20 * day : 20 * day + 20] = False
    for hidden, _ in masking.folds_of(asked(np.ones((10, 400)), seen), 0):
        assert set(hidden.sum(axis=0)) == {0, 10}


def test_columns_without_an_order_have_no_ends():
    seen = np.ones((6, 30), bool)
    seen[:3, -3:] = False
    folds = masking.folds_of(asked(np.ones((6, 30)), seen, False), 0)
    assert any(hidden[:, 3:-6].any() for hidden, _ in folds)
    assert all((hidden == lost).all() for hidden, lost in folds)


@pytest.mark.parametrize("joined", [True, False])
def test_isolated_vertices_take_the_means(joined):
    rng = np.random.default_rng(0)
    values, seen = 5 + rng.normal(size=(12, 1)) + np.zeros((12, 40)), np.ones((12, 40), bool)
    A = np.ones((12, 12)) - np.eye(12)
    seen[3] = False
    A[3] = A[:, 3] = joined
    A[3, 3] = 0
    run = GraphImputer(device="cpu").prepare(A, values, seen)
    problem = run.problem()
    hidden = np.zeros_like(seen)
    hidden[7] = True
    left = problem.without(hidden)
    assert (left.adjacency[[7]].sum() > 0) == joined
    out = finite_estimate(BY_NAME["two-way-mean"], left, {})
    if not joined:
        np.testing.assert_allclose(out[[3, 7]], np.delete(values, [3, 7], axis=0)[None].mean(axis=1).repeat(2, axis=0))


def test_it_gives_up_where_hardly_a_run_is_free(monkeypatch):
    laid, untouched = [], masking.keep_untouched
    monkeypatch.setattr(masking, "keep_untouched", lambda *given: laid.append(0) or untouched(*given))
    seen = np.random.default_rng(0).random((40, 300)) > 0.3
    folds = masking.folds_of(asked(np.ones((40, 300)), seen), 3, 8)
    assert len(folds) == 8 and len(laid) < 100


def walks_with_long_ends(seed=7):
    """Return (walks (8, 180), mask): three in a hundred are missing, and long runs at the end of three series."""
    rng = np.random.default_rng(seed)
    values, seen = np.cumsum(rng.normal(size=(8, 180)), axis=1), rng.random((8, 180)) >= 0.03
    for row, length in ((0, 20), (3, 35), (6, 28)):
        seen[row, -length:] = False
    return values, seen


def test_intervals_of_inner_gaps_hold_where_most_is_missing_at_ends():
    values, seen = walks_with_long_ends()
    model = GraphImputer(device="cpu").fit(np.where(seen, values, np.nan).T)
    inner = ~seen.T & (np.arange(180) < 140)[:, None]
    within = np.abs(model.completed_ - values.T) <= 1.645 * model.deviation_
    assert within[inner].mean() > 0.8


def origins(seen, ordered=True):
    return masking.origins_of(asked(np.ones(seen.shape), seen, ordered))


@pytest.mark.parametrize("length, steps", [(60, [11, 22, 33, 44]), (20, [16, 32, 48, 64]), (5, range(5, 61, 5))])
def test_origins_hide_runs_at_their_full_length(length, steps):
    seen = np.ones((6, 150), bool)
    seen[:, -length:] = False
    last = 150 - length
    for part in (origins(seen), [masking.Hidden(*np.array(one)[..., ::-1]) for one in origins(seen[:, ::-1])]):
        assert [int(hidden.sum()) for hidden, _ in part] == [6 * min(step, length) for step in steps]
        for step, (hidden, lost) in zip(steps, part):
            first = last - step
            assert hidden[:, first : first + length][:, : min(step, length)].all()
            assert lost[:, first:last].all() and np.count_nonzero(lost) == 6 * step


def test_series_with_both_ends_missing_keep_half():
    seen = np.ones((3, 100), bool)
    seen[:, :20] = seen[:, -20:] = seen[2] = False
    found = origins(seen)
    assert [int(hidden.sum()) for hidden, _ in found] == [2 * 14, 2 * 28]
    assert all((hidden == lost).all() and not lost[2].any() for hidden, lost in found)


def test_only_runs_hidden_in_their_own_rows_have_origins():
    seen = np.ones((30, 100), bool)
    seen[:2, -20:] = False
    assert origins(seen) == []  # hidden in other rows
    few = origins(seen[:5])
    assert few and all(hidden[:2].any() and not lost[2:].any() for hidden, lost in few)
    seen[:, -20:] = False
    assert origins(seen) and not origins(seen, False)
    assert origins(np.random.default_rng(0).random((30, 100)) < 0.5) == []
