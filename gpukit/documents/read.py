"""read_letor: documents of queries from svmlight text with query ids, LightGBM's group files, Parquet or a binary copy.

A text file is read in blocks of whole lines, each parsed on all cores (parse.py); what is wrong is told with the
line. Memory peaks at a little over twice the features.
"""

from pathlib import Path

import numpy as np

from gpukit import _jit
from gpukit.base import check_choice, check_integer
from gpukit.documents import copies, parquet, parse
from gpukit.documents.gather import DocumentsBuilder
from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.parquet import is_parquet

NULLS = {"error": parse.NULL_ERROR, "zero": parse.NULL_ZERO, "min": parse.NULL_KEPT}
DTYPES = (None, "float32", "float64")
ONE_THREAD = 8 << 20  # bytes of a file below which waiting for other threads may cost more than they save
SPARSE_WIDTH = 256  # features; CSR pays above it when less than
SPARSE_DENSITY = 0.25  # of them are stored


def read_letor(path, *, null="error", n_features=None, dtype=None):
    """The Documents in a file of lines `relevance qid:ID 1:value 2:value ... #comment`.

    path: LETOR's svmlight, LF or CRLF, also as .gz, .xz or .zip; a file without query ids when FILE.query beside it
    holds the number of documents of each query, a line each (LightGBM; the ids are then 1 to m); Parquet, its columns
    label, qid and features (see parquet.py; a missing value is NULL); a binary copy (.gkl).
    Feature k is column k-1; columns are as many as the largest index, or n_features. null: what the token NULL stands
    for: 'error', 'zero', or 'min', the smallest value of the feature in the query (LETOR's min.txt), 0 where all are
    NULL. X is CSR when more than 256 features are stored with a density below 0.25. dtype: 'float32', 'float64', or
    None for float64 unless that were more than 2^27 numbers (1 GiB); a copy keeps its own. Values equal float(text),
    rounded to dtype; labels float(text). Raises DataError naming file and line for what is missing, malformed, out of
    order, not finite (as float32) and for more than n_features features; ParameterError for other values of null,
    n_features or dtype.
    """
    check_choice("null", null, tuple(NULLS))
    check_choice("dtype", dtype, DTYPES)
    if n_features is not None:
        n_features = check_integer("n_features", n_features, 1)
    path = _checked(path)
    if copies.is_copy(path):
        documents = copies.read_gkl(path)
        X = documents.X if dtype is None else documents.X.astype(dtype, copy=False)
        return documents._replace(X=_widened(X, n_features, path))
    if is_parquet(path):
        documents = parquet.read_parquet(path, NULLS[null], dtype)
        return documents._replace(X=_widened(documents.X, n_features, path))
    with _jit.threads(1 if path.stat().st_size < ONE_THREAD else None):
        return _read_text(path, NULLS[null], n_features, dtype)


def is_letor(path):
    """True for a file that read_letor reads: a copy, query ids in its first line or its columns, or FILE.query."""
    path = Path(path)
    if not path.is_file() or not path.stat().st_size:
        return False
    if copies.is_copy(path) or query_file(path):
        return True
    if is_parquet(path):
        return parquet.is_documents(path)
    streams = sources.members(path) if sources.compression(path) != "zip" else []
    return any(_has_qids(sources.head(*stream)) for stream in streams)


def query_file(path):
    """The file of group counts beside path (FILE.query, FILE of FILE.gz too), or None."""
    names = [path.name, path.stem] if path.suffix in (".gz", ".xz") else [path.name]
    return next((file for name in names if (file := path.with_name(f"{name}.query")).is_file()), None)


def _checked(path):
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist. Check the name; the folder that gpukit looks from is {Path.cwd()}.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it, such as {path / 'Fold1' / 'train.txt'}.")
    if path.is_file() and not path.stat().st_size:
        raise DataError(f"{path} is empty. Give a file with a line `relevance qid:ID 1:value ...` for each document.")
    return path


def _read_text(path, null, n_features, dtype):
    streams = sources.members(path)
    if len(streams) > 1:
        raise DataError(f"{path} holds {len(streams)} files; unpack it and name one of them.")
    name, opener = streams[0]
    head = sources.head(name, opener)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head:
        raise DataError(f"{name} is not a text file in UTF-8 or Latin-1, and no binary copy of gpukit's.")
    groups = None if _has_qids(head) else query_file(path)
    builder = DocumentsBuilder(name, groups is None, null, dtype, _cut_at(path))
    for block in sources.blocks(name, opener, 3 if head.startswith(b"\xef\xbb\xbf") else 0):
        builder.add(block)
    builder.finish()
    X = assembled(builder, _width(builder.largest, n_features, path))
    offsets, qids = builder.queries() if groups is None else _groups(groups, name, builder.rows)
    if builder.nulls and null == parse.NULL_KEPT:
        _fill_nulls(X, offsets)
    return Documents(X, np.concatenate(builder.labels), offsets, qids, builder.joined_comments())


def _has_qids(head):
    """True when the second token of the first line that is no comment begins with qid:."""
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        words = line.split(b"#")[0].split()
        if words:
            return len(words) > 1 and words[1].startswith(b"qid:")
    return False


def _cut_at(path):
    """The size of a plain text file whose last line has no newline, else None."""
    if sources.compression(path) != "plain":
        return None
    with open(path, "rb") as file:
        size = file.seek(-1, 2) + 1
        return size if file.read(1) != b"\n" else None


def _width(found, asked, path):
    """The number of columns; DataError when a file has more features than are asked for."""
    if asked is not None and found > asked:
        raise DataError(
            f"{path} has {found:,} features where {asked:,} are expected, those of the training set. Train "
            "on data with the same features, or leave out the others."
        )
    return asked or found


def _widened(X, n_features, path):
    """X with zero columns up to n_features."""
    missing = _width(X.shape[1], n_features, path) - X.shape[1]
    if not missing:
        return X
    if isinstance(X, np.ndarray):
        return np.pad(X, ((0, 0), (0, missing)))
    X.resize((X.shape[0], n_features))
    return X


def assembled(builder, n):
    """X (l, n) of a builder's features, dense or CSR by how many are stored; which are given up."""
    if n > SPARSE_WIDTH and builder.stored < SPARSE_DENSITY * n * builder.rows:
        return _sparse(builder, n)
    X, end = np.empty((builder.rows, n), dtype=builder.dtype_of(builder.rows * n)), builder.rows
    while builder.features:
        features = builder.features.pop()
        start = end - len(features.counts)
        parse.spread(features, X[start:end])
        end = start
    return X


def _sparse(builder, n):
    from scipy.sparse import csr_matrix

    kind = np.int32 if builder.stored < 2**31 else np.int64
    indptr = np.zeros(builder.rows + 1, dtype=kind)
    np.cumsum(np.concatenate([features.counts for features in builder.features]), out=indptr[1:])
    columns, data, end = (
        np.empty(builder.stored, dtype=kind),
        np.empty(builder.stored, dtype=builder.dtype),
        builder.rows,
    )
    while builder.features:
        features = builder.features.pop()
        start = end - len(features.counts)
        parse.gather(features, indptr[start:end], columns, data)
        end = start
    return csr_matrix((data, columns, indptr), shape=(builder.rows, n))


def _fill_nulls(X, offsets):
    if isinstance(X, np.ndarray):
        parse.fill_dense(X, offsets)
    else:
        parse.fill_sparse(X.data, X.indices, X.indptr, offsets, X.shape[1])


def _groups(path, name, rows):
    """(offsets (m+1,) int64, qids 1..m) of a file with a count of documents a line."""
    counts = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        if not word.isdecimal() or int(word) == 0:
            raise DataError(f"{path}, line {number:,}: {word[:80]!r} is not a number of documents (1 or more).")
        counts.append(int(word))
    if sum(counts) != rows:
        raise DataError(
            f"{path} counts {sum(counts):,} documents in {len(counts):,} queries, but {name} has {rows:,}. "
            "One of the two belongs to another file, or is cut short."
        )
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), np.arange(1, len(counts) + 1, dtype=np.int64)
