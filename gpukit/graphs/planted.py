"""Generated graphs: sparse random ones, and ones with ego-Facebook's degrees and communities.

ego-Facebook (J. McAuley and J. Leskovec, NIPS 2012; SNAP) is made of ten people's circles of friends: 4,039 vertices,
88,234 edges, degrees 1, 25 and 1,045 (least, median, most), 75 leaves. EGOS: friends of each, edges among those.
"""

import numpy as np

DEGREE = 20  # mean, of a random graph
FRIENDS = (1045, 792, 755, 547, 347, 227, 170, 159, 68, 59)
EGOS = tuple(zip(FRIENDS, (26749, 14024, 30025, 4813, 2519, 3192, 1656, 1693, 270, 146)))
VERTICES, EDGES = 4039, 88234
DENSEST = 0.5  # share of a community's pairs that edges take at most: small graphs have fewer edges
SPREAD = 1.3  # standard deviation of the logarithm of how many friends somebody has
CIRCLE = 60  # vertices in a circle of an ego's friends
CLOSE = 3.0  # what being in one circle adds to the logarithm of the odds of an edge


def random_edges(count, rng):
    """(E, 2) int64, i < j: a random graph of count vertices and a mean degree of DEGREE, at most half of all pairs."""
    pairs = count * (count - 1) // 2
    wanted = max(1, min(DEGREE * count // 2, pairs // 2))
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < wanted:
        drawn = np.concatenate((chosen, rng.integers(0, pairs, size=2 * wanted)))
        first = np.sort(np.unique(drawn, return_index=True)[1])
        chosen = drawn[first[:wanted]]
    return _pairs(np.sort(chosen))


def _pairs(codes):
    """The pairs i < j whose places in the order (0, 1), (0, 2), (1, 2), (0, 3), ... are codes (E,) int64.

    Exact below 2^25 vertices: the root of a square below 2^53 is, and the next smaller one is far enough from it.
    """
    j = ((1.0 + np.sqrt(1.0 + 8.0 * codes)) / 2.0).astype(np.int64)
    return np.column_stack((codes - j * (j - 1) // 2, j))


def ego_edges(count, rng):
    """(E, 2) int64, i < j: a connected graph of count vertices like ego-Facebook.

    With its 4,039 vertices it has its 88,234 edges; a smaller one has smaller communities, a larger one more of them.
    """
    sizes, inner = _communities(count)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    hubs = starts[:-1]
    edges = [np.column_stack((hubs[:-1], hubs[1:]))]
    for start, size, wanted in zip(starts.tolist(), sizes.tolist(), inner.tolist()):
        edges.append(np.column_stack((np.full(size - 1, start), np.arange(start + 1, start + size))))
        edges.append(start + 1 + _community(size - 1, wanted, rng))
    return np.concatenate(edges)


def _communities(count):
    """(vertices (C,), edges among those that are not the hub (C,)) of the communities of a graph of count vertices."""
    whole, rest = divmod(count, VERTICES)
    parts = [_scaled(VERTICES)] * whole + ([_scaled(rest)] if rest else [])
    sizes, edges = (np.concatenate(column) for column in zip(*parts))
    return sizes, edges


def _scaled(count):
    """(sizes (C,), inner edges (C,)) of one copy of the ten communities with count vertices in all."""
    shares = np.array(EGOS, dtype=np.float64)
    bounds = np.rint(np.cumsum(shares[:, 0]) * count / shares[:, 0].sum()).astype(np.int64)
    sizes = np.diff(bounds, prepend=0)
    used = sizes > 0
    sizes, weights = sizes[used], shares[used, 1]
    forced = (sizes - 1).sum() + len(sizes) - 1
    wanted = max(0, round(EDGES * count / VERTICES) - int(forced))
    bounds = np.rint(np.cumsum(weights) * wanted / weights.sum()).astype(np.int64)
    room = (DENSEST * (sizes - 1) * (sizes - 2) / 2).astype(np.int64)
    return sizes, np.minimum(np.diff(bounds, prepend=0), room)


def _community(count, wanted, rng):
    """(wanted, 2) edges among count friends: heavy-tailed degrees, and circles that know each other.

    Drawn without replacement, the odds of a pair being what its two ends and their circle make them (Gumbel's trick).
    """
    popular = SPREAD * rng.standard_normal(count)
    i, j = np.triu_indices(count, 1)
    score = popular[i] + popular[j] + CLOSE * (i // CIRCLE == j // CIRCLE) + rng.gumbel(size=len(i))
    best = np.sort(np.argsort(-score, kind="stable")[:wanted])
    return np.column_stack((i[best], j[best]))
