"""Data in: ratings, documents of queries and matrices on graphs, from files to arrays and the maps back to ids.

    read_ratings(path)     as_ratings(matrix or DataFrame)     synth_ratings("netflix", 0.01)     each -> Ratings
    read_letor(path)       find_folds(folder)                  each file of documents -> Documents
    read_graph(path)       read_graph(edges=, tensor=)         synth_graph(...)                   each -> GraphTensor

| file                                  | what it does                                                                |
|---------------------------------------|-----------------------------------------------------------------------------|
| ratings.py                            | `Ratings` (triples, id maps; split, csr, csc, take, scale), `as_ratings`    |
| readers.py                            | `read_ratings`, `read_pairs`: the way from a path to Ratings                |
| sources.py -> formats.py              | paths, folders, archives to blocks of lines; which format it is (`columns`) |
| text.py, fields.py -> sheet.py        | a block to arrays, on all cores; errors with their line; ids to codes       |
| ids.py, order.py                      | ids to rows by hashing; grouping by row, repeated pairs                     |
| binary.py, titles.py                  | .gkr, .npz and .csv copies; titles of items                                 |
| container.py                          | named arrays in a file that loads at disk speed                             |
| synth.py, planted.py                  | generated ratings of the papers' shapes; what is planted in them            |
| documents.py, letor_folds.py          | `Documents` (features, relevance, queries); LETOR's folds                   |
| letor.py, letor_sheet.py, letor_text.py | `read_letor`: svmlight with query ids, parsed on all cores                |
| letor_copy.py, letor_write.py         | `write_letor`: .gkl copies and svmlight text                                |
| letor_synth.py, letor_planted.py      | generated documents of LETOR's shapes; what is planted in them              |
| graph_tensor.py, graph_inputs.py      | `GraphTensor` (graph, tensor, mask); `as_graph_tensor`, the checks          |
| graph_files.py                        | `read_graph`, `write_graph`: .npz, or a graph and a tensor in two files     |
| graph_text.py, graph_table.py         | lists of edges, adjacencies and tables of values as text                    |
| graph_synth.py, graph_planted.py      | generated tensors of the paper's kind; generated graphs                     |

Reading is exact: ratings equal float32(float(text)), ids are kept as written, threads do not change the result.
Text ids are told apart by a 64-bit hash (for a million ids, a chance of 3e-8 that two of them fall together).
"""

import importlib

_HOMES = {
    "Ratings": "ratings", "as_ratings": "ratings", "read_ratings": "readers", "read_pairs": "readers",
    "write_ratings": "binary", "read_titles": "titles", "synth_ratings": "synth",
    "Documents": "documents", "find_folds": "letor_folds", "take_queries": "documents", "read_letor": "letor",
    "write_folds": "letor_folds", "write_letor": "letor_copy", "synth_letor": "letor_synth",
    "GraphTensor": "graph_tensor", "as_graph_tensor": "graph_inputs", "read_graph": "graph_files",
    "write_graph": "graph_files", "synth_graph": "graph_synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
