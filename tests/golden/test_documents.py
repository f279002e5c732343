"""Judged documents in every spelling: what `convert` and `ranksvm` read of them, or the line with which they refuse."""

import pytest

from golden.command import Case

ROWS = "2 qid:1 1:.5 2:1\n0 qid:1 1:.1 2:0\n1 qid:2 1:.7\n0 qid:2 2:3 # doc 7\n"
HEADER = "qid,label,length,clicks\n"
TABLE = "a,2,.5,1\na,0,.1,0\nb,1,.7,0\nb,0,0,3\n"


QUERIES = "".join(
    f"{(d * d + q) % 3} qid:{q} 1:{(7 * d + 5 * q) % 11 / 10} 2:{(3 * d + q) % 7 / 5}\n"
    for q in range(12)
    for d in range(5)
)


def read(name, content, file="train.txt", options=""):
    """A case: the documents are copied as .gkl, and the copy is written as svmlight."""
    commands = (f"convert {file} copy.gkl {options}".strip(), "convert copy.gkl out.txt")
    return Case(name, commands, {file: content}, outputs=("out.txt",))


def train(name, content, file="train.txt", options="", **more):
    """A case: a model is trained on the documents, and scores them."""
    commands = (f"ranksvm {file} --model m.gpukit {options or '--c 1'}", f"rank m.gpukit {file} --output scores.txt")
    return Case(f"train: {name}", commands, {file: content, **more}, outputs=("scores.txt",))


CASES = (
    read("plain", ROWS),
    read("no comments", ROWS.replace(" # doc 7", "")),
    read("carriage returns", ROWS.replace("\n", "\r\n")),
    read("no last line feed", ROWS[:-1]),
    read("blank lines at the end", ROWS + "\n\n"),
    read("tabs", ROWS.replace(" ", "\t")),
    read("gzip", ROWS, "train.txt.gz"),
    read("xz", ROWS, "train.txt.xz"),
    read("queries named by words", ROWS.replace("qid:1", "qid:cats").replace("qid:2", "qid:007")),
    read("queries apart", "1 qid:1 1:1\n1 qid:2 1:2\n0 qid:1 1:3\n"),
    read("a query beyond 2^53", "1 qid:9007199254740993 1:1\n0 qid:9007199254740993 1:2\n1 qid:9007199254740992 1:3\n"),
    read("no queries", "1 1:.5\n0 1:.1\n"),
    read("features out of order", "1 qid:1 2:1 1:.5\n0 qid:1 1:.1\n"),
    read("a feature twice", "1 qid:1 1:1 1:.5\n0 qid:1 1:.1\n"),
    read("feature 0", "1 qid:1 0:1\n0 qid:1 1:.1\n"),
    read("a feature number beyond all", "1 qid:1 72048431380967004:1.0\n0 qid:1 1:.1\n"),
    read("a word for a label", "good qid:1 1:1\n0 qid:1 1:.1\n"),
    read("a word for a value", "1 qid:1 1:one\n0 qid:1 1:.1\n"),
    read("a value beyond float32", "1 qid:1 1:1e39\n0 qid:1 1:.1\n"),
    read("a value that is nan", "1 qid:1 1:nan\n0 qid:1 1:.1\n"),
    read("a label below 0", "-1 qid:1 1:1\n0 qid:1 1:.1\n"),
    read("a fraction for a label", "1.5 qid:1 1:1\n0 qid:1 1:.1\n"),
    read("an empty file", ""),
    read("comments alone", "# nothing\n# here\n"),
    read("ratings", "1,10,5\n1,11,3\n"),
    read("a byte order mark", "\ufeff" + ROWS),
    read("UTF-16", ROWS.encode("utf-16")),
    read("a table", HEADER + TABLE, "train.csv"),
    read("a table without queries", "label,x\n1,2\n0,3\n", "train.csv"),
    Case("a file that is not there", "ranksvm nothing.txt"),
    train("plain", ROWS),
    train("a table with names", HEADER + TABLE, "train.csv"),
    train("constant features", "1 qid:1 1:3 2:1\n0 qid:1 1:3 2:0\n2 qid:2 1:3 2:4\n1 qid:2 1:3 2:2\n"),
    train("nothing to learn from", "1 qid:1 1:3\n1 qid:1 1:2\n"),
    train("all documents alike", "1 qid:1 1:3\n0 qid:1 1:3\n"),
    train("a C of 1e300", ROWS, options="--c 1e300"),
    train("a C below 0", ROWS, options="--c -1"),
    train("weights of queries", ROWS, **{"train.txt.weight": "1\n2\n"}),
    train("weights of documents", ROWS, **{"train.txt.weight": "1\n2\n0.5\n1\n"}),
    train("weights that do not fit", ROWS, **{"train.txt.weight": "1\n2\n3\n"}),
    Case(
        "columns in another order",
        ("ranksvm train.csv --c 1 --model m.gpukit", "rank m.gpukit other.csv --output scores.txt"),
        {"train.csv": HEADER + TABLE, "other.csv": "clicks,qid,length,label\n1,a,.5,2\n0,a,.1,0\n0,b,.7,1\n3,b,0,0\n"},
        outputs=("scores.txt",),
    ),
    Case(
        "a column is missing",
        ("ranksvm train.csv --c 1 --model m.gpukit", "rank m.gpukit other.csv --output scores.txt"),
        {"train.csv": HEADER + TABLE, "other.csv": "qid,label,length\na,2,.5\na,0,.1\n"},
        outputs=("scores.txt",),
    ),
    Case(
        "a model of another kind",
        ("ranksvm train.txt --c 1 --model m.gpukit", "recommend m.gpukit --user 1"),
        {"train.txt": ROWS},
    ),
    Case(
        "two models are compared",
        (
            "ranksvm train.txt --c 1 --model m.gpukit",
            "ranksvm other.txt --c 1 --model n.gpukit",
            "rank m.gpukit train.txt --against n.gpukit --show ndcg@3,pa --per-query queries.csv",
            "rank m.gpukit train.txt --explain 3,2",
        ),
        {"train.txt": QUERIES, "other.txt": QUERIES.replace("\n2 ", "\n0 ")},
        outputs=("queries.csv",),
    ),
    Case(
        "an output that is there",
        "ranksvm train.txt --c 1 --model m.gpukit",
        {"train.txt": ROWS, "m.gpukit": "mine\n"},
        outputs=("m.gpukit",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_documents(check, case):
    check(case)
