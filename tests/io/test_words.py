"""Bytes as text, in any encoding."""

import pytest

from gpukit.io.words import decode


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_text_of_either_encoding(encoding):
    text = "caf\u00e9 \u2013 \u20ac5 \u201cx\u201d"
    assert decode(text.encode(encoding)) == text


def test_different_bytes_stay_different():
    raw = [bytes([byte]) for byte in range(256)]
    assert len({decode(word) for word in raw}) == 256
    assert decode(b"\x81\x80") == "\x81\x80"  # no letter of the code page
