"""Read blocks of lines in parallel, or batches of Parquet; encode ids and join columns.

Parse blocks of rating lines by columns (io/delimited.py) or line by line.

A block is parsed line by line if one of its lines may be wrong.
"""

import contextlib
import re

import numpy as np

from gpukit._pool import in_order, parallel_map
from gpukit.device.memory import empty
from gpukit.errors import DataError
from gpukit.io.arrays import from_arrow
from gpukit.io.delimited import Wanted, Words, columns_of, concatenate_words, count_lines, lines, whole_rows
from gpukit.io.ids import factorize, id_array, take_values
from gpukit.io.records import hidden
from gpukit.io.times import as_seconds, order_of, seconds_of
from gpukit.io.words import (
    FLOAT32_MAX,
    FLOAT32_TINY,
    SHOWN,
    TOO_SMALL,
    as_ids,
    decode,
    is_integer,
    is_number,
    number_fault,
    rounds_to_zero,
    strip_blank_end,
    text_array,
)
from gpukit.ratings import formats
from gpukit.ratings.check import check_declared, check_range, validate_ratings, with_values
from gpukit.ratings.formats import IDS, NUMBERS, WORDS
from gpukit.ratings.table import OPTIONAL, Ratings, as_counts
from gpukit.runtime.thread_count import get_num_threads

MOVIE_LINE = re.compile(rb"^[ \t\r]*(0|-?[1-9]\d{0,17}):[ \t\r]*\n", re.MULTILINE)
FILLED_LINE = re.compile(rb"^(?=[^\n]*[^ \t\r\n])", re.MULTILINE)
TYPES = {"values": np.float32, "weights": np.float32}  # stored types of columns read as float64
SMALL = np.iinfo(np.int32)


def parse_columns(raw, layout, bounds=None, words=()):
    """Return {name: (rows,) array or Words} of whole lines (bytes) parsed by columns, ids as int32, int64 or Words.

    None if a line may be wrong, or if `parse_lines` would read it differently. layout: a formats.Layout; bounds: (low,
    high) of ratings; words: names of columns whose ids are known to be words.
    """
    numbers, ids, times = (_select_places(layout.places, names) for names in (NUMBERS, IDS, ("times",)))
    wanted = Wanted(layout.sep, layout.fields, ids, numbers, times, decimal=layout.decimal)
    result = columns_of(raw, wanted, _select_places(layout.places, words))
    return None if result is None else _sound_columns(result, layout, bounds)


def _select_places(places, names):
    return tuple(places[name] for name in names if name in places)


def _sound_columns(result, layout, bounds):
    """Return {name: column} of {position: array or Words}; None if lines need checking."""
    columns = {name: result[place] for name, place in layout.places.items()}
    for name in columns.keys() & {*NUMBERS}:
        columns[name] = _numbers(columns[name], layout.decimal)
    if "times" in columns:
        columns["times"] = _seconds(columns["times"], layout.lenient)
    if not all(_is_sound(name, column, bounds) for name, column in columns.items()):
        return None
    return {name: narrow_column(name, column) for name, column in columns.items()}


def narrow_column(name, column):
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
    if name in NUMBERS and len(column):
        low, high = column.min(), column.max()
        if not (-FLOAT32_MAX <= low and high <= FLOAT32_MAX):
            return False  # also for NaN
        if low < FLOAT32_TINY and rounds_to_zero(column).any():
            return False
        if name == "values" and bounds is not None:
            return np.float32(bounds[0]) <= np.float32(low) and np.float32(high) <= np.float32(bounds[1])
    return name != "counts" or not (column < 0).any()


def _numbers(column, decimal):
    """Return a column as (rows,) float64, None for an invalid word."""
    if not isinstance(column, Words):
        return column
    texts = [_number_of(word, decimal) for word in column.texts()]
    return None if None in texts else np.array(texts, np.float64)[column.index]


def _number_of(word, decimal):
    """Return a number with a decimal point, None for another word."""
    if decimal == ",":
        word = "" if "." in word else word.replace(",", ".")
    return word if is_number(word) and not rounds_to_zero(float(word)) else None


def _seconds(column, lenient):
    """Return a column as seconds (rows,) int64, None for an invalid time.

    lenient: as in as_seconds.
    """
    if not isinstance(column, Words):
        return as_seconds(column, lenient=True) if lenient else column
    times = list(map(order_of if lenient else seconds_of, column.texts()))
    return None if None in times else np.array(times, np.int64)[column.index]


def with_movies(blocks, name):
    """Yield blocks of Netflix's lines with the movie as first field; `MovieID:` lines become blank.

    blocks: whole lines; name: the file's. Raises DataError for ratings before the first `MovieID:` line.
    """
    movie = None
    for block in blocks:
        begin, *rest = MOVIE_LINE.split(hidden(bytes(block)))
        if movie is None and begin.strip():
            raise DataError(
                f"{name} has ratings before its first `MovieID:` line. Put the files of a split set into "
                "one folder, or name the columns with --columns if the file is a csv."
            )
        parts = [_with_first(begin, movie), *map(_with_first, rest[1::2], rest[::2])]
        movie = rest[-2] if rest else movie
        yield b"\n".join(parts).replace(b"\0", b"\n")


def _with_first(lines, field):
    """Return whole lines with a first field, but blank lines as they are; field: None for none."""
    if field is None or not lines:
        return lines
    if any(b"\n" + blank in lines or lines.startswith(blank) for blank in (b"\n", b"\r", b" ", b"\t")):
        return FILLED_LINE.sub(field + b",", lines)
    return field + b"," + lines[:-1].replace(b"\n", b"\n" + field + b",") + b"\n"


class Place:
    """Position of the reader in a stream.

    line: number of the next block's first line.
    """

    def __init__(self, name, layout):
        self.name, self.layout, self.line = name, layout, layout.first_line


def parse_lines(raw, place, bounds=None):
    """Return the columns, as `parse_columns` does, of whole lines (bytes) at a Place.

    Raises DataError for the first wrong line.
    """
    layout, columns = place.layout, {index: [] for index in place.layout.places.values()}
    added = layout.format == "netflix"  # a field that with_movies adds to the line
    for number, line, words in lines(raw, layout.sep):
        number, line = place.line + number - 1, line.partition(",")[2] if added else line
        _check_fields(words and words[added:], layout.fields - added, f"{place.name}, line {number:,}", line[:80])
        for name, index in layout.places.items():
            breaks = b"".join(words[:index]).count(b"\n") if "\n" in line else 0
            _check_word(name, decode(words[index]), place, number + breaks, line, bounds)
            columns[index].append(words[index])
    return _sound_columns({index: Words(words) for index, words in columns.items()}, layout, bounds)


def _check_fields(words, expected, where, line):
    """Raise DataError for a line with wrong fields."""
    if words is None:
        what = "opens a quote that it does not close, or has text behind a quoted field"
        raise DataError(f"{where} {what}: {line!r}. Correct the line.")
    if len(words) != expected:
        raise DataError(
            f"{where} has {len(words)} column(s) where {expected} are expected: {line!r}. "
            "Correct the line, or name another separator with --sep."
        )


def _check_word(name, word, place, number, line, bounds):
    """Raise DataError for a field that does not fit its column."""
    where = f"{place.name}, line {number:,}"
    if name not in NUMBERS:
        if name != "times" and not word:
            raise DataError(f"{where} has no {name[:-1]} id: {line[:80]!r}. Correct or remove the line.")
        if name == "times" and not place.layout.lenient and seconds_of(word) is None:
            raise formats.bad_time(place.name, number, word)
        return
    text = _number_of(word, place.layout.decimal)
    if text is None:
        raise formats.bad_rating(place.name, number, word, WORDS[name])
    if name == "values":
        check_range(np.array([text], np.float64).astype(np.float32), bounds, lambda _: where)
    if name == "counts" and float(text) < 0:
        raise DataError(f"{where} has the count {float(text):g}; counts are 0 or more. Correct or remove the line.")


NEEDED = "Save it as csv (UTF-8) with user, item and rating."
BLOCK = 8 << 20  # bytes of lines that a thread parses at once


class Column:
    """User or item ids of the blocks read so far: whole numbers (n,), or Words."""

    def __init__(self):
        self.chunks, self.are_words = [], False  # are_words: even if all words spell numbers

    def rows(self, what, declared=None):
        """Return (rows (n,) int32, sorted ids).

        what: name of the ids in messages; declared: None, or (count, title of the file), and the ids are 1..count.
        """
        index, words = self._concatenate()
        if declared is not None:
            return _rows_of_declared(index, words, what, *declared)
        if words is None:
            return factorize(index, what)
        ids = (text_array if self.are_words else as_ids)(words, "the longest id")
        known, rank = np.unique(ids, return_inverse=True)
        return take_values(rank.astype(np.int32), index), known

    def _concatenate(self):
        """Return (ids, None) if all are whole numbers, else (index (n,), distinct words [str]); drop the blocks."""
        if not any(isinstance(chunk, Words) for chunk in self.chunks):
            return concatenate(self.chunks), None
        parts = [chunk if isinstance(chunk, Words) else _as_words(chunk) for chunk in self.chunks]
        self.chunks.clear()
        return concatenate_words(parts)


def _as_words(numbers):
    """Return whole numbers as Words: such an id is spelled as Python prints it."""
    import pyarrow

    return Words(pyarrow.array(numbers).cast(pyarrow.large_string()).cast(pyarrow.large_binary()))


def _rows_of_declared(index, words, what, count, title):
    """Return (rows (n,) int32, ids 1..count); DataError for another id. index, words: of Column._concatenate."""
    numbers = index if words is None else np.array([int(word) if is_integer(word) else 0 for word in words])
    wrong = np.flatnonzero((numbers < 1) | (numbers > count))
    if len(wrong):
        first = numbers[wrong[0]] if words is None else words[wrong[0]][:SHOWN]
        raise DataError(f"{title} declares {what}s 1 to {count:,}, but {what} {first} comes up.")
    rows = numbers if words is None else take_values(numbers, index)
    return (rows - 1).astype(np.int32), np.arange(1, count + 1)


def concatenate(chunks):
    """Concatenate arrays to their widest dtype; empties the list to save memory."""
    stops = np.cumsum([len(chunk) for chunk in chunks])
    out = empty(stops[-1], np.result_type(*chunks))

    def move(position):
        out[stops[position] - len(chunks[position]) : stops[position]] = chunks[position]
        chunks[position] = None

    parallel_map(move, range(len(chunks)))
    chunks.clear()
    return out


class RatingsBuilder:
    """Collect the ratings of streams and build Ratings of them."""

    def __init__(self):
        self.users, self.items, self.shape = Column(), Column(), None
        self.chunks = {name: [] for name in ("values", *OPTIONAL)}
        self.columns = None

    def read(self, stream, request, layout=None):
        """Append one text Stream; raises DataError.

        layout: formats.Layout of a Stream that begins within a file; None: that of its first lines.
        """
        layout = layout or formats.recognise(stream.text_head(NEEDED), stream.name, request)
        self.columns = formats.check_same_columns(stream.name, layout.places, layout.named, self.columns)
        self.shape, place = layout.shape, Place(stream.name, layout)
        with contextlib.closing(stream.blocks(layout.skip, BLOCK)) as blocks:
            rows = whole_rows(strip_blank_end(blocks, layout.sep, stream.name), layout.sep)
            in_order(
                lambda raw: (
                    raw,
                    count_lines(raw),
                    parse_columns(raw, layout, request.bounds, self._columns_of_words()),
                ),
                with_movies(rows, stream.name) if layout.format == "netflix" else rows,
                lambda read: self._take(*read, place, request),
                get_num_threads(),
            )

    def _columns_of_words(self):
        """Return the names of columns whose last block has words."""
        return [name for name in IDS if (chunks := getattr(self, name).chunks) and isinstance(chunks[-1], Words)]

    def _take(self, raw, count, columns, place, request):
        """Append `count` whole lines at a Place; columns: None if they must be parsed line by line."""
        self.add(columns or parse_lines(raw, place, request.bounds), request.need_rating)
        place.line += count

    def add(self, columns, need_rating=True):
        """Append {name: column (n,)} of further ratings; ids are whole numbers or Words.

        Pairs without values are clicks if ratings are needed, else they get values of 0.
        """
        for name in IDS:
            getattr(self, name).chunks.append(columns[name])
        columns = with_values(columns) if need_rating else {"values": np.zeros(len(columns["users"]), np.float32)}
        for name, chunks in self.chunks.items():
            if name in columns:
                chunks.append(as_counts(columns[name]) if name == "counts" else columns[name])

    def __len__(self):
        return sum(map(len, self.chunks["values"]))

    def ratings(self, name):
        """Return all ratings read, and empty the builder."""
        if not len(self):
            raise DataError(f"{name} holds no ratings.")
        if self.shape and len(self) != self.shape[2]:
            raise DataError(
                f"{name} declares {self.shape[2]:,} ratings and holds {len(self):,}: it is cut short or put "
                "together wrongly."
            )
        if self.shape:
            check_declared(name, self.shape[:2], len(self))
        declared = [(size, name) for size in self.shape[:2]] if self.shape else (None, None)
        users, user_ids = self.users.rows("user", declared[0])
        items, item_ids = self.items.rows("item", declared[1])
        if any(chunk.dtype == np.float32 for chunk in self.chunks["counts"]):
            self.chunks["counts"] = [chunk.astype(np.float32) for chunk in self.chunks["counts"]]
        columns = {column: concatenate(chunks) for column, chunks in self.chunks.items() if chunks}
        ratings = Ratings(users, items, **columns, user_ids=user_ids, item_ids=item_ids)
        return validate_ratings(ratings, is_numbered=True)


def read_parquet(source, request, builder, groups=None):
    """Append Parquet in an open Source to a RatingsBuilder, repeated pairs included.

    request: see read_ratings; groups: range of row groups, None: all. Ids are integers or text. Raises DataError with
    the row for missing values and for invalid numbers or times.
    """
    from gpukit.io import tables

    source = tables.Reader(source)
    places, _ = formats.columns_of(source.names, request, source.name, is_header=True)
    builder.columns = formats.check_same_columns(source.name, places, True, builder.columns)
    names = {role: source.names[place] for role, place in places.items()}
    for start, batch in source.batches(dict.fromkeys(names.values()), groups):
        columns = {role: batch[name] for role, name in names.items()}
        for role in formats.IDS:
            columns[role] = narrow_column(role, _ids(source, columns[role], start, formats.WORDS[role]))
            getattr(builder, role).are_words |= isinstance(columns[role], Words)
        if "times" in columns:
            columns["times"] = _times(source, columns["times"], start, request.times == formats.MAYBE)
        for role in formats.NUMBERS:
            if role in columns:
                numbers = source.numbers(columns[role], start, formats.WORDS[role])
                _check_numbers(numbers, TYPES.get(role, np.float64), (source.name, start + 1, formats.WORDS[role]))
                columns[role] = numbers.astype(TYPES.get(role, np.float64))
        if "values" in columns:
            at = start + 1
            check_range(columns["values"], request.bounds, lambda row, at=at: f"{source.name}, row {at + row:,}")
        builder.add(columns, request.need_rating)


def _check_numbers(numbers, dtype, where):
    """Raise DataError for the first number that is not finite in a dtype, or rounded to 0 in float32.

    where: (file, first row, what it is).
    """
    name, first, what = where
    most = np.finfo(dtype).max
    if len(numbers) and numbers.min() >= FLOAT32_TINY and numbers.max() <= most:
        return  # as most columns: two passes instead of seven
    bad = np.flatnonzero(~(np.abs(numbers) <= most) | rounds_to_zero(numbers))
    if len(bad):
        value = float(numbers[bad[0]])
        fault = number_fault(repr(value), np.dtype(dtype).name) or TOO_SMALL
        raise DataError(f"{name}, row {first + bad[0]:,}: the {what} {value:g} is {fault}. Remove such rows first.")


def _ids(source, ids, start, what):
    """Return a batch's ids: integers, or Words of text."""
    import pyarrow
    from pyarrow import compute, types

    from gpukit.io.tables import spell_each

    ids = source.ids(ids, start, f"{what} id")
    ids = ids.dictionary_decode() if types.is_dictionary(ids.type) else ids  # a dictionary may hold unused words
    if types.is_integer(ids.type) and ids.type != pyarrow.uint64():
        return from_arrow(ids.cast(pyarrow.int64()))
    if types.is_floating(ids.type) or types.is_decimal(ids.type):
        whole = id_array(ids.to_numpy(zero_copy_only=False), what, whole=True)
        if whole.dtype == np.int64 or all(-(2**63) <= value < 2**63 for value in whole):
            return whole.astype(np.int64)
        ids = pyarrow.array([str(value) for value in whole])
    is_text = types.is_string(ids.type) or types.is_large_string(ids.type)
    encoded = ids.dictionary_encode() if is_text else spell_each(ids, str)
    words = encoded.dictionary.cast(pyarrow.large_string())
    wrong = compute.index(compute.or_(compute.equal(words, ""), compute.match_substring(words, "\0")), True).as_py()
    if wrong >= 0:
        row = start + compute.index(encoded.indices, wrong).as_py() + 1
        lacks = "a byte of 0 in its" if words[wrong].as_py() else "no"
        raise DataError(f"{source.name}, row {row:,} has {lacks} {what} id. Correct or remove such rows first.")
    return Words(pyarrow.DictionaryArray.from_arrays(encoded.indices, words.view(pyarrow.large_binary())))


def _times(source, times, start, lenient):
    """Return a batch's times as seconds (n,) int64; lenient: invalid ones are MISSING."""
    if not lenient:
        source.refuse_missing(times, start, "time")
    times = times.to_numpy(zero_copy_only=False)
    return as_seconds(times, f"{source.name}, from row {start + 1:,} on", lenient)
