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

Identify user, item and rating columns by name or option.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpukit.errors import DataError, NoRowsError, ParameterError
from gpukit.io import notes
from gpukit.io.arrays import normalize_name
from gpukit.io.delimited import words_in
from gpukit.io.records import hidden
from gpukit.io.sources import count_marks
from gpukit.io.times import seconds_of
from gpukit.io.words import (
    TOO_SMALL,
    comma_error,
    commas_are_decimal,
    is_decimal_comma,
    is_integer,
    is_number,
    number_fault,
    quote,
    rounds_to_zero,
    separator_of,
    with_point,
)

USER = set(
    """
    user userid users uid customer customerid custid reviewer reviewerid visitorid rater memberid accountid clientid
    viewerid readerid playerid
    """.split()
)
ITEM = set(
    """
    item itemid items iid movie movieid film filmid product productid asin parentasin sku stockcode article
    articleid newsid video videoid photoid recipe recipeid game gameid appid courseid beerid restaurantid venueid
    book bookid isbn song songid track trackid artist artistid business businessid joke anime animeid
    """.split()
)
RATING = {"rating", "ratings", "score", "scores", "star", "stars", "overall", "bookrating", "userrating", "movierating"}
TITLE = {"title", "titles", "name", "movietitle", "booktitle", "itemname"}
TIME = set(
    """
    timestamp timestamps time date datetime unixtime unixreviewtime ratingtimestamp ratingtime ratingdate ratedat
    reviewdate createdat updatedat eventtime clicktime ts
    """.split()
)
WEIGHT = {"weight", "weights"}
COUNT = set(
    """
    count counts plays playcount listens listencount clicks views visits purchases quantity qty frequency playtime
    watchtime duration hours minutes seconds
    """.split()
)


ROLES = {"users": USER, "items": ITEM, "values": RATING, "times": TIME, "weights": WEIGHT, "counts": COUNT}
WORDS = {"users": "user", "items": "item", "values": "rating", "times": "timestamp", "weights": "weight"}
WORDS |= {"counts": "count"}  # words of --columns
IDS, TRIPLE, NUMBERS = ("users", "items"), ("users", "items", "values"), ("values", "weights", "counts")
MOST_UNNAMED = 4  # columns: user, item, rating and time
AUTO = "auto"  # read times if present
MAYBE = "maybe"  # as AUTO, with MISSING for invalid times: they only order the ratings of repeated pairs
OPTIONAL_TIMES = (False, AUTO, MAYBE)


def find_columns(names):
    """Return {role: position} of the first column of each role in a header."""
    simple = [normalize_name(name) for name in names]
    places = {
        role: next((index for index, name in enumerate(simple) if name in known), -1) for role, known in ROLES.items()
    }
    return {role: place for role, place in places.items() if place >= 0}


def refuse_unclear(names, where, option="--columns"):
    """Raise DataError for a table whose user, item and rating columns are unclear.

    names: its fields; where: name of the table, and what it shows; option: the option that names columns. The example
    is exact if one role is missing and one name is unknown, or if only the rating is missing (clicks).
    """
    words = [next(map(WORDS.get, find_columns([name])), "-") for name in names]
    lacking = [WORDS[role] for role in TRIPLE if WORDS[role] not in words]
    example = "user,item" if len(names) == len(IDS) else "user,item,-,rating"
    melted = ""
    if {"item", "rating"} <= {*lacking} and len(names) > MOST_UNNAMED:
        melted = " A table with a column for each item needs a line for each rating instead (pandas: melt)."
    if len(lacking) == words.count("-") == 1:
        words[words.index("-")] = lacking.pop()
    if not lacking or lacking == ["rating"]:
        example = ",".join(words)
    raise DataError(
        f"{where}: which columns are user, item and rating is not clear. Name them in order with {option}, - for a "
        f"column to ignore (such as {example}; clicks have no rating).{melted}"
    )


def columns_of(names, request, what, is_header=False):
    """Return ({role: position}, is_header) of a table; DataError for a certain header without known names.

    names: the fields of the first line; request: formats.Request; what: names the table in messages; is_header: True if
    the names are certainly a header, as in Parquet. Without a header the columns are user, item, rating and time. Pairs
    without ratings are clicks: a weight serves as their count if there is no count.
    """
    need, known = request.need_rating, find_columns(names)
    are_clicks = all(normalize_name(name) in USER | ITEM | TIME | WEIGHT | COUNT for name in names)
    is_known = {*IDS} <= known.keys() and (not need or "values" in known or are_clicks)
    is_header = is_header or is_known
    if request.columns is not None:
        places = _parse_columns(request.columns, need)
        refuse_selection(names, places, what)
    elif is_known:
        places = dict(known)
    elif is_header:
        refuse_unclear(names, f"{what} has the columns {', '.join(map(str, names))}")
    else:
        places = dict(zip(("users", "items", "values", "times"), range(len(names) if need else 2)))
    if not request.times:
        places.pop("times", None)
    if need and "values" not in places:
        if "weights" in places:
            places.setdefault("counts", places.pop("weights"))
    elif request.columns is None:
        places.pop("weights", None)
        places.pop("counts", None)
    if request.times not in OPTIONAL_TIMES and "times" not in places:
        refuse_times(what)
    if request.columns is not None:
        check_reach(places, len(names), what)
    elif is_header:
        roles = [*IDS, "values" if "values" in places else "counts"] if need else [*IDS]
        refuse_repeated(names, roles if request.times in OPTIONAL_TIMES else [*roles, "times"], what)
    if is_header:
        note_unread(names, known, places, request.times, what)
    return places if need else {role: place for role, place in places.items() if role != "values"}, is_header


def heads(words, places):
    """Return True if words name user and item at {role: position}."""
    return all(normalize_name(words[places[role]]) in ROLES[role] for role in IDS)


def refuse_repeated(names, roles, what):
    """Raise DataError for several columns with one of the roles, and for a name with any role that comes twice.

    names: of a table; roles: those that are read; what: as in columns_of.
    """
    simple = [normalize_name(name) for name in names]
    for role, known in ROLES.items():
        places = [place for place, name in enumerate(simple) if name in known]
        different = {simple[place]: f"{str(names[place])!r:.80}" for place in reversed(places)}
        if len(places) > (len(different) if role not in roles else 1):
            first = {place: WORDS[role] for role, place in find_columns(names).items() if role in roles}
            example = ",".join(first.get(place, "-") for place in range(len(names)))
            raise DataError(
                f"{what} has several columns named {' or '.join(reversed(different.values()))}. Keep one of them, or "
                f"name it with --columns, - for the others (such as {example} of {','.join(map(str, names))})."
            )


def refuse_selection(names, places, what):
    """Raise DataError if requested {role: position} name columns that a header has elsewhere, as a selection would.

    names: fields of the first line; what: as in columns_of.
    """
    known = find_columns(names)
    own = {role: next(iter(find_columns(names[place : place + 1])), role) for role, place in places.items()}
    wrong = [role for role in places if own[role] != role and role in known]
    if wrong:
        roles = {known[role]: WORDS[role] for role in places if role in known}
        example = ",".join(roles.get(place, "-") for place in range(max(roles) + 1))
        raise DataError(
            f"{what} has the columns {', '.join(map(str, names)):.200}, whose column {places[wrong[0]] + 1} is not the "
            f"{WORDS[wrong[0]]}. --columns names all of them in their order, with - for a column to ignore: {example}."
        )


def _parse_columns(columns, need_rating):
    """Return {role: position} of 'user,item,-,rating' or a sequence of such words.

    Raises ParameterError if unclear.
    """
    words = [str(word).strip() for word in (columns.split(",") if isinstance(columns, str) else columns)]
    users, items, ratings = (sum(normalize_name(word) in ROLES[role] for word in words) for role in TRIPLE)
    if users != 1 or items != 1 or (need_rating and ratings > 1):
        raise ParameterError(
            f"columns must name user and item{' (and rating, if it is there)' if need_rating else ''} once each, in "
            "the file's order, with - for a column to ignore (such as user,item,-,rating); "
            f"got {','.join(words)!r}."
        )
    return find_columns(words)


def note_unread(names, known, places, times, what):
    """Note unread columns of times, weights and counts.

    known: find_columns(names); places: {role: position} to read; times as in read_ratings.
    """
    read = {place for role, place in places.items() if role != "times" or times not in (False, MAYBE)}
    left = [str(names[place]) for role, place in known.items() if role not in TRIPLE and place not in read]
    if left:
        notes.add(what, "", left_out=left)


def refuse_times(what):
    """Raise DataError for requested times that a table does not have."""
    raise DataError(
        f"{what} has no column of times (timestamp, time, date). Name it among the columns with --columns "
        "(such as user,item,rating,timestamp), or do not ask for times."
    )


def check_same_columns(name, places, is_named, first):
    """Return (name, {role: position}, is_named) of the first part of a table; DataError if another part is unlike it.

    name, places: of a part; is_named: whether it has a header, or None; first: the result for the part before, or None.
    Parts have the same roles, and those with and without a header the same order.
    """
    if first is None:
        return name, places, is_named
    columns, first_names = (", ".join(WORDS[role] for role in ROLES if role in part) for part in (places, first[1]))
    if set(places) != set(first[1]):
        raise DataError(
            f"{name} has the columns {columns}, but {first[0]} has {first_names}. Give all parts the same columns, or "
            "name those to read with --columns."
        )
    if {is_named, first[2]} == {True, False} and places != first[1]:
        with_header, without = (name, first[0])[:: 1 if is_named else -1]
        raise DataError(
            f"{without} has no header, and that of {with_header} has another order than user, item, rating. Name the "
            "columns of all parts in their order with --columns."
        )
    return first


def check_reach(places, count, name):
    """Raise DataError if a named column is beyond the file's columns."""
    if max(places.values()) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places.values()) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )


FORMATS = ("auto", "csv", "tsv", "movielens", "ml-100k", "netflix", "netflix-mm", "ncf", "npz", "parquet", "gkr")
UNUSED = dict.fromkeys(("netflix", "netflix-mm", "npz", "gkr"), ("columns", "sep")) | {"parquet": ("sep",)}
SEPARATORS = ("\t", ",", ";", "|", " ")
DECLARED = re.compile(r"sep=([,;|\t ])", re.IGNORECASE)  # first line that declares Excel's separator
MOVIE_LINE = re.compile(r"\s*\d+:\s*$")
BANNER = "%%matrixmarket"  # of Matrix Market; then the supported words by position
READ = {1: ("matrix",), 2: ("coordinate",), 3: ("real", "integer", "double", "pattern"), 4: ("general",)}


@dataclass(frozen=True)
class Layout:
    """Positions of columns and of the first rating in a text file.

    places: {role: position} of the columns of Ratings that the file has; skip, first_line: byte offset and line of the
    first rating; shape: declared (M, N, ratings) or None; lenient: invalid times are MISSING; named: whether it has
    a header, None for formats that have none; decimal: '.' or ',', the decimal point of numbers.
    """

    format: str
    sep: str
    fields: int
    places: dict
    skip: int = 0
    first_line: int = 1
    shape: tuple | None = None
    lenient: bool = False
    named: bool | None = None
    decimal: str = "."


def recognise(head, name, request):
    """Return the Layout of a text file from its first bytes.

    head: bytes, whole lines; name: for messages; request: a `Request`. Raises DataError for a file without ratings.
    """
    lines = filled_lines(hidden(head))
    if not lines:
        raise DataError(f"{name} is empty. Give a file with a line user,item,rating for each rating.")
    format = request.format if request.format != "auto" else _guess(lines[0].text, request)
    refuse_unused(request, format, name)
    if format == "netflix":
        layout = _netflix(lines, name, request)
    else:
        layout = _matrix(lines, name, request) if format == "netflix-mm" else _delimited(lines, name, request, format)
    return replace(layout, lenient=request.times == MAYBE)


def refuse_unused(request, format, name):
    """Raise ParameterError for options of a Request that the format of a file has no use for."""
    unused = [option for option in UNUSED.get(format, ()) if getattr(request, option) is not None]
    if unused:
        raise ParameterError(
            f"{' and '.join(UNUSED[format])} cannot be used for {name}, which is read as {format}. Leave out "
            f"{' and '.join(unused)}, or convert the file to csv first."
        )


@dataclass(frozen=True)
class Request:
    """Reading options of the caller.

    format: a name or 'auto'; columns, sep: None if not given; need_rating: if True, pairs without ratings are clicks;
    times: see read_ratings (MAYBE: only to order repeated pairs); bounds: (low, high) of ratings.
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


class Line(NamedTuple):
    """Line of a head: its text, and its byte offset and number, from 1, in the file."""

    text: str
    offset: int
    number: int


def filled_lines(head):
    """Return the Lines with content of a head, whose quoted line ends are zero bytes."""
    offset, number, lines = count_marks(head), 1, []
    for raw in head[offset:].removesuffix(b"\n").split(b"\n"):
        text = raw.replace(b"\0", b"\n").decode("utf-8", "replace").rstrip("\r")
        if text.strip():
            lines.append(Line(text, offset, number))
        offset, number = offset + len(raw) + 1, number + 1 + raw.count(b"\0")
    return lines


def _guess(line, request):
    if request.sep is None and request.columns is None:
        if MOVIE_LINE.match(line):
            return "netflix"
        if line.startswith("%"):
            return "netflix-mm"
    is_other = not _is_rated(line, "::") and any(_is_rated(line, sep) for sep in SEPARATORS)  # :: is part of an id
    return "movielens" if "::" in line and request.sep in (None, "::") and not is_other else "csv"


def _netflix(lines, name, request):
    line = next((line for line in lines if not MOVIE_LINE.match(line.text)), None)
    if line is None:
        raise DataError(f"{name} holds `MovieID:` lines but no ratings.")
    fields = line.text.count(",") + 1
    if fields < 2 and request.need_rating:
        raise DataError(
            f"{name} holds pairs without ratings (line {line.number}: {quote(line.text)}), as Netflix's probe "
            "does. gpukit predict can read it; for training give combined_data_*.txt or mv_*.txt."
        )
    fields += 1  # the movie, which is made the first one
    places = dict(zip(("items", "users", "values"), range(3 if request.need_rating else 2)))
    return Layout("netflix", ",", fields, _with_times(places, 3, fields, request, name), *lines[0][1:])


def _with_times(places, place, fields, request, name):
    """Return places with requested times at a position; DataError if a table of `fields` columns lacks them."""
    if request.times and place < fields:
        return {**places, "times": place}
    return places if request.times in OPTIONAL_TIMES else refuse_times(name)


def _matrix(lines, name, request):
    first = lines[0]
    banner = first.text.lower().split()
    if banner[0] == BANNER and any(banner[index:] and banner[index] not in READ[index] for index in READ):
        raise DataError(
            f"{name}, line {first.number}: {quote(first.text)} is no list of all its real numbers. Write the matrix "
            "again as `matrix coordinate real general`."
        )
    sizes, *lines = [line for line in lines if not line.text.startswith("%")] or [Line("", 0, lines[-1].number + 1)]
    shape = sizes.text.split()
    if len(shape) != 3 or not all(is_integer(size) and int(size) >= 0 for size in shape):
        raise DataError(
            f"{name}, line {sizes.number}: expected `users items ratings` after the % lines, found {quote(sizes.text)}."
        )
    if not lines:
        raise DataError(f"{name} ends after its line of sizes: it holds no ratings.")
    first = lines[0]
    fields = len(first.text.split())
    if fields < 2:
        raise DataError(
            f"{name}, line {first.number} has {fields} columns where user, item and rating are expected: "
            f"{quote(first.text)}."
        )
    places = dict(zip(TRIPLE, range(fields if request.need_rating else 2)))
    places = _with_times(places, 3, fields, request, name)
    return Layout("netflix-mm", " ", fields, places, *first[1:], tuple(map(int, shape)))


def _delimited(lines, name, request, format):
    _refuse_json(lines[0].text, name)
    if declared := DECLARED.fullmatch(lines[0].text):
        lines = lines[1:]
        if not lines:
            raise NoRowsError(f"{name} names a separator and holds nothing else: no ratings.")
    line, *rest = lines
    sep = request.sep or (declared[1] if declared else _separator(line.text, format))
    words, below = split(line.text, sep), split(rest[0].text if rest else "", sep)
    where = f"{name}, line {line.number}: {quote(line.text)}"
    need = request.need_rating
    if len(words) < 2:
        raise DataError(
            f"{name}, line {line.number} has {len(words)} column(s) where "
            f"{'user, item and rating' if need else 'user and item'} are expected: {quote(line.text)}. "
            "Name another separator with --sep, or the columns with --columns."
        )
    places, is_header = columns_of(words, request, name)
    number = next((role for role in ("values", "counts") if role in places), None) if need else None
    has_names = is_header or heads(words, places)
    if not has_names and number is not None:
        has_names = _is_in_words(words, places, number, (name, line.number))
    has_names = has_names or ("values" not in places and _heads_pairs(words, below, places))
    if not is_header and request.columns is None:
        if has_names or _is_unclear(words, below, places) or (need and len(words) > MOST_UNNAMED):
            refuse_unclear(words, where)
    if has_names and not rest:
        raise NoRowsError(f"{name} holds a header and nothing else: no ratings.")
    decimal = _decimal_point(lines[has_names:], sep, places)
    return Layout(format, sep, len(words), places, *lines[has_names][1:], named=has_names, decimal=decimal)


def _decimal_point(lines, sep, places):
    """Return ',' if a number of the first lines has a decimal comma and none a point, else '.'.

    1,234 alone decides nothing: its comma may be of thousands.
    """
    if not any("," in line.text if sep != "," else '"' in line.text for line in lines):
        return "."
    rows = [split(line.text, sep) for line in lines]
    words = [row[places[role]] for row in rows for role in NUMBERS if places.get(role, len(row)) < len(row)]
    has_points = any("." in word and is_number(word) for word in words)
    return "," if any(map(is_decimal_comma, words)) and not has_points else "."


def _refuse_json(line, name):
    """Raise DataError for a first line that begins a JSON object."""
    if line.lstrip().startswith(('{"', '[{"')):
        raise DataError(
            f"{name} holds JSON ({quote(line)}), not a table. Make one of it first, in Python: pandas.read_json(path"
            f"{', lines=True' * line.lstrip().startswith('{')})[[user, item, rating]].to_csv('ratings.csv', "
            "index=False), with the names that it has for them."
        )


def _is_in_words(words, places, number, where):
    """Return True if the rating of a first line is no number, as in a header; DataError if an id is a number.

    number: role of the rating or count; where: (name, line).
    """
    word = words[places[number]]
    if _is_rating(word):
        return False
    if comma_error(word) or any(words[places[role]].lstrip("-").isdecimal() for role in IDS):
        raise bad_rating(*where, word, WORDS[number])
    return True


def _is_unclear(words, below, places):
    """Return True if a column's first word names a role above a number, or an id column has a date."""
    is_header = any(is_number(number) and find_columns([word]) for word, number in zip(words, below))
    ids = [words[places[role]] for role in IDS]
    return is_header or any(seconds_of(word) is not None and not is_number(word) for word in ids)


def _heads_pairs(words, below, places):
    """Return True for words above a line of as many words whose ids are integers."""
    ids = [places[role] for role in IDS]
    is_alike = len(below) == len(words) and all(is_integer(below[place]) for place in ids)
    return is_alike and not any(is_integer(words[place]) for place in ids)


def _is_rating(word):
    """Return True for a number with a decimal point or comma."""
    return is_number(word) or with_point(word) is not None


def bad_rating(name, line, text, what="rating"):
    """Return the DataError for an invalid rating, weight or count."""
    if (problem := comma_error(text)) is not None:
        return DataError(f"{name}, line {line:,}: the {what} {quote(text)} has {problem}")
    fault = number_fault(text, "float32") or (
        TOO_SMALL
        if rounds_to_zero(float(text))
        else "written with a point, and others of the file with a decimal comma"
    )
    return DataError(
        f"{name}, line {line:,}: the {what} {quote(text)} is {fault}. Correct or remove the line; if the "
        f"{what}s stand in another column, name the columns with --columns (such as user,item,-,rating)."
    )


def bad_time(name, line, text):
    """Return the DataError for an invalid time."""
    return DataError(
        f"{name}, line {line:,}: {quote(text)} is no time. Times are seconds since 1970 or dates such as "
        "2005-09-06; if they stand in another column, name the columns with --columns."
    )


def _separator(line, format):
    if format == "movielens":
        return "::"
    if format in ("tsv", "ml-100k", "ncf"):
        return "\t" if "\t" in line else " "
    sep = separator_of([line.strip()], SEPARATORS) or ","
    if _is_rated(line, sep):
        return sep
    words = line.split()
    is_rated = len(words) > 2 and with_point(words[2]) is not None and all(map(is_number, words[3:]))
    if sep == "," and commas_are_decimal(line) and is_rated:  # between blanks: 1 2 3,5
        return " "
    return next((mark for mark in (",", ";", "|") if _is_rated(line, mark)), sep)


def _is_rated(line, sep):
    """Return True if word three of at most four is a number."""
    words = split(line, sep)
    return len(TRIPLE) <= len(words) <= MOST_UNNAMED and _is_rating(words[2])


def split(line, sep):
    """Return the fields of a line; misplaced quotes are letters."""
    words = words_in(line, sep)
    return line.split(sep) if words is None else words
