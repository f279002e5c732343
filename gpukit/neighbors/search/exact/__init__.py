"""Exact search: the paper's Graph Similarity Matrix (its Table 1 and Definition 3.1), a stripe of rows at a time.

    S_jk = n / (n + 100) * rho_jk        rho: Pearson's correlation over the n users that rated both j and k

The key of a pair is 2**31 (1 - S) rounded down; the score is S, and a pair with S <= 0 is not a pair of neighbours.
Ratings become whole numbers first (plan.py), so that all sums are integers and equal on every device; only the final
formula is in float64. The measure of clicks is a damped cosine: c_j and c_k users clicked an item, c_jk of them both.

    S_jk = c_jk / (sqrt(c_j c_k) + 10)

O(sum over users of the square of their ratings) additions. A query lists only the items that share a user with it, and
the selection reads these lists. Memory is O(N) per thread or, on a GPU, a tile of shared memory, and a stripe of lists.
A block processes a whole query with few pairs by a hash table, and otherwise a tile of items: such a query takes
N / tile blocks.
"""

READS_CODES = False
IS_SPARSE = True


def worst(settings):
    """Return the key of zero correlation."""
    return 1 << 31
