"""Files of named arrays: round trips, and detection of all damage and forged headers."""

import json
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

from gpukit import _pool, arrayfile
from gpukit.errors import DataError, ModelError

KIND = arrayfile.Kind(b"GPUKITT1", "a test", ModelError, "Write it again.")
ARRAYS = {
    "floats": np.linspace(0, 1, 7, dtype=np.float32).reshape(7, 1),
    "words": np.array(["ann", "", "çelik"]),
    "none": np.zeros((0, 4), np.int32),
    "flags": np.array([True, False]),
    "one": np.array(3),
    "bytes": np.array([b"a", b"bc"]),
}
FACTS = {"what": "a fact", "numbers": [1, 2.5, None]}


def write(path, facts=FACTS, arrays=ARRAYS):
    with open(path, "wb") as file:
        arrayfile.write(file, KIND.magic, facts, arrays)
    return path


def forge(path, header, rest=b"", version=arrayfile.VERSION):
    """Write a file with a forged header (JSON-able, or bytes) and its valid checksum."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = struct.pack("<8sII", KIND.magic, version, len(raw))
    path.write_bytes(start + struct.pack("<I", zlib.crc32(raw, zlib.crc32(start))) + raw + rest)
    return path


def same(left, right):
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype and np.array_equal(left[name], right[name]) for name in left
    )


@pytest.fixture(params=[1, 4], ids=["one thread", "threads"])
def cores(request, monkeypatch):
    monkeypatch.setattr(_pool, "cores", lambda: request.param)


@pytest.mark.parametrize("mmap", [False, True])
def test_what_is_written_comes_back(tmp_path, mmap, cores):
    large = np.arange(3_000_001, dtype=np.int64)  # pieces, and a remainder
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3)).astype(">f8")
    path = write(tmp_path / "a", arrays={**ARRAYS, "large": large, "turned": turned})
    facts, arrays = arrayfile.read(path, KIND, mmap)
    assert facts == FACTS and same(arrays, {**ARRAYS, "large": large, "turned": turned.astype("<f8")})
    assert set(arrayfile.read(path, KIND, leave=("large", "one"))[1]) == {
        "floats",
        "words",
        "none",
        "flags",
        "bytes",
        "turned",
    }


@pytest.mark.slow
def test_no_bit_flip_changes_anything_unnoticed(tmp_path):
    path = write(tmp_path / "a")
    raw, refused = path.read_bytes(), 0
    for bit in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            facts, arrays = arrayfile.read(path, KIND)
        except ModelError as error:
            assert "\n" not in str(error)
            refused += 1
        else:  # between the arrays
            assert facts == FACTS and same(arrays, ARRAYS)
    used = (
        arrayfile.START.size + len(json.dumps({"facts": FACTS, "arrays": []})) + sum(a.nbytes for a in ARRAYS.values())
    )
    assert refused >= 8 * used


def test_no_cut_goes_unnoticed(tmp_path):
    path = write(tmp_path / "a")
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(ModelError):
            arrayfile.read(path, KIND)


@pytest.mark.parametrize("piece", [0, 1, 2, 5])
def test_damage_far_inside(tmp_path, piece, cores):
    path = write(tmp_path / "a", arrays={"large": np.zeros(6 * arrayfile.PIECE, np.uint8)})
    with open(path, "r+b") as file:
        file.seek(-6 * arrayfile.PIECE + piece * arrayfile.PIECE + 77, 2)
        file.write(b"\1")
    with pytest.raises(ModelError, match="array 'large' is not as it was written"):
        arrayfile.read(path, KIND)


def test_words_that_change_places_are_noticed():
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 256, 3 * arrayfile.ROW + 100, dtype=np.uint8)
    words, right = whole[: 3 * arrayfile.ROW].view(np.uint64), arrayfile._checksum(whole)
    for one, other in [(0, 1), (0, 512), (5, 1535), *rng.integers(0, len(words), (200, 2)).tolist()]:
        words[[one, other]] = words[[other, one]]
        assert (arrayfile._checksum(whole) == right) == (one == other)
        words[[one, other]] = words[[other, one]]
    for at in (*range(len(whole) - 110, len(whole)), *rng.integers(0, len(whole), 300).tolist()):
        for bit in range(8):
            whole[at] ^= 1 << bit
            assert arrayfile._checksum(whole) != right
            whole[at] ^= 1 << bit
    assert arrayfile._checksum(whole) == right


HEADERS = {
    "a list": ([], "malformed"),
    "no facts": ({"arrays": []}, "malformed"),
    "facts of text": ({"facts": "x", "arrays": []}, "malformed"),
    "arrays of a dict": ({"facts": {}, "arrays": {}}, "malformed"),
    "an array without a shape": ({"facts": {}, "arrays": [["a", "<f4"]]}, "malformed"),
    "no JSON": (b"{", "malformed"),
    "no text": (b"\xff\xfe\xfa", "malformed"),
    "deep": (b'{"facts": {}, "arrays": ' + b"[" * 100_000, "malformed"),
    "long": (b'{"facts": {}, "arrays": ' + b"9" * 10_000 + b"}", "malformed"),
    "twice": ({"facts": {}, "arrays": [["a", "<f4", [0], 0], ["a", "<f4", [0], 0]]}, "'a' stands there twice"),
    "a name of numbers": ({"facts": {}, "arrays": [[1, "<f4", [0], 0]]}, "malformed"),
    "objects": ({"facts": {}, "arrays": [["a", "|O", [0], 0]]}, "'|O' is no kind"),
    "records": ({"facts": {}, "arrays": [["a", "f4,f4", [0], 0]]}, "no kind"),
    "big-endian": ({"facts": {}, "arrays": [["a", ">f4", [0], 0]]}, "no kind"),
    "a dtype of numbers": ({"facts": {}, "arrays": [["a", 4, [0], 0]]}, "no kind"),
    "no dtype": ({"facts": {}, "arrays": [["a", "(" * 50, [0], 0]]}, "malformed"),
    "huge": ({"facts": {}, "arrays": [["a", "<f4", [10**9, 10**3], 0]]}, "bytes where its header says 4,000,000,0"),
    "overflowing": ({"facts": {}, "arrays": [["a", "<f8", [2**39, 2**39], 0]]}, "bytes where its header says"),
    "beyond": ({"facts": {}, "arrays": [["a", "<f8", [2**62, 0], 0]]}, "no shape"),
    "negative": ({"facts": {}, "arrays": [["a", "<f8", [-1], 0]]}, "no shape"),
    "fractions": ({"facts": {}, "arrays": [["a", "<f8", [1.0], 0]]}, "no shape"),
    "many axes": ({"facts": {}, "arrays": [["a", "<f8", [0] * 65, 0]]}, "no shape"),
    "wide text": ({"facts": {}, "arrays": [["a", "<U99999999", [9], 0]]}, "bytes where its header says"),
    "a long name twice": ({"facts": {}, "arrays": [["a" * 9000, "<f4", [0], 0]] * 2}, "stands there twice"),
    "a long dtype": ({"facts": {}, "arrays": [["a", "x" * 9000, [0], 0]]}, "malformed"),
    "a long shape": ({"facts": {}, "arrays": [["a", "<f4", [1] * 9000, 0]]}, "no shape"),
    "a checksum of text": ({"facts": {}, "arrays": [["a", "<f8", [0], "x"]]}, "bytes where|not as it was written"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_forged_headers_with_a_sound_checksum(tmp_path, case):
    header, message = HEADERS[case]
    path = forge(tmp_path / "a", header)
    tracemalloc.start()
    with pytest.raises(ModelError, match=message) as caught:
        arrayfile.read(path, KIND)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "dtype, content",
    [("<U1", b"\0\0\x11\0"), ("<U1", b"\0\xd8\0\0"), ("|b1", b"\2\1\1\1"), ("<U1", b"\xff\xff\xff\xff")],
)
def test_what_is_no_text_and_no_boolean(tmp_path, dtype, content):
    shape = [4 // np.dtype(dtype).itemsize]
    entry = ["a", dtype, shape, arrayfile._crc_of(np.frombuffer(content, np.uint8))]
    header = json.dumps({"facts": {}, "arrays": [entry]}).encode()
    gap = b"\0" * (-(arrayfile.START.size + len(header)) % 64)
    path = forge(tmp_path / "a", header, gap + content)
    with pytest.raises(ModelError, match="array 'a' holds no (text|booleans)"):
        arrayfile.read(path, KIND)


def test_other_versions_and_files(tmp_path):
    with pytest.raises(ModelError, match="format version 3; this gpukit reads version 2. Write it again."):
        arrayfile.read(forge(tmp_path / "a", {}, version=3), KIND)
    with pytest.raises(DataError, match="cannot read .*No such file"):
        arrayfile.read(tmp_path / "none", KIND)
    with pytest.raises(DataError, match="cannot read .*directory"):
        arrayfile.read(tmp_path, KIND)


NUMBERS = {
    "int32": np.array([3, 0, 7], np.int32),
    "below 0": np.array([3, -2, 7], np.int64),
    "the largest": np.array([3, 2**31 - 1], np.int32),
    "uint8": np.array([200, 3], np.uint8),
    "float": np.array([0.5, 0.0, 2.25], np.float32),
    "float below 0": np.array([0.5, -1.5], np.float64),
    "zeros of both signs": np.array([-0.0, 1.0], np.float32),
    "infinite": np.array([1.0, np.inf], np.float32),
    "half": np.array([1.0, 3.0], np.float16),
    "long": np.arange(1_000_000, dtype=np.int32)[::-1] + 5,
    "long, one below 0": np.where(np.arange(600_000) == 500_000, -1.0, 4.0).astype(np.float32),
}


@pytest.mark.parametrize("mmap", [False, True])
def test_bounds_of_numbers(tmp_path, mmap, cores):
    bounds, nan = {}, {"nan": np.array([1.0, np.nan]), "nan below 0": np.array([-0.0, np.nan, 1.0], np.float32)}
    path = write(
        tmp_path / "a", arrays={**NUMBERS, **nan, "words": np.array(["x"]), "none": np.empty(0), "b": np.eye(2) > 0}
    )
    arrayfile.read(path, KIND, mmap, bounds=bounds)
    assert set(bounds) == {*NUMBERS, *nan}
    for name, array in NUMBERS.items():
        low, high = bounds[name]
        assert low <= array.min() and high == array.max() and (low >= 0) == bool(array.min() >= 0), name
    assert all(np.isnan(bounds[name]).all() for name in nan)


def test_bounds_are_asked_for(tmp_path):
    bounds = {}
    arrayfile.read(write(tmp_path / "a", arrays=NUMBERS), KIND, leave=("int32",), bounds=bounds)
    assert set(bounds) == set(NUMBERS) - {"int32"}


@pytest.mark.parametrize(("value", "expected"), [(-5, (-5, 7)), (np.nan, (np.nan, np.nan))])
def test_bounds_of_several_pieces(tmp_path, value, expected, cores):
    large, bounds = np.ones(20 * arrayfile.PIECE // 8), {}
    large[arrayfile.PIECE // 4], large[18 * arrayfile.PIECE // 8] = value, 7
    arrayfile.read(write(tmp_path / "a", arrays={"large": large}), KIND, bounds=bounds)
    assert np.array_equal(bounds["large"], expected, equal_nan=True)
