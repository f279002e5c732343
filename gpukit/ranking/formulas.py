"""Scalar maths of linear RankSVM with L2 loss, compiled for both devices.

Document i of a query has the relevance level y_i and the score s_i = w . x_i.
"""

from gpukit._jit import njit


@njit(fastmath=False)
def active(high, low):
    """Whether a pair lies in SV(w) of Eq. (4): scores of the more and the less relevant document, s_i - s_j < 1.

    Monotone in both arguments, rounding included; kernel, twin and oracle ask this one question, so that counts agree.
    """
    return high - low < 1.0


@njit
def child_start(ranks, query, child, width):
    """Where, in the order of levels, a child of the level tree begins: `width` neighbouring levels of a query each.

    ranks: arrays.Ranks.
    """
    first = ranks.first_group[query]
    return ranks.group_starts[first + min(child * width, ranks.first_group[query + 1] - first)]


@njit
def loss_share(score, product, margin, count, difference):
    """A document's share of sum (1 - (s_i - s_j))^2 over the active pairs (margin 1), or of v' A'A v (margin 0).

    product = count * score - (alpha+ + alpha-) of Eq. (5); count = beta+ + beta-, difference = beta- - beta+ (Eq. 6).
    """
    return score * (product - 2.0 * margin * difference) + margin * 0.5 * count
