"""Oracle of similarity by its definition, in float64, pair by pair.

It imports nothing from gpukit.
"""

import math


def likeness(rated, bases, factors, of_items, damping=50.0, weight=0.25):
    """Return {(one, other): (similarity, common)} of all pairs of one side.

    rated {(user, item): z}; bases ((M,), (N,)): baseline biases; factors: of the compared side.
    """
    vectors = [{} for _ in factors]
    for (user, item), z in rated.items():
        one, other = (item, user) if of_items else (user, item)
        vectors[one][other] = 1.0 + z - float(bases[0][user]) - float(bases[1][item])
    found = {}
    for one, a in enumerate(vectors):
        for other, b in enumerate(vectors):
            common = len(a.keys() & b.keys())
            product = sum(a[key] * b[key] for key in a.keys() & b.keys())
            blend = product / length(a.values()) / length(b.values()) + weight * cosine(factors[one], factors[other])
            found[one, other] = common / (common + damping) * blend / (1 + weight), common
    return found


def length(numbers):
    """Return the Euclidean norm; 1 for a zero vector."""
    return math.sqrt(sum(number * number for number in numbers)) or 1.0


def cosine(a, b):
    """Return the cosine of two vectors, 0 if one is zero."""
    return sum(float(x) * float(y) for x, y in zip(a, b)) / length(map(float, a)) / length(map(float, b))
