"""simLSH and its search over ranks with parts of the users: codes and lists equal those of one process to the bit."""

import numpy as np
import pytest
from factorization.shared.data import ratings
from parallel.test_team import together

from gpukit.device import cpu
from gpukit.neighbors import cpu as alone
from gpukit.neighbors import cpu as hashes
from gpukit.neighbors import shared
from gpukit.neighbors.plan import Settings, columns_of
from gpukit.neighbors.run import simlsh_codes
from gpukit.ratings.orders.order import order_ratings

SETTINGS = Settings(n_neighbors=4, p=2, q=9, bits=5, seed=3)


def columns(table, team=None):
    """Return the Columns of a table, or of the users of a rank: every size-th."""
    if team is None:
        return columns_of(order_ratings(table, cpu()))
    return columns_of(order_ratings(table.take(table.users % team.size == team.rank), cpu(), team))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("chunk", [3, 4095])
@pytest.mark.parametrize("values", [None, lambda n: np.arange(n) % 4 - 1.5], ids=["stars", "negative ones"])
def test_codes_are_those_of_all_ratings(size, chunk, values, monkeypatch):
    """Also for divided columns, and for stripes of a few items."""
    table = ratings(values)
    expected = simlsh_codes(hashes, columns(table), SETTINGS)
    monkeypatch.setattr(shared, "SUM_BYTES", 5000)

    def work(team):
        own = columns(table, team)
        lengths = np.stack(team.allgather(np.diff(own.indptr)))
        return shared.shared_codes(own, SETTINGS, lengths, team, cpu(), chunk)

    for codes in together(size, work):
        np.testing.assert_array_equal(codes, expected)


@pytest.mark.parametrize("search", ["hamming", "buckets", "random"])
def test_lists_are_those_of_all_ratings(search):
    table, settings = ratings(), SETTINGS._replace(search=search)
    expected = alone.find(columns(table), settings)
    for lists, random_slots in together(
        3, lambda team: shared.find_shared(columns(table, team), settings, team, cpu())
    ):
        np.testing.assert_array_equal(lists, expected.neighbors)
        assert random_slots == expected.random_slots


def test_stripes_are_whole_and_in_order():
    units = np.array([1, 5, 1, 1, 1, 9, 1])
    for most in (1, 3, 100):
        found = shared.stripes(units, shared.SUM_BYTES // most)
        assert found[0][0] == 0 and found[-1][1] == 7
        assert all(one[1] == other[0] for one, other in zip(found, found[1:]))
        assert all(first < last for first, last in found)
