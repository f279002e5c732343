"""Labels: of the vertices of a graph, of the rows and columns of frames; values put in the order of the vertices."""

import sys

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.column_types import is_object
from gpukit.graphs.tensor import Graph
from gpukit.io.arrays import as_frame, is_frame
from gpukit.io.times import as_seconds

NAMED = 3  # labels that an error names


def of_graph(graph):
    """(N,) ids, int64 or str, of the vertices of a networkx graph, a square DataFrame or a Graph; None for none.

    Vertices that are neither whole numbers nor text (tuples, ...) have no ids, and neither have the rows of a frame
    that are only counted.
    """
    if isinstance(graph, Graph):
        return graph.vertices
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph):
        return _ids(list(graph.nodes))
    if is_frame(graph) and graph.shape[0] == graph.shape[1] and not counted(graph.columns):
        return _ids(list(graph.index))
    return None


def square(frame):
    """The adjacency (N, N) in a square DataFrame, columns in the order of the rows; DataError where labels differ."""
    if counted(frame.index) or counted(frame.columns) or len(frame.index) != len(frame.columns):
        return frame.to_numpy()
    rows, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    if len(set(rows)) < len(rows):
        raise DataError("the adjacency names a vertex twice among its rows; labels must differ.")
    check_same(columns, rows, "the adjacency's columns", "row")
    places = {name: place for place, name in enumerate(columns)}
    return frame.to_numpy()[:, [places[name] for name in rows]]


def aligned(values, vertices, what):
    """(values, times or None): a DataFrame as an array with a row a vertex; other things as they are.

    vertices: (N,) ids of the graph, or None; what: names the frame in errors. A frame whose index, or else whose
    columns, are the vertices' labels is put in their order; one without labels, or beside a graph without, is taken as
    it stands, a vertex a row. times: the labels of the other side where they are dates, int64 seconds. DataError naming
    labels that do not match.
    """
    values = as_frame(values)
    if hasattr(values, "to_frame") and hasattr(values, "index"):  # a Series: a value a vertex
        array, _ = aligned(values.to_frame(), vertices, what)
        return array[:, 0], None
    if not is_frame(values):
        return values, None
    for frame, turned in ((values, False), (values.T, True)):
        order = _order(frame.index, vertices)
        if order is not None:
            return numbers(values, what, turned)[order], _times(frame.columns)
    if vertices is not None and not (counted(values.index) and len(values) == len(vertices)):
        check_same(list(map(str, values.index)), list(map(str, vertices)), f"the {what}'s rows", "vertex")
    return numbers(values, what, False), _times(values.columns)


def _order(index, vertices):
    """The places in a frame's index of the vertices, None where its labels are not theirs."""
    if vertices is None or len(index) != len(vertices):
        return None
    places = {str(label): place for place, label in enumerate(index)}
    found = [places.get(str(vertex), -1) for vertex in vertices.tolist()]
    return None if -1 in found or len(places) < len(index) else found


def check_same(found, expected, what, one):
    """DataError naming the labels that only one side has."""
    mine, theirs = set(found), set(expected)
    strange = [name for name in found if name not in theirs]
    lacking = [name for name in expected if name not in mine]
    if not strange and not lacking:
        if len(set(found)) < len(found):
            raise DataError(f"{what} have a label twice; labels must differ.")
        return
    parts = []
    if strange:
        parts.append(f"{_listed(strange)} {'is' if len(strange) == 1 else 'are'} no {one} of the graph")
    if lacking:
        parts.append(f"{_listed(lacking)} {'is' if len(lacking) == 1 else 'are'} not among them")
    raise DataError(
        f"the labels of {what} are not those of the graph: {'; '.join(parts)}. Rename them, leave out what the graph "
        "has not, or hand over plain arrays."
    )


def _listed(names):
    more = f" and {len(names) - NAMED:,} others" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more


def counted(index):
    """True for the labels 0, 1, 2, ... that pandas gives where nobody gave any."""
    return index.dtype.kind in "iu" and type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _ids(names):
    whole = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)
    if not whole and not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=np.int64) if whole else np.array(names)


def numbers(frame, what, turned):
    """The numbers of a frame, NaN where one is missing, its columns as rows when turned."""
    single = all(str(kind).lower() == "float32" for kind in frame.dtypes)
    if all(str(kind) == "bool" for kind in frame.dtypes):
        array = frame.to_numpy()
    else:
        if any(map(is_object, frame.dtypes)):
            frame = frame.where(frame.notna(), np.nan)  # pandas' NA is no number to numpy
        try:
            array = frame.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise DataError(f"the {what} holds what is no number ({error}).") from error
    return array.T if turned else array


def _times(index):
    """int64 seconds of an index of dates, None for any other."""
    return as_seconds(index.to_numpy(dtype="datetime64[ns]")) if index.dtype.kind == "M" else None
