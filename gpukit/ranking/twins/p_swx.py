"""CPU twin of kernels/p_swx.py: the same name, the same arguments in the same order."""

from gpukit._jit import njit, prange
from gpukit.ranking.formulas import active


@njit
def _above(s, c, v, r):
    """Sum of v over the documents of a higher level than that at rank r within its margin; s ascending."""
    total, j = 0.0, 0
    while j < s.size and active(s[j], s[r]):
        total += v[j] if c[j] > c[r] else 0.0
        j += 1
    return total


@njit
def _below(s, c, v, r):
    """As `_above`, for lower levels, from the top down."""
    total, j = 0.0, s.size - 1
    while j >= 0 and active(s[r], s[j]):
        total += v[j] if c[j] < c[r] else 0.0
        j -= 1
    return total


@njit(parallel=True)
def p_swx(order, scores, level, offsets, u, plus, minus):
    """Twin of kernels.p_swx.p_swx: a thread a query."""
    for t in prange(offsets.size - 1):
        begin, ranked = offsets[t], order[offsets[t] : offsets[t + 1]]
        rows = begin + ranked
        s, c, v = scores[rows], level[rows], u[rows]
        for r in range(rows.size):
            plus[rows[r]] = _above(s, c, v, r)
            minus[rows[r]] = _below(s, c, v, r)
