"""Exact search: the paper's Graph Similarity Matrix (its Table 1 and Definition 3.1), a stripe of rows at a time.

    S_jk = n / (n + 100) * rho_jk        rho: Pearson's correlation over the n users that rated both j and k

The key of a pair is 2**31 (1 - S) rounded down; the score is S, and a pair with S <= 0 is no pair of neighbours.
Ratings become whole numbers first (plan.py), so that all sums are integers and every device has the same; only the last
formula is in float64. O(sum over users of the square of their ratings) additions and O(N**2) keys, in memory O(N) a
query that is at work: no N x N array, any N.
"""

READS_CODES = False


def worst(settings):
    """The key of no correlation."""
    return 1 << 31
