"""Item kNN of clicks: the most similar items by an exact search, and a recommender.

    cosine(i, j) = c_ij / (sqrt(c_i c_j) + 10)        c_ij users clicked both, c_i one

`click_neighbors` searches on a device (plan.py). `ItemKNN` makes lists on the CPU: it reads the lists that
name an item which the user clicked.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.device import cpu
from gpukit.device.engine import engine
from gpukit.evaluation.lists import Popularity
from gpukit.neighbors.plan import columns_of
from gpukit.neighbors.search_twins import entry_of
from gpukit.primitives.keys import descending_key
from gpukit.ratings.orders.order import order_ratings
from gpukit.ratings.table import Ratings
from gpukit.runtime.thread_count import get_num_threads
from gpukit.scheduler import by_block
from gpukit.selection.twins import insert_entry
from gpukit.selection.twins import scores as scores_of

NEIGHBORS = 50
PRODUCTS = 4_000_000_000  # maximum pairs of clicks of one user for similarities
U64 = np.uint64
ITEM = U64((1 << 32) - 1)


def click_neighbors(orders, n_neighbors, device):
    """Return (neighbors (N, K) int32, cosines (N, K) float32) on the host: the most similar items of each item.

    Best first, ties by the lower row; -1 and 0 after the last item with a common user. orders: of the clicks
    (gpukit.ratings.orders.order.Orders), whose values are not read.
    """
    n_items, steps = orders.shape[1], engine(device, "gpukit.neighbors")
    neighbors, cosines = np.empty((n_items, n_neighbors), np.int32), np.empty((n_items, n_neighbors), np.float32)
    no_levels = np.empty(0, np.uint32)
    for first, selected in steps.select_pairs(columns_of(orders), no_levels, n_neighbors, [(0, n_items)]):
        items, keys = (steps.fetch(array) for array in selected)
        neighbors[first : first + len(items)] = items
        cosines[first : first + len(items)] = np.where(items < 0, np.float32(0), scores_of(keys))
    return neighbors, cosines


class ItemKNN(Popularity):
    """Recommend the items most similar to those that the user clicked; others by the lower row.

    The score is the sum over the user's clicks of the cosine, over the NEIGHBORS most similar items of an item. If this
    needs more than PRODUCTS pairs, a random fraction `share` of the users is used.
    """

    name = "item kNN"

    def __init__(self, learned, n_items, known=None, seed=0, device=None):
        """device: Device of the search, by default the CPU; other arguments as Popularity."""
        super().__init__(learned, n_items, known)
        counts = learned.counts().astype(np.float64)
        self.share = min(1.0, PRODUCTS / max(1.0, float(counts @ counts)))
        chosen = np.random.default_rng(seed).random(len(counts)) < self.share
        users = np.repeat(np.arange(len(counts), dtype=np.int32), learned.counts())
        neighbors, cosines = _neighbors_of(users, learned.items, chosen, n_items, device or cpu())
        self.naming, self.order = _naming(neighbors, cosines), np.arange(n_items, dtype=np.int32)

    def best(self, rows, n):
        """Return the items (b, n) int32 with the best positive scores, -1 after the last."""
        lists = np.empty((len(rows), n), np.int32)
        list_best(self.known, rows, *self.naming, self._sums(rows), lists)
        return lists

    def _sums(self, rows):
        """Return a row of zeros for each worker."""
        return np.zeros((min(get_num_threads(), len(rows)), self.n_items), np.float32)


def _neighbors_of(users, items, chosen, n_items, device):
    """Return click_neighbors of pairs (n,), those of chosen users (M,) bool."""
    n_neighbors, is_chosen = min(NEIGHBORS, n_items), chosen[users]
    if not is_chosen.any():
        return np.full((n_items, n_neighbors), -1, np.int32), np.zeros((n_items, n_neighbors), np.float32)
    pairs = users[is_chosen], items[is_chosen], np.ones(np.count_nonzero(is_chosen), np.float32)
    clicks = Ratings(*pairs, np.arange(len(chosen)), np.arange(n_items))
    return click_neighbors(order_ratings(clicks, device), n_neighbors, device)


def _naming(neighbors, cosines):
    """Return (starts (N + 1,) int64, items (n,) int32, cosines (n,) float32): the items whose lists name an item."""
    from scipy.sparse import csr_array

    is_present = neighbors.ravel() >= 0
    rows = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])[is_present]
    entries = cosines.ravel()[is_present], (neighbors.ravel()[is_present], rows)
    lists = csr_array(entries, (len(neighbors), len(neighbors)))
    return lists.indptr.astype(np.int64), lists.indices.astype(np.int32), lists.data


@njit
def add_votes(clicked, starts, naming, cosines, sums, listed):
    """Add the cosines of a user's clicks to sums (N,), zero before; return the number of items listed (N + 1,)."""
    size = 0
    for item in clicked:
        for t in range(starts[item], starts[item + 1]):
            listed[size] = naming[t]  # overwritten unless the item is new
            size += sums[naming[t]] == 0
            sums[naming[t]] += cosines[t]
    return size


@njit
def take_best(listed, sums, best):
    """Write the best of the listed items to best (n,) uint64, keys in front of items; zero sums. Returns how many."""
    size = 0
    for item in listed:
        if sums[item] > 0:
            entry = entry_of(descending_key(sums[item]), item)
            if size < best.size or entry < best[best.size - 1]:
                insert_entry(entry, size, best)
                size = min(size + 1, best.size)
        sums[item] = 0
    return size


# A worker has a row of sums (workers, N), zero before and after, and every workers-th user.
@by_block(lambda sums: len(sums), heavy=True)
def list_best(start, stop, known, rows, starts, naming, cosines, sums, lists):
    """Write the best items lists (B, n) of users rows (B,) without their clicks, -1 after the last."""
    listed, best = np.empty(sums.shape[1] + 1, np.int32), np.empty(lists.shape[1], U64)
    for worker in range(start, stop):
        worker_sums = sums[worker]
        for line in range(worker, len(rows), len(sums)):
            user_items = known.items[known.indptr[rows[line]] : known.indptr[rows[line] + 1]]
            met = add_votes(user_items, starts, naming, cosines, worker_sums, listed)
            for item in user_items:
                worker_sums[item] = 0
            size = take_best(listed[:met], worker_sums, best)
            for slot in range(lists.shape[1]):
                lists[line, slot] = np.int32(best[slot] & ITEM) if slot < size else np.int32(-1)
