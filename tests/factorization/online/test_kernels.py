"""Kernels of a live model against their twins and plain dictionaries."""

import numpy as np
import pytest
from support import launch, launch_repeatably, small_launches

from factorization.inputs import make, planted
from factorization.online import inputs, test_id_lookup
from gpukit.device.engine import common_steps
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.online import inputs as reading
from gpukit.factorization.online import run as learning
from gpukit.factorization.online import twins
from gpukit.factorization.prepare import twins as preparing
from gpukit.factorization.prepare.formulas import ASIDE, KNOWN, FirstRows
from gpukit.factorization.solvers import rates
from gpukit.factorization.solvers.sgd import schedule

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import Device
from gpukit.factorization import LSHMF, MatrixFactorization, gpu
from gpukit.factorization import gpu as gpu_steps
from gpukit.factorization import run as runs
from gpukit.factorization.online import kernels, session
from gpukit.ratings import Ratings

SHAPES = [(1, 32), (3, 32), (2, 64)]
SIDES = [common_steps(side, "gpukit.factorization.online") for side in ("cpu", "gpu")]
CASES = [(0, 5), (1, 1), (12, 7), (25, 30), (30, 40)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    """Grid and block."""
    return request.param


@pytest.fixture(params=CASES, ids=str)
def case(request):
    """An inputs.Case."""
    return inputs.case(*request.param)


def both(name, shape, given, outputs):
    """Return the arrays that the kernel writes; its twin must write the same."""
    made, expected = ([array.copy() for array in outputs] for _ in range(2))
    launch(getattr(kernels, name), *shape, *given, *made)
    getattr(twins, name)(*given, *expected)
    for found, wanted in zip(made, expected):
        np.testing.assert_array_equal(found, wanted)
    return made


def found_pairs(case, shape):
    """Return (at, marked) of find_pairs."""
    (level, item, user), n = case.key, len(case.keys)
    history = History(case.indptr, case.items, case.codes, np.zeros(256, np.float32))
    given = case.keys, user.shift, item.shift, item.width, level.width, history
    outputs = [np.full(n, 9, np.uint32), np.full(n, 9, np.uint64), np.array([3])]
    at, marked, known = both("find_pairs", shape, given, outputs)
    assert known[0] == 3 + np.count_nonzero(marked >= KNOWN)
    return at, marked


@pytest.mark.parametrize("wrong", [None, 0, 33, 69])
def test_find_levels(shape, wrong):
    levels = np.array([-1.5, 0, 2, 2.25, 7], np.float32)
    codes = np.random.default_rng(0).integers(0, 5, 70).astype(np.uint8)
    values = levels[codes]
    if wrong is not None:
        values[wrong:] = [3, 1e9, -9][wrong % 3]
    found, missing = both("find_levels", shape, (values, levels), [np.zeros(70, np.uint8), np.array([70])])
    assert missing[0] == (70 if wrong is None else wrong)
    np.testing.assert_array_equal(found[: missing[0]], codes[: missing[0]])


def test_find_pairs(case, shape):
    at, marked = found_pairs(case, shape)
    order, shift = sorted(case.old), case.key.item.shift
    for number, place, mark in zip(case.keys.tolist(), at.tolist(), marked.tolist()):
        pair = number >> case.key.user.shift, number >> shift & ((1 << case.key.item.width) - 1)
        assert place == sum(other < pair for other in order)
        level = number & ((1 << case.key.level.width) - 1)
        same = case.old.get(pair) == level
        assert mark == (number | int(ASIDE if same else KNOWN) if pair in case.old else number)


def test_correct_codes(case, shape):
    at, marked = found_pairs(case, shape)
    known = marked >= KNOWN
    outputs = [case.codes, np.zeros(known.sum(), np.uint64)]
    if not known.any():
        return
    codes, before = both("correct_codes", shape, (marked[known], at[known], case.key.level.width), outputs)
    now = {pair: case.new.get(pair, level) for pair, level in case.old.items()}
    np.testing.assert_array_equal(codes, inputs.history_of(now, 5)[2])
    expected = sorted(inputs.key_number(case.key, *pair, case.old[pair]) for pair in case.new if pair in case.old)
    assert before.tolist() == expected


def test_insert_records(case, shape):
    """The history of all ratings; old pairs keep their codes."""
    at, marked = found_pairs(case, shape)
    new = marked < KNOWN
    (level, item, _), n = case.key, len(case.items) + int(new.sum())
    given = case.items, case.codes, case.keys[new], at[new], item.shift, item.width, level.width
    outputs = [np.full(n, -1, np.int32), np.zeros(n, np.uint8)]
    items, codes = both("insert_records", shape, given, outputs)
    _, expected_items, expected_codes = inputs.history_of({**case.new, **case.old}, case.shape[0])
    np.testing.assert_array_equal(items, expected_items)
    np.testing.assert_array_equal(codes, expected_codes)


def test_tiles_of_old_ratings(monkeypatch):
    """More old ratings than a block moves at once, on both devices."""
    case = inputs.case(700, 90, (40, 40), (30, 30))
    monkeypatch.setattr(kernels, "SHARE", 2)
    monkeypatch.setattr(twins, "TILE", 64)
    test_insert_records(case, (2, 32))


def test_starts_and_rows(case, shape):
    """First rating of each row, and rows with their first ratings."""
    users = np.array([user for user, _ in case.new if (user, _) not in case.old], np.int64)
    added = inputs.starts_of(users, case.shape[0] + 1)
    (out,) = both("add_starts", shape, (case.indptr, added), [np.zeros_like(added)])
    np.testing.assert_array_equal(out, inputs.history_of({**case.new, **case.old}, case.shape[0])[0])
    flags = [np.full(case.shape[0], 9, np.uint8) for _ in range(2)]
    fresh, rated = both("flag_rows", shape, (case.indptr, added), flags)
    had, has = {user for user, _ in case.old}, set(users.tolist())
    assert np.flatnonzero(fresh).tolist() == sorted(has - had)
    assert np.flatnonzero(rated).tolist() == sorted(has | had)


def test_mark_fixed(case, shape):
    users, items = (np.random.default_rng(1).integers(0, 2, n).astype(np.uint8) for n in case.shape)
    (_, item, user), n = case.key, len(case.keys)
    given = case.keys, user.shift, item.shift, item.width, users, items
    (marked,) = both("mark_fixed", shape, given, [np.zeros(n, np.uint64)])
    for number, mark in zip(case.keys.tolist(), marked.tolist()):
        moves = users[number >> user.shift] or items[number >> item.shift & ((1 << item.width) - 1)]
        assert mark == (number if moves else number | int(ASIDE))


def test_rows_of_tables(shape):
    """Baseline biases are read, flagged rows are copied."""
    rng = np.random.default_rng(2)
    table, work = (rng.normal(size=(6, 3 + EXTRA)).astype(np.float32) for _ in range(2))
    flags = np.array([0, 1, 0, 0, 1], np.uint8)
    (base,) = both("read_base", shape, (table,), [np.zeros(5)])
    assert base.tolist() == table[:5, 3 + BASE].tolist()
    (taken,) = both("take_flagged", shape, (table, flags), [work])
    np.testing.assert_array_equal(taken, np.where(np.append(flags, 0)[:, None] > 0, table, work))


@pytest.mark.parametrize("biased", [True, False])
def test_rows_that_begin(shape, biased):
    """Flagged rows have initial parameters, row 4 at the mean.

    The others are fixed; the unknown row is zero.
    """
    rng = np.random.default_rng(2)
    table, work = (rng.normal(size=(6, 36 + EXTRA)).astype(np.float32) for _ in range(2))
    flags, starts = np.array([0, 1, 0, 0, 1], np.uint8), np.array([0, 3, 8, 8, 9, 30], np.int64)
    base = np.array([0.5, -1.5, 0, 2, 0])
    given = table, flags, starts, FirstRows(base, biased, 34, np.uint32(9)), np.float32(7)
    (begun,) = both("begin_rows", shape, given, [work])
    expected = np.zeros_like(table)
    preparing.start_rows(np.uint32(9), np.arange(5, dtype=np.uint32), base, biased, 34, expected, expected)
    still = flags == 0
    expected[:5][still] = table[:5][still]
    expected[:5, 36 + SQUARES] = np.where(still, 7, np.diff(starts))
    np.testing.assert_array_equal(begun, expected)
    assert begun[1, 36 + BASE] == -1.5 and (begun[1, 36 + BIAS] == -1.5) == biased and begun[1, :34].any()


def test_fresh_means(shape):
    """Damped means of flagged rows; other biases are unchanged.

    There are more rows than a block checks at once.
    """
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 40, 150)
    starts, n = np.concatenate(([0], np.cumsum(counts), [counts.sum()])), int(counts.sum())
    others, codes = rng.integers(0, 20, n).astype(np.int32), rng.integers(0, 5, n).astype(np.uint8)
    z, other, bias = rng.normal(size=256).astype(np.float32), rng.normal(size=20), rng.normal(size=150)
    flags = (rng.random(150) < 0.4).astype(np.uint8)
    given = starts, others, codes, z, other, 3.5, flags
    found, made = bias.copy(), bias.copy()
    launch(kernels.fresh_means, *shape, *given, found)
    twins.fresh_means(*given, made)
    errors = z[codes].astype(np.float64) - other[others]
    sums = np.array([errors[a:b].sum() for a, b in zip(starts, starts[1:])][:150])
    expected = np.where(flags, sums / (counts + 3.5), bias)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found[flags == 0], bias[flags == 0])


def test_the_merge_repeats():
    case = inputs.case(30, 40)
    at, marked = found_pairs(case, (2, 32))
    new = marked < KNOWN
    (level, item, _), n = case.key, len(case.items) + int(new.sum())
    given = case.items, case.codes, case.keys[new], at[new], item.shift, item.width, level.width
    launch_repeatably(kernels.insert_records, 3, 32, *given, np.zeros(n, np.int32), np.zeros(n, np.uint8))


@pytest.fixture
def few_threads(monkeypatch):
    """Grids of a few warps, one worker on either device."""
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    monkeypatch.setattr(gpu_steps, "BLOCK", 64)
    monkeypatch.setattr(gpu, "most_workers", lambda layout: 1)
    monkeypatch.setattr(runs, "check_memory", lambda *arguments: None)
    monkeypatch.setattr(session.devices, "resolve", lambda spec: spec)


@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_a_live_model_is_the_same_on_both_devices(model, few_threads):
    """New users and items, corrections, a new rating value, and ratings that are known."""
    from gpukit.device import cpu

    whole, more = planted(6, 5, 0.7), {"n_neighbors": 2, "lsh_q": 1, "lsh_p": 1} if model is LSHMF else {}
    old = whole.take((whole.users < 5) & (whole.items < 4))
    old = Ratings(old.users, old.items, old.values, whole.user_ids[:5], whole.item_ids[:4])
    new = whole.take((whole.users == 5) | (whole.items == 4))
    again = old.take(slice(0, 3)).with_columns(
        users=old.users[:3], items=old.items[:3], values=old.values[2::-1].copy()
    )
    odd = again.with_columns(users=again.users, items=again.items, values=np.array([1.5, 2, 4], np.float32))
    fitted, found = make(model, n_epochs=1, device=cpu(), **more).fit(old), []
    for device in (cpu(), Device("cuda", 0, "")):
        live = session.Live(fitted, device)
        live.add(new)
        live.add(again)
        live.add(odd, duplicates="mean")
        live.add(new.take(slice(0, 2)))  # known as they are
        found.append(live.model())
    mine, other = found
    for name, array in mine._state._asdict().items():
        np.testing.assert_allclose(getattr(other._state, name), array, rtol=2e-4, atol=2e-5, err_msg=name)
    for expected, array in zip(mine._rated, other._rated):
        np.testing.assert_array_equal(array, expected)
    kept = [{**entry, "seconds": None} for entry in mine.updates_]
    assert kept == [{**entry, "seconds": None} for entry in other.updates_] and kept[1]["corrected"] == 2
    assert kept[0]["users"] == kept[0]["items"] == 1 and kept[2]["corrected"] > 0 == kept[3]["corrected"]


@pytest.mark.parametrize("rows", [1, 40, 1500])
def test_rows_are_cut_as_the_host_cuts_them(shape, rows):
    """Chunks of rows, few of them learning, are those of schedule.chunk_lengths.

    Rows without ratings have none.
    """
    rng = np.random.default_rng(rows)
    counts, flags = rng.poisson(rng.exponential(8, rows)), (rng.random(rows) < 0.2).astype(np.uint8)
    counts[-1], flags[-1] = 3000, 1
    starts, (workers, longest) = np.append(0, np.cumsum(np.append(counts, 0))), (96, 20)
    (most,) = both("most_rated", shape, (starts, flags), [np.array([2])])
    assert most[0] == 3000
    pace = 0.2, RULES.factor_gain, (workers - 1) / counts.sum(), longest
    (chunks,) = both("count_chunks", shape, (starts, flags, *pace), [np.full(rows + 5, 7)])
    slow = rates.row_rates("adaptive", 0.2, counts) * flags
    lengths = schedule.chunk_lengths(counts, workers, slow, (1, longest))
    np.testing.assert_array_equal(chunks, np.append(-(-counts // lengths), np.zeros(5)))
    assert lengths[-1] < longest and (lengths[flags == 0] == longest).all()


@pytest.mark.parametrize("steps", SIDES, ids=["cpu", "gpu"])
@pytest.mark.parametrize("rows", [1, 1023, 1024, 2500])
def test_chunks_before(steps, rows, monkeypatch):
    small_launches(monkeypatch)
    monkeypatch.setattr(learning, "PARTS", 7)
    rng = np.random.default_rng(rows)
    counts, flags = rng.poisson(1, rows), np.ones(rows, np.uint8)
    starts = steps.resident(np.append(0, np.cumsum(counts)), np.int64)
    before = learning.count_chunks_before(starts, steps.resident(flags, np.uint8), (1e-9, 0.0, 1e-9, 1), steps)
    np.testing.assert_array_equal(steps.fetch(before), np.append(0, np.cumsum(counts)))


@pytest.mark.parametrize("rows", [[0, 5, 3, 6, 8, 6], [0, 4], [9, 2], [-1, 8, 7], [4, 9, -2]])
def test_new_rows_are_marked(shape, rows):
    (seen,) = both("mark_new", shape, (np.array(rows, np.int32), 5), [np.zeros(5, np.uint8)])
    wrong = any(row not in range(9) for row in rows)
    assert seen.tolist() == [wrong, *(5 + place in rows for place in range(4))]


def test_new_rows_are_renamed(shape):
    rows, names = np.array([0, 7, 5, 4, 6, 7, 2], np.int32), np.array([5, 5, 6], np.int32)
    (renamed,) = both("rename_new", shape, (rows, 5, names), [np.zeros(7, np.int32)])
    assert renamed.tolist() == [0, 6, 5, 4, 5, 6, 2] and rows[1] == 7


@pytest.mark.parametrize("name", test_id_lookup.AS_THEY_ARE)
def test_a_part_is_read_as_on_the_host(name, monkeypatch):
    small_launches(monkeypatch)
    ratings, known = test_id_lookup.AS_THEY_ARE[name], test_id_lookup.KNOWN_IDS
    part = reading.in_rows(ratings, known, SIDES[1])
    for mine, usual in zip(part, reading.in_rows(ratings, known, SIDES[0])):
        found = mine if isinstance(mine, np.ndarray) else SIDES[1].fetch(mine)
        np.testing.assert_array_equal(found, usual)
