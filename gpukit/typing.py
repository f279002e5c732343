"""Types of arguments and results of the public functions.

Only type checkers and editors read this module: gpukit does not import it. Choices of one parameter are `Literal`s next
to the code that checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

from gpukit.device import Device
from gpukit.documents import Documents
from gpukit.graphs import Graph, GraphTensor
from gpukit.io.sources import Source
from gpukit.ratings import Ratings


class HasArray(Protocol):
    """Array or data frame on the host: of numpy, pandas, xarray, polars, torch, ..."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class GpuArray(Protocol):
    """Array on a GPU: of cupy, torch, numba, ..."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class DeviceArray(Protocol):
    """Array with DLPack, on the host or on a GPU."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class SparseMatrix(Protocol):
    """Sparse matrix or array of scipy or cupyx."""

    def tocoo(self, *args: Any, **kwargs: Any) -> Any: ...


class HasPandas(Protocol):
    """Data frame that converts itself to pandas."""

    def to_pandas(self, *args: Any, **kwargs: Any) -> Any: ...


class NetworkGraph(Protocol):
    """Graph of networkx."""

    def adjacency(self) -> Any: ...
    def is_directed(self) -> Any: ...


class DaskFrame(Protocol):
    """Data frame of Dask."""

    def to_delayed(self, *args: Any, **kwargs: Any) -> Any: ...


class DaskClient(Protocol):
    """Client of a Dask cluster."""

    def who_has(self, *args: Any, **kwargs: Any) -> Any: ...


Path: TypeAlias = str | PathLike[str]
Input: TypeAlias = Path | Source  # of the readers
DeviceLike: TypeAlias = Literal["auto", "cpu", "cuda"] | str | Device
Progress: TypeAlias = Callable[[str, int, int | None, dict[str, Any]], object]
Column: TypeAlias = HasArray | GpuArray | DeviceArray | HasPandas | Sequence[int] | Sequence[float] | list[Any]
Table: TypeAlias = HasArray | GpuArray | DeviceArray | HasPandas | SparseMatrix | list[Any] | tuple[Any, ...]
IdsLike: TypeAlias = Column | int | str
RatingsLike: TypeAlias = Ratings | Table
DocumentsLike: TypeAlias = Documents | Table
GraphLike: TypeAlias = Graph | GraphTensor | NetworkGraph | Table
Ids: TypeAlias = NDArray[Any]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
