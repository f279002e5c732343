"""Mutators of gpukit's array files, with valid checksums.

Array files are models, checkpoints, .gkr and .gkl. Arrays, header and facts are edited.

A file: magic (8 bytes); version, length and CRC-32 of the header, uint32 each, the CRC over everything before it and
the header; the header in JSON, {"facts": {...}, "arrays": [[name, dtype, shape, checksum], ...]}; each array at the
next multiple of 64 bytes. An array's checksum is the CRC-32 of the checksums (uint32) of its pieces of 1 MiB; a piece's
is the CRC-32 of the remainder of a row of 4096 bytes, then of the rows' sums as uint64, then of the columns'.
"""

import json
import struct
import zlib

import numpy as np

from fuzz.mutate import arrays, raw, structured
from fuzz.mutate.values import JSON

ALIGN, PIECE, ROW, START = 64, 1 << 20, 4096, 20
CLASSES = (
    "LSHMF",
    "MatrixFactorization",
    "RankSVM",
    "SimLSH",
    "GraphImputer",
    "checkpoint",
    "Estimator",
    "os",
    None,
    3,
)


def decode(data):
    """Return (magic, facts, {name: array}) of a valid file."""
    magic, _, length, _ = struct.unpack("<8sIII", data[:START])
    header, at, held = json.loads(data[START : START + length]), START + length, {}
    for name, dtype, shape, _ in header["arrays"]:
        at += -at % ALIGN
        count = int(np.prod(shape, dtype=np.int64))
        held[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += held[name].nbytes
    return magic, header["facts"], held


def encode(magic, facts, held):
    """Return the file of facts and {name: array}."""
    held = {name: np.asarray(array, order="C") for name, array in held.items()}
    listed = [[name, array.dtype.str, list(array.shape), checksum(array.tobytes())] for name, array in held.items()]
    return signed(magic, json.dumps({"facts": facts, "arrays": listed}).encode(), [a.tobytes() for a in held.values()])


def checksum(data):
    """The checksum of an array's bytes."""
    pieces = [_piece(data[at : at + PIECE]) for at in range(0, len(data), PIECE)]
    return zlib.crc32(np.array(pieces, "<u4").tobytes())


def _piece(data):
    """The checksum of a piece."""
    end = len(data) // ROW * ROW
    table = np.frombuffer(data[:end], "<u8").reshape(-1, ROW // 8)
    crc = zlib.crc32(table.sum(axis=1, dtype=np.uint64), zlib.crc32(data[end:]))
    return zlib.crc32(table.sum(axis=0, dtype=np.uint64), crc)


def signed(magic, header, blobs, version=2):
    """Return a file of a header (bytes) and the arrays' bytes."""
    start = struct.pack("<8sII", magic, version, len(header))
    out = start + struct.pack("<I", zlib.crc32(header, zlib.crc32(start))) + header
    for blob in blobs:
        out += b"\0" * (-len(out) % ALIGN) + blob
    return out


def edit_arrays(data, rng):
    """Mutate, omit or rename an array; or truncate all of one length."""
    magic, facts, held = decode(data)
    return encode(magic, facts, arrays.among(held, rng) if rng.random() < 0.88 else arrays.consistent(held, rng))


def edit_facts(data, rng):
    """Edit a fact: a parameter, the class, the history."""
    magic, facts, held = decode(data)
    part = [name for name, value in facts.items() if isinstance(value, dict) and value]
    if part and rng.random() < 0.5:
        name = part[rng.integers(len(part))]
        return encode(magic, {**facts, name: structured.edit(facts[name], rng)}, held)
    return encode(magic, structured.edit(facts, rng) if facts else {"x": JSON[rng.integers(len(JSON))]}, held)


def edit_class(data, rng):
    """Replace the class or the format."""
    magic, facts, held = decode(data)
    key, values = (("class", CLASSES), ("format", (1, 2, 99, None, "3", 3.0, True)), ("of", CLASSES))[rng.integers(3)]
    return encode(magic, {**facts, key: values[rng.integers(len(values))]}, held)


def edit_header(data, rng):
    """Edit the list of arrays: names, dtypes, shapes, checksums; the bytes are unchanged."""
    magic, facts, held = decode(data)
    listed = [[name, a.dtype.str, list(a.shape), checksum(a.tobytes())] for name, a in held.items()]
    header = structured.edit({"facts": facts, "arrays": listed, "more": listed}, rng)
    header.pop("more", None)
    return signed(magic, json.dumps(header).encode(), [array.tobytes() for array in held.values()])


def edit_entry(data, rng):
    """Change the shape or dtype of an array.

    The result has an equal size or a larger one.
    """
    magic, facts, held = decode(data)
    listed = [[name, a.dtype.str, list(a.shape), checksum(a.tobytes())] for name, a in held.items()]
    entry = listed[rng.integers(len(listed))]
    shape, itemsize = entry[2], np.dtype(entry[1]).itemsize
    kinds = {1: "|b1 |i1 |u1", 2: "<f2 <i2", 4: "<f4 <i4 <u4 <U1 >f4 |S4", 8: "<f8 <i8 <M8[s] <c8 <U2 |V8 >i8"}
    shapes = (
        [*shape, 1],
        shape[::-1],
        [int(np.prod(shape))],
        [2**40],
        [2**62, 4],
        [-1],
        [0],
        [],
        [1] * 40,
        [True],
        [1.0],
    )
    if rng.random() < 0.5:
        entry[2] = shapes[rng.integers(len(shapes))]
    else:
        choices = kinds.get(itemsize, "|S3 <U3").split() + ["|O", "x", "<U0", "f4", "<U1000000000", "<f4,<i4"]
        entry[1] = choices[rng.integers(len(choices))]
    header = json.dumps({"facts": facts, "arrays": listed}).encode()
    return signed(magic, header, [array.tobytes() for array in held.values()])


def edit_header_text(data, rng):
    """Replace the header by invalid text.

    Not JSON, not an object, not UTF-8, very deep, or with a repeated key.
    """
    magic, facts, held = decode(data)
    length = struct.unpack("<I", data[12:16])[0]
    text = data[START : START + length]
    twice = text.replace(b'{"facts"', b'{"facts": 1, "facts"', 1)
    texts = (
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b"",
        b"\xff" + text,
        text[:-1],
        text + text,
        b"[" * 100_000,
        b"{}",
        twice,
        b"9" * 5000,
    )
    blobs = [array.tobytes() for array in held.values()]
    return signed(magic, texts[rng.integers(len(texts))], blobs)


def edit_start(data, rng):
    """Change the magic, version, length or checksum of the header."""
    out = bytearray(data)
    draw = int(rng.integers(4))
    if draw == 0:
        out[:8] = (b"GPUKITL1", b"GPUKITR1", b"GPUKITM1", b"GPUKITR2", b"PK\x03\x04\0\0\0\0")[rng.integers(5)]
    else:
        values = (0, 1, 2, 3, 2**31, 2**32 - 1, len(data), int(rng.integers(2000)))
        out[4 + 4 * draw : 8 + 4 * draw] = struct.pack("<I", values[rng.integers(len(values))])
    return bytes(out)


COPY = (*(edit_arrays,) * 8, edit_facts, edit_header, *(edit_entry,) * 2, edit_header_text, edit_start, *raw.BYTES[:8])
MODEL = (*COPY, *(edit_arrays,) * 4, *(edit_facts,) * 5, edit_class)
