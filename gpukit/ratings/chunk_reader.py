"""Read blocks of lines in parallel, or batches of Parquet; encode ids and join columns."""

import contextlib

import numpy as np

from gpukit._pool import in_order, shared_out
from gpukit.errors import DataError
from gpukit.io import parquet
from gpukit.io.blank_lines import without_blank_end
from gpukit.io.delimited import Words, concatenate_words, whole_rows
from gpukit.io.ids import as_whole, check_exact, check_fractions, factorize, take_values
from gpukit.io.times import as_seconds
from gpukit.io.words import SHOWN, as_ids, is_integer, text_array
from gpukit.ratings import formats, headers
from gpukit.ratings.check import check_declared, check_range, sound
from gpukit.ratings.clicks import with_values
from gpukit.ratings.headers import IDS
from gpukit.ratings.table import OPTIONAL, Ratings, as_counts
from gpukit.ratings.text import TYPES, Place, by_columns, by_lines, narrowed
from gpukit.runtime.thread_count import get_num_threads

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
    out = np.empty(stops[-1], dtype=np.result_type(*chunks))

    def move(at):
        out[stops[at] - len(chunks[at]) : stops[at]] = chunks[at]
        chunks[at] = None

    shared_out(move, range(len(chunks)))
    chunks.clear()
    return out


class RatingsBuilder:
    """Collect the ratings of streams and build Ratings of them."""

    def __init__(self):
        self.users, self.items, self.shape = Column(), Column(), None
        self.chunks = {name: [] for name in ("values", *OPTIONAL)}
        self.columns = None

    def read(self, stream, request, layout=None):
        """Append one text Stream and return the Place of its end; raises DataError.

        layout: formats.Layout of a Stream that begins within a file; None: that of its first lines.
        """
        layout = layout or formats.recognise(stream.text_head(NEEDED), stream.name, request)
        self.columns = headers.check_same_columns(stream.name, {*IDS, *layout.places}, self.columns)
        self.shape, place = layout.shape, Place(stream.name, layout)
        with contextlib.closing(stream.blocks(layout.skip, BLOCK)) as blocks:
            in_order(
                lambda raw: (raw, by_columns(raw, layout, request.bounds, self._columns_of_words())),
                whole_rows(without_blank_end(blocks, layout.sep, stream.name), layout.sep),
                lambda read: self._take(*read, place, request),
                get_num_threads(),
            )
        place.check_commas()
        return place

    def _columns_of_words(self):
        """Return the names of columns whose last block has words."""
        return [name for name in IDS if (chunks := getattr(self, name).chunks) and isinstance(chunks[-1], Words)]

    def _take(self, raw, block, place, request):
        """Append whole lines at a Place; block: None if they must be parsed line by line."""
        block = block or by_lines(raw, place, request.bounds)
        place.carry_movie(block)
        place.add_commas(block, raw)
        self.add(block.columns, request.need_rating)
        place.line += block.lines

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
        if self.shape:
            self._check_declared(name)
        declared = [(size, name) for size in self.shape[:2]] if self.shape else (None, None)
        users, user_ids = self.users.rows("user", declared[0])
        items, item_ids = self.items.rows("item", declared[1])
        if any(chunk.dtype == np.float32 for chunk in self.chunks["counts"]):
            self.chunks["counts"] = [chunk.astype(np.float32) for chunk in self.chunks["counts"]]
        columns = {column: concatenate(chunks) for column, chunks in self.chunks.items() if chunks}
        return sound(Ratings(users, items, **columns, user_ids=user_ids, item_ids=item_ids))

    def _check_declared(self, name):
        count = len(self)
        if count != self.shape[2]:
            raise DataError(
                f"{name} declares {self.shape[2]:,} ratings and holds {count:,}: it is cut short or put "
                "together wrongly."
            )
        check_declared(name, self.shape[:2], count)


def read_parquet(source, request, builder, groups=None):
    """Append Parquet in an open Source to a RatingsBuilder, repeated pairs included.

    request: see read_ratings; groups: range of row groups, None: all. Ids are integers or text. Raises DataError with
    the row for missing values and for invalid numbers or times.
    """
    source = parquet.Reader(source)
    places, _ = headers.columns_of(source.names, request, source.name, is_header=True)
    builder.columns = headers.check_same_columns(source.name, set(places), builder.columns)
    names = {role: source.names[place] for role, place in places.items()}
    for start, batch in source.batches(dict.fromkeys(names.values()), groups):
        columns = {role: batch[name] for role, name in names.items()}
        for role in headers.IDS:
            columns[role] = narrowed(role, _ids(source, columns[role], start, headers.WORDS[role]))
            getattr(builder, role).are_words |= isinstance(columns[role], Words)
        if "times" in columns:
            columns["times"] = _times(source, columns["times"], start, request.times == headers.MAYBE)
        for role in headers.NUMBERS:
            if role in columns:
                numbers = source.numbers(columns[role], start, headers.WORDS[role])
                columns[role] = numbers.astype(TYPES.get(role, np.float64))
        if "values" in columns:
            _check_ratings(columns["values"], request.bounds, (source.name, start + 1))
        builder.add(columns, request.need_rating)


def _check_ratings(values, bounds, where):
    """Raise DataError for the first rating that is not finite or is outside bounds; where: (file, first row)."""
    name, first = where
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        what = f"the rating {values[bad[0]]} is not a finite number"
        raise DataError(f"{name}, row {first + bad[0]:,}: {what}. Remove such rows first.")
    check_range(values, bounds, lambda row: f"{name}, row {first + row:,}")


def _ids(source, ids, start, what):
    """Return a batch's ids: integers, or Words of text."""
    pyarrow, _ = parquet.library()
    ids = source.ids(ids, start, f"{what} id")
    kind = ids.type.value_type if pyarrow.types.is_dictionary(ids.type) else ids.type
    if pyarrow.types.is_integer(kind):
        plain = ids.dictionary_decode() if kind != ids.type else ids
        if plain.type != pyarrow.uint64():
            return plain.cast(pyarrow.int64()).to_numpy()
        ids = plain
    if pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind):
        ids = ids.to_numpy(zero_copy_only=False)
        check_exact(ids, what)
        whole = as_whole(ids)
        check_fractions(whole, np.full(len(whole), -1), what)
        if whole.dtype == np.int64 or all(-(2**63) <= one < 2**63 for one in whole):
            return whole.astype(np.int64)
        ids = pyarrow.array([str(one) for one in whole])
    encoded = ids if pyarrow.types.is_dictionary(ids.type) else ids.dictionary_encode()
    used, index = np.unique(encoded.indices.to_numpy(), return_inverse=True)  # a dictionary may hold unused words
    words = [str(word) for word in encoded.dictionary.take(pyarrow.array(used)).to_pylist()]
    for at, word in enumerate(words):
        if not word or "\0" in word:
            row, lacks = start + int(np.argmax(index == at)) + 1, "a byte of 0 in its" if word else "no"
            raise DataError(f"{source.name}, row {row:,} has {lacks} {what} id. Correct or remove such rows first.")
    distinct = pyarrow.array([word.encode() for word in words], pyarrow.large_binary())
    return Words(pyarrow.DictionaryArray.from_arrays(index.astype(np.int32), distinct))


def _times(source, times, start, lenient):
    """Return a batch's times as seconds (n,) int64; lenient: invalid ones are MISSING."""
    if not lenient:
        source.refuse_missing(times, start, "time")
    times = times.to_numpy(zero_copy_only=False)
    return as_seconds(times, f"{source.name}, from row {start + 1:,} on", lenient)
