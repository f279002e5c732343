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
from gpukit.graphs.basis import LARGEST_DENSE, fourier_basis
from gpukit.graphs.convert import check_slice
from gpukit.graphs.planted import VERTICES, ego_edges, random_edges
from gpukit.graphs.tensor import GraphTensor
from gpukit.streams import NumpySynth

if TYPE_CHECKING:
    from gpukit.typing import GraphLike

LIKES = ("random", "ego-facebook")
USUAL = {"random": 400, "ego-facebook": VERTICES}  # vertices
GRAPH, SPECTRUM, NOISE, MISSING = NumpySynth.GRAPHS_SYNTH
TOGETHER = 256  # slices multiplied in float64 per batch


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
    """Generate a GraphTensor with its truth, of low spectral rank.

    like: 'random' (mean degree 20; 400 vertices) or 'ego-facebook' (its degrees and communities; 4,039 vertices);
    vertices: another number of them. adjacency: a graph in any form that as_adjacency takes, instead of a generated
    one. shape: (m, n) of a slice. rank: of each slice in the graph spectral domain. missing: the fraction of slices,
    exact (rounded; one stays), or with entries=True the probability of each entry. noise: standard deviation of the
    noise added to the observed values, relative to the truth's root mean square; the truth has no noise. dtype:
    'float32' or 'float64'. The same seed gives the same data, bitwise on one machine, elsewhere if the stored basis is
    the same. Raises ParameterError, DataError.
    """
    check_choice("dtype", dtype, ("float32", "float64"))
    shape, rank = check_slice(shape, "shape"), check_integer("rank", rank, 1)
    if rank > min(shape):
        raise ParameterError(f"rank must be at most the smaller side of a slice, {min(shape)}; got {rank}.")
    missing = check_real("missing", missing, 0.0, 1.0)
    noise, seed = check_real("noise", noise, 0.0, 1e6), check_integer("seed", seed, 0)
    adjacency = _graph(like, vertices, seed) if adjacency is None else _given(adjacency, vertices)
    truth = _truth(adjacency, shape, rank, seed, dtype)
    mask = _mask(truth.shape if entries else truth.shape[:1], missing, _stream(seed, MISSING))
    tensor = _noisy(truth, noise, _stream(seed, NOISE))
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


def _given(graph, vertices):
    """Return the adjacency of the caller's graph."""
    adjacency = as_adjacency(graph)
    if vertices not in (None, adjacency.shape[0]):
        raise ParameterError(f"vertices={vertices!r} is for generated graphs; the given one has {adjacency.shape[0]}.")
    return adjacency


def _truth(adjacency, shape, rank, seed, dtype):
    """Return the inverse transform of low-rank spectral slices, (N, m, n)."""
    vectors = fourier_basis(adjacency).vectors.astype(dtype)
    count, rng = len(vectors), _stream(seed, SPECTRUM)
    spectral = np.empty((count, *shape), dtype=dtype)
    for start in range(0, count, TOGETHER):
        some = spectral[start : start + TOGETHER]
        left = rng.standard_normal((len(some), shape[0], rank))
        some[...] = left @ rng.standard_normal((len(some), rank, shape[1]))
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


def _noisy(truth, noise, rng):
    """Return a copy of truth with Gaussian noise."""
    tensor = truth.copy()
    if noise:
        scale = noise * np.sqrt(np.mean(truth**2, dtype=np.float64))
        for vertex in tensor:
            vertex += (scale * rng.standard_normal(vertex.shape)).astype(vertex.dtype)
    return tensor
