"""read_letor equals plain loops over the lines for all blocks, ranges and spellings."""

import gzip
import lzma
import re
import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse
from support import data

from documents import naive
from gpukit.documents import gather, read, read_letor
from gpukit.errors import DataError, ParameterError

SAMPLE = """2 qid:10 1:0.5 2:-3 4:1e-3 #docid = A inc = 1
0 qid:10 1:.25 3:7  # spaced out\x20\x20
# a line of its own

1.5 qid:7 2:5. 4:+2
0 qid:7
-1 qid:123456789012 1:1E2 4:0.1#tight
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="train.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def check(documents, text, null="zero", n=None):
    """Compare documents with the oracle."""
    rows = naive.letor(text)
    n = n or max(index for row in rows for index in row[2])
    dense = isinstance(documents.X, np.ndarray)
    X = documents.X if dense else documents.X.toarray()
    expected = np.array(naive.dense(rows, n, null), dtype=np.float64).astype(X.dtype)
    assert np.array_equal(X, expected)
    assert not dense or np.array_equal(np.signbit(X), np.signbit(expected))
    assert documents.y.dtype == np.float64 and documents.y.tolist() == [row[0] for row in rows]
    assert documents.offsets.dtype == np.int64 and len(documents.offsets) == len(documents.qids) + 1
    of_rows = np.repeat(documents.qids.astype(str), np.diff(documents.offsets)).tolist()
    assert of_rows == [row[1] for row in rows] and (np.diff(documents.offsets) > 0).all()
    comments = [row[3] for row in rows]
    assert documents.comments.tolist() == comments if any(comments) else documents.comments is None


BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_the_sample(write, end, last):
    text = SAMPLE if last else SAMPLE.rstrip("\n")
    documents = read_letor(write(text.replace("\n", end)))
    check(documents, SAMPLE)
    assert documents.X.flags.c_contiguous and documents.qids.dtype == np.int64


@pytest.mark.parametrize("pack, suffix", [(gzip.compress, ".gz"), (lzma.compress, ".xz")])
def test_compressed(write, pack, suffix):
    check(read_letor(write(pack(SAMPLE.encode()), f"train.txt{suffix}")), SAMPLE)


def test_zip_and_byte_order_mark(write, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("train.txt", SAMPLE)
    check(read_letor(tmp_path / "a.zip"), SAMPLE)
    check(read_letor(write(b"\xef\xbb\xbf" + SAMPLE.encode())), SAMPLE)


def test_query_ids_of_any_kind(write):
    text = "1 qid:a-1 1:2\n0 qid:a-1 1:3\n1 qid:zoë 1:1\n0 qid:007 1:1\n"
    documents = read_letor(write(text))
    check(documents, text)
    assert documents.qids.tolist() == ["a-1", "zoë", "007"]
    assert read_letor(write("1 qid:1 1:2\n1 qid:12 1:2\n1 qid:2 1:2\n1 qid:21 1:2\n")).qids.tolist() == [1, 12, 2, 21]
    assert read_letor(write("1 qid:12 1:2\n1 qid:1 1:2\n")).qids.tolist() == [12, 1]
    assert read_letor(write("1 qid:-5 1:2\n0 qid:9223372036854775807 1:3\n")).qids.tolist() == [-5, 2**63 - 1]
    for word in ("9223372036854775808", "-9223372036854775809", "123456789012345678901", "-0", "1_0"):
        assert read_letor(write(f"1 qid:{word} 1:2\n0 qid:7 1:3\n")).qids.tolist() == [word, "7"]


def test_comments_in_utf8_and_latin1(write):
    text = "1 qid:1 1:2 # zoë\n0 qid:1 1:3\n"
    assert read_letor(write(text)).comments.tolist() == ["zoë", ""]
    assert read_letor(write(text.encode("latin-1"))).comments.tolist() == ["zoë", ""]


def spelled(rng, value):
    """Return a number in one of its spellings, including long ones."""
    return rng.choice(
        [f"{value:.6f}", f"{value:g}", repr(float(value)), f"{value:.3e}", str(round(value)), f"{value:.25f}"]
    )


def generated(rng, queries=40, n=9, keep=0.8):
    """Lines in many spellings, labels real and integer, some comments and blank lines."""
    lines = []
    for query in range(queries):
        for _ in range(rng.integers(1, 9)):
            kept = np.flatnonzero(rng.random(n) < keep)
            values = [f"{k + 1}:{spelled(rng, rng.normal() * 10.0 ** rng.integers(-8, 9))}" for k in kept]
            label = rng.choice([str(rng.integers(0, 5)), repr(float(rng.normal()))])
            lines.append(" ".join([label, f"qid:{query * 3}", *values]) + rng.choice(["", " #doc: 7", "#x", " \t"]))
            lines += rng.choice(["", "#", "  "], size=rng.integers(0, 2)).tolist()
    return "\n".join(lines) + "\n"


@BOTH
@pytest.mark.parametrize("block, smallest", [(40, 1), (64, 7), (1000, 16), (1 << 20, 100), (1 << 20, 1 << 20)])
def test_any_block_and_range(write, monkeypatch, block, smallest, dtype):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    monkeypatch.setattr("gpukit.documents.gather.RANGE", smallest)
    text = generated(np.random.default_rng(block))
    documents = read_letor(write(text), dtype=dtype)
    check(documents, text)
    assert documents.X.dtype == dtype


@pytest.mark.parametrize("block, many", [(40, 0), (1000, 1), (1000, 500), (1000, 10**9)])
def test_many_features_are_kept_in_float32(write, monkeypatch, block, many):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    monkeypatch.setattr("gpukit.documents.gather.MANY", many)
    text = generated(np.random.default_rng(8))
    documents = read_letor(write(text))
    check(documents, text)
    assert documents.X.dtype == ("float32" if many < 1000 else "float64")
    assert read_letor(write(text), dtype="float64").X.dtype == "float64"


def test_what_is_left_out_counts_in_a_dense_matrix_alone(write, monkeypatch):
    text = generated(np.random.default_rng(9))
    stored = sum(len(row[2]) for row in naive.letor(text))
    monkeypatch.setattr("gpukit.documents.gather.MANY", stored)
    for n, dtype in ((9, "float32"), (400, "float64")):  # 400 is stored as CSR
        documents = read_letor(write(text), n_features=n)
        check(documents, text, n=n)
        assert documents.X.dtype == dtype


@pytest.mark.parametrize(
    "text",
    [
        "1 qid:1 1:1\n2 qid:1 1:2 2:3\n3 qid:1 1:4\n",
        "1 qid:1 1:1 2:2\n2 qid:1\n3 qid:1 2:3\n",
        "1 qid:1\n2 qid:1\n3 qid:1 3:1\n",
        "1 qid:1 2:1 4:2\n2 qid:1 2:3 4:5\n",
    ],
)
def test_rows_of_any_width(write, text):
    check(read_letor(write(text)), text)


@BOTH
@pytest.mark.parametrize("null", ["zero", "min"])
@pytest.mark.parametrize("sparse", [False, True])
def test_null(write, monkeypatch, null, sparse, dtype):
    if sparse:
        monkeypatch.setattr(gather, "SPARSE_WIDTH", 3)
        monkeypatch.setattr(gather, "SPARSE_DENSITY", 2.0)
    text = (
        "1 qid:1 1:0.6 2:NULL 3:NULL\n0 qid:1 1:NULL 2:NULL 3:2 4:-1\n0 qid:1 1:0.25 2:NULL\n"
        "1 qid:9 1:0.1\n0 qid:9 1:NULL\n"
        "2 qid:2 1:NULL 2:-4 3:NULL 4:NULL\n1 qid:2 1:7 2:NULL 3:3 4:5\n"
    )
    documents = read_letor(write(text), null=null, dtype=dtype)
    assert documents.X.dtype == dtype
    assert scipy.sparse.issparse(documents.X) == sparse
    check(documents, text, null)


@pytest.mark.parametrize("word", ["1.7976931348623157e308", "1.79769313486e+308", "1.79769E308", "17976.9e304"])
def test_the_largest_float_is_a_missing_value(write, word):
    text = "1 qid:1 1:0.6 2:NULL\n0 qid:1 1:NULL 2:3\n"
    check(read_letor(write(text.replace("NULL", word)), null="min"), text, "min")
    with pytest.raises(DataError, match=f"line 1: a value is NULL: '2:{re.escape(word)}'.*--null min"):
        read_letor(write(text.replace("NULL", word)))
    for larger in (f"-{word}", "1.8e308", "1.79769e309", "1e308", "1.7e308"):
        with pytest.raises(DataError, match="not a finite float32"):
            read_letor(write(text.replace("NULL", larger)), null="min")


@pytest.mark.slow
def test_few_stored_features_of_many_give_csr(write, monkeypatch):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", 1000)
    text = generated(np.random.default_rng(3), n=300, keep=0.1)
    documents = read_letor(write(text), n_features=400)
    assert documents.X.format == "csr" and documents.X.dtype == np.float64 and documents.X.has_sorted_indices
    check(documents, text, n=400)
    check(read_letor(write(text), n_features=400, dtype="float32"), text, n=400)
    assert isinstance(read_letor(write(generated(np.random.default_rng(4), n=300, keep=0.5))).X, np.ndarray)
    assert isinstance(read_letor(write(generated(np.random.default_rng(5), n=200, keep=0.1))).X, np.ndarray)


def test_features_matched_by_number_are_reported(tmp_path):
    named, plain, counted = tmp_path / "a.csv", tmp_path / "a.txt", tmp_path / "b.csv"
    named.write_text("label,qid,a,b\n1,1,2,3\n0,1,4,5\n")
    counted.write_text("label,qid,0,1\n1,1,2,3\n0,1,4,5\n")
    plain.write_text("1 qid:1 1:2 2:3\n0 qid:1 1:4 2:5\n")
    for path, names, whose in ((plain, ["a", "b"], "these have none"), (named, None, "only these have names")):
        with pytest.warns(UserWarning, match=f"{path.name}: features are matched by number, .*{whose}"):
            assert read.read_like(path, "error", names, 2).X.tolist() == [[2, 3], [4, 5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read.read_like(named, "error", ["b", "a"], 2).X.tolist() == [[3, 2], [5, 4]]
        for path in (plain, counted):
            assert read.read_like(path, "error", None, 2).X.tolist() == [[2, 3], [4, 5]]


def test_n_features_widens(write):
    check(read_letor(write(SAMPLE), n_features=6), SAMPLE, n=6)
    for arguments in ({"n_features": 0}, {"null": "max"}, {"dtype": "float16"}):
        with pytest.raises(ParameterError):
            read_letor(write(SAMPLE), **arguments)


def test_groups_beside_a_file_without_ids(write):
    path = write("1 1:2 2:3 # c\n0 1:1 2:1e-70\n3.00000000000000004 2:4\n", "rank.train")
    write("2\n\n1\n", "rank.train.query")
    documents = read_letor(path, dtype="float32")
    assert documents.offsets.tolist() == [0, 2, 3] and documents.qids.tolist() == [1, 2]
    assert documents.X.tolist() == [[2, 3], [1, 0], [0, 4]] and documents.comments.tolist() == ["c", "", ""]
    assert read_letor(write(gzip.compress(path.read_bytes()), "rank.train.gz")).offsets.tolist() == [0, 2, 3]
    assert read_letor(write(lzma.compress(path.read_bytes()), "rank.train.xz")).offsets.tolist() == [0, 2, 3]
    assert read_letor(write("1 qid:8 1:2\n", "rank.train")).qids.tolist() == [8]  # ids take precedence over groups


def test_is_letor(write):
    assert read.is_letor(write(SAMPLE)) and read.is_letor(write(gzip.compress(SAMPLE.encode()), "a.gz"))
    for text in ("1,2,3\n", "1 2 3\n", "1 1:2\n", "\n", "# qid:3\n"):
        assert not read.is_letor(write(text, "other.txt"))
    path = write("1 1:2\n", "with.txt")
    write("1\n", "with.txt.query")
    assert read.is_letor(path)
    with pytest.raises(DataError, match="does not exist"):
        read.is_letor(path.with_name("none"))


def test_mq2008():
    path = data("MQ2008/Fold1/train.txt")
    documents = read_letor(path)
    assert documents.X.shape == (9630, 46) and len(documents.qids) == 471
    pairs = sum(
        np.count_nonzero(np.subtract.outer(own, own) > 0) for own in np.split(documents.y, documents.offsets[1:-1])
    )
    assert pairs == 52_325
    check(documents, path.read_text())


def test_lambdarank_demo():
    path = data("lambdarank-demo/rank.train")
    documents = read_letor(path)
    assert documents.X.shape == (3005, 300) and len(documents.qids) == 201 and documents.comments is None
    rows = naive.letor(path.read_text())
    assert np.array_equal(documents.X, np.array(naive.dense(rows, 300)))
    assert np.diff(documents.offsets).tolist() == list(map(int, path.with_name("rank.train.query").read_text().split()))
