"""TREC's runs and qrels."""

import numpy as np
import pytest

from gpukit.documents import Documents, trec
from gpukit.errors import DataError


def make(comments, qids=("a", "b")):
    comments = None if comments is None else np.array(comments, object)
    return Documents(np.zeros((5, 1)), np.ones(5), np.array([0, 2, 5]), np.array(qids, object), comments)


def test_names_of_documents():
    words = [" docid = GX1-2 inc = 0.1", "docid=D7", " one ", "two words", ""]
    assert trec.document_names(make(words)) == ["GX1-2", "D7", "one", "4", "5"]
    assert trec.document_names(make(None)) == ["1", "2", "3", "4", "5"]


def test_a_name_that_is_twice_in_a_query_is_refused():
    """The run would have a document at several ranks, and qrels would give both documents one label."""
    assert trec.document_names(make(["x", "y", "x", "y", "z"])) == ["x", "y", "x", "y", "z"]
    with pytest.raises(DataError, match="Several documents of query 'b' are named 'new' by their comments"):
        list(trec.run_lines(make(["x", "y", "new", "z", "new"]), np.zeros(5), np.arange(5)))


def test_a_run_has_the_documents_of_each_query_by_rank():
    lines = list(trec.run_lines(make(None), np.array([0.5, 2.0, 1.0, 3.0, -1.0]), np.array([2, 1, 2, 1, 3])))
    assert lines == [
        "a Q0 2 1 2.0 gpukit\n",
        "a Q0 1 2 0.5 gpukit\n",
        "b Q0 4 1 3.0 gpukit\n",
        "b Q0 3 2 1.0 gpukit\n",
        "b Q0 5 3 -1.0 gpukit\n",
    ]
    with pytest.raises(DataError, match="Query 'a b' is not one word"):
        list(trec.run_lines(make(None, ("a b", "c")), np.zeros(5), np.arange(5)))


def test_labels_of_qrels(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("\ufeffa 0 1 2\r\nb\tQ0\t5\t-1\n\na 0 unknown 3\na 0 1 2\n")
    assert trec.read_qrels(path) == {("a", "1"): 2.0, ("b", "5"): -1.0, ("a", "unknown"): 3.0}
    with pytest.warns(
        UserWarning, match="has 1 relevant documents that are not among the 5, such as 'unknown' of query"
    ):
        assert trec.relabel(make(None), path).y.tolist() == [2.0, 0.0, 0.0, 0.0, -1.0]
    numbered = make(None)._replace(qids=np.array([1, 2]))
    with pytest.raises(DataError, match="has none of the 5 documents: the first is '1' of query '1'"):
        trec.relabel(numbered, path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 0 1 2\na 0 1\n", "line 2: 'a 0 1' is not `query 0 document label`"),
        ("a 0 1 2 3\n", "line 1: 'a 0 1 2 3' is not"),
        ("a 0 1 high\n", "line 1: 'a 0 1 high' is not"),
        ("a 0 1 nan\n", "line 1: 'a 0 1 nan' is not"),
        ("a 0 1 2\nb 0 1 2\na 0 1 1\n", "line 3: document '1' of query 'a' has the labels 2 and 1"),
        ("\n\n", "has no labels"),
        ("", "is empty"),
    ],
)
def test_bad_qrels(text, words, tmp_path):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(DataError, match=words):
        trec.read_qrels(tmp_path / "qrels")
