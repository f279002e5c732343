"""read_ratings and read_pairs: any of the known formats to rows, values and id maps.

A text file is read in blocks of whole lines; each block is parsed on all cores (text.py) and its ids become codes at
once (ids.py), so memory peaks at 16 bytes a rating plus a few blocks.
"""

from gpukit.errors import ParameterError
from gpukit.io import sources
from gpukit.ratings import copies, formats
from gpukit.ratings.gather import Sheet, TextIds
from gpukit.ratings.repeats import RULES, without_repeats

SPELLED = {"\\t": "\t", "tab": "\t", "space": " "}  # separators that a shell makes hard to type


def read_ratings(path, format="auto", columns=None, duplicates="last", sep=None):
    """The Ratings in a file, or in a folder of Netflix's files.

    path: csv, tsv, MovieLens, ML-100K, Netflix, netflix_mm, NCF, scipy .npz or .gkr, also as .gz, .xz or .zip. format:
    its name, or 'auto' to tell it from the content (see `formats`). columns: what the file's columns are, in order,
    such as 'user,item,-,rating' ('-' or any other word: ignored). sep: the separator. duplicates: 'last', 'mean' or
    'error' for repeated pairs. Users and items are rows in the order of their sorted ids: int64 where all are integers,
    else str. Raises DataError naming the line for what is missing, empty or malformed, ParameterError for unclear
    arguments.
    """
    request = formats.Request(format, columns, SPELLED.get(sep, sep))
    if duplicates not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {duplicates!r}.")
    ratings = _read(path, request)
    return ratings if copies.is_copy(path) else without_repeats(ratings, duplicates, in_place=True)


def read_pairs(path, format="auto", columns=None, sep=None):
    """(user ids (n,), item ids (n,)) of a file of pairs, in its order; further columns, ratings too, are ignored."""
    pairs = _read(path, formats.Request(format, columns, SPELLED.get(sep, sep), need_rating=False))
    return pairs.user_ids[pairs.users], pairs.item_ids[pairs.items]


def _read(path, request):
    files = sources.files(path)
    reader = copies.reader_of(files[0], request.format) if len(files) == 1 else None
    if reader is not None:
        return reader(files[0])
    streams = [stream for file in files for stream in sources.members(file)]
    user_text = item_text = False
    while True:
        sheet = Sheet(user_text, item_text)
        try:
            for name, opener in streams:
                sheet.read(name, opener, request)
            return sheet.ratings(str(path))
        except TextIds as found:
            user_text, item_text = user_text or found.users, item_text or found.items
