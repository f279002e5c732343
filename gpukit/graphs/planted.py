"""Synthetic graphs: sparse random ones, and ones similar to ego-Facebook.

ego-Facebook (J. McAuley and J. Leskovec, NIPS 2012; SNAP) consists of ten people's circles of friends: 4,039 vertices,
88,234 edges, degrees 1, 25 and 1,045 (least, median, most), 75 leaves. EGOS: friends of each, edges among those.
"""

import numpy as np

FRIENDS = (1045, 792, 755, 547, 347, 227, 170, 159, 68, 59)
EGOS = tuple(zip(FRIENDS, (26749, 14024, 30025, 4813, 2519, 3192, 1656, 1693, 270, 146)))
VERTICES, EDGES = 4039, 88234
CIRCLE = 60  # vertices in a circle of an ego's friends


def random_edges(count, rng):
    """Return the edges (E, 2) int64, i < j, of a random graph.

    It has count vertices and a mean degree of 20, at most half of all pairs.
    """
    pairs = count * (count - 1) // 2
    wanted = max(1, min(10 * count, pairs // 2))
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < wanted:
        drawn = np.concatenate((chosen, rng.integers(0, pairs, size=2 * wanted)))
        first = np.sort(np.unique(drawn, return_index=True)[1])
        chosen = drawn[first[:wanted]]
    return _pairs(np.sort(chosen))


def _pairs(codes):
    """Return the pairs i < j at positions (E,) int64.

    The order is (0, 1), (0, 2), (1, 2), (0, 3), ... Exact below 2^25 vertices: square roots of squares below 2^53 are
    exact, and the next smaller number is far enough away.
    """
    j = ((1.0 + np.sqrt(1.0 + 8.0 * codes)) / 2.0).astype(np.int64)
    return np.column_stack((codes - j * (j - 1) // 2, j))


def ego_edges(count, rng):
    """Return the edges (E, 2) of a graph similar to ego-Facebook.

    It is connected and has count vertices. With 4,039 vertices it has 88,234 edges; a smaller one has smaller
    communities, a larger one more of them.
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
    """Return (vertices (C,), edges without the hub (C,)) of the communities."""
    whole, rest = divmod(count, VERTICES)
    parts = [_scaled(VERTICES)] * whole + ([_scaled(rest)] if rest else [])
    sizes, edges = (np.concatenate(column) for column in zip(*parts))
    return sizes, edges


def _scaled(count):
    """Return (sizes (C,), inner edges (C,)) of ten communities of count vertices."""
    shares = np.array(EGOS, dtype=np.float64)
    bounds = np.rint(np.cumsum(shares[:, 0]) * count / shares[:, 0].sum()).astype(np.int64)
    sizes = np.diff(bounds, prepend=0)
    used = sizes > 0
    sizes, weights = sizes[used], shares[used, 1]
    forced = (sizes - 1).sum() + len(sizes) - 1
    wanted = max(0, round(EDGES * count / VERTICES) - int(forced))
    bounds = np.rint(np.cumsum(weights) * wanted / weights.sum()).astype(np.int64)
    room = (0.5 * (sizes - 1) * (sizes - 2) / 2).astype(np.int64)
    return sizes, np.minimum(np.diff(bounds, prepend=0), room)


def _community(count, wanted, rng):
    """Return (wanted, 2) edges among count friends.

    Degrees are heavy-tailed, and circles are densely connected. Edges are drawn without replacement, with odds that
    depend on both ends and their circle (Gumbel's trick).
    """
    popular = 1.3 * rng.standard_normal(count)
    i, j = np.triu_indices(count, 1)
    score = popular[i] + popular[j] + 3.0 * (i // CIRCLE == j // CIRCLE) + rng.gumbel(size=len(i))
    best = np.sort(np.argsort(-score, kind="stable")[:wanted])
    return np.column_stack((i[best], j[best]))
