"""Labels of vertices, and numbers of data frames."""

import sys

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.column_types import is_object
from gpukit.graphs.tensor import Graph
from gpukit.io.arrays import is_frame


def vertices_of_graph(graph):
    """Return vertex ids (N,), int64 or str, of a graph, or None.

    graph: a networkx graph, a square DataFrame or a Graph. Vertices that are neither whole numbers nor text (tuples,
    ...) have no ids, nor have rows of a frame with a default index.
    """
    if isinstance(graph, Graph):
        return graph.vertices
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph):
        return _ids(list(graph.nodes))
    if is_frame(graph) and graph.shape[0] == graph.shape[1] and not is_default_index(graph.columns):
        return _ids(list(graph.index))
    return None


def square(frame):
    """Return the adjacency (N, N) of a square DataFrame.

    Columns are put in the order of the rows. Raises DataError if labels differ.
    """
    if is_default_index(frame.index) or is_default_index(frame.columns) or len(frame.index) != len(frame.columns):
        return frame.to_numpy()
    rows, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    if len(set(rows)) < len(rows):
        raise DataError("the adjacency names a vertex twice among its rows; labels must differ.")
    check_same(columns, rows, "the adjacency's columns", "row")
    places = {name: place for place, name in enumerate(columns)}
    return frame.to_numpy()[:, [places[name] for name in rows]]


def check_same(ids, expected, what, label):
    """Raise DataError with the labels that only one side has."""
    mine, theirs = set(ids), set(expected)
    strange = [name for name in ids if name not in theirs]
    lacking = [name for name in expected if name not in mine]
    if not strange and not lacking:
        if len(set(ids)) < len(ids):
            raise DataError(f"{what} have the label {first_repeated(ids)!r} twice; labels must differ.")
        return
    parts = []
    if strange:
        parts.append(f"{list_names(strange)} {'is' if len(strange) == 1 else 'are'} no {label} of the graph")
    if lacking:
        parts.append(f"{list_names(lacking)} {'is' if len(lacking) == 1 else 'are'} not among them")
    raise DataError(
        f"the labels of {what} are not those of the graph: {'; '.join(parts)}. Rename them, leave out what the graph "
        "has not, or hand over plain arrays."
    )


def first_repeated(names):
    """Return the first name that occurs twice."""
    seen = set()
    return next(name for name in names if name in seen or seen.add(name))


def list_names(names, form=repr):
    """Return the first three names of a list and the number of the others, for a message."""
    more = f" and {len(names) - 3:,} others" if names[3:] else ""
    return ", ".join(map(form, names[:3])) + more


def is_default_index(index):
    """Return True for pandas' default labels 0, 1, 2, ..."""
    return index.dtype.kind in "iu" and type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _ids(names):
    whole = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)
    if not whole and not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=np.int64) if whole else np.array(names)


def numbers(frame, what, turned):
    """Return the numbers of a frame, NaN where missing; turned: transposed."""
    single = all(str(kind).lower() == "float32" for kind in frame.dtypes)
    if all(str(kind) == "bool" for kind in frame.dtypes):
        array = frame.to_numpy()
    else:
        if any(map(is_object, frame.dtypes)):
            frame = frame.where(frame.notna(), np.nan)  # numpy cannot convert pandas' NA
        try:
            array = frame.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise DataError(f"the {what} holds what is no number ({error}).") from error
    return array.T if turned else array
