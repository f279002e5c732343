"""Read ratings in parts: each rank of a parallel.Team reads its share of the files' row groups or lines.

Or each rank has some partitions of a data frame.

Ids are numbered by a distributed sort, so rows and ids are those of one process that reads all files, whatever the
order and the number of the parts.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit import arrayfile
from gpukit.base.arrays import as_text
from gpukit.errors import DataError, NoRowsError
from gpukit.io import notes, sources
from gpukit.io.delimited import NEWLINE, QUOTE
from gpukit.io.ids import take_values
from gpukit.parallel.current_team import check_same, check_same_files
from gpukit.ratings import formats
from gpukit.ratings.adopt import adopt
from gpukit.ratings.chunk_reader import RatingsBuilder, concatenate, read_parquet
from gpukit.ratings.copies import read_gkr
from gpukit.ratings.formats import IDS, MAYBE, TRIPLE
from gpukit.ratings.orders.compressed import count_each, pack_pairs, sort_pairs
from gpukit.ratings.parts import MappedRows, in_ranges, mapped_part, part_of, redistribute
from gpukit.ratings.read import (
    NEEDED,
    READERS,
    SPELLED,
    files_of,
    note_merged,
    rating_files,
    read_by_first,
    read_ratings,
    read_whole,
)
from gpukit.ratings.repeats import without_repeats
from gpukit.ratings.table import DISTINCT, SOUND, Ratings, set_state, without_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.parallel import Team
    from gpukit.ratings.parts import RatingsPart
    from gpukit.typing import Path

BATCHES = 32  # of a rank's users: each is sorted by itself
DIVIDED = ("csv", "tsv", "movielens", "ml-100k", "ncf")  # formats of text whose lines do not depend on each other


class Content(NamedTuple):
    """What a file holds.

    path; roles: {role: position} of its columns; layout: formats.Layout of text, None for Parquet; sizes: bytes of each
    row group, or [bytes] of text; is_divided: True if several ranks may read the text.
    """

    path: str
    roles: dict
    layout: object
    sizes: list
    is_divided: bool = False


class Piece(NamedTuple):
    """Part of a file that a rank reads.

    content: of the file; number: of the file; the row groups or bytes are first to last - 1; lines: lines of ratings
    before them in the file.
    """

    content: Content
    number: int
    first: int
    last: int
    lines: int = 0


def read_parts(
    path: Path,
    team: Team,
    format: str = "auto",
    columns: str | Sequence[str] | None = None,
    duplicates: str = "last",
    sep: str | None = None,
) -> Ratings | RatingsPart:
    """Read the ratings of Parquet or text files, or of a .gkr, in parts; call it on all ranks of a team.

    Row groups of Parquet, lines of csv, tsv and the like, and rows of a .gkr are divided. Compressed files, Netflix's
    and texts with line ends in quotes are read whole, each by one rank.

    Parameters
    ----------
    path : str or Path
        A file, or a pattern of files that all ranks see.
    team : parallel.Team
    format, columns, duplicates, sep
        As in read_ratings.

    Returns
    -------
    RatingsPart or Ratings
        For `fit(part, team=team)`. All ranks get the same Ratings if there is one rank, for duplicates='error', clicks,
        columns of weights or counts, and formats that one process must read. They map those of a .gkr; those of other
        files are read by rank 0.

    Raises DataError with file and line, or row, as read_ratings does, and for parts with different columns.
    """
    request = formats.Request(format, columns, SPELLED.get(sep, sep))
    part = None
    if team.size > 1 and is_copy(path, format, team):
        part = mapped_part(MappedRows(map_copy(path, team)), team)
        if set(part.source.table.columns()) != {*IDS, "values"} or not part.scale[0] < part.scale[1]:
            return part.source.table  # also clicks, and no ratings at all
    elif team.size > 1 and duplicates != "error":
        part = _read(path, request, duplicates, team)
    if part is None:
        return read_on_all(team, path, format, columns, duplicates, sep)
    if part.merged and duplicates == "last":
        with notes.mute():
            part = _read(path, replace(request, times=MAYBE), duplicates, team)
        part.local = without_times(part.local)
    note_merged(part, str(path), duplicates)
    return part


def read_on_all(team, path, format="auto", columns=None, duplicates="last", sep=None, times=False):
    """Return the Ratings of read_ratings on all ranks of a Team: they map a .gkr; rank 0 reads and sends other files.

    A pipe can be read once only, and which of repeated lines counts and is held out depends on all lines before.
    """
    if is_copy(path, format, team):
        return map_copy(path, team, times)
    return read_by_first(lambda: read_ratings(path, format, columns, duplicates, sep, times), team)


def is_copy(path, format, team):
    """Return True on all ranks of a Team if a path is a .gkr on any, and a format does not say otherwise."""
    is_here = format in ("auto", "gkr") and arrayfile.begins_with(path, sources.FORMATS["gkr"].magic)
    return any(team.allgather_json(is_here))


def map_copy(path, team, times=False):
    """Return the Ratings of a .gkr, which all ranks map and check together; times: as in read_ratings.

    Raises DataError on all ranks if they see different files.
    """
    check_same_files(team, [path])
    with sources.open_source(path) as source:
        return read_whole(partial(read_gkr, team=team), source, formats.Request(times=times))


def _read(path, request, duplicates, team):
    """Return the RatingsPart of files, None if one process must read them."""
    files = files_of(path)
    with notes.mute():
        contents = [content for file in files if (content := describe(file, request, len(files) > 1)) is not None]
    names = "\n".join(f"{content.path} {sum(content.sizes)}" for content in contents).encode()
    check_same(team, path, f"{len(contents):,} files ({zlib.crc32(names):08x})")
    if not contents:
        raise DataError(f"{path} holds no ratings.")
    if not all(content.roles for content in contents):
        return None
    first = None
    for content in contents:
        is_named = content.layout is None or content.layout.named
        first = formats.check_same_columns(content.path, content.roles, is_named, first)
    if not set(TRIPLE) <= set(first[1]) <= {*TRIPLE, "times"}:
        return None
    builder = RatingsBuilder()
    for piece in plan_pieces(contents, team):
        read_piece(builder, piece, request)
    return share_users(lambda: rows_of_builder(builder, "times" in first[1]), duplicates, team)


def share_users(make_rows, rule, team):
    """Return the RatingsPart of all ranks' ratings, whose users are divided among them, without repeated pairs.

    make_rows: returns the arguments of number_rows, which nothing else holds; rule: see repeats.without_repeats.
    """
    ratings = number_rows(*make_rows(), team)
    counts = team.allreduce(count_each(ratings.users, ratings.shape[0]))
    ratings, sizes = redistribute(ratings, in_ranges(counts, BATCHES * team.size), team, BATCHES)
    ratings, n_merged = in_order(ratings, sizes, rule)
    return part_of(ratings, team, n_merged)


def part_of_frames(frames, team):
    """Return the RatingsPart of the data frames of all ranks; call it on all of them.

    frames: yields (number, pandas DataFrame); numbers are the order of the frames of all ranks. Of a repeated pair the
    rating with the latest time counts. Raises DataError for repeated pairs without times.
    """
    tables = [table for number, frame in frames if len(table := read_frame(number, frame))]
    has_times = int(team.allreduce(np.array(int(any(table.times is not None for table in tables))), "max"))
    part = share_users(lambda: rows_of_tables(tables, has_times), "last", team)
    if part.merged and not has_times:
        raise DataError(
            f"{part.merged:,} of {part.merged + len(part):,} ratings of the Dask DataFrame repeat a pair of user and "
            "item. Leave one of each out, or give their times in a column `timestamp`."
        )
    part.local = without_times(part.local)
    return part


def read_frame(number, frame):
    """Return the Ratings of a partition; their counts are its number."""
    try:
        table = adopt(frame)
    except DataError as error:
        raise DataError(f"Partition {number:,} of the Dask DataFrame: {error}") from error
    return table.with_columns(**table.columns(), counts=np.full(len(table), number, np.int32))


def describe(path, request, is_one_of_several):
    """Return the Content of a file; its roles are empty if one process must read it.

    None for a file without rows that is one of several.
    """
    with sources.open_source(path, NEEDED) as source:
        format = source.format if request.format == "auto" else request.format
        if format == "parquet":
            from gpukit.io import tables

            file = tables.Reader(source)
            places, _ = formats.columns_of(file.names, request, source.name, is_header=True)
            return Content(path, places, None, file.group_bytes) if file.rows else None
        if format in READERS:
            return Content(path, {}, None, [])
        stream = next(source.streams(rating_files))
        try:
            layout = formats.recognise(stream.text_head(NEEDED), stream.name, request)
        except NoRowsError:
            if is_one_of_several:
                return None
            raise
        roles, is_divided = layout.places, stream.plain and layout.format in DIVIDED
        return Content(path, roles if layout.shape is None else {}, layout, [source.size], is_divided)


def plan_pieces(contents, team):
    """Return this rank's Pieces of the files, in their order.

    A piece of text with an odd number of quotes ends or begins in a quoted field. One rank then reads the whole file.
    """
    pieces = [align(piece) for piece in share_of_rank(contents, team.rank, team.size)]
    pieces = [piece for piece in pieces if piece.first < piece.last]
    marks = [(piece.number, *count_marks(piece)) for piece in pieces]
    tables = team.allgather(np.array(marks, np.int64).reshape(-1, 3))
    odd = {int(number) for table in tables for number, _, quotes in table if quotes % 2}
    if odd:
        contents = [
            content._replace(is_divided=content.is_divided and index not in odd)
            for index, content in enumerate(contents)
        ]
        return plan_pieces(contents, team)
    number, lines, _ = np.concatenate([tables[0][:0], *tables[: team.rank]]).T
    return [piece._replace(lines=int(lines[number == piece.number].sum())) for piece in pieces]


def share_of_rank(contents, rank, size):
    """Yield the Pieces of a rank: an equal part of all bytes, in the order of the files."""
    total, base = sum(sum(content.sizes) for content in contents), 0
    low, high = total * rank // size, total * (rank + 1) // size
    for number, content in enumerate(contents):
        starts = base + np.cumsum(content.sizes) - content.sizes
        indices = np.flatnonzero((low <= starts) & (starts < high))  # units that begin in the rank's part
        base += sum(content.sizes)
        if content.is_divided:
            first, last = max(0, low - int(starts[0])), min(content.sizes[0], high - int(starts[0]))
            if first < last:
                yield Piece(content, number, first, last)
        elif len(indices):
            yield Piece(content, number, int(indices[0]), int(indices[-1]) + 1)


def align(piece):
    """Return a Piece of divided text whose bytes are the lines that begin in it; another Piece as it is."""
    content = piece.content
    if not content.is_divided:
        return piece
    with open(content.path, "rb") as file:
        return piece._replace(first=line_start(file, piece.first, content), last=line_start(file, piece.last, content))


def line_start(file, offset, content):
    """Return the offset of the first line of ratings that begins at an offset or later."""
    if offset <= content.layout.skip:
        return content.layout.skip
    file.seek(offset - 1)
    file.readline()
    return file.tell()


def count_marks(piece):
    """Return the numbers of (line ends, quotes) in a Piece of divided text; (0, 0) for another Piece."""
    if not piece.content.is_divided:
        return 0, 0
    letters, size = np.memmap(piece.content.path, np.uint8, "r")[piece.first : piece.last], 1 << 22
    blocks = (letters[start : start + size] for start in range(0, len(letters), size))
    return np.sum([[np.count_nonzero(block == mark) for mark in (NEWLINE, QUOTE)] for block in blocks], axis=0)


class Section(sources.Readable):
    """The bytes from first to last - 1 of an open binary file."""

    def __init__(self, file, first, last):
        self.file, self.left = file, last - first
        file.seek(first)

    def readinto(self, buffer):
        """Fill a buffer; return the number of bytes, 0 at the end."""
        count = self.file.readinto(memoryview(buffer)[: self.left])
        self.left -= count
        return count


def read_piece(builder, piece, request):
    """Append the ratings of a Piece to a RatingsBuilder."""
    content = piece.content
    with sources.open_source(content.path) as source:
        if content.layout is None:
            read_parquet(source, request, builder, range(piece.first, piece.last))
        elif content.is_divided:
            stream = sources.Stream(source.name, Section(source.seekable(), piece.first, piece.last), plain=True)
            layout = content.layout
            layout = replace(layout, skip=0, first_line=layout.first_line + piece.lines)
            builder.read(stream, request, layout)
        else:
            for stream in source.streams(rating_files):
                builder.read(stream, request)


def number_rows(sides, columns, team):
    """Return Ratings with the rows and ids of all ranks.

    sides: (rows, ids) of this rank's users and of its items; columns: {name: column}.
    """
    numbered = []
    for rows, ids in sides:
        codes, ids = number_ids(ids, team)
        numbered.append((take_values(codes, rows), ids))
    (users, user_ids), (items, item_ids) = numbered
    return set_state(Ratings(users, items, **columns, user_ids=user_ids, item_ids=item_ids), SOUND)


def rows_of_builder(builder, has_times):
    """Return (sides, columns), see number_rows, of a RatingsBuilder; empties it."""
    empty = np.empty(0, np.int32), np.empty(0, np.int64)
    named = (builder.users, "user"), (builder.items, "item")
    sides = [column.rows(what) if len(builder) else empty for column, what in named]
    return sides, {name: join_chunks(builder.chunks[name], dtype) for name, dtype in types_of(has_times)}


def rows_of_tables(tables, has_times):
    """Return (sides, columns), see number_rows, of a list of Ratings; empties it. An id may occur several times."""
    sides = []
    for rows, what in (("users", "user_ids"), ("items", "item_ids")):
        ids = [getattr(table, what) for table in tables]
        ids = list(map(as_text, ids)) if any(part.dtype.kind == "U" for part in ids) else ids
        starts = np.cumsum([0, *map(len, ids)])
        shifted = [getattr(table, rows) + np.int32(start) for table, start in zip(tables, starts)]
        sides.append((join_chunks(shifted, np.int32), join_chunks(ids, np.int64)))
    types = types_of(has_times) + ([("counts", np.int32)] if has_times else [])  # the order matters for equal times
    columns = {name: [getattr(table, name) for table in tables] for name, _ in types}
    tables.clear()
    return sides, {name: join_chunks(columns[name], dtype) for name, dtype in types}


def types_of(has_times):
    """Return [(name, dtype)] of the columns of ratings in parts."""
    return [("values", np.float32), ("times", np.int64)][: 1 + has_times]


def number_ids(ids, team):
    """Return (code (m,) int32 of each id, sorted ids of all ranks).

    ids: (m,) distinct ids of this rank. Each rank numbers a range of all ids; a sample of them determines the ranges.
    """
    ids, ranks, samples = as_common_type(ids, team), range(team.size), 64
    chosen = np.linspace(0, len(ids) - 1, min(samples, len(ids))).astype(np.int64)
    sample = np.sort(np.concatenate(team.allgather(np.sort(ids)[chosen])))
    cuts = sample[len(sample) * np.arange(1, team.size) // team.size]
    part = np.searchsorted(cuts, ids, side="right")
    received = team.alltoall([ids[part == rank] for rank in ranks])
    known = np.sort(np.concatenate(received))  # numpy.unique takes many times as long
    known = known[np.append(True, known[1:] != known[:-1])[: len(known)]]
    all_known = team.allgather(known)
    first = sum(map(len, all_known[: team.rank]))
    codes = np.empty(len(ids), np.int32)
    sent = [(first + np.searchsorted(known, rank_ids)).astype(np.int32) for rank_ids in received]
    for rank, rank_ids in zip(ranks, team.alltoall(sent)):
        codes[part == rank] = rank_ids
    return codes, np.concatenate(all_known)


def as_common_type(ids, team):
    """Return ids as text of one width if those of any rank are text."""
    if not team.allreduce(np.array(ids.dtype.kind == "U"), "max"):
        return ids
    ids = as_text(ids)
    width = int(team.allreduce(np.array(np.char.str_len(ids).max(initial=1)), "max"))
    return ids.astype(f"U{width}")


def join_chunks(chunks, dtype):
    """Return the concatenation of any number of arrays; empties the list."""
    return concatenate(chunks) if chunks else np.empty(0, dtype)


def in_order(ratings, sizes, rule):
    """Return (Ratings by user, then by item, without repeated pairs, number of removed ones), in the same memory.

    sizes: of the batches of users into which the ratings are divided, because sorting takes several times their memory.
    rule: see repeats.without_repeats. Counts are numbers of partitions, in whose order the ratings are put first.
    """
    columns, filled, n_merged = ratings.columns(), 0, 0
    partitions = columns.pop("counts", None)
    for size, stop in zip(sizes, np.cumsum(sizes)):
        rows = {name: column[stop - size : stop] for name, column in columns.items()}
        if partitions is not None:
            order = np.argsort(partitions[stop - size : stop], kind="stable")
            rows = {name: column[order] for name, column in rows.items()}
        batch = set_state(ratings.with_columns(**rows), SOUND)
        keys, places = sort_rows(batch)
        if (keys[1:] == keys[:-1]).any():
            batch = without_repeats(batch, rule)
            keys, places = sort_rows(batch)
        for name, column in columns.items():
            column[filled : filled + len(places)] = take_values(getattr(batch, name), places)
        filled, n_merged = filled + len(places), n_merged + batch.merged
    out = {name: column[:filled] for name, column in columns.items()}
    return set_state(ratings.with_columns(**out), DISTINCT), n_merged


def sort_rows(ratings):
    """Return (sorted keys of the pairs, their places); see compressed.sort_pairs."""
    keys, _ = pack_pairs(ratings.users, ratings.items, ratings.shape)
    return sort_pairs(keys, ratings.shape, np.arange(len(ratings), dtype=np.uint32))
