"""Invalid files of documents: one clear line with the file, the line and the remedy."""

import gzip

import pytest

from gpukit.documents import read_letor
from gpukit.errors import DataError

GOOD = "".join(f"{row % 3} qid:{row // 5} 1:0.5 2:{row} 3:1.25\n" for row in range(300))
AFTER = GOOD.replace("qid:", "qid:9")


@pytest.mark.parametrize(
    "line, message",
    [
        ("1 1:2 2:3", "no query id: '1 1:2 2:3'.*FILE.query"),
        ("1", "no query id"),
        ("1 qid: 1:2", "no query id"),
        ("qid:5 1:2", "no query id"),
        ("1 qid:x 0:2", "index 0.*counted from 1"),
        ("1 qid:x 2:1 1:3", "do not ascend: '1:3'"),
        ("1 qid:x 2:1 2:3", "do not ascend: '2:3'"),
        ("1 qid:x 1:NULL", "NULL: '1:NULL'.*--null min.*--null zero.*--null error"),
        ("1 qid:x 1:nan", "value of feature 1, 'nan' is not a finite number"),
        ("1 qid:x 1:2 3:-inf", "value of feature 3, '-inf' is not a finite"),
        ("1 qid:x 1:1e39", "'1e39' is not a finite float32: it is larger than float32 holds"),
        ("1 qid:x 1:", "'' is not a number"),
        ("1 qid:x 1:abc", "'abc' is not a number"),
        ("1 qid:x 1:1_0", "'1_0' is not a number"),
        ("1 qid:x 1:2:3", "'2:3' is not a number"),
        ("1 qid:x 1:null", "'null' is not a number"),
        ("nan qid:x 1:2", "relevance 'nan' is not a finite"),
        ("inf qid:x 1:2", "relevance 'inf' is not a finite"),
        ("good qid:x 1:2", "relevance 'good' is not a number"),
        ("NULL qid:x 1:2", "relevance 'NULL' is not a number"),
        ("1 qid:x 1:2 three:4", "not index:value: 'three:4'"),
        ("1 qid:x 5", "not index:value: '5'"),
        ("1 qid:x -1:5", "not index:value: '-1:5'"),
        ("1 qid:x 1:2 99999999999:4", "larger than the limit, 2,147,483,647: '99999999999:4'"),
        ("1 qid:x :4", "not index:value: ':4'"),
        ("1 qid:x 1:2 qid:3", "not index:value"),
    ],
)
@pytest.mark.parametrize("before", [0, 150])
def test_the_line_is_named(tmp_path, monkeypatch, line, message, before):
    for newline in ("\n", "\r\n"):
        head = "1 qid:start 1:1\n# comment\n\n" + "".join(GOOD.splitlines(True)[:before])
        (tmp_path / "bad.txt").write_text((head + line + "\n" + AFTER).replace("\n", newline), newline="")
        for block in (1 << 20, 100):
            monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
            with pytest.raises(DataError, match=message) as caught:
                read_letor(tmp_path / "bad.txt")
            said = str(caught.value)
            assert f"bad.txt, line {before + 4}: " in said and "\n" not in said and "cut short" not in said


def test_the_first_of_several_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.documents.gather.RANGE", 64)
    for first, second in (("1 qid:x 1:y", "1 1:2"), ("1 1:2", "1 qid:x 1:y")):
        (tmp_path / "bad.txt").write_text(f"{GOOD}{first}\n{AFTER}{second}\n1 qid:z 0:1\n")
        with pytest.raises(DataError, match="line 301:"):
            read_letor(tmp_path / "bad.txt")


@pytest.mark.parametrize("block", [60, 1 << 20])
def test_a_query_that_comes_back(tmp_path, monkeypatch, block):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    monkeypatch.setattr("gpukit.documents.gather.RANGE", 32)
    (tmp_path / "bad.txt").write_text("# head\n" + GOOD + "0 qid:7 1:1\n")
    with pytest.raises(DataError, match="line 302: query 7 comes back; it began in line 37"):
        read_letor(tmp_path / "bad.txt")


def test_more_features_than_training(tmp_path):
    (tmp_path / "test.txt").write_text(GOOD + "1 qid:x 1:1 47:2\n")
    with pytest.raises(DataError, match="test.txt has 47 features where 46 are expected"):
        read_letor(tmp_path / "test.txt", n_features=46)


@pytest.mark.parametrize(
    "rest, message",
    [
        ("1 qid:x 1:2 2:", "'' is not a number.*cut short"),
        ("1 qid:x 1:2 2", "index:value: '2'.*cut short"),
        ("1 qi", "no query id.*cut short"),
        ("1", "no query id.*cut short"),
        ("1 qid:x 1:0.5 2:7", "stops at feature 2 where all others have 3.*cut short"),
    ],
)
@pytest.mark.parametrize("block", [60, 1 << 20])
def test_a_file_cut_in_a_line(tmp_path, monkeypatch, rest, message, block):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    (tmp_path / "bad.txt").write_text(GOOD + rest)
    with pytest.raises(DataError, match=f"line 301.*{message}"):
        read_letor(tmp_path / "bad.txt")
    (tmp_path / "bad.txt").write_text(GOOD + "1 qid:x 1:0.5 2:7 3:1")  # no newline, nothing missing
    assert len(read_letor(tmp_path / "bad.txt").y) == 301
    (tmp_path / "bad.txt").write_text(GOOD + "1 qid:x 1:0.5 2:7\n# the end")
    assert len(read_letor(tmp_path / "bad.txt").y) == 301


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "empty"),
        (b"\n \n", "no documents"),
        (b"# one\n#two 1:2\n", "no documents"),
        (b"1 qid:1\n0 qid:1 # one\n", "has no features"),
        (b"\xff\xfe1\0", "is text in UTF-16"),
        (b"1 qid:1 1:2\n\0\0", "not a text file"),
        (b"1,2,3\n", "no query id"),
        (b"\x1f\x8b not gzip", "damaged|cannot be read"),
        (gzip.compress(GOOD.encode())[:-20], "damaged or cut short"),
    ],
)
def test_no_documents_in_it(tmp_path, text, message):
    (tmp_path / "bad.txt").write_bytes(text)
    with pytest.raises(DataError, match=message) as caught:
        read_letor(tmp_path / "bad.txt")
    assert "bad.txt" in str(caught.value) and "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_letor(tmp_path / "none.txt")
    with pytest.raises(DataError, match="is a folder"):
        read_letor(tmp_path)


@pytest.mark.parametrize(
    "counts, message",
    [
        ("2\n2\n", r"rank.query counts 4 documents in 2 queries, but .*rank has 3"),
        ("3\n0\n", "line 2: '0' is not a number"),
        ("2\nx\n", "line 2: 'x' is not a number"),
        ("2.0\n1\n", "line 1: '2.0'"),
        ("", "rank.query is empty. Give a number of documents"),
        ("\n", "counts 0 documents"),
    ],
)
def test_group_counts(tmp_path, counts, message):
    (tmp_path / "rank").write_text("1 1:2\n0 1:1\n3 2:4\n")
    (tmp_path / "rank.query").write_text(counts)
    with pytest.raises(DataError, match=message):
        read_letor(tmp_path / "rank")


@pytest.mark.parametrize("label", ["good", "2"])
def test_labels_that_are_words(tmp_path, label):
    path = tmp_path / "words.csv"
    path.write_text(f"label,qid,a\nbad,1,0.5\n{label},1,0.75\n")
    with pytest.raises(DataError) as error:
        read_letor(path)
    assert "line 2: 'bad' (column 1) is not a number." in str(error.value)
    assert ("Nor is any other label: write a number for each" in str(error.value)) == (label == "good")
