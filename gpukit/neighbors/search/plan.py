"""Host steps of the searches and the selection, for both devices.

The exact search is the paper's Graph Similarity Matrix (its Table 1 and Definition 3.1), a stripe of rows at a time.

    S_jk = n / (n + 100) * rho_jk        rho: Pearson's correlation over the n users that rated both j and k

The key of a pair is 2**31 (1 - S) rounded down; the score is S, and a pair with S <= 0 is not a pair of neighbours.
Ratings become whole numbers first (`whole_numbers`), so that all sums are integers and equal on every device; only the
final formula is in float64. The measure of clicks is a damped cosine: c_j and c_k users clicked an item, c_jk of them
both.

    S_jk = c_jk / (sqrt(c_j c_k) + 10)

O(sum over users of the square of their ratings) additions. A query lists only the items that share a user with it, and
the selection reads these lists. Memory is O(N) per thread or, on a GPU, a tile of shared memory, and a stripe of lists.
A block processes a whole query with few pairs by a hash table, and otherwise a tile of items: such a query takes
N / tile blocks.
"""

import math

import numpy as np

from gpukit.neighbors.formulas import SQUARE_BITS
from gpukit.neighbors.plan import Lists, cut_runs, stripe_rows, whole_multiples
from gpukit.neighbors.search import CARDS


def search(steps, items, settings, rows=None):
    """Return the Lists of Items, those of `rows` (first, last + 1) or all; steps: search.cpu or search.gpu."""
    n_items = items.rated.size
    lists = empty_lists(steps, n_items, settings.n_neighbors)
    if CARDS[settings.search].worst(settings):
        search_rows(steps, items, settings, [rows or (0, n_items)], lists)
    else:
        nothing = tuple(steps.zeros((n_items, settings.n_neighbors), dtype) for dtype in (np.int32, np.uint32))
        steps.fill_slots(nothing, 0, 0, settings.seed, lists)
    return lists


def empty_lists(steps, n_items, n_neighbors):
    """Return uninitialized Lists; steps: see search."""
    lists = (steps.empty((n_items, n_neighbors), dtype) for dtype in (np.int32, np.float32))
    return Lists(*lists, steps.empty(n_items, np.int32))


def search_rows(steps, items, settings, runs, lists):
    """Fill the Lists of all items for the query rows first to last (exclusive) of each run; steps: see search."""
    card = CARDS[settings.search]
    if card.is_sparse:
        numbers = whole_numbers(items.columns.values, int(np.diff(items.columns.indptr).max()))
        selections = steps.select_pairs(items.columns, numbers, settings.n_neighbors, runs)
    else:
        selections = select_keys(steps, items, settings, runs)
    for first, selected in selections:
        steps.fill_slots(selected, first, card.worst(settings), settings.seed, lists)


def select_keys(steps, items, settings, runs):
    """Yield selections as select_pairs does, from the keys of stripes of query rows."""
    n_items, worst = items.rated.size, CARDS[settings.search].worst(settings)
    stripes, rows_together = steps.STRIPES[settings.search]
    stripe, rows = stripes(items, settings), stripe_rows(n_items, steps.stripe_bytes(n_items), rows_together())
    buffer = steps.empty((min(rows, max(last - first for first, last in runs)), n_items), np.uint32)
    for first, last in cut_runs(runs, rows):
        keys = buffer[: last - first]
        stripe(first, keys)
        yield first, steps.smallest(keys, settings.n_neighbors, worst)


def most_steps(longest):
    """Return the finest scale for which the sums over `longest` users fit a word of formulas.py."""
    count_bits = 28  # of a word, for the plain sum or the count
    most_steps = 1023  # of a scale: the 32-bit sums of two users (formulas.packing)
    longest = max(longest, 1)
    square = math.isqrt(((1 << SQUARE_BITS) - 1) // longest)
    return min(most_steps, square, ((1 << count_bits) - 1) // longest)


def whole_numbers(values, longest):
    """Return the ascending levels (L,) as whole numbers (L,) uint32 from 0.

    Correlations are invariant to shift and scale. Exact if the levels are multiples of a common step (2**-8 or more)
    and span at most most_steps(longest) of it; otherwise the nearest of most_steps(longest) equal steps. longest: the
    most ratings of an item.
    """
    values, most = np.asarray(values, np.float64), most_steps(longest)
    whole = whole_multiples(values)
    if whole is not None and np.abs(whole).max() < 2.0**53:
        steps = (whole - whole[0]).astype(np.int64)
        steps //= max(1, int(np.gcd.reduce(steps)))
        if steps[-1] <= most:
            return steps.astype(np.uint32)
    span = (values[-1] - values[0]) or 1.0
    return np.rint((values - values[0]) / span * most).astype(np.uint32)


def stripes(pairs, runs, n_neighbors, most):
    """Yield (first row, begins (B + 1,) int64) of stripes of query rows, at least one row each.

    Row b of a stripe lists at most begins[b + 1] - begins[b] items. A stripe has about `most` of these and of its
    results. pairs (N,): the work of each row; runs: [(first, last + 1)].
    """
    capacity = np.minimum(pairs, len(pairs))
    whole = np.append(0, np.cumsum(capacity + n_neighbors))
    for first, last in runs:
        while first < last:
            stop = int(np.searchsorted(whole, whole[first] + most, "right")) - 1
            stop = min(max(stop, first + 1), last)
            yield first, np.append(0, np.cumsum(capacity[first:stop]))
            first = stop


def chunk_edges(begins, n_items):
    """Return the first rows (C,) of chunks of a stripe, and its end, for threads.

    A chunk clears n_items sums, so it lists half as many items or has one row. There are about 64 or fewer.
    """
    chunks = 64  # several for each thread
    marks = np.arange(0, begins[-1], max(1, n_items // 2, begins[-1] // chunks))
    return np.unique(np.append(np.searchsorted(begins, marks), len(begins) - 1))
