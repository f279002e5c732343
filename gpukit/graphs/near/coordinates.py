"""Build a nearest-neighbour graph from coordinates."""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import as_array
from gpukit.errors import DataError
from gpukit.graphs.columns import is_called
from gpukit.graphs.near.distances import gaussian, how_many, joined, near_one
from gpukit.graphs.tensor import Graph
from gpukit.io.arrays import as_frame, is_frame, plain
from gpukit.io.sheet import open_table
from gpukit.io.words import as_ids, first_repeated, is_number, shown

RADIUS = 6371.0088  # km, mean radius of the earth
LARGEST = 1e150  # coordinate whose squared differences fit float64
FIRST = {"lat", "latitude", "y", "northing", "ycoord", "ycoordinate"}
SECOND = {"lon", "lng", "long", "longitude", "x", "easting", "xcoord", "xcoordinate"}
DEGREES = {"lat", "latitude", "lon", "lng", "long", "longitude"}


class Coordinates(NamedTuple):
    """Coordinates of vertices.

    places (N, 2) float64: latitude and longitude in degrees, or y and x; ids (N,) or None; degrees: True for the
    former; source: their file.
    """

    places: np.ndarray
    ids: np.ndarray | None
    degrees: bool
    source: str = ""


def graph_from_coordinates(coordinates, neighbors=None, degrees=None):
    """Return the Graph that joins each vertex to its nearest neighbours.

    coordinates: a DataFrame with columns latitude and longitude (great-circle distances), or x and y, whose index holds
    the labels of the vertices, unless it is the default index and there is one other column; or an array (N, 2) of x
    and y, or, with degrees=True, of latitude and longitude. neighbors: number of nearest neighbours of each vertex
    (None: 8); others may add more. Weights: exp(-(d / s)^2), s the median of the neighbours' distances d, at least
    0.001. Raises DataError for missing or out-of-range coordinates; ParameterError.
    """
    if isinstance(coordinates, Coordinates):
        return nearest(coordinates, neighbors)
    coordinates = as_frame(coordinates)
    if is_frame(coordinates):
        return nearest(of_frame(coordinates), neighbors)
    array = as_array(coordinates, "the coordinates")
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "biuf":
        raise DataError(f"coordinates are (N, 2) numbers; got {array.dtype}, shape {array.shape}.")
    array = array.astype(np.float64)
    return nearest(Coordinates(array if degrees else array[:, ::-1], None, bool(degrees)), neighbors)


def of_frame(frame):
    """Return the Coordinates of a DataFrame."""
    label, first, second = columns_of(frame.columns, "the coordinates")
    counted = type(frame.index).__name__ == "RangeIndex"
    if counted and frame.shape[1] > 3:
        raise DataError(
            f"the coordinates have the columns {', '.join(map(str, frame.columns))}: which labels the vertices is not "
            "clear. Make it the index: .set_index(...)."
        )
    labels = frame.index if not counted else None if label is None else frame.iloc[:, label]
    places = frame.iloc[:, [first, second]].to_numpy(np.float64, na_value=np.nan)
    ids = None if labels is None else as_ids(list(map(str, labels)))
    return Coordinates(places, ids, plain(frame.columns[first]) in DEGREES)


def columns_of(names, what):
    """Return the positions of the label column (or None) and of both coordinates.

    Raises DataError if the coordinates are not among the names.
    """
    names = list(map(plain, names))
    found = [[at for at, name in enumerate(names) if name in those] for those in (FIRST, SECOND)]
    if not all(found):
        raise DataError(
            f"{what}: the columns are {', '.join(names)}; latitude and longitude, or x and y, are to be among them. "
            "Name them so."
        )
    rest = [at for at in range(len(names)) if at not in (found[0][0], found[1][0])]
    rest.sort(key=lambda at: (not is_called(names[at], "sensor"), names[at] in ("", "index", "id", "name")))
    return (*rest, None)[0], found[0][0], found[1][0]


def nearest(found, neighbors=None):
    """Return the Graph of Coordinates."""
    from scipy.spatial import cKDTree

    check(found)
    count = len(found.places)
    k = how_many(neighbors, count)
    points = on_sphere(found.places) if found.degrees else near_one(found.places)
    distances, others = cKDTree(points).query(points, min(count, k + 1))
    distances, others = distances.reshape(count, -1), others.reshape(count, -1)
    rows = np.repeat(np.arange(count), others.shape[1]).reshape(others.shape)
    kept = first_of(others != rows, k)
    rows, columns, distances = rows[kept], others[kept], distances[kept]
    if found.degrees:
        distances = 2 * RADIUS * np.arcsin(np.minimum(distances / (2 * RADIUS), 1.0))
    scale = float(np.median(distances)) if len(distances) else 0.0
    return Graph(joined(rows, columns, gaussian(distances, scale), count), found.ids)


def first_of(those, k):
    """Return a mask of the first k True of each row."""
    return those & (np.cumsum(those, axis=1) <= k)


def on_sphere(places):
    """Return latitude and longitude in degrees as points (N, 3) in km."""
    north, east = np.radians(places).T
    return RADIUS * np.column_stack((np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)))


def check(found):
    """Raise DataError for invalid coordinates or repeated labels."""
    places, ids = found.places, found.ids
    if not len(places):
        raise DataError("the coordinates are empty: give a line for each vertex.")
    wrong = ~(np.abs(places) <= LARGEST).all(axis=1)
    if found.degrees:
        wrong |= (np.abs(places[:, 0]) > 90) | (np.abs(places[:, 1]) > 360)
    if wrong.any():
        at = int(np.argmax(wrong))
        kind = "latitude (-90 to 90) and longitude (-180 to 180)" if found.degrees else "coordinates, y and x,"
        raise DataError(
            f"the {kind} of {called(ids, at)} are {', '.join(f'{one:g}' for one in places[at])}. Correct the line."
        )
    twice = None if ids is None else first_repeated(list(map(str, ids)))
    if twice is not None:
        raise DataError(f"the coordinates have the label {twice!r} twice; labels must differ.")


def called(ids, at):
    """Return a vertex's name for messages."""
    return f"vertex {at}" if ids is None else f"{ids[at]}"


def read_coordinates(path):
    """Return the Coordinates in a text or Parquet file.

    Columns: a label, latitude and longitude, or x and y, by name. Without a header: a label and two numbers, or two
    numbers; they are degrees if all are in [-90, 90] and [-180, 180]. Without labels, lines are in the order of the
    vertices.
    """
    table = open_table(path)
    header = table.named or not any(map(is_number, table.first[-2:]))
    frame = table.frame(header, spelled=0 if table.named else len(table.first))
    if header:
        label, first, second = columns_of(table.first, table.path)
    elif len(table.first) in (2, 3):
        label, first, second = (None, 0, 1) if len(table.first) == 2 else (0, 1, 2)
    else:
        raise DataError(f"{table.path}: coordinates are a label, latitude and longitude, or x and y.")
    places = table.numbers(frame[[first, second]])
    degrees = plain(table.first[first]) in DEGREES if header else bool((np.abs(places) <= (90, 180)).all())
    places = places if header or degrees else places[:, ::-1]
    names = [] if label is None else table.words(frame[label])
    if "" in names:
        raise DataError(f"{table.path}, {table.place(names.index(''))} has no label. Correct or remove it.")
    return Coordinates(places, as_ids(names, f"{table.path}: vertex") if names else None, degrees, table.path)


def chosen(found, ids):
    """Return the Coordinates of the vertices ids, in their order.

    Other labels are left out. Raises DataError for a vertex without coordinates.
    """
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
