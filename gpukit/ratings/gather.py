"""Read blocks of lines in parallel, encode ids and join columns."""

import numpy as np

from gpukit._pool import in_order, shared_out
from gpukit.errors import DataError
from gpukit.io.blank_lines import without_blank_end
from gpukit.io.delimited import Words, whole_rows
from gpukit.io.ids import KeyTable, factorize
from gpukit.io.words import SHOWN, as_ids, is_integer, text_array
from gpukit.ratings import formats
from gpukit.ratings.check import check_declared, sound
from gpukit.ratings.clicks import values_of_pairs
from gpukit.ratings.table import OPTIONAL, Ratings, as_counts
from gpukit.ratings.text import NUMBERS, Place, by_columns, by_lines
from gpukit.runtime.thread_count import get_num_threads

NEEDED = "Save it as csv (UTF-8) with user, item and rating."
IDS = ("users", "items")
PIECE = 1 << 20  # entries per task
BLOCK = 8 << 20  # bytes of lines that a thread parses at once


class Column:
    """User or item ids of the blocks read so far.

    They are stored as whole numbers, or as a code for each rating and an id for each code.
    """

    def __init__(self):
        self.as_text, self.chunks, self.table, self.names = False, [], None, []
        self.are_words = False  # even if they spell numbers

    def look_up(self, ids):
        """Return the present codes of Words; None for other ids.

        Called by the thread that parsed them.
        """
        table = self.table
        return table.find(ids.keys) if table is not None and isinstance(ids, Words) else None

    def add(self, ids, found=None):
        """Append ids: whole numbers (n,) or Words.

        found: earlier result of `look_up`.
        """
        if isinstance(ids, Words):
            self._add(ids.keys, ids.text, found=found)
        elif self.as_text:
            different, which = np.unique(ids, return_inverse=True)
            self._add_distinct([str(one) for one in different.tolist()], which)
        else:
            self.chunks.append(ids)

    def add_words(self, words, which):
        """Append ids that stay words.

        words: distinct [str]; which: the index in words of each id (n,).
        """
        self.are_words = True
        self._add_distinct(words, which)

    def _add_distinct(self, words, which):
        self._add(keys_of(words), lambda places: [words[at] for at in places], which)

    def _add(self, keys, spelled, which=None, found=None):
        """Append words by their keys.

        spelled(places): returns some of them as [str]; which: indices (n,) of the ids in the words, or None if the
        words are the ids themselves.
        """
        if not self.as_text:
            self._to_text()
        known = self.table.count
        codes = self.table.codes(keys, found)
        fresh = np.flatnonzero(codes >= known)
        places = np.empty(self.table.count - known, np.int64)
        places[codes[fresh] - known] = fresh  # any occurrence of a word suffices
        self.names += spelled(places)
        self.chunks.append(codes if which is None else codes[which])

    def _to_text(self):
        """Convert the ids so far to words.

        A word was stored as a number only if it is spelled as that number.
        """
        chunks, self.as_text, self.chunks, self.table = self.chunks, True, [], KeyTable()
        for chunk in chunks:
            self.add(chunk)

    def numbers(self):
        """Return the ids as int64 by code, 0 for other words."""
        return np.array([int(name) if is_integer(name) else 0 for name in self.names], dtype=np.int64)

    def outside(self, most):
        """Return the first id outside [1, most] as spelled, or None."""
        for numbers in [self.numbers()] if self.as_text else self.chunks:
            wrong = np.flatnonzero((numbers < 1) | (numbers > most))
            if len(wrong):
                return self.names[wrong[0]][:SHOWN] if self.as_text else int(numbers[wrong[0]])
        return None

    def rows(self, what, declared=None):
        """Return (rows (n,) int32, sorted ids).

        declared: count of ids, which then are 1..declared; what: name of the ids in messages.
        """
        codes = joined(self.chunks)
        if declared is not None:
            rows = taken(self.numbers(), codes) if self.as_text else codes
            return (rows - 1).astype(np.int32), np.arange(1, declared + 1)
        if not self.as_text:
            return factorize(codes, what)
        names = (text_array if self.are_words else as_ids)(self.names, "the longest id")
        known, rank = np.unique(names, return_inverse=True)
        return taken(rank.astype(np.int32), codes), known


def taken(values, places):
    """Return values[places], computed on all threads."""
    out = np.empty(len(places), values.dtype)

    def take(start):
        part = slice(start, start + PIECE)
        np.take(values, places[part], out=out[part], mode="clip")  # other modes copy

    shared_out(take, range(0, len(places), PIECE))
    return out


def keys_of(words):
    """Return the hash keys (n,) int64 of words [str]."""
    return Words([word.encode() for word in words]).keys


def joined(chunks):
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

    def read(self, stream, request):
        """Append one text Stream; raises DataError."""
        layout = formats.recognise(stream.text_head(NEEDED), stream.name, request)
        self.shape, place = layout.shape, Place(stream.name, layout)
        blocks = without_blank_end(stream.blocks(layout.skip, BLOCK), layout.sep, stream.name)
        in_order(
            lambda raw: (raw, *self._by_columns(raw, layout, request.bounds)),
            whole_rows(blocks, layout.sep),
            lambda read: self._take(*read, place, request),
            get_num_threads(),
        )
        for name, decimals in place.decimals.items():
            decimals.settle(stream.name, NUMBERS[name])

    def _by_columns(self, raw, layout, bounds):
        """Return (Block or None, codes by `Column.look_up`) of whole lines.

        Called on several threads.
        """
        block = by_columns(raw, layout, bounds, [name for name in IDS if getattr(self, name).as_text])
        return block, block and [getattr(self, name).look_up(block.columns[name]) for name in IDS]

    def _take(self, raw, block, found, place, request):
        """Append whole lines at a Place, with the result of `_by_columns`."""
        block = block or by_lines(raw, place, request.bounds)
        place.carry_movie(block)
        for name in block.columns.keys() & NUMBERS.keys():
            commas = block.commas.get(name)
            place.decimals[name].add(block.columns[name], commas, lambda row: place.line_of(raw, row))
        self._add(block.columns, found, place.layout, request)
        place.line += block.lines

    def _add(self, columns, found, layout, request):
        """Append a block's columns; found: codes by `Column.look_up` or None."""
        for name, codes in zip(IDS, found or (None, None), strict=True):
            getattr(self, name).add(columns[name], codes)
        numbers = {name: columns[name] for name in ("values", "weights") if name in columns}
        counts = columns.get("counts", ())
        if layout.rating < 0:
            rows = len(columns["users"])
            numbers["values"] = np.zeros(rows, np.float32)
            if request.need_rating:
                numbers["values"], counts = values_of_pairs(rows, counts)
        self.add_columns(**numbers, times=columns.get("times", ()), counts=counts)

    def add_columns(self, values, **optional):
        """Append the values and non-empty optional columns of further ratings."""
        self.chunks["values"].append(values)
        for name, column in optional.items():
            if len(column):
                self.chunks[name].append(as_counts(column) if name == "counts" else column)

    def ratings(self, name):
        """Return all ratings read, and empty the builder."""
        if not any(map(len, self.chunks["values"])):
            raise DataError(f"{name} holds no ratings.")
        if self.shape:
            self._check_declared(name)
        sizes = self.shape or (None, None)
        users, user_ids = self.users.rows("user", sizes[0])
        items, item_ids = self.items.rows("item", sizes[1])
        if any(chunk.dtype == np.float32 for chunk in self.chunks["counts"]):
            self.chunks["counts"] = [chunk.astype(np.float32) for chunk in self.chunks["counts"]]
        columns = {column: joined(chunks) for column, chunks in self.chunks.items() if chunks}
        return sound(Ratings(users, items, **columns, user_ids=user_ids, item_ids=item_ids))

    def _check_declared(self, name):
        count = sum(map(len, self.chunks["values"]))
        if count != self.shape[2]:
            raise DataError(
                f"{name} declares {self.shape[2]:,} ratings and holds {count:,}: it is cut short or put "
                "together wrongly."
            )
        check_declared(name, self.shape[:2], count)
        for what, column, size in zip(("user", "item"), (self.users, self.items), self.shape, strict=False):
            wrong = column.outside(size)
            if wrong is not None:
                raise DataError(f"{name} declares {what}s 1 to {size:,}, but {what} {wrong} comes up.")
