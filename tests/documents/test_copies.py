"""Documents written and read again: the binary copy and the text give back what was there, no damage unnoticed."""

import json

import numpy as np
import pytest
import scipy.sparse

from gpukit.documents import Documents, copies, read_letor, write_letor
from gpukit.errors import DataError, ParameterError
from gpukit.io import container, sources


def documents(kind="dense", comments=True, dtype=np.float32):
    """Ten documents of three queries; every number a text must spell, small and large ones too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 4)).astype(dtype)
    X[:, 1] = np.round(rng.random(10), 6)
    X[3], X[4] = [1e-20, 3.4e38, -0.0, 1 / 3], [123456, 1e-9, 5e-45, 0.1]
    X[5, 0] = -0.0
    X[:, 3] *= np.arange(10) > 2
    X = X if kind == "dense" else scipy.sparse.csr_matrix(X)
    y = np.array([0, 1, 2, 0.5, 0, 1, 1e-9, -3, 2**40, 0.1])
    qids = np.array([5, -3, 2**40]) if kind == "dense" else np.array(["a", "ü", "007"])
    words = np.array(["doc = 1", "", "zoë"] * 3 + ["x"]) if comments else None
    return Documents(X, y, np.array([0, 1, 4, 10]), qids, words)


def assert_equal(left, right):
    features = [one.X.toarray() if scipy.sparse.issparse(one.X) else one.X for one in (left, right)]
    assert features[0].tobytes() == features[1].tobytes() and features[0].dtype == features[1].dtype
    for name in Documents._fields[1:]:
        assert np.array_equal(getattr(left, name), getattr(right, name)), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("comments", [True, False])
@pytest.mark.parametrize("suffix", ["gkl", "txt"])
def test_round_trip(tmp_path, kind, comments, suffix, dtype):
    made, path = documents(kind, comments, dtype), tmp_path / f"copy.{suffix}"
    write_letor(made, path)
    back = read_letor(path, dtype=dtype if suffix == "txt" else None)
    assert_equal(back, made)
    assert suffix == "txt" or scipy.sparse.issparse(back.X) == (kind == "sparse")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_text_is_short(tmp_path):
    values = np.array([[0.5, 0.056537, 3, 0, 1 / 3, 4.7e-05, -0.25, 16777216]], dtype=np.float32)
    write_letor(Documents(values, np.array([2.0]), np.array([0, 1]), np.array([7])), tmp_path / "a.txt")
    line = "2 qid:7 1:0.5 2:0.056537 3:3 4:0 5:0.33333334 6:0.000047 7:-0.25 8:16777216\n"
    assert (tmp_path / "a.txt").read_text() == line


def test_every_float32_comes_back_from_text(tmp_path):
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    values = np.concatenate([bits[np.isfinite(bits)], 10.0 ** rng.uniform(-11, 10, 20_000).astype(np.float32)])
    X = np.ascontiguousarray(values[: len(values) // 8 * 8].reshape(-1, 8), dtype=np.float32)
    made = Documents(X, np.zeros(len(X)), np.array([0, len(X)]), np.array([1]))
    write_letor(made, tmp_path / "a.txt")
    assert_equal(read_letor(tmp_path / "a.txt", dtype="float32"), made)
    words = [word.partition(":")[2] for word in (tmp_path / "a.txt").read_text().split() if word[0] != "q"]
    assert max(len(word.lstrip("-0.").replace(".", "")) for word in words if "e" not in word) <= 10


def test_every_float64_comes_back_from_text(tmp_path):
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2**64, 2000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [
            bits[abs(bits) < 3e38],
            10.0 ** rng.uniform(-11, 10, 20_000),
            rng.random(9000).round(6),
            rng.integers(0, 2**53, 900) / 1.0,
            rng.random(9000).astype(np.float32),
        ]
    )
    X = values[: len(values) // 8 * 8].reshape(-1, 8)
    made = Documents(X, np.zeros(len(X)), np.array([0, len(X)]), np.array([1]))
    write_letor(made, tmp_path / "a.txt")
    assert_equal(read_letor(tmp_path / "a.txt"), made)


def test_dtype_of_a_copy(tmp_path):
    for kind in ("dense", "sparse"):
        write_letor(documents(kind), tmp_path / "a.gkl")
        for dtype in ("float32", "float64", None):
            X = read_letor(tmp_path / "a.gkl", dtype=dtype).X
            assert X.dtype == (dtype or "float32") and abs(X - documents(kind).X).max() == 0


def test_n_features_of_a_copy(tmp_path):
    for kind in ("dense", "sparse"):
        write_letor(documents(kind), tmp_path / "a.gkl")
        back = read_letor(tmp_path / "a.gkl", n_features=6)
        assert back.X.shape == (10, 6) and not back.X[:, 4:].sum()
        with pytest.raises(DataError, match="4 features where 3"):
            read_letor(tmp_path / "a.gkl", n_features=3)


def test_memory_map(tmp_path):
    write_letor(documents(), tmp_path / "a.gkl")
    back = copies.read_gkl(tmp_path / "a.gkl", mmap=True)
    assert isinstance(back.X, np.memmap) and np.array_equal(back.X, documents().X)


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "a.gkl"
    write_letor(documents(), path)
    raw = path.read_bytes()
    for damaged, message in (
        (raw[:-1], "cut short"),
        (raw + b"x", "cut short"),
        (raw[:40], "header"),
        (raw[:12], "not a binary copy of documents"),
        (raw.replace(b'"version": 1', b'"version": 2'), "version 2"),
        (raw.replace(b'{"ver', b"?????"), "header"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=message):
            read_letor(path)
    offset = json.loads(raw[16 : 16 + int.from_bytes(raw[8:16], "little")])["arrays"]["offsets"]["offset"]
    path.write_bytes(raw[: offset + 8] + b"\x09" + raw[offset + 9 :])
    with pytest.raises(DataError, match="is damaged: The offsets"):
        read_letor(path)


def test_arrays_are_aligned(tmp_path):
    write_letor(documents(), tmp_path / "a.gkl")
    with sources.opened(tmp_path / "a.gkl") as source:
        header = container.read_header(source, copies.MAGIC, "documents")
    assert all(entry["offset"] % 64 == 0 for entry in header["arrays"].values()) and header["shape"] == [10, 4]


def test_refused_outputs(tmp_path):
    with pytest.raises(ParameterError, match="must end in .gkl, .txt, .parquet"):
        write_letor(documents(), tmp_path / "a.csv")
    with pytest.raises(DataError, match="does not exist"):
        write_letor(documents(), tmp_path / "none" / "a.gkl")
    assert not list(tmp_path.iterdir())
