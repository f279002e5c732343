"""read_ratings and read_pairs: any of the known formats to rows, values and id maps.

A text file is read in blocks of whole lines; each block is parsed on all cores (parse.py) and its ids become codes at
once (ids.py), so memory peaks at 16 bytes a rating plus a few blocks, and at 8 more a rating with times.
"""

from gpukit.errors import ParameterError
from gpukit.io import sources
from gpukit.ratings import copies, formats
from gpukit.ratings.gather import RatingsBuilder
from gpukit.ratings.repeats import RULES, without_repeats

SPELLED = {"\\t": "\t", "tab": "\t", "space": " "}  # separators that a shell makes hard to type


def read_ratings(path, format="auto", columns=None, duplicates="last", sep=None, times=False):
    """The Ratings in a file, or in a folder of Netflix's files.

    path: csv, tsv, MovieLens, ML-100K, Netflix, netflix_mm, NCF, scipy .npz, Parquet or .gkr; text also as .gz, .xz or
    .zip. format: its name, or 'auto' to tell it from the content (see `formats`). columns: what the file's columns are,
    in order, such as 'user,item,-,rating' or 'user,item,rating,timestamp,weight,count' ('-' or any other word:
    ignored); weights and counts are read where they are named here, and from copies that have them. sep: the separator.
    duplicates: 'last', 'mean' or 'error' for repeated pairs. times: read the times too, from the column that is named
    so, or the one after the rating where there is no header; seconds since 1970 are kept as they are (milliseconds
    too), dates become seconds.
    Users and items are rows in the order of their sorted ids: int64 where all are integers, else str. Raises DataError
    naming the line for what is missing, empty or malformed, ParameterError for unclear arguments.
    """
    request = formats.Request(format, columns, SPELLED.get(sep, sep), times=times)
    if duplicates not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {duplicates!r}.")
    return without_repeats(_read(path, request), duplicates, in_place=True)


def read_pairs(path, format="auto", columns=None, sep=None):
    """(user ids (n,), item ids (n,)) of a file of pairs, in its order; further columns, ratings too, are ignored."""
    pairs = _read(path, formats.Request(format, columns, SPELLED.get(sep, sep), need_rating=False))
    return pairs.user_ids[pairs.users], pairs.item_ids[pairs.items]


def _read(path, request):
    files = sources.files(path)
    reader = copies.reader_of(files[0], request.format) if len(files) == 1 else None
    if reader is not None:
        return reader(files[0], request)
    builder = RatingsBuilder()
    for file in files:
        for name, opener in sources.members(file):
            builder.read(name, opener, request)
    return builder.ratings(str(path))
