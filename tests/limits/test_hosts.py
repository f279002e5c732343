"""Plans and errors of hosts for counts beyond 2**16, 2**31 and 2**32: only sizes, or a broadcast number."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.factorization import gpu as factorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers.sgd.schedule import chunk_lengths
from gpukit.neighbors import gpu as simlsh
from gpukit.neighbors import run
from gpukit.neighbors import search_kernels as hamming
from gpukit.neighbors.estimator import MOST_BITS
from gpukit.neighbors.plan import STRIPE_BYTES, blocks, stripe_rows
from gpukit.ranking import problem
from gpukit.ratings.orders import compressed, order
from gpukit.sorting import gpu as sorting
from gpukit.sorting import segmented

GRID = 65_535  # blocks of a launch along y


def test_more_ratings_than_places_can_number():
    most = 2**32 - 1
    order.check_size(most)
    with pytest.raises(DataError, match=r"4,294,967,296 ratings are more than the 4,294,967,295 that can be ordered"):
        order.check_size(most + 1)


def test_more_pairs_than_a_payload_numbers(monkeypatch):
    assert compressed.MOST_RATINGS == 2**32 - 1
    monkeypatch.setattr(compressed, "MOST_RATINGS", 3)
    with pytest.raises(DataError, match=r"4 ratings are more than the 3 that can be put in order"):
        compressed.pack_pairs(np.zeros(4, np.int32), np.arange(4, dtype=np.int32), (1, 4))
    assert len(compressed.pack_pairs(np.zeros(3, np.int32), np.arange(3, dtype=np.int32), (1, 4))[0]) == 3


def test_keys_of_the_largest_tables():
    assert order.key_of((2**31 - 1, 2**25), 254).end == 31 + 25 + 8
    with pytest.raises(DataError, match=r"2,147,483,647 users x 33,554,433 items are too many"):
        order.key_of((2**31 - 1, 2**25 + 1), 254)


def test_more_documents_than_tables_can_count(monkeypatch):
    """The limit is lowered, so that a missing check does not fill the memory."""
    assert problem.MOST == 2**31 - 1
    monkeypatch.setattr(problem, "MOST", 3)
    with pytest.raises(DataError, match=r"RankSVM takes up to 3 documents; there are 4"):
        problem.build_tree(np.zeros(4), [0, 4])
    assert problem.build_tree(np.zeros(3), [0, 3]).longest == 3


def test_segments_and_their_number(monkeypatch):
    assert segmented.MOST == 2**31
    with pytest.raises(DataError, match="a segment of 2147483648 keys is too long"):
        segmented.check_offsets([0, 2**31], 2**31)
    monkeypatch.setattr(segmented, "MOST", 4)
    assert len(segmented.check_offsets([0, 1, 2, 3], 3)) == 4
    with pytest.raises(DataError, match="4 segments are too many: their numbers are int32, so at most 3"):
        segmented.check_offsets([0, 1, 2, 3, 3], 3)


def test_the_queue_of_segments_far_back():
    offsets = np.array([0, 2**31 - 1, 2**32 - 2, 2**32 + 3, 2**32 + 303])
    segments, queue, room = sorting.work(offsets, 256)
    assert segments.tolist() == [0, 1, 3, 2] and room == 2 * (2**31 - 1) and queue[1, 3] == 2**31 - 1


def test_columns_are_cut_far_back():
    """The longest possible column, 2**31 - 1 ratings, after another of this length."""
    most = 2**31 - 1
    units, joins, slots = run.work_units(np.array([0, 3, 3 + most, 4 + most]), chunk=2**20)
    own = units[units[:, 0] == 1]
    own = own[np.argsort(own[:, 1])]
    assert own[0, 1] == 3 and own[-1, 2] == 3 + most and (own[1:, 1] == own[:-1, 2]).all() and slots == 2**11
    assert (own[:, 2] - own[:, 1]).max() <= 2**20 and joins.tolist() == [[1, 0, 2**11]]
    assert run.sum_slices(np.array([0, most]), np.array([run.WEIGHT_LIMIT - 1])) <= 62


def test_chunks_of_the_longest_rows():
    """Chunks have at least four ratings each, so 31 bits suffice for their number."""
    lengths = chunk_lengths(np.array([1, 2**31 - 1, 2**31 - 1]), 10**5, 9.0)
    assert lengths.min() == RULES.shortest_chunk == 4 and lengths.dtype == np.int64
    assert chunk_lengths(np.array([2**31 - 1] * 2), 1, 0.1).max() == RULES.longest_chunk


def test_grids_end_at_65_535_but_along_x():
    tile = factorization.DeviceModel.tile_users
    most = GRID // 32 * 32  # whole groups of users
    sizes = 0, 1, 10**6, 2**31 - 1
    tiles = [tile(SimpleNamespace(item_rows=rows, scratch=factorization.SCRATCH)) for rows in sizes]
    assert tiles == [most, most, 107, 1]
    words = MOST_BITS // 32
    assert blocks(words, simlsh.block_of(words)) <= GRID
    for items in (2, 63, 64, 8191, 8192, 2**16, 2**26, 2**31 - 1):
        rows = stripe_rows(items, STRIPE_BYTES, hamming.TILE)
        assert 0 < blocks(rows, hamming.TILE) <= GRID and rows % hamming.TILE == 0
        assert rows == hamming.TILE or 4 * rows * items <= STRIPE_BYTES
        assert isinstance(rows, int)
