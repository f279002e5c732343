"""Identify time, sensor and value columns of a table.

The roles follow from names, or from --columns and --layout.
"""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import list_names
from gpukit.graphs.time_parsing import DATE, are_dates, are_years
from gpukit.io.arrays import normalize_name
from gpukit.io.sheet import MISSING
from gpukit.io.words import comma_error, is_number, quote

REPEATED = 1.5  # mean lines per time from which a line may be one reading; test
SIDES = ("rows", "columns")
WEAK = ("id", "name")  # names of sensor columns that other columns may have too
CALENDAR = (
    {"year", "yyyy", "jahr"},
    {"month", "mo", "mon", "mm", "monat"},
    {"day", "dd", "dayofmonth", "mday", "tag"},
    {"hour", "hr", "hh", "stunde"},
    {"minute", "min", "mi"},
    {"second", "sec", "ss"},
)  # names of columns, without case and signs, here and below
DATES = {"date", "datum", "day", "yyyymmdd", "utcdate", "dateutc"}  # next to one of CLOCKS
CLOCKS = {"time", "clock", "hour", "hr", "hh", "hhmm", "timeutc", "utctime", "hourutc", "localtime"}
NAMES = {
    "time": {
        *("time", "timestamp", "datetime", "date", "when", "ts", "moment", "datehour", "utc", "timeutc", "utctime"),
        *("dateutc", "utcdate", "localtime", "valid", "messdatum", "yyyymmdd", "zeit", "datum", "hour", "year"),
        *("seconds", "secs", "sec", "times", "timesec", "timems", "timestampms", "elapsed", "elapsedtime"),
        *("elapsedseconds", "epoch", "epochtime", "unix", "unixtime", "unixtimestamp", "validtime", "obstime"),
    },
    "sensor": {
        *("sensor", "station", "node", "vertex", "detector", "location", "site", "device", "unit", "meter", "series"),
        *("country", "state", "region", "province", "county", "city", "firm", "company", "ticker", "symbol", "subject"),
        *WEAK,
    },
    "value": {"value", "values", "reading", "measurement", "val", "y", "obs", "observation", "result"},
}  # names of sensors may end in id, no, number, code or name
STEPS = {"", "index", "step", "t", "month", "quarter", "week", "day", "period"}  # names of non-sensor columns
COUNTS = {"", "no", "nr", "n", "index", "id", "row", "record"}  # names of row numbers, in tables with times


class Columns(NamedTuple):
    """Roles of the columns of a table, by position.

    header  True if the first line names the columns
    layout  'long' (a line is a reading), or the side of the sensors: 'columns' or 'rows'
    time    time columns, which are combined; empty for 'rows'
    labels  'long': the sensor column; 'rows': the columns of the lines' labels
    values  columns of readings
    order   see time_parsing.seconds; None if the roles are detected
    kept    other columns, which a warning names
    """

    header: bool
    layout: str
    time: tuple
    labels: tuple
    values: tuple
    order: str | None = None
    kept: tuple = ()


def columns_of(table, known=frozenset(), count=None, layout=None, columns=None):
    """Return (Columns, whole sheet.Table as a frame); long text as words.

    known: known labels [str] of the vertices; count: their number, None without a graph. layout, columns: options of
    the user. Raises DataError if names are not sufficient.
    """
    check_choice("layout", layout, (None, *SIDES, "long"))
    header = has_header(table, known, count is None)
    frame = table.frame(header, spelled=1)
    roles = None if columns is None else parse_option(columns, header, len(table.first), table.path)
    if roles is None and (layout == "long" or (layout is None and header and has_names(table.first, known))):
        roles = long_by_name(table, header, layout, frame)
    if roles is None:
        roles = wide_columns(table, frame, header, known, count, layout)
    if roles.layout == "long" and not table.named:
        frame = table.frame(header, spelled=len(table.first))
    return roles, frame


def parse_option(columns, header, width, path):
    """Return the Columns of the option --columns.

    The option lists names in order, '-' for others, and '...' at the end to repeat the last one.
    """
    names = [str(name).strip().lower() for name in (columns.split(",") if isinstance(columns, str) else columns)]
    if names[-1:] == ["..."] and len(names) > 1:
        names = names[:-1] + names[-2:-1] * (width - len(names) + 1)
    places = {
        role: tuple(index for index, name in enumerate(names) if name.partition(":")[0] == role) for role in NAMES
    }
    orders = {name.partition(":")[2] for name in names if name.startswith("time:")}
    is_long = places["time"] and places["sensor"]
    if {*names} - {*NAMES, "-", "time:mdy", "time:dmy"} or not places["value"] or len(orders) > 1:
        raise ParameterError(
            "columns are time (or time:dmy, time:mdy), sensor, value, and - for others, in the order of the table, ... "
            f"for more of the last: time,sensor,value or time,value,...; got {','.join(names)!r}."
        )
    if len(places["sensor"]) > 1 or (is_long and len(places["value"]) > 1):
        raise ParameterError("columns name one sensor at most, and with time and sensor one value.")
    if len(names) > width:
        raise ParameterError(f"columns names {len(names)} columns, and {path} has {width}.")
    layout = "long" if is_long else "rows" if places["sensor"] else "columns"
    return Columns(header, layout, places["time"], places["sensor"], places["value"], (*orders, "")[0])


def has_header(table, known=frozenset(), alone=True):
    """Return True if the first line of a table names its columns.

    It has words or dates above numbers, only words, labels of known vertices, or distinct whole numbers above
    fractions. Raises DataError for whole numbers after an empty field, which could be names or values.
    """
    first, second = table.first, table.second
    are_known = alone and {*first[1:]} <= known and not {*second[1:]} <= known
    if table.named or (known and (are_known or known <= {*first})):
        return True
    if not any(first) and not is_number(second[0]):
        raise DataError(f"{table.path}: the first line names no column. Name them there, or take the line away.")
    kinds = [(kind(one), kind(other)) for one, other in zip(first, second)]
    are_words = {kind(word) for word in first} <= {"word", ""} and any(map(kind, first))
    above = any(one in ("word", "date") and other in ("number", "date") and one != other for one, other in kinds)
    if are_words or above or kinds[0] == ("", "date") or (kinds[0][0] == "word" and role_of(first[0])):
        return True
    are_numbers = all(map(str.isdecimal, first[1:])) and len({*first}) == len(first) and kinds[0][0] != "date"
    if not are_numbers or any("." in word for word in second):
        return are_numbers and (first[0].isdecimal() or not is_number(first[0]))
    if not first[0] and len(first) > 1 and kinds[0][1] == "number":
        raise DataError(
            f"{table.path}: the first line, {quote(','.join(first))}, could be names or values. Name its first column "
            "(such as time), or write nan into its first field."
        )
    return False


def kind(word):
    """Return 'number', 'date' or 'word', '' for a missing value."""
    if word.lower() in MISSING:
        return ""
    return "number" if is_number(word, finite=False) else "date" if DATE.search(word) else "word"


def is_called(name, role):
    """Return True if a column's name is that of a role."""
    ends = ("", "id", "no", "number", "code", "name") if role == "sensor" else ("",)
    return any(normalize_name(name).removesuffix(end) in NAMES[role] for end in ends)


def role_of(name):
    """Return 'time' or 'sensor' by an axis name, else None."""
    if name is None or not str(name):
        return None
    if normalize_name(name) in NAMES["time"] | STEPS:
        return "time"
    return "sensor" if is_called(name, "sensor") and normalize_name(name) not in WEAK else None


def has_names(names, known=frozenset()):
    """Return True if columns are named as times and sensors."""
    is_named = bool(times_in(names)) and any(is_called(name, "sensor") for name in names)
    return is_named and not (known and (known <= {*names} or len(known & {*names}) > 1))


def times_in(names):
    """Return the positions of the time columns by name.

    These are year, month, ...; a date and a clock; or one column.
    """
    words = [normalize_name(name) if name else "" for name in names]
    places = []
    for called in CALENDAR:
        indices = [index for index, word in enumerate(words) if word in called]
        if len(indices) != 1:
            break
        places += indices
    if len(places) > 1:
        return tuple(places)
    dates, clocks = ([index for index, word in enumerate(words) if word in called] for called in (DATES, CLOCKS))
    if len(dates) == 1 == len(clocks):
        return dates[0], clocks[0]
    return tuple(index for index, word in enumerate(words) if word in NAMES["time"])[:1]


def long_by_name(table, header, layout, frame=None):
    """Return the Columns of a long table by names, else None.

    None if no other column could be the values, or if several could and all lines are of one sensor: each is then a
    series.
    """
    names = table.first if header else []
    time, sensors = times_in(names), [index for index, name in enumerate(names) if is_called(name, "sensor")]
    sensor = min(sensors, key=lambda index: normalize_name(names[index]) in WEAK, default=None)
    if not time or sensor is None:
        raise unclear_error(table, header, "it does not say which of its columns are time, sensor and value")
    rest = [index for index in range(len(names)) if index not in (*time, sensor)]
    numbers = [index for index in rest if kind((*table.second, *names)[index]) in ("number", "")]
    rest = [index for index in rest if is_called(names[index], "value")] or (numbers if len(rest) > 1 else rest)
    if len(rest) > 1 and layout is None and frame is not None and is_one(frame[sensor]):
        return None
    if len(rest) > 1:
        raise unclear_error(table, header, f"{', '.join(names[index] for index in rest[:8])} could be the values")
    return Columns(header, "long", time, (sensor,), tuple(rest)) if rest else None


def wide_columns(table, frame, header, known, count, layout):
    """Return the Columns of a wide table; arguments as in columns_of."""
    names, words = table.first if header else [""] * frame.shape[1], table.words(frame[0])
    if names[0] in names[1:]:  # an index that is named as a sensor
        known = known - {names[0]}
    labels = (0,) if names[0] not in known and are_labels(words, names[0], header, known) else ()
    sides = in_rows(table, frame, header, labels, known), in_columns(names, frame, header, labels, known, count)
    if layout is not None:
        return sides[SIDES.index(layout)]
    has_labels = count is not None or known
    side = choose_by_vertices(table, frame, sides, known, count) if has_labels else None
    side = side or choose_by_times(table, sides, words)
    if side is sides[1] and count is None:
        refuse_readings(table, frame, side)
    return side


def are_labels(words, name, header, known):
    """Return True if the first column holds labels or times."""
    if header and (normalize_name(name) in STEPS or (role_of(name) and len({*words}) == len(words))):
        return True
    are_numbers = all(kind(word) in ("number", "") for word in words)
    return not are_numbers or are_dates(words) or (bool(known) and known <= {*words})


def in_columns(names, frame, header, labels, known, count):
    """Return the Columns of a table with one sensor per column.

    Without a graph, columns that are not sensors are kept.
    """
    time = tuple(index for index in times_in(names) if names[index] not in known) or labels
    rest = [index for index in range(frame.shape[1]) if index not in time]
    others = [index for index in rest if names[index] not in known] if count is None else []
    kept_columns = tuple(index for index in others if is_kept(names[index], frame[index], bool(time) and header))
    return Columns(
        header, "columns", time, (), tuple(index for index in rest if index not in kept_columns), kept=kept_columns
    )


def is_one(column):
    """Return True if several lines all have the same word."""
    return len(column) > 1 and words_of(column).nunique() == 1


def is_kept(name, column, timed):
    """Return True for columns that hold no sensor's values.

    These hold text, no values, or, in a table with times, row numbers or a single sensor's name.
    """
    if timed and is_called(name, "sensor") and is_one(column):
        return True
    if (
        timed and normalize_name(name) in COUNTS and (normalize_name(name) or column.name == 0)
    ):  # an unnamed index comes first
        words = words_of(column).tolist()
        if are_rising(words) and float(words[-1]) - float(words[0]) == len(words) - 1 > 0:
            return True
    if column.dtype.kind in "biufM":
        return bool(column.isna().all())
    words = (str(word).strip() for word in column.dropna())
    return not any(kind(word) == "number" or word.lower() in ("true", "false") or comma_error(word) for word in words)


def in_rows(table, frame, header, labels, known):
    """Return the Columns of a table with one sensor per row.

    Values are the columns named as times, after columns of labels; else all after the first column if that has labels.
    """
    names = table.first if header else [""] * frame.shape[1]
    end = 1 + max((index for index, name in enumerate(names) if name), default=-1)
    starts = (index for index in range(min(end - 1, 8)) if are_dates(names[index:end]) or are_years(names[index:end]))
    first = next(starts, 0)
    if not first:
        return Columns(header, "rows", (), labels, tuple(range(len(labels), frame.shape[1])))
    words = {index: table.words(frame[index]) for index in range(first)}
    id_columns = [index for index in words if {*words[index]} & known]
    differing = [index for index in words if len({*words[index]}) == len(words[index]) and all(words[index])]
    texts = tuple(index for index in words if "word" in map(kind, words[index]))
    return Columns(header, "rows", (), tuple((id_columns or differing)[:1]) or texts, tuple(range(first, end)))


def choose_by_vertices(table, frame, sides, known, count):
    """Return the one of two Columns whose sensors match the vertices.

    They match by label or number. None without a graph. Raises DataError if both or neither match. Numeric labels have
    a lower weight, because steps 0, 1, 2, ... contain many.
    """
    scores, lacking = [], []
    for side in sides:
        labels = {*labels_of(table, frame, side)} if side.layout == "rows" else {*sensors_of(table, side)}
        is_named = bool(known and labels) and (known <= labels if count is not None else labels <= known)
        weight = 1 if all(map(str.isdecimal, known)) else 2
        size = len(frame) if side.layout == "rows" else len(side.values)
        lacking.append(sorted(known - labels))
        scores.append(is_named * weight + 2 * (size == count))
    if scores[0] != scores[1]:
        return sides[int(scores[1] > scores[0])]
    if count is None:
        return None
    lacking = min(lacking, key=len)
    if not any(scores) and 0 < len(lacking) < len(known):
        raise DataError(
            f"{table.path} lacks {list_names(lacking, quote)} of the graph's {count:,} vertices. Give each a column, "
            "or a row, empty where its values are missing."
        )
    what = "both could be the vertices" if any(scores) else "neither is its vertices"
    sizes = f"{len(frame):,} rows of {len(sides[1].values):,} values, and the graph has {count:,} vertices"
    raise unclear_error(table, sides[0].header, f"{sizes}: {what}", (0,))


def choose_by_times(table, sides, words):
    """Return the one of two Columns (rows, columns) whose other axis is times.

    Raises DataError if neither or both are. words: of the first column.
    """
    rows, columns = sides
    head, name = sensors_of(table, rows), table.first[0] if rows.header else None
    looks = are_dates(words) or {kind(word) for word in words} == {"date"}
    down = looks or role_of(name) == "time" or columns.time not in ((), (0,))
    is_named = rows.header and any(role_of(table.first[index]) == "sensor" for index in rows.labels)
    by_word = down and not looks and "word" in map(kind, words)
    across = are_dates(head) or (are_years(head) and (by_word or is_named and not down))
    if down != across:
        return columns if down else rows
    unnamed = not name and (are_rising(words) or are_rising(words[::-1]))
    if not down and (not rows.labels or (unnamed and not are_years(head))):
        return columns
    odd = next((row for row, word in enumerate(words) if kind(word) != "date"), 0)
    if odd:
        what = f"{quote(words[odd])} is no time like the others. Correct or remove the line."
        raise DataError(f"{table.path}, {table.place(odd)}: {what}")
    what = "times too, as its columns are" if down else "no times"
    raise unclear_error(table, rows.header, f"its lines are labelled {', '.join(map(quote, words[:2]))}, ...: {what}")


def are_rising(words):
    """Return True for strictly increasing numbers."""
    return bool(words) and all(map(is_number, words)) and bool((np.diff(list(map(float, words))) > 0).all())


def labels_of(table, frame, roles):
    """Return the labels of the lines, [str]; empty without label columns."""
    columns = [frame[index] for index in roles.labels]
    words = [words_of(value).tolist() if value.dtype.kind in "biuf" else table.words(value) for value in columns]
    return words[0] if len(words) == 1 else [", ".join(filter(None, names)) for names in zip(*words)]


def words_of(column):
    """Return a Series as str; whole floats without .0, missing as ''."""
    wholest = 2.0**53  # smaller whole floats are exact
    if column.dtype.kind == "f" and ((known := column.dropna()) % 1 == 0).all() and (known.abs() < wholest).all():
        column = column.astype("Int64")
    words = column.astype(object).where(column.notna(), "")
    return words.map({word: str(word).strip() for word in words.unique()})


def sensors_of(table, roles):
    """Return the value columns' names, [str]; empty without a header."""
    return [table.first[index] for index in roles.values] if roles.header else []


def refuse_readings(table, frame, roles):
    """Raise DataError for a table whose lines may be readings.

    Times repeat often or are in a text column, or there is no header above words.
    """
    words = {index: list(map(str, frame[index])) for index in roles.time}
    lines = len(frame), len({*zip(*words.values())})
    if roles.time and lines[0] > 1 and lines[0] >= REPEATED * lines[1]:
        raise unclear_error(table, roles.header, f"{lines[0]:,} lines have {lines[1]:,} times")
    for index in roles.kept:
        words = [word for word in table.words(frame[index]) if word]
        if words and (not roles.header or are_dates(words)):
            raise unclear_error(table, roles.header, f"column {index + 1} has words, such as {quote(words[0])}")


def suggest_columns(table, header, time=()):
    """Return likely --columns of a table as (long or None, wide)."""
    names, kinds = table.first if header else [""] * len(table.second), list(map(kind, table.second))
    dated = [index for index, word in enumerate(table.second) if kinds[index] == "date" or are_dates([word])]
    time = times_in(names) or tuple(index for index in dated[:2] if index <= dated[0] + 1) or time
    called = [index for index, name in enumerate(names) if is_called(name, "sensor") and index not in time]
    numbers = [index for index, one in enumerate(kinds) if one in ("number", "") and index not in time]
    words = [index for index, one in enumerate(kinds) if one == "word" and index not in time]
    sensor = (called + words + numbers + [None])[0]
    value = next((index for index in numbers if index != sensor), None)

    def line(roles):
        parts = ["time" if index in time else roles.get(index, "-") for index in range(len(kinds))]
        while len(parts) > 2 and parts[-1] == parts[-2] == parts[-3]:
            parts.pop()
        return ",".join([*parts, "..."] if len(parts) < len(kinds) else parts)

    reading = line({sensor: "sensor", value: "value"}) if time and value is not None else None
    return reading, line({index: "value" for index in numbers if index not in called})


def unclear_error(table, header, why, time=()):
    """Return the DataError for a table whose columns have no known names."""
    reading, sensor = suggest_columns(table, header, time)
    reading = f"--columns {reading} if a line is a reading, " if reading else ""
    return DataError(
        f"{table.path}: {why}. Its {'header' if header else 'first line'} is {quote(','.join(table.first))}. Say what "
        f"its columns are: {reading}--columns {sensor} or --layout columns if a column is a sensor, --layout rows if a "
        "line is one (columns=, layout=)."
    )


def refuse_words(table, roles, frame):
    """Raise DataError for a table whose columns of values hold text only, such as numbers with units."""
    for index in roles.kept:
        words = table.words(frame[index])
        row = next((row for row, word in enumerate(words) if kind(word) == "word"), None)
        if row is not None:
            raise DataError(
                f"{table.path}, {table.place(row)}: {quote(words[row])} (column {index + 1}) is not a number, and no "
                "column holds any. Write numbers without units or marks."
            )


def warn_of_kept(table, roles):
    """Warn of the names of columns that are not imputed."""
    names = [table.first[index] if roles.header else f"column {index + 1}" for index in roles.kept]
    names = list(filter(None, names))
    if names:
        shown, others = names[:8], names[8:]
        kept_names = ", ".join(shown) + (f" and {len(others)} others" if others else "")
        warnings.warn(f"{table.path}: not read as sensors, and kept as they are: {kept_names}.", stacklevel=2)
