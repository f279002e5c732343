"""Oracle of lists by their definitions, in float64."""

import math

import numpy as np


def cosine(x, y):
    """Return the cosine of two vectors, 0 if one is zero."""
    lengths = math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))
    return sum(a * b for a, b in zip(x, y)) / lengths if lengths else 0.0


def spread_out(pool, vectors, n, diversity):
    """Return [item]: n items of a pool [(item, score)] by maximal marginal relevance.

    The pool is best first.
    """
    scores = [score for _, score in pool]
    low, high = min(scores), max(scores)
    relevance = {item: (score - low) / (high - low) if high > low else 1.0 for item, score in pool}
    taken, left = [], [item for item, _ in pool]
    while left and len(taken) < n:
        values = []
        for item in left:
            alike = max((max(0.0, cosine(vectors[item], vectors[other])) for other in taken), default=0.0)
            values.append((1 - diversity) * relevance[item] - diversity * alike)
        taken.append(left.pop(values.index(max(values))))
    return taken


def solved(V, clicks, regularization, unobserved, exponent):
    """Return the row u with the least iALS loss for fixed V.

    clicks {row of V: weight}.
    """
    n, d = V.shape
    left, right = unobserved * V.T @ V, np.zeros(d)
    for row, weight in clicks.items():
        left += weight * np.outer(V[row], V[row])
        right += weight * V[row]
    decay = regularization * (len(clicks) + unobserved * n) ** exponent
    return np.linalg.solve(left + decay * np.eye(d), right) if clicks else np.zeros(d)


def weight(rating, mean, deviation, share=0.15, least=0.1):
    """Return the weight of a rating."""
    return max(least, 1 + share * (rating - mean) / deviation)
