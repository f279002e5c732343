"""Ratings of users that a model need not know, from a file: item,rating of one user, or user,item,rating of several."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import sources

NEEDED = "a file with a line item,rating, or user,item,rating, for each rating"
ONE = "new"  # the user of a file without users
SEPARATORS = ("::", "\t", ";", ",", " ")


def read_lists(path, file_format, columns, duplicates, sep):
    """The Ratings in a file; the one user of a file of two columns has the id 'new'."""
    from gpukit.ratings import read_pairs, read_ratings

    with sources.opened(path, NEEDED) as source:
        if file_format != "auto" or columns is not None or not has_two(source.head, sep):
            return read_ratings(source, file_format, columns, duplicates, sep)
        items, texts = read_pairs(source, "csv", None, sep)
        return of_one(items, texts, source.name, duplicates)


def has_two(head, sep):
    """Whether the first line of a file that begins so has two fields."""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    line = next((line.strip() for line in lines if line.strip()), "")
    sep = {"tab": "\t", "\\t": "\t", "space": " "}.get(sep, sep) or next(
        (one for one in SEPARATORS if one in line), ","
    )
    return len(line.split(sep)) == 2


def of_one(items, texts, name, duplicates):
    """Ratings of one user: item ids (n,), ratings as they are spelled (n,); a first line that is a heading is left
    out."""
    from gpukit.ratings import as_ratings
    from gpukit.ratings.repeats import without_repeats

    if number(texts[0]) is None and len(texts) > 1:
        items, texts = items[1:], texts[1:]
    values = [number(text) for text in texts.tolist()]
    if None in values:
        raise DataError(
            f"{name}: the rating {str(texts[values.index(None)])!r} of an item is not a number. Correct the line."
        )
    users = np.full(len(items), ONE)
    return without_repeats(as_ratings((users, items, np.array(values, np.float32)), repeats=False), duplicates)


def number(text):
    """What a rating spells, None for no finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
