"""Documents written and read again: the binary copy and the text are exact, and damage is detected."""

import numpy as np
import pytest
import scipy.sparse

from gpukit import arrayfile
from gpukit.documents import Documents, as_documents, copies, read_letor, write_letor
from gpukit.errors import DataError, ParameterError


def documents(kind="dense", comments=True, dtype=np.float32):
    """Ten documents of three queries with difficult numbers, small and large ones too."""
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


def test_text_refuses_a_number_that_it_would_not_read(tmp_path):
    for X in (np.array([[1.0], [-1e39]]), scipy.sparse.csr_matrix([[1e39], [1.0]])):
        with pytest.raises(DataError, match="exceeds the range of float32"):
            write_letor(Documents(X, np.zeros(2), np.array([0, 2]), np.array([1])), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_text_of_features_with_large_numbers(tmp_path):
    """The numbers of columns without entries would take 2 GiB."""
    (tmp_path / "a.txt").write_text("1 qid:1 3:1 900000000:2\n0 qid:1 5:1\n")
    write_letor(read_letor(tmp_path / "a.txt"), tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == (tmp_path / "a.txt").read_text()


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


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "a.gkl"
    write_letor(documents(), path)
    write_letor(documents(), tmp_path / "whole.gkl")
    raw = path.read_bytes()
    for damaged, message in (
        (raw[:-1], "cut short"),
        (raw + b"x", "cut short"),
        (raw[:40], "header"),
        (raw[:12], "header"),
        (b"x" + raw[1:], "nor in a binary format that is read here"),
        (raw[:8] + b"\3" + raw[9:], "format version 3; this gpukit reads version 2"),
        (raw[:8] + (1392).to_bytes(8, "little") + b'{"version": 1', "format version 1"),
        (raw.replace(b'{"facts', b"???????"), "header is not as it was written"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=message):
            read_letor(path)
    place = arrayfile.read_header(tmp_path / "whole.gkl", copies.KIND).entries[2].offset
    path.write_bytes(raw[: place + 8] + b"\x09" + raw[place + 9 :])
    with pytest.raises(DataError, match="array 'offsets' is not as it was written"):
        read_letor(path)


def test_arrays_are_aligned(tmp_path):
    write_letor(documents(), tmp_path / "a.gkl")
    header = arrayfile.read_header(tmp_path / "a.gkl", copies.KIND)
    assert all(entry.offset % 64 == 0 for entry in header.entries) and header.facts["shape"] == [10, 4]


CSR = {"data": np.ones(2), "indices": np.array([0, 3], np.int32), "indptr": np.array([0] + [1] * 9 + [2], np.int32)}
FORGED = {
    "offsets that fall": (dict(offsets=np.array([0, 7, 4, 10])), "The offsets of Documents do not cut"),
    "offsets beyond": (dict(offsets=np.array([0, 1, 4, 11])), "do not cut"),
    "no offsets": (dict(offsets=None), "lacks 'offsets'"),
    "offsets of floats": (dict(offsets=np.array([0, 1.0, 4, 10])), "do not cut"),
    "a query twice": (dict(qids=np.array([5, 5, 6])), "names a query twice"),
    "an id that is no number": (dict(qids=np.array([5, np.nan, 6])), "qids must be"),
    "a relevance short": (dict(y=np.zeros(9)), r"Documents.y has the shape \(9,\)"),
    "not finite": (dict(X=np.full((10, 4), np.inf)), r"X\[0, 0\] is inf"),
    "one axis": (dict(X=np.zeros(10)), "must be a table"),
    "whole numbers": (dict(X=np.zeros((10, 4), np.int64)), "array of float32 or float64; got int64"),
    "weights": (dict(weights=np.array([1, -1, 1.0])), r"weights\[1\] is -1"),
    "columns beyond": (dict(X=None, **{**CSR, "indices": np.array([0, 4], np.int32)}), r"X.indices\[1\] is 4"),
    "columns below": (dict(X=None, **{**CSR, "indices": np.array([-1, 3], np.int32)}), r"X.indices\[0\] is -1"),
    "pointers that fall": (dict(X=None, **{**CSR, "indptr": np.array([0, 2] + [1] * 8 + [2])}), "less than what comes"),
    "pointers beyond": (dict(X=None, **{**CSR, "indptr": np.array([0] * 10 + [2**40])}), "must go from 0 to 2"),
    "pointers too few": (dict(X=None, **{**CSR, "indptr": np.array([0, 1, 2])}), "shape"),
    "no data": (dict(X=None, **{**CSR, "data": None}), "lacks 'data'"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_copy_with_sound_checksums(tmp_path, case):
    (changes, message), made = FORGED[case], documents()
    arrays = {"X": made.X, "y": made.y, "offsets": made.offsets, "qids": made.qids, **changes}
    with open(tmp_path / "a.gkl", "wb") as file:
        arrays = {name: one for name, one in arrays.items() if one is not None}
        arrayfile.write(file, copies.KIND.magic, {"shape": [10, 4]}, arrays)
    with pytest.raises(DataError, match=f"is damaged.*{message}|{message}") as caught:
        read_letor(tmp_path / "a.gkl")
    assert "\n" not in str(caught.value)


def test_a_sound_csr_is_read(tmp_path):
    made = documents()
    with open(tmp_path / "a.gkl", "wb") as file:
        rest = {"y": made.y, "offsets": made.offsets, "qids": made.qids}
        arrayfile.write(file, copies.KIND.magic, {"shape": [10, 4]}, {**CSR, **rest})
    assert read_letor(tmp_path / "a.gkl").X.nnz == 2


def test_refused_outputs(tmp_path):
    with pytest.raises(ParameterError, match="must end in .gkl, .txt, .parquet"):
        write_letor(documents(), tmp_path / "a.csv")
    with pytest.raises(DataError, match="does not exist"):
        write_letor(documents(), tmp_path / "none" / "a.gkl")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", copies.SUFFIXES)
def test_documents_made_by_hand_are_validated(tmp_path, suffix):
    made = as_documents(np.eye(4), [1, 0, 1, 0], ["a", "a", "b", "b"])
    objects = {"qids": np.array(["c", "d"], object), "comments": np.array(list("pqrs"), object)}
    objects |= {} if suffix == ".txt" else {"names": np.array(["f1", "f2", "f3", "f4"], object)}
    for name, column in objects.items():
        if name == "qids":
            with pytest.raises(DataError, match="qids must be"):
                write_letor(made._replace(qids=column), tmp_path / f"a{suffix}")
        elif (name, suffix) != ("comments", ".parquet"):
            write_letor(made._replace(**{name: column}), tmp_path / f"a{suffix}")
            assert getattr(read_letor(tmp_path / f"a{suffix}"), name).tolist() == column.tolist()
            (tmp_path / f"a{suffix}").unlink()
    with pytest.raises(DataError, match="names a query twice"):
        write_letor(made._replace(qids=np.array(["a", "a"])), tmp_path / f"a{suffix}")
    assert not list(tmp_path.iterdir())
