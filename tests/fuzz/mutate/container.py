"""gpukit's containers of raw arrays (.gkr, .gkl): header and arrays edited, the layout and the checksum made right again.

A file: magic (8 bytes), the header's length (8), the header in JSON, arrays at multiples of 64 bytes (io/container.py).
"""

import io
import json

import numpy as np

from fuzz.mutate import arrays, raw, structured


def decode(data):
    """(magic, header, {name: array}) of a sound container."""
    length = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + length])
    held = {}
    for name, entry in header["arrays"].items():
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        held[name] = np.frombuffer(data, dtype, count, entry["offset"]).reshape(shape)
    return data[:8], header, held


def edit_arrays(data, rng):
    """An array mutated, written as the library would."""
    magic, header, held = decode(data)
    held = arrays.among(held, rng) if rng.random() < 0.85 else arrays.consistent(held, rng)
    return _written(magic, header, held)


def _written(magic, header, held):
    from gpukit.io.container import write_arrays

    facts = {name: value for name, value in header.items() if name in ("shape",)}
    held = {name: array if array.dtype.kind in "biufcUSM" else array.astype("f8") for name, array in held.items()}
    file = _File()
    write_arrays(file, magic, held, **facts)
    return file.getvalue()


class _File(io.BytesIO):
    """ndarray.tofile wants a real file; this one takes its bytes."""

    def fileno(self):
        raise io.UnsupportedOperation("fileno")


def edit_header(data, rng):
    """A fact of the header edited; length and checksum as they must be."""
    length = int.from_bytes(data[8:16], "little")
    header = structured.edit(json.loads(data[16 : 16 + length]), rng)
    return _with_header(data, json.dumps(header).encode(), length)


def edit_header_text(data, rng):
    """The header as text that is no JSON, no object, not UTF-8, very deep, or very long."""
    length = int.from_bytes(data[8:16], "little")
    text = data[16 : 16 + length].rstrip(b" \0")
    texts = (b"[]", b"null", b"5", b'"x"', b"", b"\xff" + text, text[:-1], text + text, b"[" * 3000, b"{}", text.replace(b"1", b"1e999", 2))
    return _with_header(data, texts[rng.integers(len(texts))], length)


def _with_header(data, text, length):
    """data with another header, padded to the old length where it is shorter."""
    text = text.ljust(length)
    return data[:8] + len(text).to_bytes(8, "little") + text + data[16 + length :]


def edit_length(data, rng):
    """A wrong length of the header, magic of another kind."""
    lengths = (0, 1, 2**63, 2**64 - 1, 2**31, 16, len(data), int(rng.integers(2000)))
    magic = data[:8] if rng.random() < 0.8 else (b"GPUKITL1", b"GPUKITR1", b"GPUKITR2", b"GPUKITR\0")[rng.integers(4)]
    return magic + int(lengths[rng.integers(len(lengths))]).to_bytes(8, "little") + data[16:]


GKR = GKL = (*(edit_arrays,) * 5, *(edit_header,) * 4, edit_header_text, edit_length, *raw.BYTES[:8])
