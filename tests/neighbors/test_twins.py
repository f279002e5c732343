"""The CPU twins against the naive oracle: codes, keys, neighbours and scores, equal to the bit."""

import numpy as np
import pytest

from gpukit.neighbors import cpu, plan
from gpukit.neighbors.columns import columns
from gpukit.neighbors.plan import CHUNK, Settings
from neighbors import naive
from neighbors.inputs import ratings, unpack, user_signs

SHAPES = {  # ratings(users, items, density, levels), settings, chunk
    "two items, one bit": ((1, 2, 1.0, [3]), Settings(1, 1, 1, 1), CHUNK),
    "unused high bits": ((40, 33, 0.4, [1, 2, 3, 4, 5]), Settings(4, 3, 5, 3), CHUNK),
    "full words": ((33, 12, 0.6, [1, 3, 5]), Settings(11, 2, 4, 8, psi=1, seed=5), CHUNK),
    "r**4 of half stars": ((64, 9, 0.9, np.arange(1, 11) / 2), Settings(3, 1, 9, 7, psi=4), CHUNK),
    "cut columns": ((300, 7, 0.8, [1, 2, 3]), Settings(2, 2, 3, 11), 32),
    "one rating a chunk": ((20, 3, 0.9, [1, 2]), Settings(2, 1, 2, 5), 1),
    "negative and zero": ((50, 8, 0.7, [-2, -1, 0, 3]), Settings(5, 1, 8, 4, psi=1), 16),
    "more than 128 words": ((11, 4, 0.9, [2, 3]), Settings(3, 9, 61, 8), 3),
    "codes of 72 bits": ((9, 30, 0.1, [2, 3]), Settings(6, 9, 10, 8), CHUNK),
}


def case(name):
    shape, settings, chunk = SHAPES[name]
    made = ratings(*shape, seed=11, empty=[1] if shape[1] > 2 else [])
    return made, columns(made), settings, chunk


def oracle_codes(made, settings):
    signs = user_signs(made.shape[0], settings)
    return naive.codes(made.users, made.items, made.values, signs, made.shape[1], settings.psi)


@pytest.mark.parametrize("name", SHAPES)
def test_codes_are_equation_3(name):
    made, table, settings, chunk = case(name)
    codes = cpu.hash_codes(table, settings, chunk)
    np.testing.assert_array_equal(unpack(codes, settings.n_bits), oracle_codes(made, settings))
    used = unpack(codes, 32 * settings.n_words)
    assert not used[:, settings.n_bits :].any(), "unused high bits must stay zero"


@pytest.mark.parametrize("search", ["hamming", "buckets"])
@pytest.mark.parametrize("name", SHAPES)
def test_neighbors_are_the_best_of_all_pairs(name, search):
    made, table, settings, chunk = case(name)
    settings = settings._replace(search=search)
    found = cpu.find(table, settings)
    rated = np.diff(table.indptr) > 0
    shares = naive.scores(oracle_codes(made, settings), rated, search, settings.q)
    random_slots = 0
    for item, expected in enumerate(naive.neighbors(shares, made.shape[1], settings.n_neighbors)):
        size = len(expected)
        assert list(found.neighbors[item, :size]) == [other for other, _ in expected]
        np.testing.assert_array_equal(found.scores[item, :size], np.array([s for _, s in expected], np.float32))
        assert np.isnan(found.scores[item, size:]).all()
        assert len(set(found.neighbors[item])) == settings.n_neighbors and item not in found.neighbors[item]
        assert found.neighbors[item].min() >= 0 and found.neighbors[item].max() < made.shape[1]
        random_slots += settings.n_neighbors - size
    assert found.random_slots == random_slots


@pytest.mark.parametrize("search", ["hamming", "buckets"])
def test_stripes_do_not_show(search, monkeypatch):
    table = columns(ratings(30, 50, 0.3, [1, 2, 3], seed=1))
    settings = Settings(5, 1, 9, 4, search=search)
    whole = cpu.find(table, settings)
    monkeypatch.setattr(cpu, "STRIPE_BYTES", 50 * 4 * 7)
    np.testing.assert_array_equal(cpu.find(table, settings).neighbors, whole.neighbors)


def test_order_of_the_ratings_does_not_matter():
    made = ratings(40, 20, 0.5, [1, 2, 3, 4, 5], seed=2)
    settings = Settings(6, 2, 8, 4)
    expected = cpu.find(columns(made), settings).neighbors
    order = np.random.default_rng(0).permutation(len(made.users))
    made.users, made.items, made.values = made.users[order], made.items[order], made.values[order]
    np.testing.assert_array_equal(cpu.find(columns(made), settings).neighbors, expected)


def test_the_seed_changes_the_hashes():
    table = columns(ratings(40, 20, 0.5, [1, 2, 3], seed=2))
    first, second = (cpu.hash_codes(table, Settings(3, 2, 8, 4, seed=seed)) for seed in (0, 1))
    assert (first != second).mean() > 0.9


def test_user_bits_are_fair_and_uncorrelated():
    settings = Settings(1, 2, 4, 8, seed=3)  # 64 bits
    signs = user_signs(4096, settings).astype(float)
    assert np.abs(signs.mean(axis=0)).max() < 4.5 / np.sqrt(4096)
    products = signs.T @ signs / 4096
    np.fill_diagonal(products, 0)
    assert np.abs(products).max() < 4.9 / np.sqrt(4096)  # 2016 pairs
    assert np.abs((signs[1:] * signs[:-1]).mean(axis=0)).max() < 4.5 / np.sqrt(4096)


def test_weights_of_levels():
    np.testing.assert_array_equal(plan.level_weights([0.5, 1, 4.5], 2), [1, 4, 81])
    np.testing.assert_array_equal(plan.level_weights([-2, 3], 1), [-2, 3])
    rounded = plan.level_weights([0.1, 0.2], 2)
    assert rounded[1] == 2**20 and abs(rounded[0] / rounded[1] - 0.25) < 1e-6
    assert plan.level_weights([0.0], 2)[0] == 0
    assert np.abs(plan.level_weights([1e30, -1e30], 1)).max() <= 2**31


@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 65, 1000])
def test_shuffled_is_a_permutation(n):
    from gpukit.neighbors.formulas import shuffled

    half = plan.permutation_half(n)
    orders = [[int(shuffled(np.uint32(key), index, half, n)) for index in range(n)] for key in (1, 2)]
    assert sorted(orders[0]) == list(range(n))
    assert n < 64 or orders[0] != orders[1]


def test_units_cover_each_column_once():
    indptr = np.array([0, 0, 10, 11, 40])
    units, joins, slots = plan.work_units(indptr, chunk=9)
    assert (units[:, 2] - units[:, 1]).max() <= 9 and list(joins[:, 0]) == [1, 3] and slots == 6
    spans = sorted((item, begin, end) for item, begin, end, _ in units.tolist())
    assert [s[1:] for s in spans if s[0] == 0] == [(0, 0)]
    covered = np.concatenate([np.arange(b, e) for _, b, e in spans])
    np.testing.assert_array_equal(covered, np.arange(40))
    for item, first, last in joins:
        assert sorted(units[units[:, 0] == item, 3]) == list(range(first, last))
