"""Parse blocks of rating lines by columns (io/delimited.py) or line by line.

A block is parsed line by line if one of its lines may be wrong.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.io.delimited import Wanted, Words, columns_of, count_lines, lines
from gpukit.io.times import MISSING, order_of, order_of_whole, seconds_of
from gpukit.io.words import FLOAT32_MAX, decoded, is_decimal_comma, is_integer, is_number, with_point
from gpukit.ratings import formats
from gpukit.ratings.check import check_counts, check_range
from gpukit.ratings.headers import IDS, NUMBERS, WORDS

MOVIE = re.compile(rb"[ \t\r]*(0|-?[1-9]\d{0,17}):[ \t\r]*")
MOVIE_LINE = re.compile(rb"^" + MOVIE.pattern + rb"\n", re.MULTILINE)
TYPES = {"values": np.float32, "weights": np.float32}  # stored types of columns read as float64
SMALL = np.iinfo(np.int32)


class Block(NamedTuple):
    """Content of a block of lines.

    columns: {name: (rows,) array or Words}, ids as int32, int64 or Words; lines: its number of lines; commas: {name:
    Commas} of its numbers. In Netflix's files, early: rows before its first `MovieID:` line, and movie: its last one.
    """

    columns: dict
    lines: int
    commas: dict = {}
    early: int = 0
    movie: int | None = None


class Commas(NamedTuple):
    """Summary of a column's numbers.

    first: (row, word) of the first one with a comma, or None; is_certain: one of them cannot be thousands (1,234);
    has_points: a number without a comma has a fraction.
    """

    first: tuple | None = None
    is_certain: bool = False
    has_points: bool = False


def by_columns(raw, layout, bounds=None, words=()):
    """Return the Block of whole lines (bytes) parsed by columns.

    None if a line may be wrong, or if `by_lines` would read it differently. layout: a formats.Layout; bounds: (low,
    high) of ratings; words: names of columns whose ids are known to be words.
    """
    places, movies, count = layout.places, None, count_lines(raw)
    if layout.format == "netflix":
        raw, movies = _without_movies(bytes(raw))
    numbers, ids, times = (_those(places, names) for names in (NUMBERS, IDS, ("times",)))
    found = columns_of(raw, Wanted(layout.sep, layout.fields, ids, numbers, times), _those(places, words))
    return None if found is None else _block(found, count, movies, layout, bounds)


def _those(places, names):
    return tuple(places[name] for name in names if name in places)


def _block(found, count, movies, layout, bounds):
    """Return the Block of {position: array or Words}; None if lines need checking."""
    columns, commas = {name: found[place] for name, place in layout.places.items()}, {}
    for name in columns.keys() & {*NUMBERS}:
        columns[name], commas[name] = _numbers(columns[name])
    if "times" in columns:
        columns["times"] = _times(columns["times"], layout.lenient)
    if not all(_is_sound(name, column, bounds) for name, column in columns.items()):
        return None
    columns = {name: narrowed(name, column) for name, column in columns.items()}
    if movies is None:
        return Block(columns, count, commas)
    movies, rows = movies
    if sum(rows) != len(columns["users"]):
        return None
    columns["items"] = np.repeat(np.array([0, *movies[1:]], np.int64), rows)
    return Block(columns, count, commas, rows[0], movies[-1])


def narrowed(name, column):
    """Return a column in its stored dtype; small ids as int32."""
    if name in IDS and not isinstance(column, Words):
        is_small = not len(column) or (column.min() >= SMALL.min and column.max() <= SMALL.max)
        return column.astype(np.int32) if is_small else column
    return column.astype(TYPES[name]) if name in TYPES else column


def _is_sound(name, column, bounds):
    """Return True if a column needs no line-by-line check."""
    if column is None:
        return False
    if isinstance(column, Words):
        return b"" not in column.encoded.dictionary.to_pylist()
    if name in NUMBERS and len(column) and not (-FLOAT32_MAX <= column.min() and column.max() <= FLOAT32_MAX):
        return False  # also for NaN
    if name == "values" and bounds is not None and len(column):
        return np.float32(bounds[0]) <= np.float32(column.min()) and np.float32(column.max()) <= np.float32(bounds[1])
    return name != "counts" or not (column < 0).any()


def _numbers(column):
    """Return (column (rows,) float64 or None for invalid words, its Commas)."""
    if not isinstance(column, Words):
        return column, Commas(has_points=bool((column != np.floor(column)).any()))
    words, index = column.texts(), column.index
    spelled = [word if is_number(word) else with_point(word) for word in words]
    if None in spelled:
        return None, Commas()
    numbers, commas = np.array(spelled, np.float64), [word for word in words if "," in word]
    first = (int(np.argmax(index == words.index(commas[0]))), commas[0]) if commas else None  # in the order of the rows
    has_points = any(number % 1 for word, number in zip(words, numbers) if "," not in word)
    return numbers[index], Commas(first, any(map(is_decimal_comma, commas)), has_points)


def _times(column, lenient):
    """Return a column as seconds (rows,) int64, None for an invalid time.

    lenient: as in as_seconds.
    """
    if not isinstance(column, Words):
        return order_of_whole(column) if lenient else column
    times = [time_of(word, lenient) for word in column.texts()]
    return None if None in times else np.array(times, np.int64)[column.index]


def time_of(word, lenient):
    """Return the seconds that a word spells, else None; lenient: its order_of, or MISSING."""
    if lenient:
        order = None if "_" in word else order_of(word)
        return MISSING if order is None else order
    return int(word) if is_integer(word) else None if "_" in word else seconds_of(word)


def _without_movies(raw):
    """Return (Netflix's rating lines, (movies, rows of each)).

    The first movie is None: it is that of the block before.
    """
    parts = MOVIE_LINE.split(raw)
    rows = [sum(map(bool, map(bytes.strip, part.split(b"\n")))) for part in parts[::2]]
    return b"".join(parts[::2]), ([None, *map(int, parts[1::2])], rows)


class Place:
    """Position of the reader in a stream.

    line: number of the next block's first line; movie: Netflix's current movie; commas: {name: Commas so far, whose
    first has a line instead of a row}.
    """

    def __init__(self, name, layout):
        self.name, self.layout, self.line, self.movie = name, layout, layout.first_line, None
        self.commas = {name: Commas() for name in NUMBERS}

    def carry_movie(self, block):
        """Set the movie of rows before a block's first `MovieID:` line."""
        if block.early and self.movie is None:
            raise DataError(
                f"{self.name} has ratings before its first `MovieID:` line. Put the files of a split set into "
                "one folder, or name the columns with --columns if the file is a csv."
            )
        if block.early:
            block.columns["items"][: block.early] = self.movie
        self.movie = self.movie if block.movie is None else block.movie

    def add_commas(self, block, raw):
        """Add the Commas of a block, whose lines are raw."""
        for name, added in block.commas.items():
            first, is_certain, has_points = self.commas[name]
            if first is None and added.first is not None:
                first = self.line_of(raw, added.first[0]), added.first[1]
            self.commas[name] = Commas(first, is_certain or added.is_certain, has_points or added.has_points)

    def check_commas(self):
        """Raise DataError for ambiguous decimal commas, or decimal commas next to points."""
        for name, (first, is_certain, has_points) in self.commas.items():
            if first is not None and (has_points or not is_certain):
                raise formats.bad_rating(self.name, *first, WORDS[name])

    def lines(self, raw):
        """Yield (line number, text, [bytes] of fields, movie or None) of a block."""
        for number, line, words in lines(raw, self.layout.sep):
            is_single = self.layout.format == "netflix" and words is not None and len(words) == 1
            found = MOVIE.fullmatch(words[0]) if is_single else None
            yield self.line + number - 1, line, words, found and int(found[1])

    def line_of(self, raw, row):
        """Return the line number of a row of a block."""
        rows = (number for number, _, _, movie in self.lines(raw) if movie is None)
        return next(itertools.islice(rows, row, None))


def by_lines(raw, place, bounds=None):
    """Return the Block of whole lines (bytes) at a Place.

    Raises DataError for the first wrong line.
    """
    layout, columns = place.layout, {at: [] for at in place.layout.places.values()}
    movies, rows = [None], [0]
    for number, line, words, movie in place.lines(raw):
        if movie is not None:
            movies.append(movie)
            rows.append(0)
            continue
        _check_fields(words, layout, f"{place.name}, line {number:,}", line[:80])
        for name, at in layout.places.items():
            breaks = b"".join(words[:at]).count(b"\n") if "\n" in line else 0
            _check_word(name, decoded(words[at]), place, number + breaks, line, bounds)
            columns[at].append(words[at])
        rows[-1] += 1
    found, runs = {at: Words(words) for at, words in columns.items()}, (movies, rows)
    return _block(found, count_lines(raw), runs if layout.format == "netflix" else None, layout, bounds)


def _check_fields(words, layout, where, line):
    """Raise DataError for a line with wrong fields."""
    if words is None:
        what = "opens a quote that it does not close, or has text behind a quoted field"
        raise DataError(f"{where} {what}: {line!r}. Correct the line.")
    if len(words) != layout.fields:
        raise DataError(
            f"{where} has {len(words)} column(s) where {layout.fields} are expected: {line!r}. "
            "Correct the line, or name another separator with --sep."
        )


def _check_word(name, word, place, number, line, bounds):
    """Raise DataError for a field that does not fit its column."""
    where = f"{place.name}, line {number:,}"
    if name not in NUMBERS:
        if name != "times" and not word:
            raise DataError(f"{where} has no {name[:-1]} id: {line[:80]!r}. Correct or remove the line.")
        if name == "times" and time_of(word, place.layout.lenient) is None:
            raise formats.bad_time(place.name, number, word)
        return
    spelled = word if is_number(word) else with_point(word)
    if spelled is None:
        raise formats.bad_rating(place.name, number, word, WORDS[name])
    value = np.array([float(spelled)])
    if name == "values":
        check_range(value.astype(np.float32), bounds, lambda _: where)
    if name == "counts":
        check_counts(value, lambda _: where)
