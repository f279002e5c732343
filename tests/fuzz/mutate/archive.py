"""Archives: members of a zip (.npz, .zip), their arrays and headers; compressed text."""

import bz2
import functools
import gzip
import io
import lzma
import struct
import zipfile

import numpy as np

from fuzz.mutate import arrays, raw

BOMB = 700 << 20  # bytes of a member that is compressed into a few thousand


def unzip(data):
    """[(name, bytes)] of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def zipped(members, method=zipfile.ZIP_STORED):
    """Return a zip of [(name, bytes)]; names may repeat."""
    import warnings

    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def npy(array):
    """Return the bytes of a .npy; arrays of objects are pickled."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    return file.getvalue()


def load(data):
    """{name: array} of a .npz."""
    with np.load(io.BytesIO(data), allow_pickle=True) as archive:
        return {name: archive[name] for name in archive.files}


def npz(named):
    """The bytes of a .npz of {name: array}."""
    return zipped([(f"{name}.npy", npy(array)) for name, array in named.items()])


def edit_arrays(data, rng):
    """Mutate an array of a .npz."""
    return npz(arrays.among(load(data), rng))


def edit_consistent(data, rng):
    """Truncate all arrays of one length of a .npz to a shorter one."""
    return npz(arrays.consistent(load(data), rng))


def edit_members(data, rng):
    """Members omitted, repeated, renamed, added, empty, compressed otherwise."""
    members = unzip(data)
    at = int(rng.integers(len(members)))
    name, inside = members[at]
    draw, method = int(rng.integers(8)), zipfile.ZIP_STORED
    if draw == 0:
        del members[at]
    elif draw == 1:
        members.append((name, members[rng.integers(len(members))][1]))
    elif draw == 2:
        names = (
            "",
            "/",
            "../" + name,
            name.upper(),
            name + "/",
            "x" * 60000,
            name[:-4],
            "é.npy",
            "a\0b",
            "data.npy",
            "allow_pickle.npy",
        )
        members[at] = (names[rng.integers(len(names))], inside)
    elif draw == 3:
        members.append(("more.npy", npy(np.arange(4))))
    elif draw == 4:
        members[at] = (name, b"")
    elif draw == 5:
        method = int(rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    elif draw == 6:
        members = members[::-1]
    else:
        members[at] = (name, raw.BYTES[rng.integers(len(raw.BYTES))](inside, rng))
    return zipped(members, method)


def edit_npy_header(data, rng):
    """Change the header of an array in a .npz.

    Its shape, dtype, order, or invalid text.
    """
    members = unzip(data)
    at = int(rng.integers(len(members)))
    name, inside = members[at]
    if inside[:6] != b"\x93NUMPY":
        return data
    length = struct.unpack("<H", inside[8:10])[0]
    header, body = inside[10 : 10 + length].decode("latin-1"), inside[10 + length :]
    shape = header[header.index("(") : header.index(")") + 1]
    descr = header[header.index("'descr': ") + 9 : header.index(", 'fortran")]
    header = (
        lambda: header.replace(
            shape,
            (
                "(10000000000,)",
                "(-1,)",
                "(3,",
                "()",
                "(2**9,)",
                "(1e3,)",
                "('a',)",
                "(99,)",
                "(0,)",
                "(5, 5, 5, 5)",
                "(None,)",
                "(" + "1," * 40 + ")",
            )[rng.integers(12)],
        ),
        lambda: header.replace(
            descr,
            (
                "'|O'",
                "'<f8'",
                "'<i4'",
                "'<U900000000'",
                "'V8'",
                "'<M8[s]'",
                "[('a', '<f4')]",
                "'zz'",
                "5",
                "None",
                "'|b1'",
                "'>f4'",
            )[rng.integers(12)],
        ),
        lambda: header.replace("False", ("True", "None", "1", "Fals")[rng.integers(4)]),
        lambda: header.replace("{", "", 1),
        lambda: header.replace("'shape'", "'shapes'"),
        lambda: "(" * 150 + header,
        lambda: header.replace("}", ", 'x': 1}"),
        lambda: "\0" * len(header),
        lambda: "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
        lambda: raw.BYTES[rng.integers(len(raw.BYTES))](header.encode("latin-1"), rng).decode("latin-1"),
    )[rng.integers(10)]().encode("latin-1", "replace")
    version = inside[6:8] if rng.random() < 0.9 else bytes([int(rng.integers(5)), int(rng.integers(3))])
    inside = inside[:6] + version + struct.pack("<H", min(65535, len(header))) + header + body
    members[at] = (name, inside)
    return zipped(members)


def edit_zip_fields(data, rng):
    """Change a field of a zip's headers.

    Flags (a password), method, checksum, sizes, name lengths, offsets.
    """
    out = bytearray(data)
    sign = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")[rng.choice(3, p=(0.4, 0.5, 0.1))]
    places = []
    at = data.find(sign)
    while at >= 0:
        places.append(at)
        at = data.find(sign, at + 4)
    if not places:
        return data
    at = places[rng.integers(len(places))] + 4 + 2 * int(rng.integers(0, {3: 13, 1: 21, 5: 9}[sign[2]]))
    values = (0, 1, 2, 8, 9, 12, 14, 99, 0xFFFF, 0x7FFF, int(rng.integers(65536)))
    out[at : at + 2] = struct.pack("<H", values[rng.integers(len(values))])
    if rng.random() < 0.4:
        return encrypted(bytes(out), places=None)
    return bytes(out)


def encrypted(data, places=None):
    """Mark the members of a zip as encrypted, in both headers."""
    out = bytearray(data)
    for sign, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(sign)
        while at >= 0 and at + flag < len(out):
            out[at + flag] |= 1
            at = data.find(sign, at + 4)
    return bytes(out)


@functools.lru_cache(1)
def _zeros():
    """Return a .npy of BOMB zero bytes, cached for later use."""
    header = npy(np.zeros(0, np.uint8)).replace(b"(0,)", b"(%d,)" % BOMB)
    return header + b"\0" * BOMB


@functools.lru_cache(4)
def _bomb(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(name, _zeros())
    _zeros.cache_clear()
    return file.getvalue()


def bomb(data, rng):
    """Add or replace a member that unpacks to more than the memory.

    Rare, because it is slow.
    """
    if rng.random() > 0.03:
        return edit_members(data, rng)
    members = unzip(data)
    file = io.BytesIO(_bomb(members[0][0] if rng.random() < 0.5 else "zz.npy"))
    with zipfile.ZipFile(file, "a") as archive:
        for name, inside in members:
            if name not in archive.namelist():
                archive.writestr(name, inside)
    return file.getvalue()


def packed(mutators):
    """Return mutators of compressed text and of its compression."""

    def inside(data, rng):
        names, unpack, pack = _packing(data)
        mutated = [(name, mutators[rng.integers(len(mutators))](text, rng)) for name, text in unpack(data)]
        return pack(mutated)

    return (inside, inside, inside, *raw.BYTES[:6], edit_zip_fields, edit_gzip, edit_zip_members)


def edit_zip_members(data, rng):
    """edit_members of a zip; other files unchanged except for a byte."""
    return edit_members(data, rng) if data[:2] == b"PK" else raw.overwrite(data, rng)


def edit_gzip(data, rng):
    """Change a .gz; repeat other files.

    Changes: flags, an empty or a second stream, a wrong length or checksum.
    """
    if data[:2] != b"\x1f\x8b":
        return data + data
    return (
        data[:3] + bytes([int(rng.integers(256))]) + data[4:],
        data + data,
        data + gzip.compress(b""),
        data[:-8] + b"\0" * 8,
        data[:-4] + b"\xff" * 4,
        data + b"garbage",
        data[:2] + b"\x07" + data[3:],
    )[rng.integers(7)]


OTHER_MATRICES = {b"array", b"complex", b"symmetric", b"skew-symmetric", b"hermitian", b"vector"}


def edit_banner(data, rng):
    """Replace a word in the first line of a Matrix Market file."""
    words = data.split(b"\n")[0].split(b" ")
    words[1 + rng.integers(len(words) - 1)] = sorted(OTHER_MATRICES)[rng.integers(len(OTHER_MATRICES))]
    return b"\n".join([b" ".join(words), *data.split(b"\n")[1:]])


def all_streams(data):
    """Return the bytes of all streams of a compressed file.

    Raises an error for a damaged or another file.
    """
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    text, unpacker = b"", bz2.BZ2Decompressor if data[:2] == b"BZ" else lzma.LZMADecompressor
    while data:
        one = unpacker()
        text += one.decompress(data)
        if not one.eof:
            raise EOFError("a stream is cut short")
        data = one.unused_data.lstrip(b"\0")
    return text


def _packing(data):
    """Return (kind, unpack, pack) of compressed bytes; both use [(name, bytes)]."""
    if data[:2] == b"PK":
        return "zip", unzip, functools.partial(zipped, method=zipfile.ZIP_DEFLATED)
    module = {b"\x1f\x8b": gzip, b"BZ": bz2, b"\xfd7": lzma}[data[:2]]
    return "one", lambda packed: [("", module.decompress(packed))], lambda members: module.compress(members[0][1])


NPZ = (
    *(edit_arrays, edit_arrays, edit_arrays, edit_arrays, edit_consistent, edit_members, edit_members),
    *(edit_npy_header, edit_npy_header, edit_zip_fields, bomb, *raw.BYTES[:8]),
)
