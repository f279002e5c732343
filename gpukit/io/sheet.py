"""Rows of fields in a text or in Parquet, as pandas frames in which ids and labels keep their spelling."""

import csv
import io
import itertools
import re

import numpy as np

from gpukit.errors import DataError
from gpukit.io import parquet, sources
from gpukit.io.blank_lines import content_end, cut_blank_end
from gpukit.io.records import QUOTED, words_of
from gpukit.io.words import (
    comma_told,
    commas_are_decimal,
    decimal_commas,
    decoded,
    is_integer,
    is_number,
    separator_of,
    shown,
    with_point,
)

SEPARATORS = (",", "\t", ";")
BLANKS = r"\s+"  # the separator that any run of spaces and tabs is
SIGNS = {"?", "-", "--", "---"}  # that people write where a value is missing
MISSING = {"", "na", "n/a", "#n/a", "#na", "<na>", "null", "none", "nan", "-nan", *SIGNS}  # of values, in any case
UNKNOWN = [*(MISSING - {"nan", "-nan"}), "NA", "N/A", "#N/A", "<NA>", "NULL", "None", "NaN", "-NaN"]  # for pandas
EMPTY = "Correct it, or leave the field empty where the value is missing."
LONGER = "Mend the line; or, if it is the table's header, take away what stands above it"
NO_NUMBERS = "Nor is anything else in its column: leave the column out. Times of sensors are the first column."
# Bytes as classes, and what integers look like in them that are not spelled as Python prints them: 007, +7, -0.
CLASSES = bytes(
    {48: 48, 43: 43, 45: 45}.get(letter, 49 if 49 <= letter <= 57 else 32 if letter in b' \t\r\n,;"' else 46)
    for letter in range(256)
)
MARK, LINE_END, SHARP = re.compile(rb"[#%]"), re.compile(rb"[\r\n]"), ord("#")
IN_QUOTES = re.compile(r'"(?:[^"]|"")*+"')
RETURN = re.compile(rb"\r(?=[,;\t ])")
FIELD = QUOTED.pattern
RETURNS = re.compile(FIELD + rb"|\r\n?")
ODD = (b" 00", b" 01", b" -00", b" -01", b" -0 ", b" +")


def open_table(path):
    """The Table of a text or of Parquet; path: a file's or a pipe's name, '-', or an open Source."""
    with sources.opened(path, "a list of edges or a table of numbers") as source:
        if parquet.is_parquet(source):
            return ParquetTable(source)
        stream = source.stream()
        stream.text_head()
        raw = stream.whole()
        while raw.startswith(sources.BOM):  # one of a program, and one of the file that it had read
            raw = raw.removeprefix(sources.BOM)
        return Table(raw, stream.name)


class Table:
    """Rows of fields in a text: `first` and `second`, the fields of its first lines, and `frame`, all of it parsed.

    named: the first line is known to be a header. commas: numbers have decimal commas in the file, and points here.
    is_exact: words keep the blanks around them, which were quoted. blank_end: the lines without content at the end,
    which are left out.
    """

    named = commas = False
    blank_end = b""

    def __init__(self, raw, path):
        # pandas takes a separator that begins a line for a part of the carriage return before it
        content = _without_comments(raw)
        self.path, self.begin, self.is_exact = path, 0, b'"' in content
        self.raw = RETURNS.sub(_unquoted(b"\n"), content) if self.is_exact else RETURN.sub(b"\n", content)
        self.encoding = "utf-8" if _is_utf8(raw) else "latin-1"
        first, second = self._first_lines()
        if first is None:
            raise DataError(f"{path} has no lines but comments.")
        head = (first[0], second[0]) if second else (first[0],)  # a header of one column has no separator
        self.separator = _separator([decoded(line).strip() for line in head])
        if self.is_exact and self.separator != BLANKS:
            self._trim()
            first, second = self._first_lines()
        self._cut_blank_end(raw)
        self.end = first.end()  # a comma and a point take as much room
        self.raw, self.commas = decimal_commas(self.raw, self.separator)
        first, second = self.raw[slice(*first.span())], second and self.raw[slice(*second.span())]
        self.first, self.second = self._fields(first), (second and self._fields(second)) or [""]
        if self.first is None:
            line = shown(decoded(first))
            raise DataError(f"{path} opens a quote in its first line that this line does not close: {line}.")
        if len(self.first) > 2 and second and b'"' not in second and len(self.second) < 2:
            raise DataError(
                f"{path}: the first line has {len(self.first)} fields, and the next one has no such mark between "
                f"fields: {shown(decoded(second))}. {LONGER}."
            )

    def _cut_blank_end(self, raw):
        """Leave out lines without content at the end; of the raw text, comments and all, those behind them count."""
        sep = " " if self.separator == BLANKS else self.separator
        self.blank_end = raw[len(cut_blank_end(raw, sep, self.path)) :]
        self.raw = self.raw[: content_end(self.raw, sep)]
        if not self.raw:
            raise DataError(f"{self.path} has no lines but empty ones.")

    def _first_lines(self):
        """The first two lines that say something, as matches; None where there are none. Quotes may hold line ends."""
        hidden = re.sub(FIELD, lambda field: LINE_END.sub(b"\0", field[0]), self.raw) if self.is_exact else self.raw
        lines = (line for line in re.finditer(rb"[^\r\n]+", hidden) if line[0].strip())
        return next(lines, None), next(lines, None)

    def _trim(self):
        """Leave out blanks in front of separators and line ends, but for those that are quoted."""
        blanks = rb" " if self.separator == "\t" else rb"[ \t]"
        mark = re.escape(self.separator.encode())
        self.raw = re.sub(FIELD + rb"|" + blanks + rb"++(?=" + mark + rb"|\n|\Z)", _unquoted(b""), self.raw)

    def words(self, column):
        """A pandas column of a frame as [str], '' where nothing is: labels, without blanks that are not quoted."""
        words = column.astype(object).where(column.notna(), "").map(str)
        return (words if self.is_exact else words.str.strip()).tolist()

    def _fields(self, line):
        """The words of a line; None where a quote stays open."""
        text = decoded(line).strip(" \t".replace(self.separator, ""))
        if self.separator == BLANKS:
            text = re.sub(r'"(?:[^"]|"")*"|\t', lambda found: " " if found[0] == "\t" else found[0], text)
            return words_of(text, " ") if '"' in text else re.split(r" +", text)
        return words_of(text, self.separator)

    def frame(self, header, spelled=0):
        """A pandas DataFrame, columns 0 to C-1, without comments, blank lines and, with header=True, the first line.

        spelled: the columns that are text as it is written: how many, from the first on, or which.
        """
        import pandas

        as_text = range(spelled) if isinstance(spelled, int) else spelled
        others = [place for place in range(len(self.first) + 2) if place not in as_text]

        self._refuse_text_behind_quotes()
        self.begin = self.end if header else 0
        try:
            frame = pandas.read_csv(
                io.BytesIO(self.raw[self.begin :]),
                sep=self.separator,
                header=None,
                low_memory=False,
                **_to_the_last_bit(pandas),
                skipinitialspace=True,
                encoding=self.encoding,
                dtype=dict.fromkeys(as_text, str),
                keep_default_na=False,
                na_values=dict.fromkeys(others, UNKNOWN) if as_text else UNKNOWN,
            )
        except pandas.errors.EmptyDataError as error:
            raise DataError(f"{self.path} has a header and no lines below it.") from error
        except MemoryError as error:
            raise DataError(
                f"{self.path}: {len(self.first):,} columns take more memory than there is. Turn the table, so that its "
                "lines are many and short, or give it as .npy or .parquet."
            ) from error
        except (pandas.errors.ParserError, OverflowError, UnicodeDecodeError) as error:
            raise DataError(f"{self.path}: {self._told(error)}.") from error
        if header and frame.shape[1] == len(self.first) + 1:  # the labels of rows have no name
            self._refuse_one_long_line()
            self.first = ["", *self.first]
        if header and frame.shape[1] != len(self.first):
            raise DataError(
                f"{self.path} names {len(self.first):,} columns in its header and has {frame.shape[1]:,} below it."
            )
        return frame

    def _refuse_one_long_line(self):
        """DataError where the first line below the header alone has a field more than that."""
        lines = (line for line in re.finditer(rb"[^\r\n]+", self.raw[self.end :]) if line[0].strip())
        fields = [self._fields(line[0]) for line in itertools.islice(lines, 2)]
        if None not in fields and len(fields) == 2 and len(fields[0]) > len(fields[1]) == len(self.first):
            raise DataError(
                f"{self.path}: the first line below the header has {len(fields[0])} fields, the header and the next "
                f"{len(fields[1])}."
            )

    def _refuse_text_behind_quotes(self):
        """DataError where a field goes on behind the quote that closes it: pandas would join the two."""
        if b'"' not in self.raw:
            return
        mark = " " if self.separator == BLANKS else self.separator
        text = re.sub(rf'"[ \t]+(?=[{re.escape(mark)}\r\n]|$)', '"', decoded(self.raw))
        reader = csv.reader(io.StringIO(text, newline=None), delimiter=mark, skipinitialspace=True, strict=True)
        try:
            for _ in reader:
                pass
        except csv.Error as error:
            if "expected after" in str(error):
                raise DataError(
                    f"{self.path}: line {reader.line_num:,} has text behind a closing quote. Quote the whole field, "
                    "and double the quotes inside it."
                ) from None

    def _told(self, error):
        """What pandas finds wrong, with the number of the line in the file."""
        what = str(error).strip().splitlines()[-1].removeprefix("Error tokenizing data. C error: ")
        before = self._newlines(self.begin)
        told = re.sub(r"line (\d+)", lambda found: f"line {int(found[1]) + before}", what)
        return f"{told}. {LONGER}" if what.startswith("Expected") else told

    def place(self, row):
        """Where a row of the last frame stands, in words: a line, or, where quotes may hold newlines, a row."""
        if b'"' in self.raw:
            return f"row {row + 1:,}"
        blanks = b" \t".replace(self.separator.encode(), b"")  # a line of these is none to pandas
        lines = (line for line in re.finditer(rb"[^\r\n]+", self.raw[self.begin :]) if line[0].strip(blanks))
        start = next(itertools.islice(lines, row, None)).start()
        return f"line {self._newlines(self.begin + start) + 1:,}"

    def most_rows(self):
        """Lines, blank ones too."""
        return 1 + self.raw.count(b"\n") + self.raw.count(b"\r")

    def _newlines(self, end):
        return self.raw.count(b"\n", 0, end)

    def numbers(self, frame):
        """(rows, columns) float64 of a frame, NaN where a field is empty or nan; DataError for a field of text."""
        out = np.empty(frame.shape)
        for place, name in enumerate(frame.columns):
            column = frame[name]
            out[:, place] = column if column.dtype.kind in "biuf" else self._spelled(column)
        return out

    def _spelled(self, column):
        """(rows,) float64 of a column of words and numbers."""
        cells = zip(column, column.isna())
        words = ["" if gap else str(word) for word, gap in cells]
        missing = [word.strip().lower() in MISSING for word in words]
        if {word.lower() for word, gap in zip(words, missing) if not gap} <= {"false", "true"}:
            words = [str(int(word.lower() == "true")) for word in words]
        for row, word in enumerate(words):
            if not missing[row] and not is_number(word, finite=False):
                wrong = f"has {told}" if (told := comma_told(word)) else f"is not a number. {_advice(words)}"
                raise DataError(f"{self.path}, {self.place(row)}: {shown(word)} (column {column.name + 1}) {wrong}")
        return [np.nan if gap else float(word) for gap, word in zip(missing, words)]

    def has_odd_numbers(self):
        """True where a number is not spelled as Python prints it, such as 007: as integers they would be lost."""
        classes = b" " + self.raw.translate(CLASSES) + b" "
        return any(sign in classes for sign in ODD)


class FrameTable(Table):
    """A pandas DataFrame as a Table: the columns' names are its first line."""

    named = is_exact = True

    def __init__(self, path, frame):
        self.path, self._frame = path, frame
        if not len(self._frame):
            raise DataError(f"{self.path} has no rows.")
        unnamed = ("index", "level_0", "__index_level_0__")
        self.first = ["" if name in unnamed else name for name in map(str, self._frame.columns)]
        self.second = [str(value) for value in self._frame.iloc[0]]

    def frame(self, header=True, spelled=0):
        """A pandas DataFrame, columns 0 to C-1, of the types that the file has; there is a header always."""
        frame = self._frame.copy(deep=False)
        frame.columns = range(frame.shape[1])
        return frame

    def most_rows(self):
        """Its rows."""
        return len(self._frame)

    def place(self, row):
        """A row, in words."""
        return f"row {row + 1:,}"

    def has_odd_numbers(self):
        """False: numbers are no text here."""
        return False


class ParquetTable(FrameTable):
    """Parquet in an open Source as a Table, an index of pandas' its first column."""

    def __init__(self, source):
        super().__init__(source.name, parquet.Reader(source).frame())


def _unquoted(other):
    """Return a replacement function for matches: a quoted field stays, anything else becomes `other`."""
    return lambda found: found[0] if found[0].startswith(b'"') else other


def _separator(lines):
    """Return the separator of the first lines [str]; marks within quotes separate nothing."""
    lines = [IN_QUOTES.sub('""', line) for line in lines]
    mark = separator_of(lines, SEPARATORS)
    return BLANKS if mark == "," and commas_are_decimal(lines[-1]) and _are_in_blanks(lines) else mark or BLANKS


def _are_in_blanks(lines):
    """Whether blanks part the fields of lines of which the last has commas in numbers alone: 1 2 0,5; 10:00 1,5 2,5."""
    words, last = lines[-1].split(), lines[-1].split(",")[1:]
    if "," not in lines[0]:
        return len(lines[0].split()) == len(words) > 1
    if len(words) == 3 and all(map(is_integer, words[:2])):
        return True
    return any(" " in field for field in last) and all(map(with_point, words[2:]))


def _advice(words):
    """What to do with a column that has a word that is no number."""
    return EMPTY if len(words) == 1 or any(is_number(word) for word in words) else NO_NUMBERS


def _without_comments(raw):
    """raw with nothing in place of comments: from # or % at the start of a line, or # after a blank, to its end; none
    begins within quotes."""
    parts, kept, line, at, quotes, told = [], 0, 0, 0, 0, 0
    while (found := MARK.search(raw, at)) is not None:
        line = max(line, raw.rfind(b"\n", at, found.start()) + 1, raw.rfind(b"\r", at, found.start()) + 1)
        quotes, told, at = quotes + raw.count(b'"', told, found.start()), found.start(), found.end()
        if quotes % 2 == 0 and _is_comment(raw, line, found.start()):
            end = LINE_END.search(raw, at)
            at = end.start() if end else len(raw)
            parts.append(raw[kept : found.start()])
            kept = told = at
    return b"".join([*parts, raw[kept:]]) if parts else raw


def _is_comment(raw, line, at):
    """True where the mark at a place of the line that begins at `line` begins a comment."""
    if at == line or raw[at - 1] not in b" \t":
        return at == line
    return raw[at] == SHARP or not raw[line:at].strip(b" \t")


def _is_utf8(raw):
    try:
        return raw.isascii() or bool(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _to_the_last_bit(pandas):
    """The option that reads numbers as Python does, which pandas does by itself from 3.1 on; before, the last bit was a
    guess."""
    version = tuple(int(part) for part in pandas.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}
