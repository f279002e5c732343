"""CPU twin of kernels/p_swx.py: the same name, the same arguments in the same order."""

from gpukit._jit import njit
from gpukit.ranking.formulas import active
from gpukit.scheduler import by_block


@njit
def _above(s, c, v, r):
    """Return the sum of v over the documents of a higher level than that at rank r within its margin; s ascending."""
    total, j = 0.0, 0
    while j < s.size and active(s[j], s[r]):
        total += v[j] if c[j] > c[r] else 0.0
        j += 1
    return total


@by_block(lambda offsets: offsets.size - 1)
def p_swx(start, stop, order, scores, level, offsets, u, sums):
    """Twin of kernels.p_swx.p_swx."""
    for t in range(start, stop):
        rows = offsets[t] + order[offsets[t] : offsets[t + 1]]
        s, c, v = scores[rows], level[rows], u[rows]
        back_s, back_c, back_v = -s[::-1], -c[::-1], v[::-1].copy()  # the lower levels, from the top down
        for r in range(rows.size):
            sums.above[rows[r]] = _above(s, c, v, r)
            sums.below[rows[r]] = _above(back_s, back_c, back_v, rows.size - 1 - r)
