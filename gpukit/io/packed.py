"""Streaming decompression of bzip2 and xz, including concatenated streams."""

import bz2
import io
import lzma

CHUNK = 1 << 18  # packed bytes read at a time


class Streams(io.RawIOBase):
    """Decompressed bytes of a file of concatenated streams and zero padding.

    Python's own readers treat unknown bytes behind a stream as its end. A flipped bit at the start of the second stream
    would silently lose the rest.
    """

    def __init__(self, file, unpacker):
        self._file, self._new = file, unpacker
        self._one = unpacker()

    def readable(self):
        """Return True."""
        return True

    def readinto(self, buffer):
        """Fill a buffer; return the number of bytes, 0 at the end.

        Raises EOFError, OSError or lzma.LZMAError for a truncated or invalid stream.
        """
        while True:
            packed = self._rest() if self._one.eof else self._lacking()
            if packed is None:
                return 0
            found = self._one.decompress(packed, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _lacking(self):
        """Return the next packed bytes of the current stream."""
        packed = self._file.read(CHUNK) if self._one.needs_input else b""
        if self._one.needs_input and not packed:
            raise EOFError("it ends within a stream")
        return packed

    def _rest(self):
        """Start the next stream and return its first bytes, or None."""
        rest = self._one.unused_data or self._file.read(CHUNK)
        while rest and not (begun := rest.lstrip(b"\0")):
            rest = self._file.read(CHUNK)
        if not rest:
            return None
        self._one = self._new()
        return begun

    def close(self):
        """Close this stream and the underlying file."""
        self._file.close()
        super().close()


def bzip2(file):
    """Return a reader of a binary file compressed by bzip2."""
    return Streams(file, bz2.BZ2Decompressor)


def xz(file):
    """Return a reader of a binary file compressed by xz."""
    return Streams(file, lzma.LZMADecompressor)
