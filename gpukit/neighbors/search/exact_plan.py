"""Exact search: the paper's Graph Similarity Matrix (its Table 1 and Definition 3.1), a stripe of rows at a time.

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
from gpukit.neighbors.plan import whole_multiples


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
