"""Read ratings and pairs from files of all known formats, and titles of items.

A text file is parsed in blocks of whole lines, one per core (chunk_reader.py). Until all blocks are read, ids are kept
as 32-bit numbers if they fit, or as codes.
"""

from __future__ import annotations

import glob
import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpukit.errors import DataError, NoRowsError, ParameterError
from gpukit.io import notes, sources
from gpukit.io.arrays import normalize_name
from gpukit.io.delimited import short_rows, split_line
from gpukit.io.words import is_integer
from gpukit.ratings import copies, formats
from gpukit.ratings.check import are_clicks, are_pairs, check_range
from gpukit.ratings.chunk_reader import RatingsBuilder, read_parquet
from gpukit.ratings.formats import ITEM, MAYBE, OPTIONAL_TIMES, TITLE
from gpukit.ratings.repeats import RULES, merged_line, without_repeats
from gpukit.ratings.table import Ratings, set_state, without_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.ratings.repeats import Rule
    from gpukit.typing import Ids, Input

READERS = {"gkr": copies.read_gkr, "npz": copies.read_npz}  # of formats that are read whole
NETFLIX_FILE = re.compile(r"(combined_data_\d+|mv_\d+)\.txt(\.gz|\.bz2|\.xz)?$")
RATINGS_FILE = re.compile(r"(ratings?\.(dat|csv|tsv|txt)|u\.data)(\.gz|\.bz2|\.xz)?$")
NEEDED = "a file with a line user,item,rating for each rating"
TITLES = "a file with a line item,title for each item"
SPELLED = {"\\t": "\t", "tab": "\t", "space": " "}  # separators that are hard to type in a shell


def read_ratings(
    path: Input,
    format: str = "auto",
    columns: str | Sequence[str] | None = None,
    duplicates: Rule = "last",
    sep: str | None = None,
    times: bool | Literal["auto"] = False,
    bounds: tuple[float, float] | None = None,
) -> Ratings:
    """Read Ratings from a file, a folder of Netflix files, or the files that a pattern such as 'a/*.parquet' matches.

    Parameters
    ----------
    path : str, Path or Source
        csv, tsv, MovieLens, ML-100K, Netflix, netflix_mm, NCF, scipy .npz, Parquet or .gkr. Text may be compressed as
        .gz, .bz2, .xz or .zip. Also the name of a pipe, '-' for standard input, or an open Source. A pattern (*, ?, [)
        names text or Parquet files, which are read in the order of their names; empty ones are left out.
    format : str
        Name of the format, or 'auto' to detect it from the content (see `formats`).
    columns : str or sequence of str
        Roles of the file's columns in order, such as 'user,item,-,rating' or 'user,item,rating,timestamp,weight,count'
        ('-' or any other word: ignored). Weights and counts are read only if named here, and from copies that have
        them.
    duplicates : {'last', 'mean', 'error'}
        Rule for repeated pairs; 'last' is the latest by the file's times, else the last line. Counts of clicks are
        summed with 'last' and 'mean'. `merged` of the result counts the removed ratings. A file with repeated pairs is
        read again for its times; a pipe is read once, with its times.
    sep : str
        The separator.
    times : bool or 'auto'
        Read times too ('auto': if present), from the column so named, or the one after the rating without a header.
        Seconds since 1970 (and milliseconds) are kept as they are, dates become seconds.
    bounds : (low, high) or None
        Range that all ratings must be in, such as a model's scale; None accepts all.

    Returns
    -------
    Ratings
        Rows of users and items are in the order of their sorted ids: int64 if all are integers, else str. Pairs without
        a rating (two columns, or a header or `columns` without one) are clicks: their values are 1, and counts are the
        occurrences of a pair or the sum of a count column (plays, quantity, duration, ...).

    Raises
    ------
    DataError
        The content is missing, empty or malformed; the message has the line.
    ParameterError
        Arguments are unclear.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gpukit import read_ratings
    >>> _ = Path("ratings.csv").write_text("user,item,rating\\nann,7,4.5\\nbob,7,3\\n")
    >>> read_ratings("ratings.csv").user_ids.tolist()
    ['ann', 'bob']
    """
    request = formats.Request(format, columns, SPELLED.get(sep, sep), times=times, bounds=bounds)
    if duplicates not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {duplicates!r}.")
    again = None if duplicates != "last" else _file_of(path)
    first = times if times or duplicates != "last" or again else MAYBE
    ratings = _read(path, replace(request, times=first))
    rule = "clicks" if are_clicks(ratings) else duplicates
    result = without_repeats(ratings, duplicates)
    if again and result.merged and rule != "clicks":
        ratings = ratings if times else None  # frees memory
        del result
        with notes.mute():
            timed = _read(again, replace(request, times=MAYBE))
        result = without_repeats(timed if ratings is None else ratings, duplicates, timed.times)
    note_merged(result, _name_of(path), rule)
    return result if times else without_times(result)


def note_merged(ratings, name, rule):
    """Note how many ratings of a file were merged. rule: as in repeats.merged_line."""
    line = merged_line(ratings, rule) if ratings.merged else ""
    notes.add(name, line, ratings=len(ratings), merged=ratings.merged)


def _name_of(path):
    """Return the name of a file or an open Source, for messages."""
    return path.name if isinstance(path, sources.Source) else "standard input" if str(path) == "-" else str(path)


def _file_of(path):
    """Return the path if it is readable again; None for pipes."""
    path = path.path if isinstance(path, sources.Source) else path
    if path is None or str(path) in sources.STANDARD_INPUT:
        return None
    return path if Path(path).is_file() or Path(path).is_dir() or sources.is_pattern(path) else None


def read_pairs(
    path: Input, format: str = "auto", columns: str | Sequence[str] | None = None, sep: str | None = None
) -> tuple[Ids, Ids]:
    """Return ids (users (n,), items (n,)) of a file of pairs.

    The order is the file's.

    Further columns, ratings included, are ignored.
    """
    pairs = _read(path, formats.Request(format, columns, SPELLED.get(sep, sep), need_rating=False))
    return pairs.user_ids[pairs.users], pairs.item_ids[pairs.items]


def _read(path, request):
    paths, builder = files_of(path), RatingsBuilder()
    for value in paths:
        with sources.open_source(value, NEEDED) as source:
            format = source.format if request.format == "auto" else request.format
            formats.refuse_unused(request, format, source.name)
            if format in READERS:
                check_part(source.name, format, paths)
                return read_whole(READERS[format], source, request)
            if format == "parquet":
                read_parquet(source, request, builder)
            else:
                _read_text(builder, source, request, paths)
            if len(paths) == 1:
                return builder.ratings(source.name)
    return builder.ratings(str(path))


def read_whole(reader, source, request):
    """Return the Ratings that a reader of READERS makes of a Source."""
    ratings = reader(source, request)
    if ratings.times is None and request.times not in OPTIONAL_TIMES:
        raise DataError(f"{source.name} has no times. Convert the ratings again with --times, or do not ask for them.")
    if not are_pairs(ratings):
        check_range(ratings.values, request.bounds, lambda row: f"{source.name}, row {row + 1:,}")
    return ratings


def _read_text(builder, source, request, paths):
    """Append the text of a Source; of several paths some may have no rows."""
    for stream in source.streams(rating_files):
        try:
            builder.read(stream, request)
        except NoRowsError:
            if len(paths) == 1:
                raise
        if builder.shape:
            check_part(source.name, "netflix-mm", paths)


def check_part(name, format, paths):
    """Raise DataError for a format whose files are whole data sets, if there are several paths."""
    if len(paths) > 1:
        raise DataError(f"{name} is {format}, which is read alone: parts are text or Parquet. Name this file itself.")


def matching_files(pattern):
    """Return the names of the files that a pattern matches, sorted, without empty ones."""
    names = sorted(name for name in glob.glob(str(pattern), recursive=True) if Path(name).is_file())
    if not names:
        raise DataError(f"No file matches {pattern}. Check the pattern; gpukit looks from {Path.cwd()}.")
    if not any(filled := [Path(name).stat().st_size > 0 for name in names]):
        raise DataError(f"{pattern} holds no ratings: all {len(names):,} files are empty.")
    return list(itertools.compress(names, filled))


def files_of(path):
    """Return [path], the files that a pattern matches, or the rating files in a folder.

    The latter are Netflix's files, or one ratings.* or u.data.
    """
    if sources.is_pattern(path):
        return matching_files(path)
    if isinstance(path, sources.Source) or not Path(path).is_dir():
        return [path]
    folder = Path(path)
    result = rating_files(sorted(entry.name for entry in folder.iterdir() if entry.is_file()))
    if not result:
        deeper = folder / "training_set"  # where Netflix's archive keeps mv_*.txt
        if deeper.is_dir():
            return files_of(deeper)
        raise DataError(
            f"The folder {path} holds no ratings, or several files of them, that gpukit knows by name "
            "(combined_data_*.txt, mv_*.txt, ratings.csv, ratings.dat, u.data). Name the file itself."
        )
    return [folder / name for name in result]


def rating_files(names):
    """Return Netflix's files, or the only rating file, or []."""
    netflix = [name for name in names if NETFLIX_FILE.search(name)]
    if netflix:  # both kinds in one folder hold the same ratings
        combined = [name for name in netflix if "combined" in Path(name).name]
        return combined or netflix
    plain = [name for name in names if RATINGS_FILE.search(name) and not Path(name).name.startswith(".")]
    return plain[:1] if len(plain) == 1 else []


def read_by_first(read, team):
    """Return the Ratings read by rank 0 on all ranks.

    read: function without arguments; its errors on rank 0 end all ranks of the Team.
    """
    if team.size == 1:
        return read()
    table = read() if team.rank == 0 else None
    arrays = {} if table is None else {**table.columns(), "user_ids": table.user_ids, "item_ids": table.item_ids}
    names, state = team.broadcast_json(None if table is None else ([*arrays], table._state))
    received = {name: team.broadcast(arrays.get(name)) for name in names}
    return set_state(Ratings(**received), state) if table is None else table


def read_titles(path: Input) -> dict[int, str] | dict[str, str]:
    """Return {item id: title} of a file.

    Ids are int if all are integers, else str.

    Formats: `id::title::...` (MovieLens movies.dat); a csv or tsv whose header names an item and a title (movies.csv);
    without a header, the first and second columns, or (Netflix movie_titles.txt: id,year,title with commas in the
    title) the text after a year. UTF-8, else Windows-1252. Raises DataError for a missing or empty file, and with the
    line that has no title.
    """
    path, sep, rows = short_rows(path, TITLES, ("::", "\t", ",", ";", "|"))
    item, title, count, header = _places(rows[0][2], sep)
    titles = {}
    for number, line, words in rows[header:]:
        words = split_line(line, sep, count) if 0 < count < len(words) and '"' not in line else words
        if max(item, title) >= len(words) or not words[title] or not words[item]:
            what = "a title without an item" if words[0] == "" else "an item without a title"
            raise DataError(f"{path}, line {number:,} has {what}: {line[:80]!r}. Expected item{sep}title.")
        titles[words[item]] = words[title]
    if not titles:
        raise DataError(f"{path} holds a header and nothing else: no titles. Give {TITLES}.")
    return {int(item): title for item, title in titles.items()} if all(map(is_integer, titles)) else titles


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
