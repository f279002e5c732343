"""Paths -> streams of bytes -> blocks of whole lines; compressed files are unpacked block by block."""

import contextlib
import gzip
import lzma
import re
import zipfile
import zlib
from pathlib import Path

import numpy as np

from gpukit.errors import DataError
from gpukit.io.lines import last_newline

BLOCK = 32 << 20  # bytes; the parser's arrays for a block take about twice as much
LONGEST_LINE = 1 << 30
NETFLIX_FILE = re.compile(r"(combined_data_\d+|mv_\d+)\.txt(\.gz|\.xz)?$")
RATINGS_FILE = re.compile(r"(ratings?\.(dat|csv|tsv|txt)|u\.data)(\.gz|\.xz)?$")
NEWLINE = 10


def files(path):
    """The files of ratings at path: itself, or what a folder holds (Netflix's files, or one ratings.* or u.data)."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist. Check the name; the folder that gpukit looks from is {Path.cwd()}.")
    if not path.is_dir():
        return [path]
    inside = sorted(entry for entry in path.iterdir() if entry.is_file())
    found = _wanted([entry.name for entry in inside])
    if not found:
        deeper = path / "training_set"  # where Netflix's archive keeps mv_*.txt
        if deeper.is_dir():
            return files(deeper)
        raise DataError(
            f"The folder {path} holds no ratings that gpukit knows by name (combined_data_*.txt, mv_*.txt, "
            "ratings.csv, ratings.dat, u.data). Name the file itself."
        )
    return [path / name for name in found]


def _wanted(names):
    """Netflix's files among names, or the one file of ratings, or nothing."""
    netflix = [name for name in names if NETFLIX_FILE.search(name)]
    if netflix:  # both kinds in one folder are the same ratings twice
        combined = [name for name in netflix if "combined" in Path(name).name]
        return combined or netflix
    plain = [name for name in names if RATINGS_FILE.search(name) and not Path(name).name.startswith(".")]
    return plain[:1] if len(plain) == 1 else []


def members(path):
    """[(name for messages, a function that opens the stream)] of a file: one, or the files of ratings in a zip."""
    kind = compression(path)
    if kind != "zip":
        openers = {"gz": gzip.open, "xz": lzma.open, "plain": open}
        return [(str(path), lambda: openers[kind](path, "rb"))]
    with _translated(path), zipfile.ZipFile(path) as archive:
        names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
    found = names if len(names) == 1 else _wanted(names)
    if not found:
        raise DataError(
            f"{path} holds {', '.join(names[:6]) or 'nothing'}{' ...' if len(names) > 6 else ''}: which "
            "are the ratings is not clear. Unpack the archive and name the file."
        )
    return [(f"{path} ({name})", lambda name=name: _ZipMember(path, name)) for name in found]


def compression(path):
    """'gz', 'xz', 'zip' or 'plain', from the first bytes; DataError when the file cannot be read or is empty."""
    with _translated(path), open(path, "rb") as file:
        magic = file.read(6)
    if not magic:
        raise DataError(f"{path} is empty. Give a file with a line user,item,rating for each rating.")
    for kind, sign in (("gz", b"\x1f\x8b"), ("xz", b"\xfd7zXZ\0"), ("zip", b"PK\x03\x04")):
        if magic.startswith(sign):
            return kind
    return "plain"


class _ZipMember:
    """A member of a zip archive as a stream that closes the archive too."""

    def __init__(self, path, name):
        self.archive = zipfile.ZipFile(path)
        self.stream = self.archive.open(name)
        self.readinto, self.read = self.stream.readinto, self.stream.read

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stream.close()
        self.archive.close()


@contextlib.contextmanager
def _translated(name):
    """Errors of the disk and of damaged archives as DataError."""
    try:
        yield
    except OSError as error:  # gzip.BadGzipFile is one too
        raise DataError(f"{name} cannot be read: {error}.") from error
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged or cut short ({error}). Fetch or pack it again.") from error


def head(name, opener, size=1 << 16):
    """The first bytes of a stream (whole lines, where its lines are not longer than size)."""
    with _translated(name), opener() as stream:
        start = stream.read(size)
    return start if len(start) < size else start[: start.rfind(b"\n") + 1] or start


def whole(name, opener):
    """All bytes of a stream, for small files."""
    with _translated(name), opener() as stream:
        return stream.read()


def blocks(name, opener, skip=0):
    """Yield uint8 arrays of whole lines, a newline at each end. An array is valid until the next one is asked for.

    skip: bytes to leave out first. BLOCK bytes are read at a time; a longer line makes the block as long as it must be.
    """
    buffer, kept = np.empty(BLOCK + 1, dtype=np.uint8), 0
    with _translated(name), opener() as stream:
        stream.read(skip)
        while True:
            got = stream.readinto(memoryview(buffer)[kept : len(buffer) - 1])
            if not got:
                break
            filled = kept + got
            end = last_newline(buffer, filled)
            if end:
                yield buffer[:end]
                buffer[: filled - end] = buffer[end:filled].copy()
            kept = filled - end
            if kept == len(buffer) - 1:
                buffer = _longer(buffer, name)
    if kept:
        buffer[kept] = NEWLINE
        yield buffer[: kept + 1]


def _longer(buffer, name):
    if len(buffer) > LONGEST_LINE:
        raise DataError(f"{name} has a line of more than {LONGEST_LINE >> 20} MiB: it is no text file of ratings.")
    return np.concatenate((buffer, np.empty(len(buffer), dtype=np.uint8)))
