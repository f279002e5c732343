"""Scalar functions of linear RankSVM with L2 loss, compiled for both devices.

Document i of a query has the relevance level y_i and the score s_i = w . x_i.
"""

from gpukit._jit import njit


@njit(fastmath=False)
def active(high, low):
    """Return True if a pair is in SV(w) of Eq. (4): s_i - s_j < 1 for the more and the less relevant document.

    Monotone in both arguments, including rounding. Kernel, twin and oracle use this function, so that counts agree.
    """
    return high - low < 1.0


@njit
def child_start(ranks, query, child, width):
    """Return the start, in the order of levels, of a child of the level tree: `width` adjacent levels of a query.

    ranks: problem.Ranks.
    """
    first = ranks.first_group[query]
    return ranks.group_starts[first + min(child * width, ranks.first_group[query + 1] - first)]


@njit
def loss_share(score, product, margin, count, difference):
    """Return a document's share of sum (1 - (s_i - s_j))^2 over the active pairs (margin 1), or of v' A'A v (margin 0).

    product = count * score - (alpha+ + alpha-) of Eq. (5); count = beta+ + beta-, difference = beta- - beta+ (Eq. 6).
    """
    return score * (product - 2.0 * margin * difference) + margin * 0.5 * count
