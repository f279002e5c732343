"""partial_fit from outside: parameters, files, errors.

Changed and unchanged parameters; the results agree with explicitly built models.
"""

import copy
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from factorization.inputs import make, planted, same_state
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.arrays import Scale
from gpukit.factorization.implicit.update import carry_influence
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.online import inputs, run
from gpukit.interrupt import Interrupted
from gpukit.persist import load_arrays, load_model, save_arrays
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import MOST

pytestmark = pytest.mark.usefixtures("without_retraining")
BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


def parts(seed=3):
    """Return (ratings of the first rows, the others) of planted ones.

    The first 340 users and 70 items of 400 x 80.
    """
    whole = planted(400, 80, 0.3, seed=seed)
    late = (whole.users >= 340) | (whole.items >= 70)
    early = whole.take(~late)
    early = Ratings(early.users, early.items, early.values, whole.user_ids[:340], whole.item_ids[:70])
    return early, whole.take(late), whole


def raised(ratings):
    """Return ratings half a star closer to 3.

    Those at 3 become 3.5. The values are new, within the scale.
    """
    half = np.where(ratings.values > 3, np.float32(-0.5), np.float32(0.5))
    return ratings.with_columns(users=ratings.users, items=ratings.items, values=ratings.values + half)


def known_pairs():
    """Return (nine tenths, one tenth) of the planted ratings, with the same ids."""
    return planted(400, 80, 0.3, seed=3).split(0.1, 0)


@pytest.fixture(scope="module", params=[MatrixFactorization, LSHMF])
def early(request):
    return make(request.param, n_epochs=15, n_factors=6).fit(parts()[0])


def test_weights_are_refused_and_equal_ones_are_none(early):
    _, late, _ = parts()
    weights = np.random.default_rng(0).random(len(late)).astype(np.float32)
    with pytest.raises(ParameterError, match="takes no weights"):
        copy.deepcopy(early).partial_fit(late.with_columns(**late.columns(), weights=weights))
    plain, same = (
        copy.deepcopy(early).partial_fit(late.with_columns(**late.columns(), **more))
        for more in ({}, {"weights": np.full(len(late), 2, np.float32)})
    )
    assert plain.updates_[-1]["ratings"] == same.updates_[-1]["ratings"] == len(late)


@pytest.mark.parametrize("rows", ["move", "frozen"])
def test_new_users_and_items_are_learned(early, rows):
    _, late, whole = parts()
    learned, judged = late.split(0.3, 1)
    model = copy.copy(early).partial_fit(learned, rows=rows)
    assert model.user_ids_.tolist() == whole.user_ids.tolist() and model.item_ids_.tolist() == whole.item_ids.tolist()
    again = make(type(early), n_epochs=15, n_factors=6).fit(parts()[0])
    assert model.evaluate(judged)["rmse"] < 0.93 * again.evaluate(judged)["rmse"]
    assert model.updates_[0]["users"] == 60 and model.updates_[0]["items"] == 10
    assert model.updates_[0]["ratings"] == len(learned) and model.updates_[0]["rows"] == rows
    assert not hasattr(again, "updates_") and len(early.user_ids_) == 340


def test_old_rows_are_frozen_to_the_bit(early):
    model = copy.copy(early).partial_fit(parts()[1], rows="frozen")
    for name in ("user_factors", "user_extras", "item_factors", "item_extras", "influence", "neighbors"):
        old, new = getattr(early._state, name), getattr(model._state, name)
        np.testing.assert_array_equal(new[: len(old)], old, name)
        assert np.isfinite(new).all()


def test_old_rows_move(early):
    model = copy.copy(early).partial_fit(parts()[1])
    old, new = early._state.item_factors, model._state.item_factors[:70]
    assert 0 < np.abs(new - old).max()


@BOTH
def test_ratings_of_known_pairs_alone(model):
    first, more = known_pairs()
    early = make(model, n_epochs=15, n_factors=6).fit(first)
    frozen, moved = copy.copy(early).partial_fit(more, rows="frozen"), copy.copy(early).partial_fit(more)
    assert same_state(early, frozen) and len(frozen._rated.items) == len(first) + len(more)
    assert moved.evaluate(more)["rmse"] < early.evaluate(more)["rmse"]
    assert moved.updates_[0]["users"] == moved.updates_[0]["items"] == 0
    assert moved.updates_[0]["settled"] == len(first)


@BOTH
def test_what_is_rated_is_recommended_no_more(model):
    first, more = known_pairs()
    updated = make(model).fit(first).partial_fit(more)
    user = more.user_ids[more.users[0]]
    rated = set(more.item_ids[more.items[more.users == more.users[0]]].tolist())
    assert not rated & set(updated.recommend([user], 50)[0][0].tolist())


@BOTH
def test_the_history_is_that_of_all_ratings(model):
    first, more, whole = parts()
    updated, trained = make(model).fit(first).partial_fit(more), make(model).fit(whole)
    np.testing.assert_array_equal(updated._rated.indptr, trained._rated.indptr)
    np.testing.assert_array_equal(updated._rated.items, trained._rated.items)
    np.testing.assert_array_equal(updated._rated.codes, trained._rated.codes)


@BOTH
def test_new_rows_begin_at_the_means_of_their_ratings(model):
    first, more, whole = parts()
    before, trained = make(model).fit(first), make(model).fit(whole)
    updated = copy.copy(before).partial_fit(more)
    apart = updated.mean_ - trained.mean_
    np.testing.assert_allclose(updated.user_baseline_[340:] + apart, trained.user_baseline_[340:], atol=0.15)


@pytest.mark.parametrize("damping", [(5.0, 5.0), (2.0, 40.0)])
def test_known_rows_add_new_ratings_to_their_means(damping):
    """The means of all ratings of a row, with the other side's biases of the moment; corrections do not count."""
    first, more = known_pairs()
    model = make(MatrixFactorization, n_epochs=3).fit(first)
    model.chosen_ = {**model.chosen_, "damping": list(damping), "biases": "held"}
    state, scale, changed = model._state, model._scale, raised(first.take(slice(5)))
    base = [extras[:, BASE].astype(np.float64) for extras in (state.user_extras, state.item_extras)]
    known = [np.bincount(rows, minlength=len(side)) for rows, side in zip((first.users, first.items), base)]
    rows, z = (more.users, more.items), (more.values - scale.mean) / scale.deviation
    for side in (1, 0):
        for row in range(len(base[side])):
            new = np.flatnonzero(rows[side] == row)
            total = base[side][row] * (known[side][row] + damping[side])
            total += (z[new] - base[1 - side][rows[1 - side][new]]).sum()
            base[side][row] = total / (known[side][row] + len(new) + damping[side])
    columns = (np.concatenate([getattr(one, name) for one in (more, changed)]) for name in ("users", "items", "values"))
    updated = copy.copy(model).partial_fit(Ratings(*columns, first.user_ids, first.item_ids))._state
    for extras, expected in zip((updated.user_extras, updated.item_extras), base):
        np.testing.assert_allclose(extras[:, BASE], expected, atol=1e-5)
        np.testing.assert_array_equal(extras[:, BIAS], extras[:, BASE])


def test_neighbours_of_new_items_are_those_of_all_ratings():
    first, more, whole = parts()
    before, trained = make(LSHMF).fit(first), make(LSHMF).fit(whole)
    updated = copy.copy(before).partial_fit(more)
    np.testing.assert_array_equal(updated.neighbors_[:70], before.neighbors_)
    np.testing.assert_array_equal(updated.neighbors_[70:], trained.neighbors_[70:])


def test_influences_go_with_their_neighbours():
    """Of clicks, whose neighbours are all searched again."""
    first, _, whole = parts()
    before, neighbors = make(LSHMF).fit(first), make(LSHMF).fit(whole).neighbors_
    influence = carry_influence(before._state, neighbors)
    assert not np.array_equal(before.neighbors_, neighbors[:70])
    for item in range(80):
        old = dict(zip(before.neighbors_[item].tolist(), before._state.influence[item].T.tolist())) if item < 70 else {}
        for slot, other in enumerate(neighbors[item].tolist()):
            assert influence[item, :, slot].tolist() == old.get(other, [0.0, 0.0])


@BOTH
def test_a_saved_model_goes_on_as_the_one_in_memory(model, tmp_path):
    first, more, _ = parts()
    one = make(model, deterministic=True).fit(first)
    one.save(tmp_path / "m.gpukit")
    other = load_model(tmp_path / "m.gpukit").set_params(device="cpu").partial_fit(more)
    assert same_state(one.partial_fit(more), other)
    other.save(tmp_path / "n.gpukit")
    back = load_model(tmp_path / "n.gpukit").set_params(device="cpu")
    assert same_state(back, one) and back.updates_ == other.updates_
    assert back.predict(more).tolist() == one.predict(more).tolist()
    assert back.partial_fit(raised(first.take(slice(9)))).updates_[1]["corrected"] == 9


@BOTH
def test_the_first_call_fits(model):
    ratings = planted()
    assert same_state(
        make(model, deterministic=True).partial_fit(ratings), make(model, deterministic=True).fit(ratings)
    )


@BOTH
def test_nothing_new_changes_nothing(model):
    ratings = planted()
    fitted = make(model).fit(ratings)
    before = copy.copy(fitted)
    assert fitted.partial_fit(ratings.take(slice(0))) is fitted and same_state(fitted, before)
    assert fitted.updates_[0]["ratings"] == 0 and fitted.updates_[0]["settled"] == len(ratings)


def test_the_same_part_twice_only_corrects(early):
    late = parts()[1]
    model = copy.copy(early).partial_fit(late).partial_fit(raised(late))
    assert model.updates_[1]["corrected"] == len(late) and model.updates_[1]["ratings"] == 0
    assert len(model._rated.items) == len(parts()[2])


def test_any_order_gives_the_same_history(early):
    late = parts()[1]
    mixed = late.take(np.random.default_rng(0).permutation(len(late)))
    one, other = copy.copy(early).partial_fit(late), copy.copy(early).partial_fit(mixed)
    np.testing.assert_array_equal(one._rated.items, other._rated.items)
    np.testing.assert_array_equal(one._rated.codes, other._rated.codes)


def test_a_pair_that_comes_twice(early):
    twice = np.array([7, 7]), np.array([1, 1]), np.array([1, 5], np.float32)
    for rule, value in (("last", 5), ("mean", 3)):
        model = copy.copy(early).partial_fit(twice, duplicates=rule)
        code = model._rated.codes[0] if model._rated.items[0] == 0 else None
        known = early._rated.items[0] == 0 and early._scale.mean + early._scale.deviation * float(
            early._rated.levels[early._rated.codes[0]]
        )
        expected = (value + known) / 2 if known and rule == "mean" else value
        found = model._rated.levels[code] * model._scale.deviation + model._scale.mean
        assert found == pytest.approx(expected, abs=1e-5)
    with pytest.raises(DataError, match="rated item 1 already"):
        copy.copy(early).partial_fit(twice, duplicates="error")


BEYOND = np.array([7, 8, 8]), np.array([1, 4, 5]), np.array([3, 9, -2], np.float32)


@pytest.mark.parametrize("rows", ["move", "frozen"])
def test_ratings_outside_the_scale_are_refused(early, rows):
    model = copy.copy(early)
    with pytest.raises(DataError, match=r"Row 2 \(user 8, item 4\): rating 9 is .* range, 1 to 5.*widen_scale=True"):
        model.partial_fit(BEYOND, rows=rows)
    assert model.scale_ == (1, 5) and same_state(model, early)


def test_ratings_within_a_mean_are_refused_by_their_own_value(early):
    pairs = np.array([7, 7]), np.array([1, 1]), np.array([1, 8], np.float32)
    with pytest.raises(DataError, match="Row 2 .*rating 8"):
        copy.copy(early).partial_fit(pairs, duplicates="mean")


def test_widen_scale_accepts_ratings_outside_it(early):
    model = copy.copy(early).partial_fit(BEYOND, widen_scale=True)
    assert model.scale_ == (-2, 9) and early.scale_ == (1, 5) and model.mean_ == early.mean_
    many = np.full(12, 7), np.arange(12), np.full(12, 9, np.float32)  # most of ten or more, another scale by default
    assert copy.copy(early).partial_fit(many, widen_scale=True).scale_ == (1, 9)
    with pytest.raises(ParameterError, match="widen_scale must be"):
        copy.copy(early).partial_fit(BEYOND, widen_scale="yes")


def test_clicks_are_no_ratings(early):
    _, late, _ = parts()
    pairs = late.user_ids[late.users], late.item_ids[late.items]
    for learn in (lambda: copy.copy(early).partial_fit(pairs), lambda: early.recommend_for(pairs, by="rating")):
        with pytest.raises(DataError, match="There are pairs without ratings, and the model is of ratings from 1 to 5"):
            learn()


@pytest.mark.parametrize("value", [3e38, -1e5])
def test_ratings_of_another_scale_are_refused(early, value):
    far = np.array([7]), np.array([1]), np.array([value], np.float32)
    with pytest.raises(DataError, match="standard deviations from the mean .*1 to 5.*Correct it, or train again"):
        copy.copy(early).partial_fit(far, widen_scale=True)
    with pytest.raises(DataError, match=r"Row 1 \(user 7, item 1\): rating .* is outside the model's range, 1 to 5"):
        early.recommend_for(far)


def test_more_values_than_levels(early):
    values = np.linspace(1, 5, 300).astype(np.float32)
    users, items = np.arange(300) + 10_000, np.full(300, 4)
    model = copy.copy(early).partial_fit((users, items, values))
    kept = model._rated.levels[model._rated.codes] * model._scale.deviation + model._scale.mean
    at = np.repeat(np.arange(len(model._rated.indptr) - 1), np.diff(model._rated.indptr)) >= 340
    assert np.abs(kept[at] - values).max() <= 2 / (MOST - 1) + 1e-4


def test_unknown_kinds_of_ids(early):
    text = np.array(["7", "x"]), np.array([1, 1]), np.ones(2, np.float32)
    with pytest.raises(DataError, match="new user 'x' is text"):
        copy.copy(early).partial_fit(text)
    model = copy.copy(early).partial_fit((text[0][:1], *(array[:1] for array in text[1:])))
    assert len(model.user_ids_) == 340


@pytest.mark.parametrize(
    "wrong, line",
    [
        ({"rows": "still"}, "rows must be one of 'move', 'frozen'; got 'still'"),
        ({"duplicates": "first"}, "duplicates must be one of"),
    ],
)
def test_wrong_requests(early, wrong, line):
    with pytest.raises(ParameterError, match=line):
        early.partial_fit(planted(), **wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_ratings_that_are_no_numbers(early, value):
    before = copy.copy(early)
    with pytest.raises(DataError, match="finite|not a finite number|NaN"):
        early.partial_fit((np.array([7]), np.array([1]), np.array([value], np.float32)))
    assert same_state(before, early)


def test_a_forged_list_of_updates(early, tmp_path):
    copy.copy(early).partial_fit(parts()[1]).save(tmp_path / "m.gpukit")
    header, arrays = load_arrays(tmp_path / "m.gpukit")
    for wrong in (3, [3], [{}], [{**header["facts"]["updates"][0], "settled": -1}]):
        header["facts"]["updates"] = wrong
        save_arrays(tmp_path / "n.gpukit", header, arrays)
        with pytest.raises(ModelError, match="is damaged"):
            load_model(tmp_path / "n.gpukit")


def test_a_file_hardly_grows(early, tmp_path):
    model = copy.copy(early)
    model.save(tmp_path / "m.gpukit")
    more = (np.array([7]), np.array([1]), np.ones(1, np.float32))
    model.partial_fit(more).save(tmp_path / "n.gpukit")
    assert (tmp_path / "n.gpukit").stat().st_size < 1.1 * (tmp_path / "m.gpukit").stat().st_size


def test_unrated_rows_of_a_fit_are_new_when_they_come():
    ratings = planted()
    seldom = ratings.take(ratings.users != 5)
    fitted = make(MatrixFactorization).fit(seldom)
    assert not fitted._state.user_factors[5].any()
    updated = fitted.partial_fit(ratings.take(ratings.users == 5), rows="frozen")
    assert updated._state.user_factors[5].any() and updated.updates_[0]["users"] == 1
    assert updated._state.user_extras[5, BASE] != 0


@pytest.mark.parametrize("rows", ["move", "frozen"])
def test_new_rows_learn_their_factors(early, rows, monkeypatch):
    """Biases alone predict nearly as well, so factors are compared with their initial values."""
    model, still = (copy.deepcopy(early) for _ in range(2))
    model.partial_fit(parts()[1], rows=rows)
    monkeypatch.setattr(run, "run_epochs", lambda *arguments: None)
    still.partial_fit(parts()[1], rows=rows)
    assert (model.user_factors_[340:] != still.user_factors_[340:]).all()
    if rows == "frozen":
        np.testing.assert_array_equal(model.user_factors_[:340], still.user_factors_[:340])


def test_a_model_trained_anew_keeps_nothing_of_other_rows():
    model, fitted = MatrixFactorization(), MatrixFactorization(n_factors=7)
    model.old_, fitted.new_ = 1, 2
    assert run.replace_model(model, fitted) is model
    assert not hasattr(model, "old_") and model.new_ == 2 and model.n_factors == 7


@pytest.mark.parametrize("count, beyond, known, good", [(10, 5, 30, True), (10, 6, 30, False), (9, 9, 30, True),
                                                        (10, 6, 29, True), (11, 11, 10**6, False)])  # fmt: skip
@pytest.mark.parametrize("far", [0.5, 6.0])
def test_most_of_ten_ratings_beyond_the_scale_are_of_another(count, beyond, known, good, far):
    scale = Scale(mean=3.5, deviation=1.0, low=1.0, high=5.0)
    values = np.where(np.arange(count) < beyond, far, 1.0).astype(np.float32)
    new = Ratings(np.arange(count, dtype=np.int32), np.zeros(count, np.int32), values, np.arange(count), np.arange(1))
    if good:
        assert inputs.check_ratings(new, scale, known) is new
    else:
        with pytest.raises(DataError, match=f"{beyond} of {count} ratings.*are outside the range"):
            inputs.check_ratings(new, scale, known)
    assert inputs.check_ratings(new, scale._replace(low=5.0), known) is new  # all known ones are alike


def test_what_comes_again_is_not_learned_again(early):
    first = parts()[0]
    again = copy.copy(early).partial_fit(first)
    assert same_state(early, again) and again.updates_[0]["ratings"] == again.updates_[0]["walked"] == 0
    values = np.append(first.values[:50], 6 - first.values[50])  # of 1 to 5; 3 stays as it is
    some = Ratings(first.users[:51], first.items[:51], values.astype(np.float32), first.user_ids, first.item_ids)
    (entry,) = copy.copy(early).partial_fit(some).updates_
    assert (entry["ratings"], entry["corrected"]) == (0, int(first.values[50] != 3))
    with pytest.raises(DataError, match="already"):
        copy.copy(early).partial_fit(first, duplicates="error")


def test_the_last_training_on_all_ratings_is_recorded(early):
    """Updates keep the number of ratings then."""
    first, late, _ = parts()
    model = copy.copy(early).partial_fit(late.take(slice(0, 40))).partial_fit(late, rows="frozen")
    assert [entry["settled"] for entry in model.updates_] == [len(first)] * 2
    assert [entry["ratings"] for entry in model.updates_] == [40, len(late) - 40]
    model.partial_fit(raised(late.take(slice(0, 9))))
    assert model.updates_[2]["settled"] == len(first) and model.updates_[2]["corrected"] == 9


def test_an_update_trains_the_new_ratings_alone(early):
    """Two epochs; options of earlier versions change nothing but a warning."""
    first, more = known_pairs()
    model = make(type(early), n_epochs=15, n_factors=6).fit(first)
    new, updated = more.take(slice(0, 90)), []
    for former in ({}, {"hashes": "kept"}, {"replay": 3.0}):
        with pytest.warns(FutureWarning, match="deprecated") if former else nullcontext():
            updated.append(copy.copy(model).partial_fit(new, **former))
        (entry,) = updated[-1].updates_
        assert entry["walked"] == 2 * entry["ratings"] == 180
    assert not same_state(model, updated[0]) and all(same_state(updated[0], other) for other in updated[1:])
    still = np.setdiff1d(np.arange(400), new.users)
    np.testing.assert_array_equal(updated[0].user_factors_[still], model.user_factors_[still])


@pytest.mark.parametrize("rows", ["move", "frozen"])
def test_an_interrupt_leaves_the_model_unchanged(early, rows, monkeypatch):
    """It takes effect before the next epoch."""
    model, pressed, reports = copy.copy(early), SimpleNamespace(requested=None), []

    def press(stage, done, total, facts):
        reports.append((stage, done))
        pressed.requested = 2 if stage == "training" else None

    monkeypatch.setattr(run.interrupt, "defer", lambda: nullcontext(pressed))
    with pytest.raises(Interrupted):
        model.partial_fit(parts()[1], rows=rows, progress=press)
    assert reports == [("merging", 0), ("training", 1)]
    assert same_state(model, early) and len(model.user_ids_) == 340 and not hasattr(model, "updates_")


def test_others_are_fixed_while_new_rows_learn(early, monkeypatch):
    """In the tables of the training, not only in the model."""
    sessions, begin_training = [], run.begin_training

    def begin(session, *arguments):
        sessions.append(session)
        return begin_training(session, *arguments)

    monkeypatch.setattr(run, "begin_training", begin)
    live = early.live("cpu")
    live.add(parts()[1])
    (session,) = sessions
    for table, trained, known in zip((live._state.users, live._state.items), session.learned(), (340, 70)):
        np.testing.assert_allclose(trained[:known, :6], table.all[:known, :6], rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(trained[known:-1], table.all[known:-1])
