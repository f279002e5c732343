"""What a reader gathers: blocks of lines parsed, ids made codes, and what is wrong told with its line number."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io.blank_lines import without_blank_end
from gpukit.io.fields import QUOTE, with_commas
from gpukit.io.ids import KeyTable, word_keys
from gpukit.io.lines import count_lines, cut, last_newline, whole_lines
from gpukit.io.times import MISSING, UNSETTLED, seconds_of
from gpukit.io.words import SHOWN, decoded, is_integer, text_array
from gpukit.ratings import formats, parse
from gpukit.ratings.check import check_counts, check_declared, check_range, sound
from gpukit.ratings.clicks import values_of_pairs
from gpukit.ratings.table import OPTIONAL, Ratings, as_counts
from gpukit.runtime.thread_count import get_num_threads

RANGE = 1 << 16  # bytes; a block is cut into ranges of at least this size
NEEDED = "Save it as csv (UTF-8) with user, item and rating."
TEXT = (parse.USER_TEXT, parse.ITEM_TEXT)  # ids that are no integers: no fault, but a column of text


class Position:
    """Where in a stream the reader is: the number of the block's first line, and Netflix's current movie."""

    def __init__(self, name, layout):
        self.name, self.layout, self.line, self.movie = name, layout, layout.first_line, parse.UNKNOWN
        self.commas = {what: Commas() for what in ("rating", "weight", "count")}

    def settled(self):
        """DataError, at the end, where all commas of a column may be of thousands."""
        for what, commas in self.commas.items():
            if commas.first is not None and not commas.certain:
                raise formats.bad_rating(self.name, *commas.first, what)

    def at(self, block, position):
        """(number, text) of the line at a position of the block."""
        start = last_newline(block, position)
        raw = block[start : start + 400].tobytes().split(b"\n")[0]
        return self.line + count_lines(block, position), raw.decode("utf-8", "replace").replace("\0", "\n").strip()


class Commas:
    """What a column's numbers have shown so far: first, (line, word) of the first with a comma; certain: one has a
    comma that is none of thousands; pointed: one has a point, and a fraction behind it."""

    def __init__(self):
        self.first, self.certain, self.pointed = None, False, False


def parsed(block, place, columns):
    """The Rows of a block; DataError for what is wrong with it.

    columns: the Columns of users and items. Where one of them turns out to be text, it goes on as text, and the block
    is parsed again.
    """
    n_ranges = max(1, min(4 * get_num_threads(), len(block) // RANGE))
    bounds, lines = cut(block, n_ranges)
    first_row = np.cumsum(lines) - lines
    while True:
        rule = place.layout.rule(*(column.as_text for column in columns))
        rows = parse.empty_rows(int(lines.sum()), rule)
        report = np.empty((n_ranges, 4), dtype=np.int64)
        parse.parse(block, bounds, first_row, rule, rows, report)
        bad = np.flatnonzero(report[:, parse.PROBLEM] != parse.FINE)
        problem = report[bad[0], parse.PROBLEM] if len(bad) else parse.FINE
        if problem not in TEXT:
            break
        columns[TEXT.index(problem)].to_text()
    if rule.movies:
        _carry_movies(rows.items, first_row, report, place)
    if len(bad):
        report[bad[0] + 1 :, parse.COUNTED] = 0
    rows = _without_gaps(rows, first_row, report[:, parse.COUNTED])
    _settle(block, rows, place)
    if len(bad):
        _refuse(block, problem, report[bad[0], parse.POSITION], place)
    return rows


def _without_gaps(rows, first_row, counts):
    """The Rows that are filled: counts[k] from first_row[k] on."""
    if counts.sum() == len(rows.users):
        return rows
    used = np.concatenate([np.arange(row, row + count) for row, count in zip(first_row, counts, strict=True)])
    return parse.Rows(*(array[used] if len(array) else array for array in rows))


def _carry_movies(items, first_row, report, place):
    place.movie, early = parse.fill_unknown(items, first_row, report, place.movie)
    if early >= 0:
        raise DataError(
            f"{place.name} has ratings before its first `MovieID:` line. Put the files of a split set into "
            "one folder, or name the columns with --columns if the file is a csv."
        )


def _settle(block, rows, place):
    """Fill in what the fast parser left open, by what the field spells, or DataError."""
    extras = place.layout.extras
    if place.layout.rating >= 0:
        _settle_numbers(block, rows.values, rows.starts[:, parse.RATING], place, "rating")
    if extras.weight >= 0:
        _settle_numbers(block, rows.weights, rows.starts[:, parse.WEIGHT], place, "weight")
    if extras.count >= 0:
        _settle_numbers(block, rows.counts, rows.starts[:, parse.COUNT], place, "count")
    if extras.time >= 0:
        open_rows = np.flatnonzero(rows.times == UNSETTLED)
        for row, at, word in _words(block, open_rows, rows.starts[:, parse.TIME], place.layout):
            when = None if "_" in word else seconds_of(word)
            if when is None and place.layout.lenient:
                when = MISSING
            if when is None:
                raise formats.bad_time(place.name, place.at(block, at)[0], word)
            rows.times[row] = when


def _settle_numbers(block, values, starts, place, what):
    rows = np.flatnonzero(np.isnan(values))
    commas = place.commas[what]
    commas.pointed |= bool((values[np.isfinite(values)] % 1 != 0).any())
    if len(rows):
        _settle_commas(block, values, rows, starts, place, commas)
    if commas.first is not None and commas.pointed:
        raise formats.bad_rating(place.name, *commas.first, what)
    for row, at, word in _words(block, rows[np.isnan(values[rows])], starts, place.layout):
        number = word if formats.is_number(word) else formats.with_point(word)
        if number is None:
            raise formats.bad_rating(place.name, place.at(block, at)[0], word, what)
        values[row] = float(number)


def _settle_commas(block, values, rows, starts, place, commas):
    """Fill in the numbers of some rows that have a decimal comma."""
    places = starts[rows].astype(np.int64)
    stops = parse.field_stops(block, places, ord(place.layout.sep[0]), place.layout.width)
    numbers, certain = with_commas(block, places, stops)
    found = np.flatnonzero(~np.isnan(numbers))
    if not len(found):
        return
    values[rows[found]] = numbers[found]
    commas.certain |= bool(certain[found].any())
    if commas.first is None:
        at, stop = places[found[0]], stops[found[0]]
        commas.first = place.at(block, at)[0], block[at:stop].tobytes().decode()


def _words(block, rows, starts, layout):
    """Yield (row, where its field starts, the field's text) for some rows of a block."""
    places = starts[rows].astype(np.int64)
    stops = parse.field_stops(block, places, ord(layout.sep[0]), layout.width)
    for row, start, stop in zip(rows.tolist(), places.tolist(), stops.tolist(), strict=True):
        yield row, start, block[start:stop].tobytes().decode("utf-8", "replace")


def _locator(block, starts, place):
    """Return the function from a row of a block to the file and line that it is from."""
    return lambda row: f"{place.name}, line {place.at(block, int(starts[row]))[0]:,}"


def _refuse(block, problem, position, place):
    """Raise what a problem of the parser's stands for."""
    number, line = place.at(block, position)
    where = f"{place.name}, line {number:,}"
    if problem == parse.COLUMNS:
        count = len(formats.split(line, place.layout.sep))
        raise DataError(
            f"{where} has {count} column(s) where {place.layout.fields} are expected: {line[:80]!r}. "
            "Correct the line, or name another separator with --sep."
        )
    if problem == parse.OPEN_QUOTE:
        what = "opens a quote that it does not close, or has text behind a quoted field"
        raise DataError(f"{where} {what}: {line[:80]!r}. Correct the line.")
    what = "user" if problem == parse.NO_USER else "item"
    raise DataError(f"{where} has no {what} id: {line[:80]!r}. Correct or remove the line.")


class Column:
    """The user ids, or the item ids, of the blocks read so far: a code for each rating, the id of each code."""

    def __init__(self):
        self.as_text, self.table, self.codes, self.names = False, KeyTable(), [], []

    def to_text(self):
        """Go on with text: an integer is read only where it stands as Python prints it, so its text is known."""
        self.names = [str(key) for key in self.table.keys.tolist()]
        self.as_text, self.table = True, KeyTable()
        self.table.codes(word_keys(self.names))  # the same codes: in the order of first appearance

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

    def add_integers(self, ids):
        """Take ids (n,) int64 that are no text of a block."""
        if self.as_text:
            known, which = np.unique(ids, return_inverse=True)
            self.add_words([str(one) for one in known.tolist()], which)
        else:
            self.codes.append(self.table.codes(ids))

    def add_words(self, words, which):
        """Take ids that are no text of a block: words [str], each once, and the places in it (n,) of the ids."""
        if not self.as_text:
            self.to_text()
        known = self.table.count
        codes = self.table.codes(word_keys(words))
        self.names += [words[at] for at in np.flatnonzero(codes >= known).tolist()]
        self.codes.append(codes[which])

    def numbers(self):
        """(count,) int64: the ids as whole numbers, by code; 0 for what is no number of 64 bits."""
        if not self.as_text:
            return self.table.keys
        return np.array([int(name) if is_integer(name) else 0 for name in self.names], dtype=np.int64)

    def outside(self, most):
        """The first id that is no number from 1 to most, as it is spelled; None where all are."""
        numbers = self.numbers()
        wrong = np.flatnonzero((numbers < 1) | (numbers > most))
        if not len(wrong):
            return None
        return self.names[wrong[0]][:SHOWN] if self.as_text else int(numbers[wrong[0]])

    def rows(self, declared=None):
        """(rows (n,) int32, sorted ids); with a declared count of ids, those are 1..declared."""
        if declared is not None:
            return _joined(self.codes, (self.numbers() - 1).astype(np.int32)), np.arange(1, declared + 1)
        found = text_array(self.names, "the longest id") if self.as_text else self.table.keys
        ids, rank = np.unique(found, return_inverse=True)
        return _joined(self.codes, rank.astype(np.int32)), ids


def _decoded(block, start, stop):
    word = decoded(block[start:stop].tobytes())
    return word.replace('""', '"').replace("\0", "\n") if start and block[start - 1] == QUOTE else word


def _joined(chunks, rank=None):
    """The chunks as one array, rank[chunk] where rank is given; chunks is emptied on the way to save memory."""
    out = np.empty(sum(map(len, chunks)), dtype=chunks[0].dtype if rank is None else rank.dtype)
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


class RatingsBuilder:
    """The ratings of the streams read so far, and what becomes of them in the end."""

    def __init__(self):
        self.users, self.items, self.shape = Column(), Column(), None
        self.chunks = {name: [] for name in ("values", *OPTIONAL)}

    def read(self, stream, request):
        """Take one Stream of text; raises DataError."""
        layout = formats.recognise(stream.text_head(NEEDED), stream.name, request)
        self.shape = layout.shape
        place = Position(stream.name, layout)
        blocks = without_blank_end(stream.blocks(layout.skip), layout.sep, stream.name)
        for block in whole_lines(blocks, ord(layout.sep[0]), layout.width):
            rows = parsed(block, place, (self.users, self.items))
            if len(rows.users):
                self.users.add(rows.users, block, rows.starts[:, parse.USER], layout)
                if layout.item < 0:  # it stands above its ratings
                    self.items.add_integers(rows.items)
                else:
                    self.items.add(rows.items, block, rows.starts[:, parse.ITEM], layout)
                values, counts = rows.values, rows.counts
                if layout.rating < 0 and request.need_rating:
                    values, counts = values_of_pairs(len(values), counts)
                if layout.rating >= 0:
                    check_range(values, request.bounds, _locator(block, rows.starts[:, parse.RATING], place))
                if layout.extras.count >= 0:
                    check_counts(rows.counts, _locator(block, rows.starts[:, parse.COUNT], place))
                self.add_columns(values=values, times=rows.times, weights=rows.weights, counts=counts)
            place.line += count_lines(block, len(block))
        place.settled()

    def add_columns(self, values, **optional):
        """Take the values, and the optional columns that are not empty, of further ratings."""
        self.chunks["values"].append(values)
        for name, column in optional.items():
            if len(column):
                self.chunks[name].append(as_counts(column) if name == "counts" else column)

    def ratings(self, name):
        """Everything read, as Ratings; the builder is empty afterwards."""
        if not self.chunks["values"]:
            raise DataError(f"{name} holds no ratings.")
        if self.shape:
            self._check_declared(name)
        sizes = self.shape or (None, None)
        users, user_ids = self.users.rows(sizes[0])
        items, item_ids = self.items.rows(sizes[1])
        if any(chunk.dtype == np.float32 for chunk in self.chunks["counts"]):
            self.chunks["counts"] = [chunk.astype(np.float32) for chunk in self.chunks["counts"]]
        optional = {column: _joined(self.chunks[column]) for column in OPTIONAL if self.chunks[column]}
        return sound(Ratings(users, items, _joined(self.chunks["values"]), user_ids, item_ids, **optional))

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
