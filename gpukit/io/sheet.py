"""Tables in text or Parquet as pandas data frames.

Ids and labels keep their spelling.
"""

import itertools
import re
import warnings

import numpy as np

from gpukit._pool import in_order
from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.delimited import Wanted, Words, columns_of, lines, rows_end, whole_rows
from gpukit.io.records import QUOTED, hidden
from gpukit.io.words import (
    comma_error,
    commas_are_decimal,
    content_end,
    cut_blank_end,
    decimal_commas,
    decode,
    is_integer,
    is_number,
    quote,
    separator_of,
    with_point,
)
from gpukit.runtime.thread_count import get_num_threads

SEPARATORS = (",", "\t", ";")
SIGNS = {"?", "-", "--", "---"}  # marks of missing values
MISSING = {"", "na", "n/a", "#n/a", "#na", "<na>", "null", "none", "nan", "-nan", *SIGNS}  # of values, lower case
UNKNOWN = (*sorted(MISSING - {"nan", "-nan"}), "NA", "N/A", "#N/A", "<NA>", "NULL", "None", "NaN", "-NaN", "nan")
EMPTY = "Correct it, or leave the field empty where the value is missing."
NO_NUMBERS = "Nor is anything else in its column: leave the column out."
HEAD, BLOCK = 1 << 20, 1 << 24  # bytes searched for the first rows; bytes parsed at once
IN_QUOTES = re.compile(r'"(?:[^"]|"")*+"')
# A quoted field, which stays; a line end; a comment: from # or % at the start of a line, or # after a blank.
UNCLEAN = QUOTED.pattern + rb"|\r\n?|(?:(?<![^\r\n])[ \t]*+[#%]%b)[^\r\n]*+"


def open_table(path):
    """Return the Table of a text or Parquet file.

    path: name of a file or pipe, '-', or an open Source.
    """
    with sources.open_source(path, "a list of edges or a table of numbers") as source:
        if source.format == "parquet":
            from gpukit.io import tables

            return FrameTable(source.name, tables.Reader(source).frame())
        name, raw = sources.read_whole(source, "")
    return Table(raw, name)


class Table:
    """Rows of fields in a text.

    first, second : [str], the fields of its first rows.
    separator : str, ' ' for any run of blanks.
    named : bool, whether the first row is known to be a header.
    commas : bool, whether the file's numbers have decimal commas. They are replaced by points here.
    blank_end : bytes, the blank lines at the end, which are left out.
    """

    named = commas = False
    blank_end = b""

    def __init__(self, raw, path):
        self.path, clean = path, _clean(raw)
        head = [decode(line) for line in _first_lines(clean)]
        if not head:
            raise DataError(f"{path} has no lines but comments.")
        self.separator = sep = _separator(head)
        if sep != " ":  # a field may have a blank and #
            clean = _clean(raw, b"")
            _warn_of_comments(raw, sep, path)
        self.blank_end = raw[len(cut_blank_end(raw, sep, path)) :]
        clean = clean[: content_end(clean, sep)]
        if not clean:
            raise DataError(f"{path} has no lines but empty ones.")
        self._raw, self.commas = decimal_commas(clean if clean.endswith(b"\n") else clean + b"\n", sep)
        rows = self._first_rows()
        self._head, self.first, self.second = rows, rows[0][1], rows[1][1] if len(rows) > 1 else [""]
        above = rows[0][0] if len(rows) < 2 else rows[1][0] - 1  # lines above the second row
        ends = re.finditer(b"\n", self._raw)
        self._begin, self._body = 0, next(itertools.islice(ends, above - 1, None)).end()
        if len(rows) > 1 and len(self.first) > 2 and len(self.second) == 1:
            raise self._wrong_fields(rows[1][0], self.second, len(self.first))

    def _wrong_fields(self, number, words, expected):
        """Return the DataError for a line with an unexpected number of fields."""
        return DataError(
            f"{self.path}, line {number:,} has {len(words)} field(s) where {expected} are expected: "
            f"{quote(self.separator.join(words))}. Correct the line; or, if it is the table's header, remove what is "
            "above it."
        )

    def _first_rows(self):
        """Return up to three (line, [str]) of the first rows."""
        line_end = self._raw.find(b"\n", HEAD) + 1
        head = self._raw[: rows_end(self._raw[:line_end], self.separator)] if line_end else self._raw
        rows = list(itertools.islice(self._rows(head), 3)) if head else []
        return rows if len(rows) == 3 else list(itertools.islice(self._rows(self._raw), 3))

    def _rows(self, raw, before=0):
        """Yield (line, [str]) of rows; DataError for wrong quotes.

        before: number of lines before these.
        """
        for number, line, words in lines(raw, self.separator):
            if words is None:
                raise DataError(
                    f"{self.path}, line {before + number:,} opens a quote that it does not close, or has text behind a "
                    f"closing quote: {quote(line)}. Quote the whole field, and double the quotes inside it."
                )
            yield before + number, [decode(word) for word in words]

    def words(self, column):
        """Return a pandas column as [str], '' where missing."""
        return column.astype(object).where(column.notna(), "").map(str).tolist()

    def frame(self, header, spelled=0, ids=(), others=True):
        """Return the rows as a pandas DataFrame with columns 0 to C-1.

        header=True: leave out the first row. spelled: columns kept as text, or the number of leading ones. ids: columns
        that are int64 if all words are integers as Python prints them, else text. Other columns are float64 if all
        words are numbers or missing, else text, NaN where missing; others=False leaves them out.
        """
        import pandas

        self._begin, width = (self._body, self._width()) if header else (0, len(self.first))
        spelled = {*(range(spelled) if isinstance(spelled, int) else spelled)} & {*range(width)}
        numbers = tuple(place for place in range(width) if others and place not in spelled and place not in ids)
        wanted = Wanted(self.separator, width, tuple(ids), numbers, missing=UNKNOWN)
        try:
            return pandas.DataFrame(self._columns(wanted, spelled), copy=False)
        except MemoryError as error:
            raise DataError(
                f"{self.path}: {width:,} columns take more memory than there is. Turn the table, so that its lines are "
                "many and short, or give it as .npy or .parquet."
            ) from error

    def _columns(self, wanted, spelled):
        """Return {position: array} of the rows; columns in `spelled` are text."""
        examples = dict(enumerate(self.first if self.second == [""] else self.second))
        texts = {
            index
            for index in wanted.numbers
            if (word := examples.get(index, "")) not in UNKNOWN and not _is_number(word)
        }
        parts = self._parts(wanted, texts | spelled)
        places = sorted(parts[0])
        return {
            index: _concatenate([part.pop(index) for part in parts], index in wanted.numbers) for index in places
        }  # frees parts

    def _width(self):
        """Return the number of fields below the header.

        If it is one more than in the header, the first column holds labels.
        """
        if len(self._head) < 2:
            raise DataError(f"{self.path} has a header and no lines below it.")
        number, below, after = self._head[1][0], len(self.second), len(self._head[-1][1])
        if below != after == len(self.first):
            raise self._wrong_fields(number, self.second, after)
        if below == len(self.first) + 1:
            self.first = ["", *self.first]
        if below != len(self.first):
            raise DataError(f"{self.path} names {len(self.first):,} columns in its header and has {below:,} below it.")
        return below

    def _parts(self, wanted, words):
        """Return [{position: array or Words}] of row blocks, one kind per column."""
        parts = []
        in_order(
            lambda task: columns_of(task[0], wanted, words) or self._by_lines(*task, wanted, words),
            self._located_blocks(),
            parts.append,
            get_num_threads(),
        )
        kinds = {place: {isinstance(part[place], Words) for part in parts} for place in parts[0]}
        mixed = {place for place, kind in kinds.items() if len(kind) > 1}
        return self._parts(wanted, words | mixed) if mixed else parts

    def _located_blocks(self):
        """Yield (whole rows, their offset in bytes)."""
        position = self._begin
        for block in whole_rows(self._blocks(), self.separator):
            yield block, position
            position += len(block)

    def _blocks(self):
        """Yield uint8 arrays of whole lines."""
        letters, begin = np.frombuffer(self._raw, np.uint8), self._begin
        while begin < len(letters):
            end = self._raw.find(b"\n", begin + BLOCK) + 1 or len(letters)
            yield letters[begin:end]
            begin = end

    def _by_lines(self, raw, begin, wanted, spelled):
        """Return {position: Words} of rows from a byte offset on.

        Raises DataError for a row with too many fields.
        """
        rows, before = [], self._raw.count(b"\n", 0, begin)
        for number, words in self._rows(raw, before):
            if len(words) > wanted.fields:
                raise self._wrong_fields(number, words, wanted.fields)
            rows.append([word.encode() for word in words] + [b""] * (wanted.fields - len(words)))
        places = (*wanted.ids, *wanted.numbers, *spelled)
        return {place: Words([row[place] for row in rows]) for place in places}

    def place(self, row):
        """Return the position of a row of the last frame, for messages."""
        before = self._raw.count(b"\n", 0, self._begin)
        number, _ = next(itertools.islice(self._rows(self._raw[self._begin :], before), row, None))
        return f"line {number:,}"

    def most_rows(self):
        """Return an upper bound of the number of rows."""
        return 1 + self._raw.count(b"\n")

    def numbers(self, frame):
        """Return a frame as float64, NaN for missing; DataError for text."""
        out = np.empty(frame.shape)
        for place, name in enumerate(frame.columns):
            out[:, place] = self.column(frame[name])
        return out

    def column(self, column, no_numbers=NO_NUMBERS):
        """Return a column of a frame as numbers (rows,), NaN for missing; DataError for text.

        no_numbers: advice for a column without numbers.
        """
        if column.dtype.kind in "biuf":
            return column.to_numpy(np.float64, na_value=np.nan)
        index, words = self.distinct_words(column)
        given = [word for word in words if word.strip().lower() not in MISSING]
        if {word.lower() for word in given} <= {"false", "true"}:
            return np.array([{"false": 0.0, "true": 1.0}.get(word.lower(), np.nan) for word in words])[index]
        wrong = next((word for word in given if not _is_number(word)), None)  # in the order of the rows
        if wrong is not None:
            row = int(np.argmax(index == words.index(wrong)))
            advice = EMPTY if len(index) == 1 or any(map(is_number, words)) else no_numbers
            why = f"has {what}" if (what := comma_error(wrong)) else f"is not a number. {advice}"
            raise DataError(f"{self.path}, {self.place(row)}: {quote(wrong)} (column {column.name + 1}) {why}")
        return np.array([np.nan if word.strip().lower() in MISSING else float(word) for word in words])[index]

    def distinct_words(self, column):
        """Return (index (rows,), distinct words [str] by first row) of a column of a frame, '' where missing."""
        import pandas

        index, words = pandas.factorize(np.array(self.words(column), dtype=object))
        return index, words.tolist()


class FrameTable(Table):
    """Table of a pandas DataFrame, as of Parquet: its first row has the column names, its first column an index."""

    named = True

    def __init__(self, path, frame):
        self.path, self._frame = path, frame
        if not len(self._frame):
            raise DataError(f"{self.path} has no rows.")
        unnamed = ("index", "level_0", "__index_level_0__")
        self.first = ["" if name in unnamed else name for name in map(str, self._frame.columns)]
        self.second = [str(value) for value in self._frame.iloc[0]]

    def frame(self, header=True, spelled=0, ids=(), others=True):
        """Return a DataFrame with columns 0 to C-1 and file types.

        A header always exists.
        """
        return self._frame.set_axis(range(self._frame.shape[1]), axis=1)

    def most_rows(self):
        """Return the number of rows."""
        return len(self._frame)

    def place(self, row):
        """Return the position of a row, for messages."""
        return f"row {row + 1:,}"


def _clean(raw, inside=rb"|(?<=[ \t])#"):
    """Return a text (bytes) without comments and carriage returns outside quotes.

    inside: pattern of the beginning of a comment behind the start of a line.
    """
    if b"\r" in raw and b'"' not in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not any(mark in raw for mark in (b"\r", b"#", b"%")):
        return raw
    return re.sub(
        UNCLEAN.replace(b"%b", inside), lambda match: {b'"': match[0], b"\r": b"\n"}.get(match[0][:1], b""), raw
    )


def _warn_of_comments(raw, separator, path):
    """Warn of comments below the first row that have as many separators as it: they may be rows."""
    if b"#" not in raw and b"%" not in raw:
        return
    begin, mark = re.match(rb"(?:[ \t]*+(?:[#%][^\r\n]*+)?[\r\n]++)*+", raw).end(), separator.encode()
    first, *rest = re.split(rb"[\r\n]+[ \t]*+(?=[#%])", hidden(raw[begin:]))
    expected = re.split(rb"[\r\n]", first, maxsplit=1)[0].count(mark)
    alike = [
        line for line in (re.split(rb"[\r\n]", text, maxsplit=1)[0] for text in rest) if line.count(mark) == expected
    ]
    if alike:
        warnings.warn(
            f"{path}: {len(alike):,} line(s) that begin with # or % are left out as comments, such as "
            f"{quote(decode(alike[0]))}. If they are rows, quote their first field.",
            stacklevel=5,
        )


def _is_number(word):
    return is_number(word, finite=False)


def _first_lines(raw):
    """Return the first two lines (bytes) with words. Quotes may hold line ends."""
    for size in (HEAD, len(raw)):
        result = [line for line in hidden(raw[:size]).split(b"\n") if line.strip()][:3]
        if len(result) == 3 or size >= len(raw):
            break
    return [line.strip() for line in result[:2]]


def _separator(lines):
    """Return the first lines' separator, ' ' for blanks.

    Separators within quotes are ignored.
    """
    lines = [IN_QUOTES.sub('""', line) for line in lines]
    mark = separator_of(lines, SEPARATORS)
    return " " if mark == "," and commas_are_decimal(lines[-1]) and _are_in_blanks(lines) else mark or " "


def _are_in_blanks(lines):
    """Return True if blanks separate fields and commas are only in numbers.

    Examples of last lines: 1 2 0,5; 10:00 1,5 2,5.
    """
    words, last = lines[-1].split(), lines[-1].split(",")[1:]
    if "," not in lines[0]:
        return len(lines[0].split()) == len(words) > 1
    if len(words) == 3 and all(map(is_integer, words[:2])):
        return True
    return any(" " in field for field in last) and all(map(with_point, words[2:] or words))


def _concatenate(parts, is_value):
    """Concatenate a column's blocks; is_value: missing words become NaN."""
    if not isinstance(parts[0], Words):
        return np.concatenate(parts) if len(parts) > 1 else parts[0]
    return np.concatenate([_texts(part, is_value) for part in parts])


def _texts(words, is_value):
    """Return Words as an array of str, NaN for missing values."""
    texts = words.texts()
    if is_value:
        texts = [np.nan if text in UNKNOWN else text for text in texts]
    return np.array(texts, object)[words.index]
