"""Exact search: the paper's Graph Similarity Matrix (its Table 1 and Definition 3.1), a stripe of rows at a time.

    S_jk = n / (n + 100) * rho_jk        rho: Pearson's correlation over the n users that rated both j and k

The key of a pair is 2**31 (1 - S) rounded down; the score is S, and a pair with S <= 0 is not a pair of neighbours.
Ratings become whole numbers first (plan.py), so that all sums are integers and equal on every device; only the final
formula is in float64. O(sum over users of the square of their ratings) additions and O(N**2) keys. Memory is O(N) per
active query: there is no N x N array.
"""

READS_CODES = False


def worst(settings):
    """Return the key of zero correlation."""
    return 1 << 31
