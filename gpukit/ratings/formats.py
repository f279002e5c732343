"""Detect the format of a file from its first bytes.

A text file has a separator, column positions and a first rating.

| name        | content                                                                         |
|-------------|---------------------------------------------------------------------------------|
| csv, tsv    | columns between separators (comma, tab, semicolon, bar, spaces), header or none |
| movielens   | `UserID::MovieID::Rating`, with or without `::Timestamp`                        |
| ml-100k, ncf| tab-separated user, item, rating, timestamp (u.data; *.train.rating)            |
| netflix     | a line `MovieID:`, then lines `CustomerID,Rating,date`; many movies a file      |
| netflix-mm  | Matrix Market: lines of %, a line `users items ratings`, then 1-based triples   |
| npz         | a scipy sparse matrix                                                           |
| parquet     | columns with the names of a header                                              |
| gkr         | binary copy written by `gpukit convert`                                         |
"""

import re
from dataclasses import dataclass, replace

from gpukit.errors import DataError, NoRowsError, ParameterError
from gpukit.io.delimited import words_in
from gpukit.io.records import hidden
from gpukit.io.times import seconds_of
from gpukit.io.words import (
    comma_error,
    commas_are_decimal,
    is_integer,
    is_number,
    separator_of,
    shown,
    with_point,
)
from gpukit.ratings import headers

FORMATS = ("auto", "csv", "tsv", "movielens", "ml-100k", "netflix", "netflix-mm", "ncf", "npz", "parquet", "gkr")
SEPARATORS = ("\t", ",", ";", "|", " ")
DECLARED = re.compile(r"sep=([,;|\t ])", re.IGNORECASE)  # first line that declares Excel's separator
MOVIE_LINE = re.compile(r"\s*\d+:\s*$")
BOM = b"\xef\xbb\xbf"
BANNER = "%%matrixmarket"  # of Matrix Market; then the supported words by position
READ = {1: ("matrix",), 2: ("coordinate",), 3: ("real", "integer", "double", "pattern"), 4: ("general",)}


@dataclass(frozen=True)
class Layout:
    """Positions of columns and of the first rating in a text file.

    places: {role: position} of the columns of Ratings that the file has; skip, first_line: byte offset and line of the
    first rating; shape: declared (M, N, ratings) or None; lenient: invalid times are MISSING.
    """

    format: str
    sep: str
    fields: int
    places: dict
    skip: int = 0
    first_line: int = 1
    shape: tuple | None = None
    lenient: bool = False


def recognise(head, name, request):
    """Return the Layout of a text file from its first bytes.

    head: bytes, whole lines; name: for messages; request: a `Request`. Raises DataError for a file without ratings.
    """
    lines = _Lines(hidden(head))
    if not lines.skip_blank():
        raise DataError(f"{name} is empty. Give a file with a line user,item,rating for each rating.")
    format = request.format if request.format != "auto" else _guess(lines.text, request)
    if format in ("netflix", "netflix-mm") and (request.columns or request.sep):
        raise ParameterError(f"columns and sep do not apply to {name}, which is read as {format}.")
    if format == "netflix":
        layout = _netflix(lines, name, request)
    else:
        layout = _matrix(lines, name, request) if format == "netflix-mm" else _delimited(lines, name, request, format)
    return replace(layout, lenient=request.times == headers.MAYBE)


@dataclass(frozen=True)
class Request:
    """Reading options of the caller.

    format: a name or 'auto'; columns, sep: None if not given; need_rating: if True, pairs without ratings are clicks;
    times: see read_ratings (headers.MAYBE: only to order repeated pairs); bounds: (low, high) of ratings.
    """

    format: str = "auto"
    columns: object = None
    sep: str | None = None
    need_rating: bool = True
    times: bool = False
    bounds: tuple | None = None

    def __post_init__(self):
        if self.format not in FORMATS:
            raise ParameterError(f"format must be one of {', '.join(FORMATS)}; got {self.format!r}.")
        single = self.sep is None or (len(self.sep) == 1 and self.sep.isascii() and self.sep != '"')
        if not single and self.sep != "::":
            raise ParameterError(f"sep must be one ASCII character or '::'; got {self.sep!r}.")


class _Lines:
    """Position among the lines of a head, whose quoted line ends are zero bytes."""

    def __init__(self, head):
        self._mark = len(BOM) if head.startswith(BOM) else 0
        self._lines, self._at = head[self._mark :].removesuffix(b"\n").split(b"\n"), 0

    def skip_blank(self, count=0, comment=None):
        """Go `count` lines on, and to the next line with content; return False at the end."""
        self._at += count
        while self._at < len(self._lines) and (not self.text.strip() or (comment and self.text.startswith(comment))):
            self._at += 1
        return self._at < len(self._lines)

    @property
    def text(self):
        """Text of the line, '' at the end."""
        return self.below(0) or ""

    def below(self, count=1):
        """Return the text of a later line; None beyond the end."""
        lines = self._lines[self._at + count : self._at + count + 1]
        return lines[0].decode("utf-8", "replace").rstrip("\r") if lines else None

    @property
    def start(self):
        """Byte offset and number, from 1, of the line."""
        before = self._lines[: self._at]
        return self._mark + sum(map(len, before)) + len(before), self.number

    @property
    def number(self):
        """Line number, from 1."""
        return self._at + 1 + sum(line.count(b"\0") for line in self._lines[: self._at])


def _guess(line, request):
    if request.sep is None and request.columns is None:
        if MOVIE_LINE.match(line):
            return "netflix"
        if line.startswith("%"):
            return "netflix-mm"
    return "movielens" if "::" in line and request.sep in (None, "::") else "csv"


def _netflix(lines, name, request):
    start = lines.start
    while MOVIE_LINE.match(lines.text):
        if not lines.skip_blank(1):
            raise DataError(f"{name} holds `MovieID:` lines but no ratings.")
    fields = lines.text.count(",") + 1
    if fields < 2 and request.need_rating:
        raise DataError(
            f"{name} holds pairs without ratings (line {lines.number}: {shown(lines.text)}), as Netflix's probe "
            "does. gpukit predict can read it; for training give combined_data_*.txt or mv_*.txt."
        )
    places = {"users": 0, "values": 1} if request.need_rating else {"users": 0}
    return Layout("netflix", ",", fields, _with_times(places, 2, fields, request, name), *start)


def _with_times(places, place, fields, request, name):
    """Return places with requested times at a position; DataError if a table of `fields` columns lacks them."""
    if request.times and place < fields:
        return {**places, "times": place}
    return places if request.times in headers.OPTIONAL_TIMES else headers.refuse_times(name)


def _matrix(lines, name, request):
    banner = lines.text.lower().split()
    if banner[0] == BANNER and any(banner[at:] and banner[at] not in READ[at] for at in READ):
        raise DataError(
            f"{name}, line {lines.number}: {shown(lines.text)} is no list of all its real numbers. Write the matrix "
            "again as `matrix coordinate real general`."
        )
    lines.skip_blank(comment="%")
    sizes = lines.text.split()
    if len(sizes) != 3 or not all(is_integer(size) and int(size) >= 0 for size in sizes):
        raise DataError(
            f"{name}, line {lines.number}: expected `users items ratings` after the % lines, found {shown(lines.text)}."
        )
    if not lines.skip_blank(1, comment="%"):
        raise DataError(f"{name} ends after its line of sizes: it holds no ratings.")
    fields = len(lines.text.split())
    if fields < 2:
        raise DataError(
            f"{name}, line {lines.number} has {fields} columns where user, item and rating are expected: "
            f"{shown(lines.text)}."
        )
    places = dict(zip(headers.TRIPLE, range(fields if request.need_rating else 2)))
    places = _with_times(places, 3, fields, request, name)
    return Layout("netflix-mm", " ", fields, places, *lines.start, tuple(map(int, sizes)))


def _delimited(lines, name, request, format):
    _refuse_json(lines.text, name)
    if declared := DECLARED.fullmatch(lines.text):
        if not lines.skip_blank(1):
            raise NoRowsError(f"{name} names a separator and holds nothing else: no ratings.")
    sep = request.sep or (declared[1] if declared else _separator(lines.text, format))
    words, where = split(lines.text, sep), f"{name}, line {lines.number}: {shown(lines.text)}"
    need = request.need_rating
    if len(words) < 2:
        raise DataError(
            f"{name}, line {lines.number} has {len(words)} column(s) where "
            f"{'user, item and rating' if need else 'user and item'} are expected: {shown(lines.text)}. "
            "Name another separator with --sep, or the columns with --columns."
        )
    places, is_header = headers.columns_of(words, request, name)
    number = places.get("values", places.get("counts"))
    in_words = headers.heads(words, places) or (need and number is not None and not _is_rating(words[number]))
    has_names = is_header or (request.columns is not None and in_words)
    is_unclear = request.columns is None and _is_unclear(words, split(lines.below() or "", sep), places)
    if not has_names and (is_unclear or _is_unknown_header(words, places, sep, name, lines)):
        headers.refuse_unclear(words, where)
    if need and not is_header and request.columns is None and len(words) > headers.MOST_UNNAMED:
        headers.refuse_unclear(words, where)
    if not lines.skip_blank(int(has_names)):
        raise NoRowsError(f"{name} holds a header and nothing else: no ratings.")
    return Layout(format, sep, len(words), places, *lines.start)


def _refuse_json(line, name):
    """Raise DataError for a first line that begins a JSON object."""
    if line.lstrip().startswith(('{"', '[{"')):
        raise DataError(
            f"{name} holds JSON ({shown(line)}), not a table. Make one of it first, in Python: pandas.read_json(path"
            f"{', lines=True' * line.lstrip().startswith('{')})[[user, item, rating]].to_csv('ratings.csv', "
            "index=False), with the names that it has for them."
        )


def _is_unknown_header(words, places, sep, name, lines):
    """Return True if the first line is a header with unknown names; DataError if it has a wrong rating."""
    if "values" not in places:
        return _heads_pairs(words, split(lines.below() or "", sep), places)
    rating = words[places["values"]]
    if _is_rating(rating):
        return False
    if comma_error(rating) or any(word.lstrip("-").isdecimal() for word in words[:2]):
        raise bad_rating(name, lines.number, rating)
    return True


def _is_unclear(words, below, places):
    """Return True if a column's first word names a role above a number, or an id column has a date."""
    is_header = any(is_number(number) and headers.is_role(word) for word, number in zip(words, below))
    ids = [words[places[role]] for role in headers.IDS]
    return is_header or any(seconds_of(word) is not None and not is_number(word) for word in ids)


def _heads_pairs(words, below, places):
    """Return True for words above a line of as many words whose ids are integers."""
    ids = [places[role] for role in headers.IDS]
    is_alike = len(below) == len(words) and all(is_integer(below[place]) for place in ids)
    return is_alike and not any(is_integer(words[place]) for place in ids)


def _is_rating(word):
    """Return True for a number with a decimal point or comma."""
    return is_number(word) or with_point(word) is not None


def bad_rating(name, line, text, what="rating"):
    """Return the DataError for an invalid rating, weight or count."""
    if (problem := comma_error(text)) is not None:
        return DataError(f"{name}, line {line:,}: the {what} {shown(text)} has {problem}")
    kind = "a finite number" if is_number(text, finite=False) else "a number"
    return DataError(
        f"{name}, line {line:,}: the {what} {shown(text)} is not {kind}. Correct or remove the line; if the "
        f"{what}s stand in another column, name the columns with --columns (such as user,item,-,rating)."
    )


def bad_time(name, line, text):
    """Return the DataError for an invalid time."""
    return DataError(
        f"{name}, line {line:,}: {shown(text)} is no time. Times are seconds since 1970 or dates such as "
        "2005-09-06; if they stand in another column, name the columns with --columns."
    )


def _separator(line, format):
    if format == "movielens":
        return "::"
    if format in ("tsv", "ml-100k", "ncf"):
        return "\t" if "\t" in line else " "
    sep = separator_of([line.strip()], SEPARATORS)
    return " " if sep == "," and commas_are_decimal(line) and _rated_in_blanks(line) else sep or ","


def _rated_in_blanks(line):
    """Return True if word three has a decimal comma before numbers."""
    words = line.split()
    return len(words) > 2 and with_point(words[2]) is not None and all(map(is_number, words[3:]))


def split(line, sep):
    """Return the fields of a line; misplaced quotes are letters."""
    words = words_in(line, sep)
    return line.split(sep) if words is None else words
