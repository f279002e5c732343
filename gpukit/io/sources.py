"""Inputs, opened once: files, pipes and standard input, decompressed. Formats, recognised by their first bytes.

    with sources.open_source(path) as source:
        source.head                  first bytes, for format detection
        source.stream().blocks()     decompressed text, block by block, from the same handle
        source.seekable()            a seekable file, for binary formats

A pipe cannot be read twice: its first bytes are buffered, and input that must be seekable is first written to a
temporary file.
"""

import bz2
import contextlib
import glob
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

from gpukit import arrayfile, persist
from gpukit._pool import read_ahead
from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks
from gpukit.io.records import find_byte, hidden
from gpukit.io.words import SHOWN, quote

BLOCK = 32 << 20  # bytes; the parser's arrays for a block take about twice as much
HEAD = 1 << 16  # bytes used to detect a format; more if its first lines are longer
CONTENT = re.compile(rb"^(?![%#]|[^\S\n]*+\d+:[^\S\n]*+\n)[^\S\n]*+\S.*\n", re.MULTILINE)  # identifies a format
CHUNK = 1 << 18  # packed bytes read at a time; bytes of a first block, so that small files need little memory
LONGEST_LINE = 1 << 30
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
BOM = b"\xef\xbb\xbf"
MARKS = re.compile(rb"^(?:\xef\xbb\xbf)+", re.MULTILINE)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
PACKED = {"gz": (b"\x1f\x8b",), "bz2": (b"BZh",), "xz": (b"\xfd7zXZ\0",), "zip": (b"PK\x03\x04", b"PK\x05\x06")}
PAGES = (b"<!doctype", b"<html", b"<?xml")
STRANGE = {"zstd": b"\x28\xb5\x2f\xfd", "7z": b"7z\xbc\xaf\x27\x1c", "rar": b"Rar!", "lz4": b"\x04\x22\x4d\x18"}
OFFICE = {"[Content_Types].xml", "content.xml"}  # members of .xlsx and .ods


AGAIN = "Write it again with gpukit convert, from the original."


FORMATS = {  # recognised by their magic; gpukit writes those with a title
    name: arrayfile.Kind(magic, title, DataError, AGAIN)
    for name, (magic, title) in {
        **arrayfile.WRITTEN,
        **{"parquet": (b"PAR1", ""), "npy": (b"\x93NUMPY", "")},
    }.items()
}


def format_of(head):
    """Return the format name for first bytes, or 'text'."""
    return next((name for name, known in FORMATS.items() if head.startswith(known.magic)), "text")


def check_copy(path, suffixes, text=None):
    """Return the suffix of an output path.

    text: the suffix for standard output and pipes without one; None: they need one. Raises ParameterError for a suffix
    not in `suffixes`, DataError if the path is not writable.
    """
    if text and sinks.is_stream(path) and Path(path).suffix not in suffixes:
        return text
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ParameterError(f"The output's name must end in {', '.join(suffixes)}; got {str(path)!r}.")
    persist.check_writable(path)
    return suffix


@contextlib.contextmanager
def open_source(path, needed="another file"):
    """Open the Source at path; an open Source is passed through.

    path: name of a file or pipe, '-' for standard input. needed: alternative to an empty file, for the message. Raises
    DataError for a path that does not exist, is a folder, is empty, or cannot be read.
    """
    if isinstance(path, Source):
        path.refuse_empty(needed)
        yield path
        return
    with Source(path) as source:
        source.refuse_empty(needed)
        yield source


def read_whole(path, needed):
    """Return (name, bytes) of a small text, without byte-order marks.

    Arguments and errors as in `open_source`, `Source.stream` and `Stream.text_head`.
    """
    with open_source(path, needed) as source:
        stream = source.stream()
        stream.text_head()
        raw = stream.whole()
    return stream.name, raw


def count_marks(raw):
    """Return the number of bytes of the byte-order marks that a text begins with; programs may add a second one."""
    return re.match(rb"(?:\xef\xbb\xbf)*+", raw).end()


def without_marks(raw):
    """Return a text (bytes) without byte-order marks at the start of lines: files with one may have been joined."""
    return MARKS.sub(b"", raw) if BOM in raw else raw


def _lines_without_marks(lines):
    """Return `without_marks` of uint8 (n,), which is not copied if no byte is the first of a mark."""
    if find_byte(lines, BOM[0]) is None:
        return lines
    return np.frombuffer(without_marks(lines.tobytes()), np.uint8)


@contextlib.contextmanager
def translate_errors(name):
    """Convert errors of the disk and of damaged archives to DataError."""
    try:
        yield
    except OSError as error:  # gzip.BadGzipFile is one too
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from error
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged or cut short ({error}). Fetch or pack it again.") from error


class Source:
    """A file, a pipe or standard input, opened once.

    name: for messages; path: a Path, None for standard input; head: its first bytes, up to HEAD; compression: 'gz',
    'bz2', 'xz', 'zip' or 'plain'. It is read once, by `stream`, `streams` or `seekable`.
    """

    def __init__(self, path):
        standard = str(path) in STANDARD_INPUT
        self.name, self.path = ("standard input", None) if standard else (str(path), Path(path))
        raw = io.FileIO(0, closefd=False) if standard else _open(self.path)
        regular = stat.S_ISREG(os.fstat(raw.fileno()).st_mode) and (not standard or raw.tell() == 0)
        self._file, self._raw = io.BufferedReader(raw) if regular else None, Peeked(raw)
        self._state = _state_of(raw)
        self._whole = self._archive = self._text = None
        with translate_errors(self.name):
            self.head = self._raw.peek(HEAD)
        self.compression = next((kind for kind, signs in PACKED.items() if self.head.startswith(signs)), "plain")

    def __enter__(self):
        return self

    def __exit__(self, error, *details):
        is_changed = error is None and self._file is not None and _state_of(self._raw.raw) != self._state
        for file in (self._raw, self._whole):
            if file is not None:
                file.close()
        if is_changed:
            raise DataError(f"{self.name} was written to while it was read. Read it again when it is complete.")

    def refuse_empty(self, needed):
        """Raise DataError for an empty source."""
        if not self.head:
            once = "" if self.path else " (it can be read only once)"
            raise DataError(f"{self.name} is empty{once}. Give {needed}.")

    @property
    def size(self):
        """Size in bytes; the content of a pipe is read first."""
        return os.fstat(self.seekable().fileno()).st_size

    def seekable(self):
        """Return a binary file with a file number, at its beginning.

        This is the file itself, or an unnamed temporary copy of a pipe that is deleted with the Source.
        """
        if self._whole is None:
            self._whole = self._file or self._kept()
        self._whole.seek(0)
        return self._whole

    def _kept(self):
        try:
            file = tempfile.TemporaryFile()
            shutil.copyfileobj(self._raw, file, CHUNK)
            file.flush()
        except OSError as error:
            raise DataError(
                f"{self.name} comes through a pipe and must be kept in {tempfile.gettempdir()} to be read: "
                f"{error.strerror or error}. Set TMPDIR to a folder with room, or give a file."
            ) from error
        return file

    def stream(self):
        """Return the decompressed Stream; DataError for an archive of several files."""
        return next(self.streams(lambda names: []))

    def streams(self, choose):
        """Yield the decompressed Streams: one, or the chosen members of an archive.

        choose([str]) returns the names to read; DataError if it returns none.
        """
        if self.compression == "zip":
            for info in self._chosen(choose):
                yield self._member(info)
            return
        if self._text is None:  # cached: its first bytes have left the pipe
            self._refuse_strange()
            unpacker = UNPACKERS.get(self.compression)
            raw = Peeked(unpacker(io.BufferedReader(self._raw, CHUNK))) if unpacker else self._raw
            self._text = Stream(self.name, raw, self._file is not None, plain=unpacker is None)
        yield self._text

    def _refuse_strange(self):
        strange = next((kind for kind, sign in STRANGE.items() if self.head.startswith(sign)), None)
        if strange:
            raise DataError(f"{self.name} is packed by {strange}, which gpukit does not unpack. Unpack it first.")
        text = self.head[count_marks(self.head) :].lstrip()
        if text.lower().startswith(PAGES):
            begin = quote(text.decode("utf-8", "replace").strip())
            raise DataError(
                f"{self.name} holds a web page or XML ({begin}), not data: a download may have ended on a page for "
                "logging in. Fetch it again."
            )

    def _chosen(self, choose):
        """Return the chosen members of an archive."""
        members = {info.filename: info for info in self.archive().infolist() if not _is_beside(info.filename)}
        if OFFICE & members.keys():
            raise DataError(f"{self.name} is a spreadsheet, or another office file. Save it as csv and give that.")
        names = list(members) if len(members) == 1 else choose(sorted(members))
        if not names:
            some = ", ".join(_shorten_name(name) for name in sorted(members)[:6]) or "nothing"
            raise DataError(
                f"{self.name} holds {some}{' ...' if len(members) > 6 else ''}: which is meant is not clear. Unpack "
                "the archive and name the file."
            )
        return [members[name] for name in names]

    def _member(self, info):
        """Return the Stream of a member of the archive."""
        title = f"{self.name} ({_shorten_name(info.filename)})"
        try:
            with translate_errors(title):
                return Stream(title, Peeked(self.archive().open(info)))
        except (RuntimeError, ValueError) as error:  # unsupported by zipfile
            method = zipfile.compressor_names.get(info.compress_type, info.compress_type)
            raise DataError(
                f"{title} cannot be unpacked ({error}; method: {method}). Unpack the archive and name the file."
            ) from error

    def archive(self):
        """Return the zipfile.ZipFile; DataError for a damaged one."""
        if self._archive is None:
            try:
                self._archive = zipfile.ZipFile(self.seekable())
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:  # from forged headers
                raise DataError(f"{self.name} is damaged or cut short ({error}). Fetch or pack it again.") from error
        return self._archive

    @property
    def format(self):
        """Format name: 'npz' for an archive of numpy arrays, else from format_of."""
        names = self.archive().namelist() if self.compression == "zip" else []
        is_npz = bool(names) and all(name.endswith(".npy") for name in names)
        return "npz" if is_npz else format_of(self.head)


def _state_of(file):
    """Return the size and the time of the last change of an open file."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _is_beside(name):
    """Return True for archive members without user data: folders, files of macOS."""
    return name.endswith(("/", ".DS_Store")) or name.startswith("__MACOSX/")


def check_exists(*paths):
    """Raise DataError for a file that does not exist; None and standard input are passed over."""
    for path in paths:
        if path not in (None, *STANDARD_INPUT) and not os.path.exists(path):
            _open(path).close()


def _open(path):
    """Open the raw file at a path; DataError if this fails."""
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
    """Return True if the head has enough lines or a zero byte.

    Blank lines, comments and Netflix's movie lines do not count. Line ends within quotes end no line.
    """
    if b"\0" in start:
        return True
    count = 3
    return len(list(itertools.islice(CONTENT.finditer(hidden(start)), count))) == count


def _shorten_name(name):
    """Return a member's name, shortened for messages."""
    return name if name.isprintable() and 0 < len(name) <= SHOWN else repr(name[:SHOWN])


class Readable(io.RawIOBase):
    """Binary stream for reading; subclasses have readinto."""

    def readable(self):
        """Return True."""
        return True


class Peeked(Readable):
    """Binary stream whose first bytes can be inspected before reading."""

    def __init__(self, raw):
        self.raw, self.kept = raw, b""

    def peek(self, size):
        """Return the next `size` bytes without consuming them.

        There are fewer only at the end.
        """
        parts, lacking = [self.kept], size - len(self.kept)
        while lacking > 0 and (part := self.raw.read(lacking)):
            parts.append(part)
            lacking -= len(part)
        self.kept = b"".join(parts)
        return self.kept[:size]

    def readinto(self, buffer):
        """Fill a buffer; return the number of bytes, 0 at the end."""
        if not self.kept:
            return self.raw.readinto(buffer)
        count = min(len(self.kept), len(buffer))
        buffer[:count] = self.kept[:count]
        self.kept = self.kept[count:]
        return count

    def close(self):
        """Close this stream and the underlying one."""
        self.raw.close()
        super().close()


class Unpacked(Readable):
    """Decompressed bytes of a file of concatenated streams and zero padding.

    Python's own readers treat unknown bytes behind a stream as its end. A flipped bit at the start of the second stream
    would silently lose the rest.
    """

    def __init__(self, file, unpacker):
        self._file, self._new = file, unpacker
        self._one = unpacker()

    def readinto(self, buffer):
        """Fill a buffer; return the number of bytes, 0 at the end.

        Raises EOFError, OSError or lzma.LZMAError for a truncated or invalid stream.
        """
        while True:
            packed = self._rest() if self._one.eof else self._lacking()
            if packed is None:
                return 0
            result = self._one.decompress(packed, len(buffer))
            if result:
                buffer[: len(result)] = result
                return len(result)

    def _lacking(self):
        """Return the next packed bytes of the current stream."""
        packed = self._file.read(CHUNK) if self._one.needs_input else b""
        if self._one.needs_input and not packed:
            raise EOFError("it ends within a stream")
        return packed

    def _rest(self):
        """Start the next stream and return its first bytes, or None."""
        rest = self._one.unused_data or self._file.read(CHUNK)
        while rest and not (start := rest.lstrip(b"\0")):
            rest = self._file.read(CHUNK)
        if not rest:
            return None
        self._one = self._new()
        return start

    def close(self):
        """Close this stream and the underlying file."""
        self._file.close()
        super().close()


UNPACKERS = {
    "gz": gzip.open,
    "bz2": lambda file: Unpacked(file, bz2.BZ2Decompressor),
    "xz": lambda file: Unpacked(file, lzma.LZMADecompressor),
}


def is_pattern(path):
    """Return True for a name with *, ? or [ that no file has: a pattern of file names."""
    return not isinstance(path, Source) and glob.has_magic(str(path)) and not os.path.exists(path)


class Stream:
    """Decompressed bytes of a source, in order.

    name: for messages; is_file: False for a pipe, whose next bytes may never come; plain: True if the bytes are the
    source's own; unended: True after reading a last line without a newline.
    """

    def __init__(self, name, raw, is_file=True, plain=False):
        self.name, self.raw, self.is_file, self.plain, self.unended = name, raw, is_file, plain, False

    def head(self, size=HEAD):
        """Return the first whole lines without consuming them.

        The head grows until it has enough lines (see _tells). Raises DataError if LONGEST_LINE bytes do not hold
        them.
        """
        with translate_errors(self.name):
            while len(start := self.raw.peek(size)) == size and not _tells(start):
                if len(start) >= LONGEST_LINE:
                    number = start.count(b"\n") + 1
                    raise self._too_long(f"line {number:,}, does not end within the first")
                size *= 2
        return start if len(start) < size else start[: start.rfind(b"\n") + 1] or start

    def _too_long(self, what):
        """Return the DataError for a line of more than LONGEST_LINE bytes."""
        limit = f"{LONGEST_LINE >> 20:,} MiB, the limit for a line"
        return DataError(f"{self.name}, {what} {limit}: it is no text file of a table.")

    def text_head(self, needed="Save it as text in UTF-8."):
        """Return the head of a text.

        Raises DataError for UTF-16, zero bytes, gpukit's own binary files, and lines that end in CR alone.
        """
        head = self.head()
        if head[:2] in UTF_16 and head[2:4] != b"\0\0":  # this would be UTF-32
            raise DataError(
                f'{self.name} is text in UTF-16, as Excel\'s "Unicode text" is, and UTF-8 is read here. Make it that: '
                "iconv -f UTF-16 -t UTF-8 <OLD >NEW."
            )
        file_format = FORMATS.get(format_of(head))
        if file_format is not None and file_format.what:
            raise DataError(f"{self.name} is {file_format.what} written by gpukit, which is not read here. {needed}")
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
        """Return all bytes of a small text behind its byte-order marks; DataError for a zero byte."""
        with translate_errors(self.name):
            raw = b"".join(iter(lambda: self.raw.read(CHUNK), b""))  # read() alone takes 8 KiB at a time
        self._refuse_zero(np.frombuffer(raw, np.uint8), 0)
        return without_marks(raw)

    def blocks(self, skip=0, size=None):
        """Return a generator of uint8 arrays of whole lines, each ending in a newline; close it if it is left early.

        skip: bytes to leave out first, fewer than head has. size: bytes read at a time (default BLOCK); a longer line
        enlarges the block. The generator raises DataError for a zero byte.
        """
        blocks = self._blocks(skip, size or BLOCK)
        return read_ahead(blocks) if self.is_file else blocks

    def _blocks(self, skip, size):
        newline = 10
        length, rest, before = min(CHUNK, size), np.empty(0, np.uint8), skip
        self._read(memoryview(bytearray(skip)))
        while True:
            store = np.empty(length + 1, np.uint8)  # one more byte for a missing final newline; numpy takes huge pages
            store[: len(rest)] = rest
            filled = len(rest) + self._read(memoryview(store)[len(rest) : -1])
            self._refuse_zero(store[len(rest) : filled], before + len(rest))
            end = _line_end(store[:filled])
            if end:
                yield _lines_without_marks(store[:end])
            rest, before = store[end:filled], before + end
            if filled < length:
                break
            if len(rest) > LONGEST_LINE:
                raise self._too_long(f"the line at byte {before + 1:,}, is longer than")
            length = max(size, 2 * len(rest))
        if len(rest):
            self.unended, store[filled] = True, newline
            yield _lines_without_marks(store[end : filled + 1])

    def _read(self, buffer):
        """Fill a memoryview; return the byte count, less at the end."""
        filled = 0
        with translate_errors(self.name):
            while filled < len(buffer) and (got := self.raw.readinto(buffer[filled:])):
                filled += got
        return filled

    def _refuse_zero(self, letters, before):
        """Raise DataError for a zero byte in letters (n,) uint8.

        before: number of bytes before them.
        """
        if (place := find_byte(letters, 0)) is not None:
            raise DataError(
                f"{self.name} has a byte of 0 at byte {before + place + 1:,}, which no text holds. It is damaged, or "
                "no text file in UTF-8 or Windows-1252."
            )


def _line_end(letters):
    """Return the offset behind the last newline in letters (n,) uint8, or 0."""
    stop, result = len(letters), -1
    while stop and result < 0:
        start = max(0, stop - CHUNK)
        result, stop = letters[start:stop].tobytes().rfind(b"\n"), start
    return stop + result + 1
