"""Kernels of the preparation against their twins and plain loops.

Results are exact, sums within the budget.
"""

import numpy as np
import pytest
from support import assert_within_budget, launch, thinned

from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.model.state import start_factors
from gpukit.factorization.prepare import twins
from gpukit.random import key

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization.prepare import kernels

ROWS = {  # ratings of each row
    "one rating": [1],
    "empty rows": [0, 3, 0, 0, 2, 0],
    "powers of four": [1, 2, 3, 4, 5, 15, 16, 17, 0, 64, 65],
    "a long row": [2, 150, 1],
}
SHAPES = [(1, 32), (3, 32), (2, 64), (5, 96)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    """Grid and block."""
    return request.param


@pytest.fixture(params=ROWS)
def starts(request):
    """(rows + 1,) int64."""
    return np.concatenate([[0], np.cumsum(ROWS[request.param])]).astype(np.int64)


def both(name, shape, *arguments):
    """Return the outputs of the kernel and of the twin.

    Outputs are the last arguments, lists of the same number of arrays.
    """
    given, outputs = arguments[:-1], arguments[-1]
    made = [[np.full_like(array, 77) for array in outputs] for _ in range(2)]
    launch(getattr(kernels, name), *shape, *given, *made[0])
    getattr(twins, name)(*given, *made[1])
    for found, expected in zip(*made):
        np.testing.assert_array_equal(found, expected)
    return made[0]


def ratings(starts, seed=0):
    """(others (n,) int32 below 9, codes (n,) uint8, z (256,) float32) of rows."""
    rng, n = np.random.default_rng(seed), starts[-1]
    z = rng.normal(size=256).astype(np.float32)
    return rng.integers(0, 9, n).astype(np.int32), rng.integers(0, 256, n).astype(np.uint8), z


def test_shuffle_rows(starts, shape):
    """A permutation of each row."""
    numbers = np.random.default_rng(0).permutation(len(starts)).astype(np.uint32)
    (where,) = both("shuffle_rows", shape, starts, numbers, np.uint32(9), [np.zeros(starts[-1], np.uint32)])
    for begin, end in zip(starts, starts[1:]):
        assert sorted(where[begin:end]) == list(range(begin, end))


def shuffled(starts, seed_key):
    where = np.zeros(starts[-1], np.uint32)
    twins.shuffle_rows(starts, np.arange(len(starts), dtype=np.uint32), np.uint32(seed_key), where)
    return where


def test_shuffles_differ_between_rows_and_seeds():
    starts = np.arange(0, 401, 40, dtype=np.int64)
    one, other = (shuffled(starts, seed_key).reshape(10, 40) - 40 * np.arange(10)[:, None] for seed_key in (3, 4))
    assert len({tuple(row) for row in (*one, *other)}) == 20
    assert (one == np.arange(40)).mean() < 0.1 and (one[1:] == one[:-1]).mean() < 0.1 and (one == other).mean() < 0.1


@pytest.mark.parametrize("count", thinned([2, 3, 4, 5], share=2))
def test_every_place_is_as_likely(count):
    """Uniform positions of the first rating of a row, over rows and over seeds."""
    of_rows = shuffled(np.arange(0, 600 * count + 1, count), 5)[::count] % count
    of_seeds = [shuffled(np.array([0, count]), seed_key)[0] for seed_key in range(600)]
    for firsts in (of_rows, of_seeds):
        assert np.bincount(firsts, minlength=count).min() > 0.7 * 600 / count


def test_lay_out(starts, shape):
    others, codes, z = ratings(starts)
    where, n = shuffled(starts, 1), starts[-1]
    minor, values = both("lay_out", shape, where, others, codes, z, [np.zeros(n, np.int32), np.zeros(n, np.float32)])
    for t, place in enumerate(where):
        assert minor[place] == others[t] and values[place] == z[codes[t]]


def test_lay_out_values(starts, shape):
    n = starts[-1]
    rng = np.random.default_rng(1)
    where, places = shuffled(starts, 1), rng.permutation(n).astype(np.uint32)
    given = rng.normal(3, 1, n).astype(np.float32)
    found, expected = np.full(n, np.nan, np.float32), np.full(n, np.nan, np.float32)
    spread = np.float32(3.1), np.float32(0.7)
    launch(kernels.lay_out_values, *shape, where, places, given, *spread, found)
    twins.lay_out_values(where, places, given, *spread, expected)
    exact = np.zeros(n)
    for t, place in enumerate(where):
        exact[place] = (np.float64(given[places[t]]) - np.float64(spread[0])) / np.float64(spread[1])
    for values in (found, expected):
        assert_within_budget(values, exact.astype(np.float32), exact)


@pytest.mark.parametrize("n", [1, 31, 100])
def test_numbers_and_what_follows_them(n, shape):
    (numbers,) = both("count_up", shape, [np.zeros(n, np.uint32)])
    assert numbers.tolist() == list(range(n))
    rng = np.random.default_rng(n)
    where, places = rng.permutation(n).astype(np.uint32), rng.permutation(n).astype(np.uint32)
    (out,) = both("follow", shape, where, places, [np.zeros(n, np.uint32)])
    assert out.tolist() == [where[place] for place in places]
    codes = rng.integers(0, 254, n).astype(np.uint8)
    (raised,) = both("raise_codes", shape, codes, [np.zeros(n, np.uint8)])
    assert raised.tolist() == [code + 1 for code in codes.tolist()]


@pytest.mark.parametrize("n", [1, 31, 100])
def test_pairs_in_keys(n, shape):
    """The largest rows are included."""
    rng = np.random.default_rng(n)
    users, items = (np.append(rng.integers(0, 2**31, n - 1), 2**31 - 1).astype(np.int32) for _ in range(2))
    (keys,) = both("pack_pairs", shape, users, items, [np.zeros(n, np.uint64)])
    assert keys.tolist() == [user << 32 | item for user, item in zip(users.tolist(), items.tolist())]
    (out,) = both("items_of", shape, keys, [np.zeros(n, np.int32)])
    assert out.tolist() == items.tolist()


def test_residual_means(starts, shape):
    (others, codes, z), rng = ratings(starts, 2), np.random.default_rng(3)
    other_bias, rows = rng.normal(size=9), len(starts) - 1
    found, expected, exact = (np.full(rows, np.nan) for _ in range(3))
    launch(kernels.residual_means, *shape, starts, others, codes, z, other_bias, 5.0, found)
    twins.residual_means(starts, others, codes, z, other_bias, 5.0, expected)
    for row, (begin, end) in enumerate(zip(starts, starts[1:])):
        exact[row] = sum(float(z[codes[t]]) - other_bias[others[t]] for t in range(begin, end)) / (end - begin + 5.0)
    for bias in (found, expected):
        np.testing.assert_allclose(bias, exact, rtol=0, atol=1e-13)  # of float64 sums of 150 numbers about 1


def test_weighted_means(starts, shape):
    (others, codes, z), rng = ratings(starts, 2), np.random.default_rng(3)
    other_bias, rows, weights = rng.normal(size=9), len(starts) - 1, rng.uniform(0.1, 4, len(others)).astype(np.float32)
    found, expected, exact = (np.full(rows, np.nan) for _ in range(3))
    launch(kernels.weighted_means, *shape, starts, others, codes, z, weights, other_bias, 5.0, found)
    twins.weighted_means(starts, others, codes, z, weights, other_bias, 5.0, expected)
    for row, (begin, end) in enumerate(zip(starts, starts[1:])):
        own = [float(weights[t]) for t in range(begin, end)]
        sums = sum(w * (float(z[codes[t]]) - other_bias[others[t]]) for w, t in zip(own, range(begin, end)))
        exact[row] = sums / (sum(own) + 5.0)
    for bias in (found, expected):
        np.testing.assert_allclose(bias, exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 15, 33, 400])
def test_error_sums(n, shape):
    rng, (blocks, _) = np.random.default_rng(n), shape
    z, truth = rng.normal(size=n).astype(np.float32), rng.integers(1, 6, n).astype(np.float32)
    units = tuple(map(np.float32, (1.7, 3.1, 1.0, 5.0)))
    found, expected = (np.full((blocks, 2), np.nan) for _ in range(2))
    launch(kernels.error_sums, *shape, z, truth, *units, found)
    twins.error_sums(z, truth, *units, expected)
    exact, plain = np.zeros(2), np.zeros(2, np.float32)
    for value, true in zip(z, truth):
        error = min(max(np.float64(value) * np.float64(units[0]) + np.float64(units[1]), 1.0), 5.0) - true
        rounded = min(max(np.float32(np.float32(value * units[0]) + units[1]), units[2]), units[3]) - true
        exact += error * error, abs(error)
        plain += np.float32(rounded * rounded), abs(rounded)
    for sums in (found, expected):
        for k in range(2):
            assert_within_budget(sums[:, k].sum(), plain[k], exact[k])


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rows, n_factors, stride", [(1, 1, 12), (6, 5, 16), (40, 8, 16), (3, 30, 40)])
def test_start_rows(rows, n_factors, stride, half, biased, shape):
    """Factors and bias of rows with a bias; zeros elsewhere.

    Other rows, padding and the unknown row are zero.
    """
    from gpukit._cuda import cuda

    base = np.random.default_rng(rows).normal(size=rows)
    base[rows // 2] = 0 if rows > 1 else base[0]
    seed_key, order = np.uint32(key(4, 104)), np.random.default_rng(1).permutation(rows).astype(np.uint32)
    expected = np.full((rows + 1, stride), 77, np.float32)
    twins.start_rows(seed_key, order, base, biased, n_factors, expected, expected)
    table = cuda.to_device(np.full((rows + 1, stride), 77, np.float32))
    factors = table.view(np.float16) if half else table
    kernels.start_rows[shape](seed_key, cuda.to_device(order), cuda.to_device(base), biased, n_factors, factors, table)
    found = table.copy_to_host()
    at = stride - EXTRA
    np.testing.assert_array_equal(found[:, at:], expected[:, at:])
    width = at * (1 + half)
    numbers = (found.view(np.float16) if half else found)[:, :width]
    stored = np.zeros((rows + 1, width), numbers.dtype)
    stored[:, :at] = expected[:, :at]
    np.testing.assert_array_equal(numbers, stored)
    factors = np.zeros((rows, n_factors), np.float32)
    start_factors(seed_key, factors)
    factors = factors[order]
    factors[base == 0] = 0
    extras = np.zeros((rows, EXTRA), np.float32)
    extras[:, BASE], extras[:, BIAS] = base, base if biased else 0
    np.testing.assert_array_equal(expected, np.pad(np.hstack([pad(factors, at), extras]), ((0, 1), (0, 0))))


def pad(factors, width):
    """Append zeros to the factors."""
    return np.pad(factors, ((0, 0), (0, width - factors.shape[1])))


@pytest.mark.parametrize("counts", [[3], [0, 5, 5, 1, 9], [2] * 40])
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)])
def test_count_keys(counts, shape):
    starts = np.concatenate([[0], np.cumsum(counts), [10**9]]).astype(np.int64)
    for count in (twins.count_keys, lambda *arrays: launch(kernels.count_keys, *shape, *arrays)):
        found = np.zeros(len(counts), np.uint64), np.full(len(counts), 77, np.uint32)
        count(starts, sum(counts), *found)
        np.testing.assert_array_equal(found[0], sum(counts) - np.array(counts))
        np.testing.assert_array_equal(found[1], np.arange(len(counts)))


@pytest.mark.parametrize("rows, step", [(1, 1), (7, 3), (32, 5), (100, 7)])
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)])
def test_rows_in_places(rows, step, shape):
    """Row k of an order is stored k steps on, modulo the rows.

    Moving and renaming rows are consistent.
    """
    order = np.random.default_rng(rows).permutation(rows).astype(np.uint32)
    expected = np.arange(rows + 1)
    expected[order] = np.arange(rows) * step % rows
    table = np.random.default_rng(1).normal(size=(rows + 1, 5)).astype(np.float32)
    minor = np.random.default_rng(2).integers(0, rows + 1, 77, np.int32)

    def of_kernels(name):
        return lambda *arrays: launch(getattr(kernels, name), *shape, *arrays)

    for run in (lambda name: getattr(twins, name), of_kernels):
        places, renamed, moved, back = np.full(rows + 1, -1, np.int32), minor.copy(), 0 * table, 0 * table
        run("spread_rows")(order, step, places)
        np.testing.assert_array_equal(places, expected)
        run("follow")(places, renamed, renamed)
        run("move_rows")(table, places, moved)
        run("take_rows")(moved, places, back)
        np.testing.assert_array_equal(moved[renamed], table[minor])
        np.testing.assert_array_equal(back, table)
        some, few, changed = places[::2].copy(), np.zeros((len(places[::2]), 5), np.float32), table.copy()
        run("take_rows")(table, some, few)
        np.testing.assert_array_equal(few, table[some])
        run("move_rows")(few + 1, some, changed)
        np.testing.assert_array_equal(changed[some], few + 1)


@pytest.mark.parametrize("n_items, n_neighbors, slots", [(2, 1, 4), (7, 4, 4), (33, 5, 8), (9, 3, 12)])
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)])
def test_pack_near(n_items, n_neighbors, slots, shape):
    rng = np.random.default_rng(n_items)
    near, base = rng.integers(0, n_items, (n_items, n_neighbors), np.int32), rng.normal(size=n_items)
    expected = np.full((n_items + 1, slots), -1, np.int32), np.zeros((n_items + 1, slots), np.float32)
    expected[0][:n_items, :n_neighbors], expected[1][:n_items, :n_neighbors] = near, base[near]
    for pack in (twins.pack_near, lambda *arrays: launch(kernels.pack_near, *shape, *arrays)):
        found = np.full((n_items + 1, slots), 77, np.int32), np.full((n_items + 1, slots), 77, np.float32)
        pack(near, base, *found)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("rows, n_factors, stride", [(1, 1, 9), (5, 3, 16), (33, 32, 40)])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)])
def test_read_rows(rows, n_factors, stride, half, shape):
    table = np.random.default_rng(rows).normal(size=(rows + 1, stride)).astype(np.float32)
    stored = table.astype(np.float16) if half else table
    extras = table if not half else np.random.default_rng(1).normal(size=(rows + 1, stride)).astype(np.float32)
    found = np.full((rows, n_factors), np.nan, np.float32), np.full((rows, 3), np.nan, np.float32)
    launch(kernels.read_rows, *shape, stored, extras, *found)
    np.testing.assert_array_equal(found[0], stored[:-1, :n_factors].astype(np.float32))
    np.testing.assert_array_equal(found[1], extras[:-1, stride - 8 : stride - 5])
    if not half:
        expected = np.empty_like(found[0]), np.empty_like(found[1])
        twins.read_rows(stored, extras, *expected)
        assert all(np.array_equal(one, other) for one, other in zip(found, expected))


@pytest.mark.parametrize("blocks, turns", [(1, 4), (2, 3), (3, 2)])
def test_runs_of_strata(blocks, turns, starts, shape):
    """Run numbers by definition, their lines in the table, and an inverted permutation."""
    rng, rows = np.random.default_rng(blocks), len(starts) - 1
    turns = max(turns, -(-rows // blocks))
    others, where = rng.integers(0, 9, starts[-1]).astype(np.int32), rng.permutation(starts[-1]).astype(np.uint32)
    seats, other_blocks = rng.permutation(blocks * turns)[:rows].astype(np.int32), rng.integers(0, blocks, 9, np.int32)
    given = starts, others, where, seats, other_blocks, blocks, turns
    (keys,) = both("key_runs", shape, *given, [np.zeros(starts[-1], np.uint64)])
    seat, other = np.repeat(seats, np.diff(starts)), other_blocks[others]
    stratum = (other - seat // turns) % blocks
    assert keys[where].tolist() == (stratum * blocks * turns + seat).tolist()
    (back,) = both("turn_around", shape, where, [np.zeros_like(where)])
    np.testing.assert_array_equal(back[where], np.arange(len(where)))
    lengths, rows_at = rng.integers(0, 4, blocks * blocks * turns), rng.permutation(blocks * turns).astype(np.int32)
    first = np.concatenate([[0], np.cumsum(lengths)])
    (table,) = both("cut_runs", shape, first, rows_at, blocks, turns, [np.zeros((len(lengths), 3), np.int64)])
    expected = [
        (rows_at[block * turns + turn], first[run], lengths[run]) if lengths[run] else (0, 0, 0)
        for stratum in range(blocks)
        for turn in range(turns)
        for block in range(blocks)
        for run in [(stratum * blocks + block) * turns + turn]
    ]
    np.testing.assert_array_equal(table, expected)
