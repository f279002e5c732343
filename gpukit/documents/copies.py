"""Write documents: binary copy (.gkl, see io/sources.py), Parquet or svmlight text (.txt).

A .gkl loads at disk speed.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from gpukit import _pool, arrayfile
from gpukit.documents.adopt import as_documents, validate_documents
from gpukit.documents.table import Documents
from gpukit.documents.tables import write_parquet
from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks, sources, trust
from gpukit.io.records import SHOWN, check_ids, check_word
from gpukit.runtime.thread_count import get_num_threads

if TYPE_CHECKING:
    from gpukit.typing import Path as PathLike

KIND = sources.FORMATS["gkl"]
OPTIONAL = ("comments", "weights", "names")  # optional columns
SUFFIXES = (".gkl", ".txt", ".parquet")
LOST_IN_ID, LOST_IN_COMMENT = re.compile(r"[ \t\r\n#]"), re.compile(r"[\r\n]|^[ \t]|[ \t]$")


def write_letor(documents: Documents, path: PathLike) -> None:
    """Write Documents to path in the format of its suffix.

    The suffix is .gkl (binary copy), .parquet or .txt (svmlight with query ids). '-' (standard output) and a pipe
    without a suffix take svmlight text. Text does not store names of features: they are numbered in order, with a
    UserWarning. Each value is the shortest text that restores the number; a CSR X is written with its stored features
    only. The file is written atomically. Documents are validated as by as_documents. Raises ParameterError for another
    suffix, for weights as text, and for sparse features or ambiguous names as Parquet; DataError for query ids and
    comments that text cannot hold, and if path is not writable.
    """
    writers = {".gkl": _write_gkl, ".parquet": write_parquet, ".txt": _write_text}
    suffix, documents = check_copy(path), as_documents(documents)
    if suffix == ".txt" and documents.weights is not None:
        raise ParameterError(
            f"{path}: svmlight text has no place for the weights. Write .gkl, or .parquet for those of queries."
        )
    if suffix == ".txt" and documents.names is not None:
        warnings.warn(
            f"{path}: svmlight text has no place for the names of features. They are numbered 1 to "
            f"{len(documents.names):,} in their order; .gkl and .parquet keep the names.",
            stacklevel=2,
        )
    if suffix == ".txt":
        _check_text(documents)
    with sinks.open_sink(path) as file:
        writers[suffix](documents, file)


def check_copy(path):
    """Return the suffix of an output path; ParameterError or DataError if unusable."""
    return sources.check_copy(path, SUFFIXES, ".txt")


def _write_gkl(documents, file):
    X = documents.X
    features = {"X": X} if isinstance(X, np.ndarray) else {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    arrays = {**features, "y": documents.y, "offsets": documents.offsets, "qids": documents.qids}
    optional = {name: getattr(documents, name) for name in OPTIONAL}
    arrays |= {name: column for name, column in optional.items() if column is not None}
    arrayfile.write(file, KIND.magic, {"shape": X.shape}, arrays)


def _check_text(documents):
    """Raise DataError for values, query ids or comments that text cannot restore.

    svmlight text has no quotes, and is read within the range of float32.
    """
    X = documents.X if isinstance(documents.X, np.ndarray) else documents.X.data
    if max(X.max(initial=0), -X.min(initial=0)) > np.finfo(np.float32).max:
        raise DataError("A feature exceeds the range of float32, in which text is read. Write .gkl or .parquet.")
    check_ids(documents.qids, "The query id")
    comments = () if documents.comments is None else filter(None, documents.comments.tolist())
    for word in comments:
        check_word(word, "The comment")
        _refuse_lost(word, LOST_IN_COMMENT, "The comment")
    for word in documents.qids.tolist() if documents.qids.dtype.kind == "U" else ():
        _refuse_lost(word, LOST_IN_ID, "The query id")


def _refuse_lost(word, lost, what):
    match = lost.search(word)
    if match is not None:
        raise DataError(
            f"{what} {word[:SHOWN]!r} contains {match[0]!r} where svmlight text cannot hold it. Rename it, or write "
            ".gkl or .parquet."
        )


def _write_text(documents, file):
    """Write a line `relevance qid:ID 1:value ... #comment` per document, blocks of rows on all cores."""
    import pyarrow
    from pyarrow import compute

    from gpukit.io.tables import words

    def to_text(column):
        return pyarrow.array(column).cast(pyarrow.string())

    def join(texts, bounds):
        return compute.binary_join(pyarrow.ListArray.from_arrays(pyarrow.array(bounds, pyarrow.int32()), texts), "")

    def lines(rows):
        columns, values, bounds = _stored_features(documents.X[rows])
        numbers = to_text(columns.astype(np.int64) + 1)
        features = join(compute.binary_join_element_wise(" ", numbers, ":", to_text(values), ""), bounds)
        ends = "\n"
        if comments is not None:
            ends = pyarrow.array([f" #{comment}\n" if comment else "\n" for comment in comments[rows].tolist()])
        text = compute.binary_join_element_wise(
            to_text(documents.y[rows]), " qid:", ids.take(queries[rows]), features, ends, ""
        )
        return join(text, [0, len(text)])[0].as_buffer()

    queries = np.repeat(np.arange(len(documents.qids)), np.diff(documents.offsets))
    ids, comments = to_text(words(documents.qids)), documents.comments
    rows, values = 1 << 12, 1 << 19  # most of a block
    step = max(1, min(rows, values * len(documents.y) // max(1, documents.X.size)))
    blocks = (slice(start, start + step) for start in range(0, len(queries), step))
    _pool.in_order(lines, blocks, file.write, get_num_threads())


def _stored_features(X):
    """Return (columns, values, bounds (rows+1,)) of the stored features of rows."""
    if isinstance(X, np.ndarray):
        rows, n = X.shape
        return np.tile(np.arange(n), rows), X.ravel(), np.arange(rows + 1) * n
    X = X.sorted_indices()
    return X.indices, X.data, X.indptr


def read_gkl(source):
    """Return the Documents of a binary copy in an open Source."""
    name, (facts, arrays) = source.name, arrayfile.read_open(source.seekable(), source.name, KIND)
    lacking = {"y", "offsets", "qids"} - set(arrays)
    if lacking:
        raise KIND.refuse(name, f"it lacks {min(lacking)!r}")
    try:
        X = _features(arrays, facts.get("shape"))
        optional = map(arrays.get, OPTIONAL)
        return validate_documents(Documents(X, arrays["y"], arrays["offsets"], arrays["qids"], *optional))
    except DataError as error:
        raise DataError(f"{name} is damaged: {error} {sources.AGAIN}") from error


def _features(arrays, shape):
    """Return X of a copy: dense, or CSR of declared shape."""
    if "X" in arrays:
        return arrays["X"]
    lacking = {"data", "indices", "indptr"} - set(arrays)
    if lacking:
        raise DataError(f"it lacks {min(lacking)!r}.")
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise DataError(f"its shape is {shape!r:.80}.")
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    trust.check_array("X.data", parts[0], (np.float32, np.float64), (None,))
    trust.check_compressed("X", parts[2], parts[1], parts[0], shape)
    from scipy.sparse import csr_matrix

    return csr_matrix(parts, shape=tuple(shape))
