"""What is read, opened once: files, pipes, FIFOs and standard input; unpacked as it comes, in blocks of whole lines.

    with sources.opened(path) as source:
        source.head                  its first bytes: what is it?
        source.stream().blocks()     unpacked text, block by block, from the same handle
        source.seekable()            a file that can go back, for binary formats

From a pipe, nothing can be read twice: whoever looks at the first bytes looks at a copy of them that is kept, and what
cannot seek and must is written to a temporary file first.
"""

import contextlib
import gzip
import io
import itertools
import lzma
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from gpukit.errors import DataError
from gpukit.io import packed
from gpukit.io.records import hidden
from gpukit.io.registry import FORMATS, format_of
from gpukit.io.words import SHOWN

BLOCK = 32 << 20  # bytes; the parser's arrays for a block take about twice as much
FIRST = 1 << 18  # bytes of the first block: a small file is not worth the memory of a large one
HEAD = 1 << 16  # bytes by which a format is told, or as many more as its first lines take
FIRST_LINES = 3
CONTENT = re.compile(rb"^(?![%#]|[^\S\n]*+\d+:[^\S\n]*+\n)[^\S\n]*+\S.*\n", re.MULTILINE)  # a line that tells a format
CHUNK = 1 << 18  # packed bytes read at a time
LONGEST_LINE = 1 << 30
NEWLINE = 10
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
BOM = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
PACKED = {"gz": (b"\x1f\x8b",), "bz2": (b"BZh",), "xz": (b"\xfd7zXZ\0",), "zip": (b"PK\x03\x04", b"PK\x05\x06")}
UNPACKERS = {"gz": gzip.open, "bz2": packed.bzip2, "xz": packed.xz}
STRANGE = {"zstd": b"\x28\xb5\x2f\xfd", "7z": b"7z\xbc\xaf\x27\x1c", "rar": b"Rar!", "lz4": b"\x04\x22\x4d\x18"}
OFFICE = {"[Content_Types].xml", "content.xml"}  # members of .xlsx and .ods
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
ENCRYPTED = 1  # a bit of a zip member's flags


@contextlib.contextmanager
def opened(path, needed="another file"):
    """The Source at path, closed at the end; a Source is handed on as it is.

    path: a file's name, a pipe's, '-' for standard input. needed: what to give instead of an empty file, for the
    message. Raises DataError for what does not exist, is a folder, empty, or cannot be read.
    """
    if isinstance(path, Source):
        path.refuse_empty(needed)
        yield path
        return
    with Source(path) as source:
        source.refuse_empty(needed)
        yield source


@contextlib.contextmanager
def translated(name):
    """Errors of the disk and of damaged archives as DataError."""
    try:
        yield
    except OSError as error:  # gzip.BadGzipFile is one too
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from error
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged or cut short ({error}). Fetch or pack it again.") from error


class Source:
    """A file, a pipe or standard input, opened once.

    name: for messages; path: a Path, None for standard input; head: its first bytes, up to HEAD of them; compression:
    'gz', 'bz2', 'xz', 'zip' or 'plain'. It is read once: by `stream`, `streams` or `seekable`.
    """

    def __init__(self, path):
        standard = str(path) in STANDARD_INPUT
        self.name, self.path = ("standard input", None) if standard else (str(path), Path(path))
        raw = io.FileIO(0, closefd=False) if standard else _open(self.path)
        regular = stat.S_ISREG(os.fstat(raw.fileno()).st_mode) and (not standard or raw.tell() == 0)
        self._file, self._raw = io.BufferedReader(raw) if regular else None, Peeked(raw)
        self._whole = self._archive = self._text = None
        with translated(self.name):
            self.head = self._raw.peek(HEAD)
        self.compression = next((kind for kind, signs in PACKED.items() if self.head.startswith(signs)), "plain")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for file in (self._raw, self._whole):
            if file is not None:
                file.close()

    def refuse_empty(self, needed):
        """DataError for an empty source."""
        if not self.head:
            once = "" if self.path else " (it can be read only once)"
            raise DataError(f"{self.name} is empty{once}. Give {needed}.")

    @property
    def size(self):
        """Bytes of it; what comes through a pipe is read for it."""
        return os.fstat(self.seekable().fileno()).st_size

    def seekable(self):
        """A binary file with a file number, at its beginning: the file itself, or what came through the pipe, kept in a
        temporary file that has no name and vanishes with the Source."""
        if self._whole is None:
            self._whole = self._file or self._kept()
        self._whole.seek(0)
        return self._whole

    def _kept(self):
        try:
            kept = tempfile.TemporaryFile()
            shutil.copyfileobj(self._raw, kept, CHUNK)
            kept.flush()
        except OSError as error:
            raise DataError(
                f"{self.name} comes through a pipe and must be kept in {tempfile.gettempdir()} to be read: "
                f"{error.strerror or error}. Set TMPDIR to a folder with room, or give a file."
            ) from error
        return kept

    def stream(self):
        """The Stream of its text, unpacked; DataError for an archive of several files."""
        return next(self.streams(lambda names: []))

    def streams(self, choose):
        """Yield the Streams of its text: one, or, of an archive of several files, those whose names choose([str])
        returns; DataError when that is none of them."""
        if self.compression == "zip":
            for info in self._chosen(choose):
                yield self._member(info)
            return
        if self._text is None:  # kept, for its first bytes have left the pipe
            self._refuse_strange()
            unpacker = UNPACKERS.get(self.compression)
            raw = Peeked(unpacker(io.BufferedReader(self._raw, CHUNK))) if unpacker else self._raw
            again = None if self._file is None else lambda: (unpacker or io.BufferedReader)(self.seekable())
            self._text = Stream(self.name, raw, plain=unpacker is None, again=again)
        yield self._text

    def _refuse_strange(self):
        strange = next((kind for kind, sign in STRANGE.items() if self.head.startswith(sign)), None)
        if strange:
            raise DataError(f"{self.name} is packed by {strange}, which gpukit does not unpack. Unpack it first.")

    def _chosen(self, choose):
        """The members of an archive that are meant."""
        found = {info.filename: info for info in self.archive().infolist() if not _is_beside(info.filename)}
        if OFFICE & found.keys():
            raise DataError(f"{self.name} is a spreadsheet, or another office file. Save it as csv and give that.")
        names = list(found) if len(found) == 1 else choose(sorted(found))
        if not names:
            some = ", ".join(_short(name) for name in sorted(found)[:6]) or "nothing"
            raise DataError(
                f"{self.name} holds {some}{' ...' if len(found) > 6 else ''}: which is meant is not clear. Unpack the "
                "archive and name the file."
            )
        return [found[name] for name in names]

    def _member(self, info):
        """The Stream of a member of the archive."""
        title = f"{self.name} ({_short(info.filename)})"
        _check_member(info, title)
        try:
            with translated(title):
                return Stream(title, Peeked(self.archive().open(info)), again=lambda: self.archive().open(info))
        except (RuntimeError, ValueError) as error:  # what zipfile has no way to unpack, or to name
            raise DataError(f"{title} cannot be unpacked ({error}). Unpack the archive and name the file.") from error

    def archive(self):
        """The zipfile.ZipFile that it is; DataError for a damaged one."""
        if self._archive is None:
            try:
                self._archive = zipfile.ZipFile(self.seekable())
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:  # of forged headers
                raise DataError(f"{self.name} is damaged or cut short ({error}). Fetch or pack it again.") from error
        return self._archive

    @property
    def format(self):
        """Name of its format: 'npz' for an archive of numpy's arrays, else that of registry.format_of."""
        names = self.archive().namelist() if self.compression == "zip" else []
        is_npz = bool(names) and all(name.endswith(".npy") for name in names)
        return "npz" if is_npz else format_of(self.head)


def _is_beside(name):
    """True for members of an archive that are no files of the one who packed it: folders, and what macOS adds."""
    return name.endswith(("/", ".DS_Store")) or name.startswith("__MACOSX/")


def _open(path):
    """The raw file at a path; DataError for what cannot be opened."""
    try:
        return io.FileIO(path)
    except FileNotFoundError as error:
        raise DataError(
            f"{path} does not exist. Check the name; the folder that gpukit looks from is {Path.cwd()}."
        ) from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; name a file in it.") from error
    except (OSError, ValueError) as error:  # a name that holds NUL is a ValueError
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _tells(start):
    """Return True when the first bytes of a text hold FIRST_LINES whole lines, or a byte of 0, which no text has.

    Blank lines, comments and Netflix's lines of movies do not count; line ends within quotes end no line.
    """
    if b"\0" in start:
        return True
    return len(list(itertools.islice(CONTENT.finditer(hidden(start)), FIRST_LINES))) == FIRST_LINES


def _short(name):
    """A member's name as a message bears it."""
    return name if name.isprintable() and 0 < len(name) <= SHOWN else repr(name[:SHOWN])


def _check_member(info, title):
    """DataError for a member of an archive that zipfile cannot unpack."""
    if info.flag_bits & ENCRYPTED:
        raise DataError(f"{title} is locked with a password. Unpack the archive and name the file.")
    if info.compress_type not in METHODS:
        method = zipfile.compressor_names.get(info.compress_type, "unknown")
        raise DataError(
            f"{title} is packed by the method {method} ({info.compress_type}), which gpukit does not unpack. Unpack "
            "the archive and name the file."
        )


class Peeked(io.RawIOBase):
    """A binary stream whose first bytes can be looked at before it is read."""

    def __init__(self, raw):
        self.raw, self.kept = raw, b""

    def readable(self):
        """True."""
        return True

    def peek(self, size):
        """The next bytes, as many as asked for unless the stream ends before; they are read again."""
        parts, lacking = [self.kept], size - len(self.kept)
        while lacking > 0 and (part := self.raw.read(lacking)):
            parts.append(part)
            lacking -= len(part)
        self.kept = b"".join(parts)
        return self.kept[:size]

    def readinto(self, buffer):
        """Fill a buffer from the stream; returns how many bytes, 0 at its end."""
        if not self.kept:
            return self.raw.readinto(buffer)
        count = min(len(self.kept), len(buffer))
        buffer[:count] = self.kept[:count]
        self.kept = self.kept[count:]
        return count

    def close(self):
        """Close the stream beneath too."""
        self.raw.close()
        super().close()


class Stream:
    """Unpacked bytes of a source, in order. name: for messages; plain: they are the source's own bytes; again: function
    that opens them again, None for a pipe; unended: the last line has been read, and no newline ends it."""

    def __init__(self, name, raw, plain=False, again=None):
        self.name, self.raw, self.plain, self.again, self.unended = name, raw, plain, again, False

    def head(self, size=HEAD):
        """Return the first whole lines: of size bytes, or as many as FIRST_LINES lines take (see _tells).

        They are read again. Raises DataError where LONGEST_LINE bytes do not hold them.
        """
        with translated(self.name):
            while len(start := self.raw.peek(size)) == size and not _tells(start):
                self._refuse_long_head(start)
                size *= 2
        return start if len(start) < size else start[: start.rfind(b"\n") + 1] or start

    def _refuse_long_head(self, start):
        """Raise DataError when the first bytes reach LONGEST_LINE and still do not hold the lines that are needed."""
        if len(start) >= LONGEST_LINE:
            number = start.count(b"\n") + 1
            raise DataError(
                f"{self.name}, line {number:,}, does not end within the first "
                f"{LONGEST_LINE >> 20:,} MiB, the limit for a line: it is no text file of a table."
            )

    def text_head(self, needed="Save it as text in UTF-8."):
        """The head of a text; DataError for what is none, or in UTF-16: bytes of 0, lines that end in CR alone."""
        head = self.head()
        if head[:2] in UTF_16 and head[2:4] != b"\0\0":  # that were UTF-32
            raise DataError(
                f'{self.name} is text in UTF-16, as Excel\'s "Unicode text" is, and UTF-8 is read here. Make it that: '
                "iconv -f UTF-16 -t UTF-8 <OLD >NEW."
            )
        own = FORMATS.get(format_of(head))
        if own is not None and own.title:
            raise DataError(f"{self.name} is {own.title} written by gpukit, which is not read here. {needed}")
        if b"\0" in head:
            raise DataError(
                f"{self.name} is not a text file in UTF-8 or Windows-1252, nor in a binary format that is read here. "
                f"{needed}"
            )
        if b"\r" in head.strip() and b"\n" not in head:
            raise DataError(
                f"{self.name} ends its lines in a carriage return alone, as old Macintosh files do. Make newlines of "
                "them: tr '\\r' '\\n' <OLD >NEW."
            )
        return head

    def whole(self):
        """All bytes of a text, for small files; DataError for a byte of 0."""
        with translated(self.name):
            raw = self.raw.read()
        self._refuse_zero(np.frombuffer(raw, np.uint8), 0)
        return raw

    def blocks(self, skip=0, size=None):
        """Yield uint8 arrays of whole lines, a newline at each end.

        skip: bytes to leave out first, fewer than head has. size bytes (BLOCK) are read at a time; a longer line makes
        the block as long as it must be. Raises DataError for a byte of 0, which no text holds.
        """
        size = size or BLOCK
        length, rest, before = min(FIRST, size), np.empty(0, np.uint8), skip
        self._read(memoryview(bytearray(skip)))
        while True:
            store = np.empty(length + 1, np.uint8)  # one more, for the newline that the last line may lack
            store[: len(rest)] = rest
            filled = len(rest) + self._read(memoryview(store)[len(rest) : -1])
            self._refuse_zero(store[len(rest) : filled], before + len(rest))
            end = _line_end(store[:filled])
            if end:
                yield store[:end]
            rest, before = store[end:filled], before + end
            if filled < length:
                break
            self._refuse_long_line(len(rest), before)
            length = max(size, 2 * len(rest))
        if len(rest):
            self.unended, store[filled] = True, NEWLINE
            yield store[end : filled + 1]

    def _read(self, buffer):
        """Fill a memoryview; returns how many bytes, fewer than it holds only at the stream's end."""
        filled = 0
        with translated(self.name):
            while filled < len(buffer) and (got := self.raw.readinto(buffer[filled:])):
                filled += got
        return filled

    def _refuse_zero(self, letters, before):
        """Raise DataError for a byte of 0 in letters (n,) uint8, which are behind `before` bytes."""
        if len(letters) and not letters.min():
            raise DataError(
                f"{self.name} has a byte of 0 at byte {before + int(letters.argmin()) + 1:,}, which no text holds. It "
                "is damaged, or no text file in UTF-8 or Windows-1252."
            )

    def _refuse_long_line(self, length, before):
        """Raise DataError where so many bytes of a line, behind `before` bytes, are more than a line may have."""
        if length > LONGEST_LINE:
            raise DataError(
                f"{self.name}, {self._place(before)}, is longer than {LONGEST_LINE >> 20:,} MiB, the limit for a line: "
                "it is no text file of a table."
            )

    def _place(self, before):
        """Return the number of the line behind so many bytes as text: they are read again, but not from a pipe."""
        if self.again is None:
            return f"the line at byte {before + 1:,}"
        number = 1
        with translated(self.name), self.again() as raw:
            while before > 0 and (part := raw.read(min(before, CHUNK))):
                number, before = number + part.count(b"\n"), before - len(part)
        return f"line {number:,}"


def _line_end(letters):
    """Return the place behind the last newline in letters (n,) uint8, 0 where there is none."""
    stop, found = len(letters), -1
    while stop and found < 0:
        start = max(0, stop - CHUNK)
        found, stop = letters[start:stop].tobytes().rfind(b"\n"), start
    return stop + found + 1
