"""bzip2 and xz, unpacked as they come: streams one behind the other, all of them whole."""

import bz2
import io
import lzma

CHUNK = 1 << 18  # packed bytes read at a time


class Streams(io.RawIOBase):
    """The unpacked bytes of a binary file of such streams, and zeros that fill it up.

    Python's own readers take anything else behind a stream for its end: a bit that flips in the first bytes of the
    second one loses it and all that follow, without a word.
    """

    def __init__(self, file, unpacker):
        self._file, self._new = file, unpacker
        self._one = unpacker()

    def readable(self):
        """True."""
        return True

    def readinto(self, buffer):
        """Fill a buffer; returns how many bytes, 0 at the end. Raises EOFError, OSError or lzma.LZMAError for what is
        cut short or no such stream."""
        while True:
            packed = self._rest() if self._one.eof else self._lacking()
            if packed is None:
                return 0
            found = self._one.decompress(packed, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _lacking(self):
        """What the stream at work needs next."""
        packed = self._file.read(CHUNK) if self._one.needs_input else b""
        if self._one.needs_input and not packed:
            raise EOFError("it ends within a stream")
        return packed

    def _rest(self):
        """What lies behind the stream that has ended, where another begins; None where nothing does."""
        rest = self._one.unused_data or self._file.read(CHUNK)
        while rest and not (begun := rest.lstrip(b"\0")):
            rest = self._file.read(CHUNK)
        if not rest:
            return None
        self._one = self._new()
        return begun

    def close(self):
        """Close the file beneath too."""
        self._file.close()
        super().close()


def bzip2(file):
    """The unpacked bytes of a binary file, packed by bzip2."""
    return Streams(file, bz2.BZ2Decompressor)


def xz(file):
    """The unpacked bytes of a binary file, packed by xz."""
    return Streams(file, lzma.LZMADecompressor)
