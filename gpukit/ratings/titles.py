"""Read titles of items from files of MovieLens, Netflix, csv and tsv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.arrays import normalize_name
from gpukit.io.records import lines_of, words_of
from gpukit.io.words import cut_blank_end, decode, is_integer
from gpukit.ratings.formats import ITEM

if TYPE_CHECKING:
    from gpukit.typing import Input

NEEDED = "a file with a line item,title for each item"
TITLE = {"title", "titles", "name", "movietitle", "booktitle", "itemname"}


def read_titles(path: Input) -> dict[int, str] | dict[str, str]:
    """Return {item id: title} of a file.

    Ids are int if all are integers, else str.

    Formats: `id::title::...` (MovieLens movies.dat); a csv or tsv whose header names an item and a title (movies.csv);
    without a header, the first and second columns, or (Netflix movie_titles.txt: id,year,title with commas in the
    title) the text after a year. UTF-8, else Windows-1252. Raises DataError for a missing or empty file, and with the
    line that has no title.
    """
    path, raw = sources.read_whole(path, NEEDED)
    first = decode(raw).lstrip().partition("\n")[0]
    sep = next((sep for sep in ("::", "\t", ",", ";", "|") if sep in first), ",")
    text = decode(cut_blank_end(raw, sep, path))
    lines = [(number, line.rstrip("\r")) for number, line in lines_of(text, sep) if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty. Give {NEEDED}.")
    item, title, count, header = _places(_split(lines[0][1], sep) or [""], sep)
    titles = {}
    for number, line in lines[header:]:
        words = _split(line, sep, count)
        if words is None:
            raise DataError(f"{path}, line {number:,} opens a quote that it does not close: {line[:80]!r}.")
        if max(item, title) >= len(words) or not words[title] or not words[item]:
            what = "a title without an item" if words[0] == "" else "an item without a title"
            raise DataError(f"{path}, line {number:,} has {what}: {line[:80]!r}. Expected item{sep}title.")
        titles[words[item]] = words[title]
    if not titles:
        raise DataError(f"{path} holds a header and nothing else: no titles. Give {NEEDED}.")
    return _with_integers(titles)


def _places(first, sep):
    """Return (item, title, columns, 1 for a header else 0).

    columns: 0 for any number. first: the fields of the first line. With a number of columns, unquoted separators belong
    to the last one, as in Netflix's titles.
    """
    simple = [normalize_name(word) for word in first]
    item = next((index for index, word in enumerate(simple) if word in ITEM | {"id"}), None)
    title = next((index for index, word in enumerate(simple) if word in TITLE), None)
    if item is not None and title is not None:
        return item, title, len(first), 1
    if sep != ",":
        return 0, 1, 0, 0
    year = len(first) > 2 and (first[1].isdecimal() or first[1] == "NULL")
    return (0, 2, 3, 0) if year else (0, 1, 2, 0)


def _split(line, sep, count=0):
    """Return the fields of a line; None for an open quote.

    count: maximum number of fields, 0 for any.
    """
    if len(sep) > 1 or '"' not in line:
        return [word.strip() for word in line.split(sep, count - 1)]
    return words_of(line, sep)


def _with_integers(titles):
    return {int(item): title for item, title in titles.items()} if all(map(is_integer, titles)) else titles
