"""Documents in csv: named columns, ids and numbers as spelled; errors give the line."""

import numpy as np
import pytest

from gpukit.documents import read_letor
from gpukit.documents.read import is_letor
from gpukit.errors import DataError

ROWS = [("b", 2, 1.25, 0.1), ("b", 0, -3, 4), ("a", 1, 5, 6e-3), ("a", 1, 7, 8), ("c", 0, 0.30000000000000004, 1e300)]


def write(path, sep=",", names="qid,label,f1,f2", rows=ROWS, end="\n"):
    lines = [names.replace(",", sep), *(sep.join(map(str, row)) for row in rows)]
    path.write_text(end.join(lines) + end, newline="")
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("sep", [",", "\t", ";", " "])
def test_columns_by_their_names(tmp_path, sep, end):
    path = write(tmp_path / "a.csv", sep, end=end)
    found = read_letor(path)
    assert is_letor(path) and found.X.dtype == np.float64 and found.X.flags.c_contiguous
    assert found.X.tolist() == [[one, two] for _, _, one, two in ROWS] and found.y.tolist() == [2, 0, 1, 1, 0]
    assert found.qids.tolist() == ["b", "a", "c"] and found.offsets.tolist() == [0, 2, 4, 5]
    assert found.comments is None and found.weights is None
    with pytest.raises(DataError, match="line 6 has a feature that is not finite"):
        read_letor(path, dtype="float32")


def test_any_order_ids_as_spelled_documents_and_weights(tmp_path):
    rows = [(1, "x", "007", 0.5, 3), (2, "", "007", 0.5, 4), (3, "y z", "8", 2, 5)]
    found = read_letor(
        write(tmp_path / "a.csv", names=",doc_id,Query_ID,weight,Relevance,f", rows=[(*r, 9) for r in rows])
    )
    assert found.qids.tolist() == ["007", "8"] and found.comments.tolist() == ["x", "", "y z"]
    assert found.weights.tolist() == [0.5, 2] and found.y.tolist() == [3, 4, 5] and found.X.tolist() == [[9]] * 3
    whole = read_letor(write(tmp_path / "b.csv", rows=[(2**62, 1, 1, 2)]), n_features=3)
    assert whole.qids.dtype == np.int64 and whole.qids.tolist() == [2**62] and whole.X.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("word, dtype", [("9007199254740993", np.int64), ("2.0", np.float64), ("007", np.float64)])
def test_whole_labels_stay_exact(tmp_path, word, dtype):
    y = read_letor(write(tmp_path / "a.csv", names="label,qid,f1", rows=[(word, 1, 0.5), (1, 1, 2)])).y
    assert y.dtype == dtype and y.tolist() == [dtype(word), 1]


def test_a_quoted_field_and_utf_8(tmp_path):
    (tmp_path / "a.csv").write_bytes('\ufeffqid,label,"f, 1"\n"Zoë ""x"", y",1,"2.5"\n'.encode())
    found = read_letor(tmp_path / "a.csv")
    assert found.qids.tolist() == ['Zoë "x", y'] and found.X.tolist() == [[2.5]]


@pytest.mark.parametrize("null, filled", [("zero", [0, 2, 1, 0, 0]), ("min", [2, 2, 1, 1, 0])])
@pytest.mark.parametrize("spelled", ["", "NULL", "nan", "1.79769313486e+308"])
def test_missing_features(tmp_path, null, filled, spelled):
    values = [spelled, 2, 1, spelled, spelled]
    path = write(tmp_path / "a.csv", rows=[(*row[:2], value, 1) for row, value in zip(ROWS, values)])
    assert read_letor(path, null=null).X[:, 0].tolist() == filled
    with pytest.raises(DataError, match="a.csv, line 2 has no feature's value .*--null"):
        read_letor(path)


@pytest.mark.parametrize(
    "names, line, message",
    [
        ("qid,label,f1,f2", "d,x,1,2", "line 7: 'x' .column 2. is not a number"),
        ("qid,label,f1,f2", "d,,1,2", "line 7 has no label"),
        ("qid,label,f1,f2", ",1,1,2", "line 7 has no query id"),
        ("qid,label,f1,f2", "b,1,1,2", "line 7: query b comes back after others"),
        ("qid,label,f1,f2", "d,1,inf,2", "line 7 has a feature that is not finite"),
        ("qid,label,f1,f2", "d,inf,1,2", "relevance|label|y .*finite"),
        ("qid,label,f1,f2", "d,1,1,2,3", "line 7"),
        ("qid,label,f1,f2", 'd,1,"1"x,2', "behind a closing quote"),
        (
            "qid,label,relevance,f2",
            "d,1,1,2",
            "several columns that could be the label: 'label' and 'relevance'. Leave one",
        ),
        ("qid,label,weight,f2", "d,1,1,2", "line 3: the weight is not that of the other documents of query b"),
        ("label,qid,,", "1,a,,", "documents need label"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, names, line, message):
    path = write(tmp_path / "a.csv", names=names)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DataError, match=message) as caught:
        read_letor(path)
    assert "\n" not in str(caught.value)


def test_a_column_of_text_is_no_feature(tmp_path):
    path = write(tmp_path / "a.csv", names="qid,label,url,f", rows=[("a", 1, "http://x", 2), ("a", 0, "y", 4)])
    with pytest.raises(DataError, match="line 2: 'http://x' .column 3. is not a number.*leave the column out"):
        read_letor(path)


@pytest.mark.parametrize("text", ["qid,label,f\n", "qid,label,f\n\n \n"])
def test_a_header_alone_is_no_documents(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match="a header and no lines below it"):
        read_letor(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "header, missing", [("qid,f1", "label"), ("label;f1", "qid"), ("query_id\tprice\tclicks", "label")]
)
def test_a_header_without_one_of_the_two_names_it(tmp_path, header, missing):
    (tmp_path / "a.csv").write_text(f"{header}\n1,2,3\n")
    with pytest.raises(DataError, match=f"a.csv has no column {missing}: .*Add a column {missing} "):
        read_letor(tmp_path / "a.csv")


def test_a_comment_is_no_header(tmp_path):
    (tmp_path / "a.txt").write_text("# label query_x\n# documents of query 7\n1 qid:1 1:2\n0 qid:1 1:3\n")
    assert read_letor(tmp_path / "a.txt").y.tolist() == [1, 0]


def test_a_query_id_with_a_sharp_is_one_field(tmp_path):
    rows = [f"{row % 2},{row}.5,a #{row // 3}" for row in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["label,x,qid", *rows]) + "\n")
    assert read_letor(tmp_path / "t.csv").qids.tolist() == ["a #0", "a #1", "a #2", "a #3"]
