"""Ratings of users unknown to the model, from a file.

Lines are item,rating of one user, or user,item,rating of several.
"""

import tempfile

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.arrays import plain
from gpukit.io.words import decoded
from gpukit.ratings.headers import COUNT, ITEM, RATING, find_columns, has_ids

NEEDED = "a file with a line item,rating, or user,item,rating, for each rating"
ONE = "new"  # the user of a file without users
SPELLED = {"tab": "\t", "\\t": "\t", "space": " "}  # names of separators
SEPARATORS = ("::", "\t", ";", ",", " ")


def read_lists(path, file_format, columns, duplicates, sep, of_clicks=False, bounds=None):
    """Return the Ratings of a file; the user of a file without users has id 'new'.

    of_clicks: pairs user,item, or the items of one user, with ratings or counts if a header names them. bounds: (low,
    high) of the ratings.
    """
    from gpukit.ratings import read_ratings

    with sources.opened(path, NEEDED) as source, tempfile.NamedTemporaryFile(suffix=".csv") as file:
        first = next((line.strip() for line in decoded(source.head).splitlines() if line.strip("\ufeff \t\r")), "")
        between = SPELLED.get(sep, sep) or next((one for one in SEPARATORS if one in first), ",")
        words = first.removeprefix("\ufeff").split(between)
        fields = 1 if of_clicks and not names_ratings(words) else 2
        if file_format != "auto" or columns is not None or len(words) != fields:
            return read_ratings(source, file_format, columns, duplicates, sep, bounds=bounds)
        if fields == 2 and has_ids(find_columns(words)):
            raise DataError(
                f"{source.name} names users and items and no ratings, and the model is of ratings. Give {NEEDED}."
            )
        file.write(with_user(source, between))
        file.flush()
        with sources.opened(file.name, NEEDED) as whole:
            whole.name = source.name
            columns = ",".join(("user", "item", "rating")[: 1 + fields])
            return read_ratings(whole, "csv", columns, duplicates, between, bounds=bounds)


def names_ratings(words):
    """Return True if a header names items and their ratings or counts."""
    return len(words) == 2 and {plain(words[0]) in ITEM, plain(words[1]) in RATING | COUNT} == {True}


def with_user(source, between):
    """Return the bytes of a Source with a first column, the user ONE."""
    stream = source.stream()
    stream.text_head()
    lines = decoded(stream.whole()).removeprefix("\ufeff").splitlines()
    return "\n".join(f"{ONE}{between}{line}" if line.strip() else "" for line in lines).encode()
