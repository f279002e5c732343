"""Coordinates and distances in files."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.columns import is_called
from gpukit.graphs.convert import numbers, observed, sliced
from gpukit.graphs.near.coordinates import DEGREES, Coordinates, columns_of, graph_from_coordinates
from gpukit.graphs.near.distances import graph_from_distances
from gpukit.graphs.near.series import graph_from_series
from gpukit.graphs.text import pairs_of, square_of
from gpukit.io.arrays import plain
from gpukit.io.sheet import open_table
from gpukit.io.words import as_ids, is_number, shown

NAMED = 3  # labels in a message


class Near(NamedTuple):
    """What a graph is made of: Coordinates or the frame of distances of a file, or neither; neighbors of each vertex,
    or None; source: the file's name."""

    coordinates: Coordinates | None = None
    distances: object = None
    neighbors: int | None = None
    source: str = ""

    def ids(self):
        """The labels in the file of coordinates or distances, or None."""
        if self.coordinates is not None:
            return self.coordinates.ids
        return None if self.distances is None else graph_from_distances(self.distances).vertices

    def graph_of(self, values, ids, mask=None):
        """The Graph of the vertices of values (N, ...), NaN or masked where missing, with ids (N,) or None."""
        known = np.arange(len(values)) if ids is None else ids
        if self.coordinates is not None:
            return graph_from_coordinates(chosen(self.coordinates, known), self.neighbors)._replace(vertices=ids)
        if self.distances is not None:
            return graph_from_distances(self.distances, self.neighbors, known)._replace(vertices=ids)
        given = numbers(values, "the tensor")
        whole = sliced(given)
        return graph_from_series(np.where(observed(whole, mask, given.shape), whole, np.nan), self.neighbors, ids)

    def warn_of_absent(self, ids, names, path):
        """Warn of labels in the file that the table of values has not; the graph is made without them."""
        there = set(map(str, names))
        absent = [name for name in map(str, ids) if name not in there]
        if absent:
            more = f" and {len(absent) - NAMED:,} others" if len(absent) > NAMED else ""
            warnings.warn(
                f"{self.source} names {', '.join(map(shown, absent[:NAMED]))}{more}, which {path} does not have: left "
                "out. An empty column (or row) of that name is filled in.",
                stacklevel=2,
            )


def near_of(coordinates, distances, neighbors):
    """Return the Near of coordinates (a file, or Coordinates), of a file of distances, or of neither. The file is read
    once, because it may be a pipe."""
    if coordinates is not None:
        found = coordinates if isinstance(coordinates, Coordinates) else read_coordinates(coordinates)
        return Near(found, None, neighbors, found.source)
    if distances is not None:
        return Near(None, read_distances(distances), neighbors, str(distances))
    return Near(neighbors=neighbors)


def read_coordinates(path):
    """The Coordinates in a file.

    Text or Parquet: a label, latitude and longitude, or x and y by their names; without a header a label and two
    numbers, or two numbers, degrees where all are between -90 and 90, and -180 and 180. Without labels
    the lines are in the order of the vertices.
    """
    table = open_table(path)
    header = table.named or not any(map(is_number, table.first[-2:]))
    frame = table.frame(header, spelled=0 if table.named else len(table.first))
    label, first, second, degrees = columns_in(table, header)
    places = table.numbers(frame[[first, second]])
    if degrees is None:
        degrees = bool((np.abs(places) <= (90, 180)).all())
        places = places if degrees else places[:, ::-1]
    names = None if label is None else as_ids(labels_of(frame[label], table), f"{table.path}: vertex")
    return Coordinates(places, names, degrees, table.path)


def labels_of(column, table):
    """[str] labels of a column; DataError for a line without one."""
    names = table.words(column)
    if "" in names:
        raise DataError(f"{table.path}, {table.place(names.index(''))} has no label. Correct or remove it.")
    return names


def columns_in(table, header):
    """(label or None, first, second, degrees) places of columns; degrees None where no names tell."""
    if not header:
        if len(table.first) not in (2, 3):
            raise DataError(f"{table.path}: coordinates are a label, latitude and longitude, or x and y.")
        return (0, 1, 2, None) if len(table.first) == 3 else (None, 0, 1, None)
    names = [plain(name) for name in table.first]
    first, second = columns_of(names, table.path)
    rest = [at for at in range(len(names)) if at not in (first, second)]
    named = sorted(rest, key=lambda at: (not is_called(names[at], "sensor"), names[at] in ("", "index", "id", "name")))
    return (named[0] if named else None), first, second, names[first] in DEGREES


def chosen(found, ids):
    """Coordinates of the vertices ids, in their order; other labels are left out. DataError where a vertex has none."""
    path = found.source
    if found.ids is None:
        if len(ids) != len(found.places):
            raise DataError(
                f"{path} has {len(found.places):,} lines without labels, and there are {len(ids):,} vertices. Give "
                "each line the label of its vertex."
            )
        return found
    places = {}
    for row, name in enumerate(map(str, found.ids)):
        if places.setdefault(name, row) != row:
            raise DataError(f"{path} has the label {shown(name)} twice; labels must differ.")
    lacking = [one for one in map(str, ids) if one not in places]
    if lacking:
        more = f", nor of {len(lacking) - 1:,} others" if len(lacking) > 1 else ""
        raise DataError(
            f"{path} has no coordinates of {shown(lacking[0])}{more}. Labels are matched as they are spelled; give "
            "every vertex a line."
        )
    return found._replace(places=found.places[[places[one] for one in map(str, ids)]], ids=ids)


def read_distances(path):
    """Distances as graph_from_distances takes them: a frame of (vertex, vertex, distance), or a square one."""
    import pandas

    table = open_table(path)
    if len(table.first) == 3:
        ends, lengths, ids = pairs_of(table, "pair", "distance")
        return pandas.DataFrame({0: ids[ends[:, 0]], 1: ids[ends[:, 1]], 2: lengths})
    array, ids = square_of(table)
    names = list(map(str, range(len(array)) if ids is None else ids))
    return pandas.DataFrame(array, index=names, columns=names)
