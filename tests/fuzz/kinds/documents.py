"""Documents: svmlight text, groups, compressed text, folders, .gkl, tables."""

import gzip
import lzma
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from fuzz.judges import tables
from fuzz.mutate import archive, container, parquet
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, Sample, single

NULLS = ("error", "zero", "min")


def lines(qids=True, sparse=False, comments=True, seed=0):
    """Return text of 24 documents in 5 queries.

    They have 6 features, or 300 sparse ones.
    """
    rng, out = np.random.default_rng(seed), []
    for row, query in enumerate(np.repeat([10, 3, 77, 8, 9], (6, 1, 9, 5, 3))):
        features = sorted(rng.choice(300, 4, replace=False) + 1) if sparse else range(1, 7)
        words = [str(rng.integers(3))] + ([f"qid:{query}"] if qids else [])
        words += [f"{k}:{rng.normal():.4g}" for k in features]
        out.append(" ".join(words) + (f" # doc {row}" if comments else ""))
    return ("\n".join(out) + "\n").encode()


def text_samples():
    """Samples of text."""
    words = lines(comments=False).replace(b"qid:", b"qid:q")
    texts = {
        "train.txt": lines(),
        "sparse.txt": lines(sparse=True),
        "words.txt": words,
        "crlf.txt": lines().replace(b"\n", b"\r\n"),
    }
    return [single(name, data) for name, data in texts.items()]


def table_samples():
    """Tables with a header: csv, tabs with weights and names, missing values."""
    found = [(10, 2, 0.25, -3), (10, 0, 1e-7, 4), (3, 1, 5, 0.1), (77, 1, 7.125, 8), (77, 2, 0.5, -2.5e3), (8, 0, 1, 1)]
    plain = "".join(f"{q},{y},{a},{b}\n" for q, y, a, b in found)
    named = "".join(f"q{q}\tdoc {a}\t{y}\t{q / 2}\t{b}\n" for q, y, a, b in found)
    missing = "".join(
        f"{k};{q};{y};{'' if k % 3 else a};{b if k % 2 else 'NA'}\n" for k, (q, y, a, b) in enumerate(found)
    )
    return [
        single("train.csv", ("qid,label,f1,f2\n" + plain).encode()),
        single("train.tsv", ("query_id\tdoc_id\trelevance\tweight\tf\n" + named).encode()),
        single("index.csv", (";qid;label;f1;f2\n" + missing).encode()),
        single("comma.csv", (";qid;label;f1;f2\n" + missing).replace(".", ",").encode()),
    ]


def group_samples():
    """Text without ids, with its file of groups; with a file of weights of queries, or of documents."""
    data = {"rank.train": lines(qids=False), "rank.train.query": b"6\n1\n9\n5\n3\n"}
    weights = b"1\n0\n2.5\n1e-3\n7\n", b"".join(b"%d.5\n" % row for row in range(24))
    return [
        Sample(data, "rank.train", ("rank.train", "rank.train.query", "rank.train.query")),
        *(Sample({**data, "rank.train.weight": text}, "rank.train", ("rank.train.weight",)) for text in weights),
    ]


def packed_samples():
    """Samples of compressed text."""
    one = archive.zipped([("train.txt", lines())], zipfile.ZIP_DEFLATED)
    return [
        single("train.txt.gz", gzip.compress(lines(), mtime=0)),
        single("train.txt.xz", lzma.compress(lines())),
        single("train.zip", one),
    ]


def folder_samples():
    """A folder of one fold and one of two."""
    parts = {f"{part}.txt": lines(seed=k) for k, part in enumerate(("train", "vali", "test"))}
    two = {f"Fold{k}/{name}": data for k in (1, 2) for name, data in parts.items()}
    mixed = {"train.txt.gz": gzip.compress(lines(), mtime=0), "vali.gkl": written(".gkl"), "test.txt": lines()}
    return [Sample(files, ".", tuple(files)) for files in (parts, two, mixed)]


def documents(sparse):
    """Documents of the text, with weights."""
    from gpukit.documents import read_letor

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(lines(sparse=sparse))
        found = read_letor(path)
    return found if sparse else found._replace(weights=np.linspace(0.5, 2, len(found.qids)))


def written(suffix, sparse=False):
    """Return the bytes that write_letor writes."""
    from gpukit.documents import write_letor

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d{suffix}"
        write_letor(documents(sparse), path)
        return path.read_bytes()


def gkl_samples():
    """Binary copies, dense and sparse."""
    return [single("dense.gkl", written(".gkl")), single("sparse.gkl", written(".gkl", True))]


def parquet_samples():
    """Parquet: a column per feature."""
    return [single("d.parquet", parquet.written(parquet.read(written(".parquet"))))]


def answer(path, use):
    """Return documents and the arrays that a ranker needs."""
    from gpukit.documents import read_letor

    return describe(read_letor(path, null=use.get("null", "error")))


def describe(found):
    """Return {name: array} of Documents; ranks by the first feature, query by query."""
    from gpukit.documents.table import take_queries
    from gpukit.evaluation.ranking import evaluate

    out = {name: getattr(found, name) for name in ("y", "offsets", "qids", "comments", "weights")}
    X = found.X
    dense = isinstance(X, np.ndarray)
    out |= {"X": X} if dense else {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    last = take_queries(found, [len(found.qids) - 1, 0])
    first = first_column(X) if not dense else X[:, 0] if X.shape[1] else found.y
    scores = np.asarray(first, np.float64)
    quality = evaluate(found.y, scores, found.offsets)
    return {**out, "shape": X.shape, "taken": last.X.shape[0], "quality": np.array([quality["pa"]])}


def first_column(X):
    """Return the first column (l,) of a CSR matrix of any width."""
    values = np.zeros(X.shape[0])
    there = X.indices[: X.indptr[-1]] == 0
    values[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[there]] = X.data[: X.indptr[-1]][there]
    return values


def folder(path, use):
    """Return every part of every fold, one after the other."""
    from gpukit.documents import find_folds, read_letor

    found = {}
    for fold in find_folds(path):
        for part in ("train", "vali", "test"):
            found[f"{fold.name}/{part}"] = describe(read_letor(getattr(fold, part)))
    return found


def each(found, files):
    """Return the judge of a folder."""
    return next((f"{name}: {wrong}" for name, one in found.items() if (wrong := judge(one, files))), None)


def judge(found, files):
    """Valid, and derived arrays have a row per document."""
    wrong = tables.documents(found, files)
    sizes = np.diff(found["offsets"])
    if not wrong and found["taken"] != sizes[-1] + sizes[0]:
        wrong = f"take_queries gives {found['taken']} rows"
    return wrong


def text_judge(found, files, words=tables.FEATURES):
    """Judge documents of a text: valid, with content from the text.

    words: the positions of numbers in a text.
    """
    wrong = judge(found, files)
    if wrong:
        return wrong
    values = found["X"] if "X" in found else found["data"]
    stored = np.unique(values[values != 0])
    known = tables.features_stand_in(stored, b"\n".join(files.values()), words)
    return None if known else "a feature is not in the file"


def table_judge(found, files):
    """Judge documents of a table: valid, with content from the table.

    Fields are numbers, or true and false.
    """
    truth = b" 1 0" if b"true" in b"".join(files.values()).lower() else b""
    return text_judge(found, {**files, "truth": truth}, tables.FIELDS)


def uses(rng):
    """Return the meaning of NULL."""
    return {"null": NULLS[rng.choice(3, p=(0.6, 0.2, 0.2))]}


def qrels_samples():
    """TREC's judgements, with blanks, with tabs, repeated."""
    plain = b"301 0 FBIS3-10082 1\n301 0 FBIS3-10169 0\n302 0 FBIS4-67701 2\n"
    return [single("qrels", plain), single("tabs.qrels", plain.replace(b" ", b"\t") + b"\nq1\tQ0\t7\t-1\nq1 0 7 -1\n")]


def qrels(path, use):
    """read_qrels."""
    from gpukit.documents.trec import read_qrels

    labels = read_qrels(path)
    queries, documents = (np.array(words) for words in zip(*labels))
    return {"users": queries, "items": documents, "labels": np.array(list(labels.values()))}


def qrels_judge(found, files):
    """Ids are words of the file, labels are finite numbers."""
    if not np.isfinite(found["labels"]).all():
        return "a label is not finite"
    return tables.pairs(found, files)


KINDS = [
    Kind("qrels", qrels_samples, TEXT, qrels, qrels_judge, pipes=True),
    Kind("letor-text", text_samples, TEXT, answer, text_judge, uses, pipes=True, share=3),
    Kind("letor-table", table_samples, TEXT, answer, table_judge, uses, pipes=True),
    Kind("letor-groups", group_samples, TEXT, answer, text_judge, uses),
    Kind("letor-packed", packed_samples, archive.packed(TEXT), answer, judge, uses, pipes=True),
    Kind("letor-folder", folder_samples, TEXT, folder, each, share=0.5),
    Kind("letor-gkl", gkl_samples, container.COPY, answer, judge, same=True, share=2),
    Kind("letor-parquet", parquet_samples, parquet.PARQUET, answer, judge, uses),
]
