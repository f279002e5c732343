"""GraphTensor: a graph with matrices on its vertices and a mask."""

from typing import Any, NamedTuple

import numpy as np


class GraphTensor(NamedTuple):
    """Graph of N vertices with an (m, n) matrix on each, partly missing.

    Parameters
    ----------
    adjacency : scipy.sparse csr (N, N) float64
        See gpukit.graphs.adjacency.as_adjacency.
    tensor : (N, m, n) float32 or float64
        C order, never NaN; 0 where missing.
    mask : (N,) or (N, m, n) bool
        For whole slices or for single entries; True = observed.
    vertices : (N,) or None
        Ids, numbers or text; None if the vertices have only their numbers.
    truth : (N, m, n) or None
        The complete tensor, in the tensor's dtype, if known.
    times : int64 or float64, or None
        Seconds since 1970-01-01 UTC, float64 if there are fractions: (n,) of the columns of the slices, or (m, n) of
        their entries if rows of m n values were reshaped to slices.
    types : column_types.ColumnTypes or None
        Of the input values; None: those of tensor.
    given : tuple or None
        Shape of the input tensor, (N,), (N, n) or (N, m, n); None: that of tensor.
    has_offset : bool or None
        Whether the times were given with an offset from UTC; None if this is unknown.

    Examples
    --------
    >>> from gpukit import synth_graph
    >>> data = synth_graph("random", vertices=40, shape=(6, 5), rank=1, missing=0.2, seed=0)
    >>> data.tensor.shape, data.mask.shape, round(data.missing_share, 3)
    ((40, 6, 5), (40,), 0.2)
    """

    adjacency: Any
    tensor: np.ndarray
    mask: np.ndarray
    vertices: np.ndarray | None = None
    truth: np.ndarray | None = None
    times: np.ndarray | None = None
    types: object = None
    given: tuple | None = None
    has_offset: bool | None = None

    @property
    def missing_share(self) -> float:
        """Fraction of missing entries, 0 to 1."""
        return float(1.0 - self.mask.mean())


class Graph(NamedTuple):
    """Graph with the labels of its vertices.

    adjacency  scipy.sparse csr (N, N) float64, symmetric
    vertices   (N,) ids, numbers or text; None if the vertices have only their numbers
    """

    adjacency: Any
    vertices: np.ndarray | None = None
