"""Synthetic graph tensors as in the graph-tensor imputation paper (6.1.1).

Every spectral slice is a product of two Gaussian matrices, (m, r) by (r, n). The inverse graph Fourier transform, with
the basis of imputation, maps them to the vertices. Then slices, or single entries, are missing at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.adopt import check_slice
from gpukit.graphs.basis import LARGEST_DENSE, fourier_basis
from gpukit.graphs.tensor import GraphTensor
from gpukit.streams import NumpySynth

if TYPE_CHECKING:
    from gpukit.typing import GraphLike

# ego-Facebook (J. McAuley and J. Leskovec, NIPS 2012; SNAP): ten people's circles of friends, with degrees of 1, 25 and
# 1,045 (least, median, most) and 75 leaves. EGOS: friends of each, edges among those.
EGOS = np.array(
    [
        [1045, 792, 755, 547, 347, 227, 170, 159, 68, 59],
        [26749, 14024, 30025, 4813, 2519, 3192, 1656, 1693, 270, 146],
    ]
)
VERTICES = 4039
LIKES = ("random", "ego-facebook")
USUAL = {"random": 400, "ego-facebook": VERTICES}  # vertices
GRAPH, SPECTRUM, NOISE, MISSING = NumpySynth.GRAPHS_SYNTH


def synth_graph(
    like: Literal["random", "ego-facebook"] = "random",
    vertices: int | None = None,
    shape: tuple[int, int] = (50, 50),
    rank: int = 5,
    missing: float = 0.2,
    entries: bool = False,
    noise: float = 0.0,
    seed: int = 0,
    adjacency: GraphLike | None = None,
    dtype: Literal["float32", "float64"] = "float32",
) -> GraphTensor:
    """Generate values of low spectral rank on a graph, with their truth.

    The same seed gives the same data, bitwise on one machine, elsewhere if the stored basis is the same.

    Parameters
    ----------
    like : {'random', 'ego-facebook'}
        A graph of mean degree 20 with 400 vertices, or of ego-Facebook's degrees and communities with 4,039.
    vertices : int or None
        Another number of vertices.
    shape : (m, n)
        Of a slice, default (50, 50).
    rank : int
        Of each slice in the graph spectral domain, default 5.
    missing : float
        Fraction of slices, exact (rounded; one stays); with entries=True the probability of each entry. Default 0.2.
    entries : bool
        Single entries are missing instead of slices, default False.
    noise : float
        Standard deviation of the noise added to the observed values, relative to the truth's root mean square; the
        truth has no noise.
    seed : int
    adjacency : graph or None
        A graph in any form that as_adjacency takes, instead of a generated one.
    dtype : {'float32', 'float64'}

    Returns
    -------
    GraphTensor

    Raises
    ------
    ParameterError, DataError

    Examples
    --------
    >>> from gpukit import synth_graph
    >>> synth_graph("random", vertices=30, shape=(4, 3), rank=1).tensor.shape
    (30, 4, 3)
    """
    check_choice("dtype", dtype, ("float32", "float64"))
    shape, rank = check_slice(shape, "shape"), check_integer("rank", rank, 1)
    if rank > min(shape):
        raise ParameterError(f"rank must be at most the smaller side of a slice, {min(shape)}; got {rank}.")
    missing = check_real("missing", missing, 0.0, 1.0)
    noise, seed = check_real("noise", noise, 0.0, 1e6), check_integer("seed", seed, 0)
    adjacency = _graph(like, vertices, seed) if adjacency is None else _check_graph(adjacency, vertices)
    truth = _truth(adjacency, shape, rank, seed, dtype)
    mask = _mask(truth.shape if entries else truth.shape[:1], missing, _stream(seed, MISSING))
    tensor = _add_noise(truth, noise, _stream(seed, NOISE))
    tensor[~mask] = 0
    return GraphTensor(adjacency, tensor, mask, None, truth)


def _stream(seed, stream):
    return np.random.default_rng([seed, stream])


def _graph(like, vertices, seed):
    """Return the adjacency of a generated graph."""
    check_choice("like", like, LIKES)
    count = USUAL[like] if vertices is None else check_integer("vertices", vertices, 2, LARGEST_DENSE)
    edges = {"random": random_edges, "ego-facebook": ego_edges}[like](count, _stream(seed, GRAPH))
    return as_adjacency((edges, None), vertices=count)


def _check_graph(graph, vertices):
    """Return the adjacency of the caller's graph."""
    adjacency = as_adjacency(graph)
    if vertices not in (None, adjacency.shape[0]):
        raise ParameterError(f"vertices={vertices!r} is for generated graphs; the given one has {adjacency.shape[0]}.")
    return adjacency


def _truth(adjacency, shape, rank, seed, dtype):
    """Return the inverse transform of low-rank spectral slices, (N, m, n)."""
    together = 256  # slices multiplied in float64 per batch
    vectors = fourier_basis(adjacency).vectors.astype(dtype)
    count, rng = len(vectors), _stream(seed, SPECTRUM)
    spectral = np.empty((count, *shape), dtype=dtype)
    for start in range(0, count, together):
        block = spectral[start : start + together]
        left = rng.standard_normal((len(block), shape[0], rank))
        block[...] = left @ rng.standard_normal((len(block), rank, shape[1]))
    return (vectors @ spectral.reshape(count, -1)).reshape(count, *shape)


def _mask(shape, missing, rng):
    """Return a mask (N,) or (N, m, n), True = observed.

    At least one entry is observed.
    """
    mask = np.ones(shape, dtype=bool)
    if len(shape) == 1:
        count = min(round(missing * shape[0]), shape[0] - 1)
        mask[rng.permutation(shape[0])[:count]] = False
        return mask
    for vertex in mask:
        vertex[...] = rng.random(shape[1:]) >= missing
    mask.flat[0] |= not mask.any()
    return mask


def _add_noise(truth, noise, rng):
    """Return a copy of truth with Gaussian noise."""
    tensor = truth.copy()
    if noise:
        scale = noise * np.sqrt(np.mean(truth**2, dtype=np.float64))
        for vertex in tensor:
            vertex += (scale * rng.standard_normal(vertex.shape)).astype(vertex.dtype)
    return tensor


def random_edges(count, rng):
    """Return the edges (E, 2) int64, i < j, of a random graph.

    It has count vertices and a mean degree of 20, at most half of all pairs.
    """
    pairs = count * (count - 1) // 2
    wanted = max(1, min(10 * count, pairs // 2))
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < wanted:
        candidates = np.concatenate((chosen, rng.integers(0, pairs, size=2 * wanted)))
        first = np.sort(np.unique(candidates, return_index=True)[1])
        chosen = candidates[first[:wanted]]
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
    parts = [_community_sizes(VERTICES)] * whole + ([_community_sizes(rest)] if rest else [])
    sizes, edges = (np.concatenate(column) for column in zip(*parts))
    return sizes, edges


def _community_sizes(count):
    """Return (sizes (C,), inner edges (C,)) of ten communities of count vertices."""
    edges, shares = 88_234, EGOS.T.astype(np.float64)
    bounds = np.rint(np.cumsum(shares[:, 0]) * count / shares[:, 0].sum()).astype(np.int64)
    sizes = np.diff(bounds, prepend=0)
    used = sizes > 0
    sizes, weights = sizes[used], shares[used, 1]
    forced = (sizes - 1).sum() + len(sizes) - 1
    wanted = max(0, round(edges * count / VERTICES) - int(forced))
    bounds = np.rint(np.cumsum(weights) * wanted / weights.sum()).astype(np.int64)
    room = (0.5 * (sizes - 1) * (sizes - 2) / 2).astype(np.int64)
    return sizes, np.minimum(np.diff(bounds, prepend=0), room)


def _community(count, wanted, rng):
    """Return (wanted, 2) edges among count friends.

    Degrees are heavy-tailed, and circles are densely connected. Edges are drawn without replacement, with odds that
    depend on both ends and their circle (Gumbel's trick).
    """
    circle = 60  # vertices in a circle of an ego's friends
    popular = 1.3 * rng.standard_normal(count)
    i, j = np.triu_indices(count, 1)
    score = popular[i] + popular[j] + 3.0 * (i // circle == j // circle) + rng.gumbel(size=len(i))
    best = np.sort(np.argsort(-score, kind="stable")[:wanted])
    return np.column_stack((i[best], j[best]))
