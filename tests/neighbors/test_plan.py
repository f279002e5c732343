"""Data exchanged by hash and search; a further search is found by its name."""

import numpy as np
import pytest

from gpukit.errors import ParameterError
from gpukit.neighbors import cpu, plan, run
from neighbors import minhash_inputs, projection_inputs
from neighbors.inputs import columns, oracle_codes, ratings, unpack


@pytest.mark.parametrize(
    "n_items, budget, multiple", [(1, 1, 1), (50, 1400, 1), (50, 1399, 7), (50, 10**6, 8), (9, 0, 4)]
)
def test_stripe_rows(n_items, budget, multiple):
    rows = plan.stripe_rows(n_items, budget, multiple)
    most = -(-n_items // multiple) * multiple
    expected = max(r for r in range(multiple, most + 1, multiple) if r == multiple or 4 * n_items * r <= budget)
    assert rows == expected and isinstance(rows, int)


@pytest.mark.parametrize(
    "n, block, expected", [(0, 32, 1), (1, 32, 1), (32, 32, 1), (33, 32, 2), (np.int64(65), 64, 2)]
)
def test_blocks(n, block, expected):
    assert plan.blocks(n, block) == expected and type(plan.blocks(n, block)) is int


def test_bits_and_words_of_a_code():
    assert plan.Settings(p=3, q=5, bits=7).n_bits == 105 and plan.Settings(p=3, q=5, bits=7).n_words == 4
    assert plan.Settings(p=1, q=4, bits=8).n_words == 1
    worst = [plan.CARDS[name].worst(plan.Settings(p=3, q=5, bits=7)) for name in plan.SEARCHES]
    assert worst == [105, 5, 1 << 31, 0]


def test_as_many_neighbours_as_there_are_others():
    plan.check_items(plan.Settings(n_neighbors=4), 5)
    with pytest.raises(ParameterError, match="n_neighbors=5 is too many for 5"):
        plan.check_items(plan.Settings(n_neighbors=5), 5)


ORACLES = {
    "simlsh": oracle_codes,
    "minhash": minhash_inputs.oracle_codes,
    "projection": projection_inputs.oracle_codes,
}


@pytest.mark.parametrize("name", plan.HASHES)
def test_a_hash_is_found_by_its_name(name):
    made, settings = ratings(20, 9, 0.9, [1, 2, 4], seed=3), plan.Settings(p=2, q=3, bits=8, hash=name)
    codes = run.hash_codes(cpu, columns(made), settings)
    np.testing.assert_array_equal(unpack(codes, settings.n_bits), ORACLES[name](made, settings))


@pytest.mark.parametrize("name", plan.SEARCHES)
def test_a_search_has_its_steps(name):
    card = plan.CARDS[name]
    assert card.reads_codes in (True, False)
    if card.worst(plan.Settings()) and not card.is_sparse:
        stripes, rows_together = cpu.STRIPES[name]
        assert callable(stripes) and rows_together() >= 1


def test_a_further_search_is_an_addition(monkeypatch):
    """A search without codes, by the numbers of ratings of two items."""

    def stripes(items, settings):
        assert items.codes is None
        counts = np.diff(items.columns.indptr)

        def stripe(first, keys):
            own = counts[first : first + len(keys), None]
            keys[:] = np.abs(own - counts)
            keys[np.arange(len(keys)), first + np.arange(len(keys))] = 1000

        return stripe

    monkeypatch.setitem(plan.CARDS, "circle", plan.Card(False, False, lambda settings: 1000))
    monkeypatch.setitem(cpu.STRIPES, "circle", (stripes, lambda: 3))
    table = columns(ratings(40, 9, 0.5, [1, 2], seed=1))
    found, counts = cpu.find(table, plan.Settings(2, search="circle")), np.diff(table.indptr)
    for item in range(9):
        order = sorted((abs(int(counts[item]) - int(counts[j])), j) for j in range(9) if j != item)[:2]
        assert found.neighbors[item].tolist() == [j for _, j in order]
        np.testing.assert_array_equal(found.scores[item], np.float32([(1000 - key) / 1000 for key, _ in order]))
