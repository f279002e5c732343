"""Files next to the data: FILE.query, FILE.group and FILE.weight; labels and ids of many digits; names of features."""

import warnings
import zipfile

import numpy as np
import pytest

from gpukit.documents import as_documents, read_letor, take_queries, write_letor
from gpukit.documents.read import is_letor
from gpukit.errors import DataError, ParameterError

PLAIN = "1 1:1\n0 1:2\n2 1:3\n0 1:4\n1 1:5\n"
LARGE = 2**53


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "a.txt").write_text(PLAIN)
    return tmp_path / "a.txt"


@pytest.mark.parametrize("suffix", ["query", "group"])
def test_counts_of_documents(plain, suffix):
    plain.with_name(f"a.txt.{suffix}").write_text("2\n3\n")
    assert is_letor(plain) and read_letor(plain).offsets.tolist() == [0, 2, 5]


def test_counts_of_documents_in_a_zip(plain):
    with zipfile.ZipFile(plain.with_name("a.txt.zip"), "w") as archive:
        archive.write(plain, "a.txt")
    plain.with_name("a.txt.query").write_text("2\n3\n")
    assert read_letor(plain.with_name("a.txt.zip")).offsets.tolist() == [0, 2, 5]


@pytest.mark.parametrize(
    "word, why", [("9" * 30, "at most 18 digits"), ("two", "is not a number"), ("0", "is not a num")]
)
def test_counts_that_are_none(plain, word, why):
    plain.with_name("a.txt.group").write_text(f"2\n{word}\n")
    with pytest.raises(DataError, match=f"a.txt.group, line 2: '{word}' .*{why}"):
        read_letor(plain)


def test_counts_next_to_query_ids(tmp_path):
    """The ids are used; counts that contradict them are named."""
    (tmp_path / "a.txt").write_text("1 qid:7 1:1\n0 qid:7 1:2\n2 qid:8 1:3\n")
    counts = tmp_path / "a.txt.group"
    counts.write_text("2\n1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_letor(tmp_path / "a.txt")
    for text in ("1\n2\n", "car insurance\n"):
        counts.write_text(text)
        with pytest.warns(UserWarning, match="a.txt.group is not read: .*a.txt has query ids, and other numbers"):
            assert read_letor(tmp_path / "a.txt").offsets.tolist() == [0, 2, 3]


def test_two_lists_of_counts(plain):
    for suffix in ("query", "group"):
        plain.with_name(f"a.txt.{suffix}").write_text("2\n3\n")
    assert read_letor(plain).offsets.tolist() == [0, 2, 5]
    plain.with_name("a.txt.group").write_text("3\n2\n")
    with pytest.raises(DataError, match="a.txt.query and .*a.txt.group count different documents"):
        read_letor(plain)


@pytest.mark.parametrize(
    "row, words",
    [
        ("1,1,1,1e400", "line 2 has a feature that is not finite in float64: 'a' is inf. Correct"),
        ("1e400,1,1,1", "line 2 has a label that is infinite. Correct"),
        ("1,1,inf,1", "line 2 has a weight that is infinite. Correct"),
    ],
)
def test_infinite_numbers_of_a_table(tmp_path, row, words):
    (tmp_path / "a.csv").write_text(f"label,qid,weight,a\n{row}\n")
    with pytest.raises(DataError, match=words):
        read_letor(tmp_path / "a.csv")


def test_weights_of_queries(plain):
    plain.with_name("a.txt.query").write_text("2\n3\n")
    weights = plain.with_name("a.txt.weight")
    weights.write_text("0.5\n\n2e1\n")
    assert read_letor(plain).weights.tolist() == [0.5, 20]
    for word in ("-1", "nan", "x", "1e999"):
        weights.write_text(f"0.5\n{word}\n")
        with pytest.raises(DataError, match=f"a.txt.weight, line 2: '{word}' is not a weight"):
            read_letor(plain)


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_other_weights_are_not_read(plain, count):
    plain.with_name("a.txt.query").write_text("2\n3\n")
    plain.with_name("a.txt.weight").write_text("1\n" * count)
    with pytest.warns(UserWarning, match=f"a.txt.weight is not read: it has {count} values, and .*2 queries and 5 doc"):
        assert read_letor(plain).weights is None


def test_weights_of_documents(plain, tmp_path):
    plain.with_name("a.txt.query").write_text("2\n3\n")
    plain.with_name("a.txt.weight").write_text("1\n0\n2.5\n3\n1e-3\n")
    documents = read_letor(plain)
    assert documents.weights.tolist() == [1, 0, 2.5, 3, 1e-3]
    assert take_queries(documents, [1]).weights.tolist() == [2.5, 3, 1e-3]
    write_letor(documents, tmp_path / "a.gkl")
    assert read_letor(tmp_path / "a.gkl").weights.tolist() == documents.weights.tolist()
    for suffix, words in ((".txt", "no place for the weights"), (".parquet", "column of weights is for queries")):
        with pytest.raises(ParameterError, match=words):
            write_letor(documents, tmp_path / f"b{suffix}")
    plain.with_name("a.txt.weight").write_text("1\n0\n2.5\n-3\n1\n")
    with pytest.raises(DataError, match="a.txt.weight, line 4: '-3' is not a weight"):
        read_letor(plain)
    X, y, ids = np.arange(5.0)[:, None], [1, 0, 1, 0, 2], [7, 8, 7, 8, 8]
    made = as_documents(X, y, ids, weights=[5, 6, 7, 8, 9])
    assert made.weights.tolist() == [5, 7, 6, 8, 9] and as_documents(X, y, ids, weights=[1, 2]).weights.tolist() == [
        1,
        2,
    ]
    for wrong in ([1] * 3, [1] * 4 + [-1], [1] * 4 + [np.nan]):
        with pytest.raises(DataError, match="weights"):
            as_documents(X, y, ids, weights=wrong)


def test_weights_next_to_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,a\n1,1,2\n0,1,3\n1,2,2\n")
    (tmp_path / "a.csv.weight").write_text("3\n4\n")
    assert read_letor(tmp_path / "a.csv").weights.tolist() == [3, 4]
    (tmp_path / "a.csv").write_text("label,qid,weight,a\n1,1,1,2\n0,1,1,3\n1,2,1,2\n")
    with pytest.warns(UserWarning, match="is not read: .*a.csv has weights of its own"):
        assert read_letor(tmp_path / "a.csv").weights.tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["txt", "csv", "gkl", "parquet"])
@pytest.mark.parametrize("sign", [1, -1])
def test_labels_and_ids_beyond_2_53_stay_different(tmp_path, kind, sign):
    y = [sign * (LARGE + k) for k in range(4)]
    ids = [LARGE, LARGE, LARGE + 1, LARGE + 1]
    made = as_documents(np.arange(8.0).reshape(4, 2), np.array(y), np.array(ids))
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        path.write_text("label,qid,a,b\n" + "".join(f"{one},{qid},0,1\n" for one, qid in zip(y, ids)))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
    if kind != "csv":
        write_letor(made, path)
    found = read_letor(path)
    for documents in (made, found, take_queries(found, [0, 1])):
        assert documents.y.tolist() == y and documents.qids.tolist() == [LARGE, LARGE + 1]


@pytest.mark.parametrize("label", [2**53 + 1, -(2**53) - 1, 10**17 + 1])
def test_labels_that_float64_does_not_hold_stay_exact_in_text(tmp_path, label):
    (tmp_path / "a.txt").write_text(f"{label} qid:1 1:0.5\n1 qid:1 1:2\n")
    y = read_letor(tmp_path / "a.txt").y
    assert y.dtype == np.int64 and y.tolist() == [label, 1]


def test_other_labels_of_many_digits_are_as_before(tmp_path):
    for words in (
        ["9007199254740993", "0.5"],
        ["1e300", "9007199254740993"],
        ["1" * 25, "2"],
        ["1000000000000000", "3"],
    ):
        (tmp_path / "a.txt").write_text("".join(f"{word} qid:1 1:1\n" for word in words))
        found = read_letor(tmp_path / "a.txt").y
        assert found.dtype == np.float64 and found.tolist() == [float(word) for word in words]


@pytest.mark.parametrize(
    "labels", [[2**64 - 1, 2**64 - 2], [2**53, 2**53 + 1, 0.5], [-(2**63) - 1, -(2**63) - 2], [2**64, 1, 2**64 + 1]]
)
def test_different_labels_that_are_one_number_are_refused(tmp_path, labels):
    (tmp_path / "a.txt").write_text("".join(f"{label} qid:1 1:1\n" for label in labels))
    (tmp_path / "a.csv").write_text("label,qid,f\n" + "".join(f"{label},1,1\n" for label in labels))
    for name in ("a.txt", "a.csv"):
        with pytest.raises(DataError, match=rf"{name}: labels {labels[0]} and .* are one number in float64"):
            read_letor(tmp_path / name)


def test_labels_beyond_float32_are_read(tmp_path):
    (tmp_path / "a.txt").write_text("1e39 qid:1 1:1\n-1e300 qid:1 1:2\n")
    assert read_letor(tmp_path / "a.txt").y.tolist() == [1e39, -1e300]
    (tmp_path / "a.txt").write_text("1e400 qid:1 1:1\n")
    with pytest.raises(DataError, match="relevance '1e400' is not a finite float64: it is larger than float64 holds"):
        read_letor(tmp_path / "a.txt")


def test_an_index_at_the_limit(tmp_path):
    for index, why in ((2**31, "larger than the limit, 2,147,483,647"), ("72048431380967004", "larger than the limit")):
        (tmp_path / "a.txt").write_text(f"1 qid:1 {index}:1.0\n")
        with pytest.raises(DataError, match=f"line 1: a feature's index is {why}.*: '{index}:1.0'"):
            read_letor(tmp_path / "a.txt")


def test_a_copy_is_not_read_as_float32_that_does_not_hold_it(tmp_path):
    write_letor(as_documents([[1e39], [1.0]], [1, 0], group=[2]), tmp_path / "a.gkl")
    with pytest.raises(DataError, match="larger than float32 holds"):
        read_letor(tmp_path / "a.gkl", dtype="float32")


def test_names_of_features(tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,b,a\n1,1,2,3\n0,1,4,5\n")
    made = read_letor(tmp_path / "a.csv")
    assert made.names.tolist() == ["b", "a"]
    (tmp_path / "twice.csv").write_text("label,qid,b,b\n1,1,2,3\n0,1,4,5\n")
    with pytest.raises(DataError, match="twice.csv has several columns named 'b'"):
        read_letor(tmp_path / "twice.csv")
    suffixes = ["gkl"]
    try:
        import pyarrow  # noqa: F401

        suffixes.append("parquet")
    except ImportError:
        pass
    for suffix in suffixes:
        write_letor(made, tmp_path / f"b.{suffix}")
        for names, X in ((None, made.X), (["a", "b"], made.X[:, ::-1])):
            found = read_letor(tmp_path / f"b.{suffix}", names=names)
            assert found.X.tolist() == X.tolist() and found.names.tolist() == (names or ["b", "a"])
        with pytest.raises(DataError, match=r"missing: 'c' \(1 of 2\); unknown: 'b' \(1 of 2\)"):
            read_letor(tmp_path / f"b.{suffix}", names=["a", "c"])


def test_names_of_frames_and_those_that_cannot_be(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [1.0, 2], "weight": [0, 1.0]})
    made = as_documents(frame, [1, 0], [1, 1])
    assert made.names.tolist() == ["b", "weight"] and as_documents(frame.to_numpy(), [1, 0], [1, 1]).names is None
    pytest.importorskip("pyarrow")
    with pytest.raises(
        ParameterError, match="feature named 'weight' would be read from Parquet as a column of another"
    ):
        write_letor(made, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="Two features are named 'b'"):
        as_documents(frame[["b", "b"]], [1, 0], [1, 1])


def test_copies_without_names_still_load(tmp_path):
    made = as_documents([[1.0, 2.0], [3.0, 4.0]], [1, 0], group=[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in ("gkl", "txt"):
            write_letor(made, tmp_path / f"a.{suffix}")
            assert read_letor(tmp_path / f"a.{suffix}", names=["a", "b"]).names is None
