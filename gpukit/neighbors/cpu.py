"""Neighbours on the CPU: steps of the hashes and searches, which plan.py runs. gpu.py has the same functions."""

import functools
import sys

import numpy as np

from gpukit.device.cpu_arrays import empty, fetch, resident, zeros  # noqa: F401  (steps)
from gpukit.neighbors import formulas, plan, run
from gpukit.neighbors import search_twins as twins
from gpukit.neighbors.hash_twins import (  # noqa: F401
    add_chunks,
    add_totals,
    hash_columns,
    hash_minwise,
    join_chunks,
    join_parts,
    project_columns,
)
from gpukit.neighbors.plan import CARDS, Compressed, PairLists
from gpukit.runtime.thread_count import get_num_threads
from gpukit.selection.twins import smallest, smallest_listed  # noqa: F401  (of run.select_keys)
from gpukit.sorting import cpu as sorting
from gpukit.timing import work_clock

SLICES = 1  # sums have a multiple of this number of bits
STEPS = sys.modules[__name__]
add_columns = functools.partial(run.add_columns, STEPS)
search = functools.partial(run.search, STEPS)
search_rows = functools.partial(run.search_rows, STEPS)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns (Algorithm 1); ParameterError if K is too large."""
    plan.check_items(settings, len(columns.indptr) - 1)
    start, codes = work_clock(), None
    if CARDS[settings.search].reads_codes:
        codes = run.hash_codes(STEPS, columns, settings)
    hashed = work_clock()
    lists = search(plan.Items(columns, codes, np.diff(columns.indptr) > 0), settings)
    seconds = {"hashing": hashed - start, "search": work_clock() - hashed}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.sum()), seconds)


def stripe_bytes(n_items):
    """Return the bytes of a stripe's keys: about the cache's size."""
    return 16 << 20


def select_pairs(table, numbers, n_neighbors, runs):
    """Yield (first, (items (B, K) int32, keys (B, K) uint32)): the best pairs of the query rows of runs, in stripes.

    table: a gpukit.neighbors.plan.Columns; numbers: its levels as whole numbers, empty for clicks.
    """
    stripe = 1 << 21  # items listed by a stripe: about the cache's size
    by_item, by_user = Compressed(table.indptr, table.users, table.levels), Compressed(*table.by_user[1:])
    n_items = len(table.indptr) - 1
    pairs, most = np.empty(n_items, np.int64), max(stripe, 2 * get_num_threads() * n_items)
    twins.count_pairs(*by_item[:2], by_user.starts, pairs)
    for first, begins in run.stripes(pairs, runs, n_neighbors, most):
        lists = PairLists(begins, np.empty(begins[-1], np.uint64), np.zeros(len(begins) - 1, np.int32))
        twins.list_pairs(by_item, by_user, numbers, first, lists)
        yield first, smallest_listed(begins, lists.sizes, lists.entries, n_neighbors)


def _flags(items):
    """Return Items.rated as bool, so that loops are compiled for one type: updates have uint8, as on a GPU."""
    return items.rated.view(np.bool_)


def hamming_stripes(items, settings):
    """Return stripe(first, keys); see plan.py."""
    rated = _flags(items)
    return lambda first, keys: twins.hamming_distances(items.codes, rated, first, keys)


def sorted_tables(items, settings):
    """Return (hashes (q, N) float32, mates (q, N) int32): hashes of each fine hashing, and the sorted items."""
    shape = settings.q, len(items.codes)
    hashes, mates = np.empty(shape, np.float32), np.empty(shape, np.int32)
    twins.table_hashes(items.codes, _flags(items), settings.p * settings.bits, hashes)
    sorting.argsort(hashes.ravel(), sorting.plan(formulas.table_offsets(*shape), np.float32), mates.ravel())
    return hashes, mates


def bucket_stripes(items, settings):
    """Return stripe(first, keys); see plan.py."""
    width, tables, rated = settings.p * settings.bits, sorted_tables(items, settings), _flags(items)

    def stripe(first, keys):
        twins.fill(keys.ravel(), np.uint32(settings.q))
        twins.bucket_matches(items.codes, rated, width, *tables, first, keys)

    return stripe


def fill_slots(selected, first, worst, seed, lists):
    """Write the rows of the items first, first + 1, ... of a Lists.

    selected: their (indices (B, K) int32, keys (B, K) uint32), ascending; worst: the first key of a pair that is not a
    pair of neighbours.
    """
    key, half = formulas.supplement_key(seed), formulas.permutation_half(len(lists.neighbors))
    twins.fill_slots(*selected, first, worst, key, half, lists)


STRIPES = {"hamming": (hamming_stripes, lambda: 1), "buckets": (bucket_stripes, get_num_threads)}
