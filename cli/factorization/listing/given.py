"""Ratings of users unknown to the model, from a file.

Lines are item,rating of one user, or user,item,rating of several.
"""

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.lists.files import lines_of
from gpukit.io import sources
from gpukit.io.arrays import plain
from gpukit.io.blank_lines import cut_blank_end
from gpukit.io.words import as_ids, is_integer
from gpukit.ratings.check import check_range
from gpukit.ratings.clicks import are_clicks
from gpukit.ratings.headers import COUNT, ITEM, RATING, find_columns, has_ids

NEEDED = "a file with a line item,rating, or user,item,rating, for each rating"
ONE = "new"  # the user of a file without users
SPELLED = {"tab": "\t", "\\t": "\t", "space": " "}  # names of separators
SEPARATORS = ("::", "\t", ";", ",", " ")


def read_lists(path, file_format, columns, duplicates, sep, of_clicks=False, bounds=None):
    """Return the Ratings of a file; the user of two columns has id 'new'.

    of_clicks: pairs user,item, or the items of one user, with ratings or counts if a header names them. bounds: (low,
    high) of the ratings.
    """
    from gpukit.ratings import read_ratings

    with sources.opened(path, NEEDED) as source:
        if of_clicks and file_format == "auto" and columns is None and fields_of(source.head, sep) == 1:
            return clicked_by_one(source)
        of_clicks = of_clicks and not names_ratings(first_line(source.head).split(separator(source.head, sep)))
        if of_clicks or file_format != "auto" or columns is not None or fields_of(source.head, sep) != 2:
            return read_ratings(source, file_format, columns, duplicates, sep, bounds=bounds)
        return of_one(*read_two(source, sep), source.name, duplicates, bounds)


def names_ratings(words):
    """Return True if a header names items and their ratings or counts."""
    return len(words) == 2 and {plain(words[0]) in ITEM, plain(words[1]) in RATING | COUNT} == {True}


def read_two(source, sep):
    """Return (line numbers (n,), items (n,), ratings (n,)) of a Source with two fields.

    Items and ratings are unconverted texts. DataError for a line without two fields.
    """
    lines = lines_of(source, NEEDED, separator(source.head, sep))
    for number, words in lines:
        if len(words) != 2 or not all(words):
            raise DataError(f"{source.name}, line {number:,} lacks an item or a rating: {' '.join(words)[:80]!r}.")
    if not lines:
        raise DataError(f"{source.name} holds a header and nothing else: no ratings. Give {NEEDED}.")
    if has_ids(find_columns(lines[0][1])):
        raise DataError(
            f"{source.name} names users and items and no ratings, and the model is of ratings. Give {NEEDED}."
        )
    items, texts = zip(*(words for _, words in lines))
    return np.array([number for number, _ in lines]), np.array(items), np.array(texts)


def clicked_by_one(source):
    """Return the Ratings of one user from a file of one item per line.

    The header is optional.
    """
    from gpukit.ratings import as_ratings
    from gpukit.ratings.read import noted

    blocks = [block.tobytes() for stream in source.streams(lambda names: names[:1]) for block in stream.blocks(0)]
    raw = cut_blank_end(b"".join(blocks), ",", source.name)
    lines = raw.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    items = [line.strip() for line in lines if line.strip()]
    items = items[1:] if items[:1] and plain(items[0]) in ITEM else items
    if not items:
        raise DataError(f"{source.name} holds no items. Give {NEEDED}, or an item a line.")
    numbers = all(is_integer(item) for item in items)
    items = np.array(list(map(int, items)) if numbers else items)
    return noted(as_ratings((np.full(len(items), ONE), items)), source.name, "clicks")


def fields_of(head, sep):
    """Return the number of fields in the first line of a file."""
    return len(first_line(head).split(separator(head, sep)))


def first_line(head):
    """Return the first nonblank line of the beginning of a file."""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    return next((line.strip() for line in lines if line.strip()), "")


def separator(head, sep):
    """Return the field separator: the given one, or that of the first line."""
    line = first_line(head)
    return SPELLED.get(sep, sep) or next((one for one in SEPARATORS if one in line), ",")


def of_one(lines, items, texts, name, duplicates, bounds=None):
    """Return the Ratings of one user.

    lines (n,): line numbers; items (n,): ids; texts (n,): unconverted ratings. A header is skipped. bounds: see
    read_lists.
    """
    from gpukit.ratings import as_ratings
    from gpukit.ratings.read import noted
    from gpukit.ratings.repeats import without_repeats

    if number(texts[0]) is None and len(texts) > 1:
        lines, items, texts = lines[1:], items[1:], texts[1:]
    values = [number(text) for text in texts.tolist()]
    if None in values:
        row = values.index(None)
        raise DataError(
            f"{name}, line {lines[row]:,}: the rating {str(texts[row])!r} of an item is not a number. Correct the line."
        )
    check_range(np.array(values, np.float32), bounds, lambda row: f"{name}, line {lines[row]:,}")
    users, items = np.full(len(items), ONE), as_ids(items.tolist())
    ratings = as_ratings((users, items, np.array(values, np.float32)), repeats=False)
    rule = "clicks" if are_clicks(ratings) else duplicates
    return noted(without_repeats(ratings, duplicates), name, rule)


def number(text):
    """Return a rating as a number, None if it is not finite."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
