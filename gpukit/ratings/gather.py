"""What a reader gathers: blocks of lines parsed, ids made codes, and what is wrong told with its line number."""

import numpy as np

from gpukit._jit import numba
from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.lines import count_lines, cut, last_newline
from gpukit.ratings import formats, parse
from gpukit.ratings.ids import KeyTable
from gpukit.ratings.table import Ratings

RANGE = 1 << 16  # bytes; a block is cut into ranges of at least this size


class TextIds(Exception):
    """Ids that are not integers came up where integers were expected: read again with those ids as text."""

    def __init__(self, users, items):
        super().__init__()
        self.users, self.items = users, items


class Place:
    """Where in a stream the reader is: the number of the block's first line, and Netflix's current movie."""

    def __init__(self, name, layout):
        self.name, self.layout, self.line, self.movie = name, layout, layout.first_line, parse.UNKNOWN

    def at(self, block, position):
        """(number, text) of the line at a position of the block."""
        start = last_newline(block, position)
        raw = block[start : start + 400].tobytes().split(b"\n")[0]
        return self.line + count_lines(block, position), raw.decode("utf-8", "replace").strip()


def parsed(block, rule, place):
    """(users, items (n,) int64 keys, values (n,) float32, starts (n, 3) int32) of a block; DataError or TextIds."""
    n_ranges = max(1, min(4 * numba.get_num_threads(), len(block) // RANGE))
    bounds, lines = cut(block, n_ranges)
    first_row = np.cumsum(lines) - lines
    total = int(lines.sum())
    arrays = (
        np.empty(total, dtype=np.int64),
        np.empty(total, dtype=np.int64),
        np.empty(total, dtype=np.float32),
        np.empty((total, 3), dtype=np.int32),
    )
    report = np.empty((n_ranges, 4), dtype=np.int64)
    parse.parse(block, bounds, first_row, rule, *arrays, report)
    if place.layout.format == "netflix":
        _carry_movies(arrays[1], first_row, report, place)
    bad = np.flatnonzero(report[:, 1] != parse.FINE)
    if len(bad):
        report[bad[0] + 1 :, 0] = 0
    if report[:, 0].sum() < total:
        used = np.concatenate([np.arange(row, row + count) for row, count in zip(first_row, report[:, 0], strict=True)])
        arrays = tuple(array[used] for array in arrays)
    if place.layout.rating >= 0:
        _settle(block, arrays[2], arrays[3][:, 2], place)
    if len(bad):
        _refuse(block, report[bad[0], 1], report[bad[0], 2], place)
    return arrays


def _carry_movies(items, first_row, report, place):
    place.movie, early = parse.fill_unknown(items, first_row, report, place.movie)
    if early >= 0:
        raise DataError(
            f"{place.name} has ratings before its first `MovieID:` line. Put the files of a split set into "
            "one folder, or name the columns with --columns if the file is a csv."
        )


def _settle(block, values, starts, place):
    """Replace NaN, which marks what the fast parser left open, by the number that the field spells, or DataError."""
    layout = place.layout
    rows = np.flatnonzero(np.isnan(values))
    stops = parse.field_stops(block, starts[rows].astype(np.int64), ord(layout.sep[0]), layout.width)
    for row, stop in zip(rows.tolist(), stops.tolist(), strict=True):
        word = block[starts[row] : stop].tobytes().decode("utf-8", "replace")
        if not formats.is_number(word):
            raise formats.bad_rating(place.name, place.at(block, starts[row])[0], word)
        values[row] = float(word)


def _refuse(block, problem, position, place):
    """Raise what a problem of `text` stands for."""
    if problem in (parse.USER_TEXT, parse.ITEM_TEXT):
        raise TextIds(problem == parse.USER_TEXT, problem == parse.ITEM_TEXT)
    number, line = place.at(block, position)
    where = f"{place.name}, line {number:,}"
    if problem == parse.COLUMNS:
        count = len(formats.split(line, place.layout.sep))
        raise DataError(
            f"{where} has {count} column(s) where {place.layout.fields} are expected: {line[:80]!r}. "
            "Correct the line, or name another separator with --sep."
        )
    if problem == parse.OPEN_QUOTE:
        raise DataError(f"{where} opens a quote that it does not close: {line[:80]!r}. Correct the line.")
    what = "user" if problem == parse.NO_USER else "item"
    raise DataError(f"{where} has no {what} id: {line[:80]!r}. Correct or remove the line.")


class Column:
    """The user ids, or the item ids, of the blocks read so far: a code for each rating, the id of each code."""

    def __init__(self, as_text):
        self.as_text, self.table, self.codes, self.names = as_text, KeyTable(), [], []

    def add(self, keys, block, starts, layout):
        """Take the ids of one block; keys (n,) int64, starts (n,) where they stand in it."""
        known = self.table.count
        codes = self.table.codes(keys)
        self.codes.append(codes)
        if self.as_text and self.table.count > known:
            fresh = np.flatnonzero(codes >= known)
            places = starts[fresh[np.unique(codes[fresh], return_index=True)[1]]].astype(np.int64)
            stops = parse.field_stops(block, places, ord(layout.sep[0]), layout.width)
            self.names += [_decoded(block, *span) for span in zip(places.tolist(), stops.tolist(), strict=True)]

    def rows(self, declared=None):
        """(rows (n,) int32, sorted ids); with a declared count of ids, those are 1..declared."""
        if declared is not None:
            return _joined(self.codes, (self.table.keys - 1).astype(np.int32)), np.arange(1, declared + 1)
        ids, rank = np.unique(np.array(self.names) if self.as_text else self.table.keys, return_inverse=True)
        return _joined(self.codes, rank.astype(np.int32)), ids


def _decoded(block, start, stop):
    raw = block[start:stop].tobytes()
    try:
        word = raw.decode("utf-8")
    except UnicodeDecodeError:
        word = raw.decode("latin-1")
    return word.replace('""', '"') if start and block[start - 1] == 34 else word


def _joined(chunks, rank=None):
    """The chunks as one array, rank[chunk] where rank is given; chunks is emptied on the way to save memory."""
    out = np.empty(sum(map(len, chunks)), dtype=chunks[0].dtype)
    end = len(out)
    while chunks:
        chunk = chunks.pop()
        part = out[end - len(chunk) : end]
        if rank is None:
            part[:] = chunk
        else:
            np.take(rank, chunk, out=part, mode="clip")  # codes are in range; other modes would go through a copy
        end -= len(chunk)
    return out


class Sheet:
    """The ratings of the streams read so far."""

    def __init__(self, user_text, item_text):
        self.users, self.items, self.values, self.shape = Column(user_text), Column(item_text), [], None

    def read(self, name, opener, request):
        """Read one stream; raises DataError, or TextIds when ids turn out not to be integers."""
        layout = formats.recognise(sources.head(name, opener), name, request)
        self.shape = layout.shape
        place = Place(name, layout)
        for block in sources.blocks(name, opener, layout.skip):
            users, items, values, starts = parsed(block, layout.rule(self.users.as_text, self.items.as_text), place)
            if len(values):
                self.users.add(users, block, starts[:, 0], layout)
                self.items.add(items, block, starts[:, 1], layout)
                self.values.append(values)
            place.line += count_lines(block, len(block))

    def ratings(self, name):
        """Everything read, as Ratings; the sheet is empty afterwards."""
        if not self.values:
            raise DataError(f"{name} holds no ratings.")
        if self.shape:
            self._check_declared(name)
        sizes = self.shape or (None, None)
        users, user_ids = self.users.rows(sizes[0])
        items, item_ids = self.items.rows(sizes[1])
        return Ratings(users, items, _joined(self.values), user_ids, item_ids)

    def _check_declared(self, name):
        count = sum(map(len, self.values))
        if count != self.shape[2]:
            raise DataError(
                f"{name} declares {self.shape[2]:,} ratings and holds {count:,}: it is cut short or put "
                "together wrongly."
            )
        for what, column, size in zip(("user", "item"), (self.users, self.items), self.shape, strict=False):
            low, high = column.table.keys.min(), column.table.keys.max()
            if low < 1 or high > size:
                raise DataError(
                    f"{name} declares {what}s 1 to {size:,}, but {what} {low if low < 1 else high} comes up."
                )
