"""Graphs with a matrix on each vertex: input of graph-tensor imputation.

    read_graph(path)     read_graph(edges=, tensor=)     synth_graph(...)     each -> GraphTensor

| file                     | contents                                                                  |
|--------------------------|---------------------------------------------------------------------------|
| adjacency.py             | any graph to a validated sparse adjacency; Laplacians                     |
| basis.py                 | the graph Fourier basis, cached on disk; a partial one of a large graph   |
| tensor.py                | `GraphTensor` (graph, tensor, mask)                                       |
| column_types.py          | dtypes of the input: whole numbers, booleans, floats, bounds              |
| adopt.py                 | `as_graph_tensor`: arrays, validated                                      |
| read.py                  | `read_graph`, `write_graph`: .npz, or a graph and a tensor in two files   |
| table.py                 | edge lists, adjacencies and tables of values in text and Parquet          |
| columns.py               | column roles by name                                                      |
| time_parsing.py          | times of tables, in any spelling                                          |
| completed.py             | write the input table with imputed values                                 |
| graph_builders.py        | graphs from coordinates, distances, or correlations of series             |
| synth.py                 | synthetic tensors as in the paper; synthetic graphs                       |
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.graphs.adopt import as_graph_tensor as as_graph_tensor
    from gpukit.graphs.graph_builders import graph_from_coordinates as graph_from_coordinates
    from gpukit.graphs.graph_builders import graph_from_distances as graph_from_distances
    from gpukit.graphs.graph_builders import graph_from_series as graph_from_series
    from gpukit.graphs.read import read_graph as read_graph
    from gpukit.graphs.read import write_graph as write_graph
    from gpukit.graphs.synth import synth_graph as synth_graph
    from gpukit.graphs.tensor import Graph as Graph
    from gpukit.graphs.tensor import GraphTensor as GraphTensor

_HOMES = {
    "Graph": "tensor",
    "GraphTensor": "tensor",
    "as_graph_tensor": "adopt",
    "graph_from_coordinates": "graph_builders",
    "graph_from_distances": "graph_builders",
    "graph_from_series": "graph_builders",
    "read_graph": "read",
    "write_graph": "read",
    "synth_graph": "synth",
}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
