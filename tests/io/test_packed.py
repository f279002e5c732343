"""bzip2 and xz: consecutive streams are read completely, and damage anywhere is reported."""

import bz2
import lzma

import pytest

from gpukit.errors import DataError
from gpukit.io import sources

TEXT = b"".join(b"%d,%d,%d\n" % (n, n * 7 % 31, n % 5) for n in range(400))
PACK = {"bz2": bz2.compress, "xz": lzma.compress}
EACH = pytest.mark.parametrize("kind", PACK)


def unpacked(path):
    with sources.open_source(path) as source:
        return b"".join(block.tobytes() for block in source.stream().blocks())


def written(tmp_path, kind, raw):
    path = tmp_path / f"t.{kind}"
    path.write_bytes(raw)
    return path


@EACH
@pytest.mark.parametrize("chunk", [1, 7, sources.CHUNK])
def test_streams_one_behind_the_other(tmp_path, monkeypatch, kind, chunk):
    monkeypatch.setattr(sources, "CHUNK", chunk)
    pack, third = PACK[kind], len(TEXT) // 3
    streams = pack(TEXT[:third]) + pack(b"") + pack(TEXT[third:])
    for raw in (pack(TEXT), streams, streams + b"\0" * 512, pack(TEXT[:third]) + b"\0" * 12 + pack(TEXT[third:])):
        assert unpacked(written(tmp_path, kind, raw)) == TEXT


@pytest.mark.slow
@EACH
def test_no_flip_and_no_cut_goes_unnoticed(tmp_path, kind):
    pack, half = PACK[kind], 60
    one = pack(TEXT[:half])
    raw = one + pack(TEXT[half : 2 * half])
    for bit in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert unpacked(written(tmp_path, kind, flipped)) == TEXT[: 2 * half]
        except DataError as error:
            assert "\n" not in str(error)
    for length in range(8, len(raw)):
        if length != len(one):
            with pytest.raises(DataError, match="damaged or cut short"):
                unpacked(written(tmp_path, kind, raw[:length]))


@EACH
@pytest.mark.parametrize("behind", [b"junk", b"\0\0\0x", b"BZ", b"\xfd7zXZ"])
def test_what_else_stands_behind_a_stream(tmp_path, kind, behind):
    with pytest.raises(DataError, match="damaged or cut short|cannot be read"):
        unpacked(written(tmp_path, kind, PACK[kind](TEXT) + behind))
