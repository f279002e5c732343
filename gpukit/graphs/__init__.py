"""Graphs, and a matrix on each of their vertices: what graph-tensor imputation reads and stands on.

    read_graph(path)     read_graph(edges=, tensor=)     synth_graph(...)     each -> GraphTensor

| file                     | what it does                                                              |
|--------------------------|---------------------------------------------------------------------------|
| adjacency.py             | any graph to a checked sparse adjacency; Laplacians                       |
| basis.py, lanczos.py     | the graph Fourier basis, kept on disk; a partial one of a large graph     |
| tensor.py, check.py      | `GraphTensor` (graph, tensor, mask); is it sound?                         |
| column_types.py          | dtypes of what was handed in: whole numbers, booleans, floats, bounds     |
| convert.py               | `as_graph_tensor`: arrays and frames, checked                             |
| labels.py                | frames put in the order of the vertices, by their labels                  |
| read.py                  | `read_graph`, `write_graph`: .npz, or a graph and a tensor in two files   |
| text.py, table.py        | lists of edges, adjacencies and tables of values in them                  |
| columns.py, moments.py   | what columns are, by name; times as tables spell them                     |
| completed.py             | the table that was read, filled in                                        |
| near/                    | graphs by coordinates, distances, or how alike series are                 |
| synth.py, planted.py     | generated tensors of the paper's kind; generated graphs                   |
"""

import importlib

_HOMES = {
    "Graph": "tensor",
    "GraphTensor": "tensor",
    "as_graph_tensor": "convert",
    "graph_from_coordinates": "near.coordinates",
    "graph_from_distances": "near.distances",
    "graph_from_series": "near.series",
    "read_graph": "read",
    "write_graph": "read",
    "synth_graph": "synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
