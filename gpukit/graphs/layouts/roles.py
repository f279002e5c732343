"""Which columns of a table are the time, the sensor and the value, where every line is one reading."""

import re
from typing import NamedTuple

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.layouts import clocks
from gpukit.io.arrays import plain
from gpukit.io.sheet import MISSING
from gpukit.io.words import is_number

ROLES = ("time", "sensor", "value")
IGNORED = "-"
WEAK = ("id", "name", "variable")  # names of a sensor's column that other columns have too
NAMES = {
    "time": {
        "time",
        "timestamp",
        "datetime",
        "date",
        "when",
        "ts",
        "moment",
        "datehour",
        "utc",
        "timeutc",
        "utctime",
        "dateutc",
        "utcdate",
        "localtime",
        "valid",
        "messdatum",
        "yyyymmdd",
        "zeit",
        "datum",
        "hour",
        "year",
    },
    "sensor": {
        *("sensor", "station", "node", "vertex", "detector", "location", "site", "device", "unit", "meter", "series"),
        *("country", "state", "region", "province", "county", "city", "firm", "company", "ticker", "symbol", "subject"),
        *WEAK,
    },
    "value": {"value", "values", "reading", "measurement", "val", "y", "obs", "observation", "result"},
}  # of columns, without case and signs; a sensor's may end in id, no, number, code or name
MOST_COLUMNS = 64  # of a table that is looked at without being told that it is long
FEW = 1000  # lines that tell where columns have no names
REPEATED = 1.5  # lines a time, in the mean: more is a long table where columns have no names
CLOCK = re.compile(r"^\d{4}-\d\d-\d\d|\d:\d\d|^\d+[/.]\d+[/.]\d+")


class Roles(NamedTuple):
    """The places of the columns; of time those that say when together."""

    time: tuple
    sensor: int
    value: int


def asked(columns):
    """Roles of --columns: names in the order of the columns, '-' for others; time for each column that says when.
    ParameterError where one lacks or another comes twice."""
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    names = [str(name).strip().lower() for name in names]
    if set(names) - {*ROLES, IGNORED} or any(names.count(role) != 1 for role in ROLES[1:]) or "time" not in names:
        raise ParameterError(
            "columns must name time, sensor and value, the latter two once, in the order of the table, and - for "
            f"others, such as sensor,-,time,value; got {','.join(names)!r}."
        )
    times = tuple(at for at, name in enumerate(names) if name == "time")
    return Roles(times, *(names.index(role) for role in ROLES[1:]))


def has_names(names):
    """Whether a column is called times, and another a sensor."""
    return all(any(is_called(name, role) for name in names) for role in ("time", "sensor"))


def sensor_of(names):
    """The place of the column that is called a sensor's, one that is more than an id or a name first."""
    found = [at for at, name in enumerate(names) if is_called(name, "sensor")]
    return min(found, key=lambda at: plain(names[at]) in WEAK)


def is_one(names, frame):
    """Whether all lines are of one sensor, and several columns have its readings: then each is a series."""
    words = frame[sensor_of(names)]
    return len(frame) > 1 and bool((words == words.iloc[0]).all())


def by_name(names, path, numeric, frame):
    """Roles by the names of the columns, of which one is a time's and one a sensor's; None where none could be the
    values. numeric: the places of columns that may hold numbers; frame: the table's.

    DataError where several columns could be the values, none of which has the name.
    """
    parts = clocks.parts_of(names, frame)
    time = (next(at for at, name in enumerate(names) if is_called(name, "time")),) if parts is None else parts.places
    sensor, values = sensor_of(names), [at for at, name in enumerate(names) if is_called(name, "value")]
    rest = values or [at for at in range(len(names)) if at in numeric and at not in (*time, sensor)]
    if len(rest) == 1:
        return Roles(time, sensor, rest[0])
    if not rest:
        return None
    several = ", ".join(names[at] for at in rest[:4])
    raise DataError(
        f"{path} has a line a reading, and {several} could be the values. Say which column is: --columns "
        f"{','.join(said(at, Roles(time, sensor, rest[0])) for at in range(len(names)))} (columns=) for "
        f"{names[rest[0]]}."
    )


def said(at, roles):
    """What --columns calls the column at a place."""
    return "time" if at in roles.time else {roles.sensor: "sensor", roles.value: "value"}.get(at, IGNORED)


def is_called(name, role):
    """Whether a column's name is that of a role."""
    word = plain(name)
    if role == "sensor":
        word = re.sub(r"(?<=.)(id|no|number|code|name)$", "", word)
    return word in NAMES[role]


def by_looks(rows, known=None, header=False):
    """Roles of three columns whose names tell nothing, by the first rows (lists of words); None where they are no
    readings.

    Times look like dates or clocks, and are the same in several rows, which below a header they must be: words may
    otherwise say something of each time. Sensors are words, or the ids in `known`.
    """
    columns = [list(column) for column in zip(*rows)] if rows and all(len(row) == 3 for row in rows) else []
    times = [at for at, column in enumerate(columns) if all(CLOCK.search(word) for word in column)]
    if len(times) != 1:
        return None
    rest = [at for at in range(3) if at != times[0]]
    named = [at for at in rest if are_sensors(columns[at], known)]
    if len(named) != 1:
        return None
    value = next(at for at in rest if at != named[0])
    numbers = all(word.lower() in MISSING or is_number(word, finite=False) for word in columns[value])
    repeated = len(rows) >= REPEATED * len(set(columns[times[0]]))
    repeated |= not header and not are_numbers(columns[named[0]])
    return Roles((times[0],), named[0], value) if numbers and repeated else None


def are_sensors(words, known):
    """Whether the words of a column are sensors': ids that are known, or, where none are, words that repeat."""
    if known is not None:
        return set(words) <= known
    return not are_numbers(words) and all(words)


def are_numbers(words):
    """Whether any of the words is a number; an empty field is none."""
    return any(word and is_number(word, finite=False) for word in words)
