"""Read documents from svmlight text, csv, Parquet or a binary copy.

A text file is read in blocks of whole lines, each parsed on all cores (parse.py); errors name the line. Peak memory is
a little over twice the features.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from gpukit.base import check_choice, check_integer, check_real
from gpukit.base.arrays import as_numbers
from gpukit.documents import copies, tables
from gpukit.documents.adopt import NULL_ERROR, NULL_KEPT, NULL_ZERO, fill_nulls, given_names
from gpukit.documents.table import Documents
from gpukit.documents.tables import places_of, take_columns
from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.arrays import normalize_name
from gpukit.io.words import decode, is_number, quote, strip_blank_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.typing import ArrayLike, Float64, Input

NULLS = {"error": NULL_ERROR, "zero": NULL_ZERO, "min": NULL_KEPT}
DTYPES = (None, "float32", "float64")
NEEDED = "a file with a line `relevance qid:ID 1:value ...` for each document, or a table with columns label and qid"
GROUPS, WEIGHTS, POSITIONS = (".query", ".group"), (".weight",), (".position",)  # suffixes of files next to the data
COLUMN = "position"  # of a table


def read_letor(
    path: Input,
    *,
    null: Literal["error", "zero", "min"] = "error",
    n_features: int | None = None,
    dtype: Literal["float32", "float64"] | None = None,
    names: np.ndarray | Sequence[str] | None = None,
    position_bias: float | None = None,
) -> Documents:
    """Read Documents from LETOR's text, tables or binary copies.

    A line of text is `relevance qid:ID 1:value 2:value ... #comment`.

    Parameters
    ----------
    path : str, Path or Source
        LETOR's svmlight, LF or CRLF, also as .gz, .bz2, .xz or .zip; the name of a pipe, '-' for standard input, or an
        open Source. Also a file without query ids if FILE.query or FILE.group next to it has the number of documents of
        each query, one per line (LightGBM, XGBoost; the ids are then 1 to m); Parquet with columns label, qid and
        features (a missing value is NULL); csv with such a header; a binary copy (.gkl).
        FILE.weight next to it is read if it has a weight per query or per document; otherwise a UserWarning gives the
        reason.
    null : {'error', 'zero', 'min'}
        Replacement of the token NULL; 'min' is the smallest value of the feature in the query (LETOR's min.txt), 0 if
        all are NULL.
    n_features : int or None
        Number of columns; None is the largest index. Feature k is column k-1.
    dtype : 'float32', 'float64' or None
        Type of X. None is float64, or float32 for more than 2^27 numbers (1 GiB); a copy keeps its own.
    names : (n,) or None
        Feature names of the training set; the columns of a file with names are put in their order. A column `position`
        that they lack is left out.
    position_bias : float >= 0 or None
        Weigh clicked documents by position_weights with this eta. Positions are in the column `position` or, one per
        line, in FILE.position next to the file.

    Returns
    -------
    Documents
        X is CSR if more than 256 features are stored with a density below 0.25. Values equal float(text), rounded to
        dtype; labels are float(text), or int64 if whole labels exceed 2^53.

    Raises
    ------
    DataError
        Values are missing, malformed, unsorted or infinite (as float32), there are more than n_features features, names
        are missing or unknown, or positions are missing or invalid; the message has file and line.
    ParameterError
        null, n_features, dtype or position_bias has another value.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gpukit import read_letor
    >>> _ = Path("train.txt").write_text("2 qid:7 1:0.5 2:0.1\\n0 qid:7 1:0.3 2:0.2\\n")
    >>> documents = read_letor("train.txt")
    >>> documents.X.shape, documents.y.tolist()
    ((2, 2), [2.0, 0.0])
    """
    check_choice("null", null, tuple(NULLS))
    check_choice("dtype", dtype, DTYPES)
    if n_features is not None:
        n_features = check_integer("n_features", n_features, 1)
    if position_bias is not None:
        check_real("position_bias", position_bias, 0.0)
    with sources.open_source(path, NEEDED) as source:
        documents = _read(source, NULLS[null], n_features, dtype)
        name = source.name
        weights, positions = (find_companions(source.path, suffixes) for suffixes in (WEIGHTS, POSITIONS))
    if position_bias is not None:
        documents = _weigh_clicks(documents, positions, name, position_bias)
    if names is not None and documents.names is not None:
        documents = _in_order(documents, names, name)
    else:
        documents = _widen(documents, n_features, name)
    return _add_weights(documents, weights[0], name) if weights else documents


def read_like(path, null, names, n_features):
    """Return the Documents in a file with a training set's features.

    Arguments as in read_letor; n_features may be None. Unnamed features get zero columns up to n_features; named ones
    are not filled in. A UserWarning says if only one of the two has names, so that features are matched by number.
    """
    documents = read_letor(path, null=null, names=names)
    has_names, known = (given_names(each) is not None for each in (documents.names, names))
    if has_names != known:
        whose = "the training set's features have names, and these have none" if known else "only these have names"
        warnings.warn(f"{path}: features are matched by number, in their order: {whose}.", stacklevel=2)
    return documents if documents.names is not None else _widen(documents, n_features, path)


def _read(source, null, n_features, dtype):
    """Return the Documents of an open Source; n_features: maximum or None."""
    if source.format == "gkl":
        documents = copies.read_gkl(source)
        return documents if dtype is None else _convert_dtype(documents, dtype, source.name)
    if source.format == "parquet":
        return tables.read_parquet(source, null, dtype)
    stream = source.stream()
    head = stream.text_head()
    if not _has_qids(head):
        tables.check_header(head, stream.name)
        if tables.is_csv(head):
            return tables.CsvFile(stream.whole(), stream.name, null).read(dtype)
    return _read_text(stream, find_companions(source.path, GROUPS), null, n_features, dtype)


def _convert_dtype(documents, dtype, name):
    """Return documents with X of a dtype; DataError for overflow."""
    with np.errstate(over="ignore"):
        X = documents.X.astype(dtype, copy=False)
    data = X if isinstance(X, np.ndarray) else X.data
    if X is not documents.X and not np.isfinite(data).all():
        raise DataError(f"{name} has a feature's value that is larger than {dtype} holds. Read it as float64.")
    return documents._replace(X=X)


def _in_order(documents, names, name):
    """Return documents with features in the order of names (n,), without unknown positions.

    Raises DataError for missing and unknown names.
    """
    documents, _ = take_positions(documents, names)
    places = places_of(names, documents.names, name)
    if places is None:
        return documents
    return documents._replace(X=take_columns(documents.X, places), names=documents.names[places])


def _add_weights(documents, path, name):
    """Return documents with the weights in a file, of queries or documents.

    If the file has other weights, return them unchanged with a warning.
    """
    words = _words_in(path, "a weight, a finite number from 0 up", _is_weight)
    queries, rows = len(documents.qids), len(documents.y)
    why = None
    if documents.weights is not None:
        why = f"{name} has weights of its own"
    elif len(words) not in (queries, rows):
        why = f"it has {len(words):,} values, and {name} has {queries:,} queries and {rows:,} documents"
    if why is not None:
        warnings.warn(f"{path} is not read: {why}.", stacklevel=3)
        return documents
    return documents._replace(weights=np.array(list(map(float, words))))


def _is_weight(word):
    return is_number(word, finite=False) and 0 <= float(word) < np.inf


def position_weights(y: ArrayLike, position: ArrayLike, eta: float = 1.0) -> Float64:
    """Return weights of documents that correct clicks for position bias.

    Position k is examined with propensity k^-eta. A clicked document has the inverse of its propensity, any other 1, so
    each pair of a click and a document without one has the weight of the click (Joachims, Swaminathan and Schnabel
    2017, "Unbiased learning-to-rank with biased feedback"). A pair of two clicks of different labels has the product.

    Parameters
    ----------
    y : (l,)
        Relevance; above 0 for a clicked document.
    position : (l,)
        Where the document was shown, from 1.
    eta : float >= 0
        Strength of the bias, default 1; 0: none.

    Returns
    -------
    (l,) float64
        sample_weight of RankSVM.fit.

    Raises
    ------
    DataError
        Positions below 1, or another number of them than of y.
    ParameterError
        An eta below 0.

    Examples
    --------
    >>> position_weights([1, 0, 1], [1, 2, 3])
    array([1., 1., 3.])
    """
    eta = check_real("eta", eta, 0.0)
    y, position = as_numbers("y", y), as_numbers("position", position).astype(np.float64)
    if position.shape != y.shape:
        raise DataError(f"There are {position.size:,} positions and {y.size:,} documents. Give a position for each.")
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.where(y > 0, position**eta, 1.0)
    wrong = np.flatnonzero(~((position >= 1) & np.isfinite(position + weights)))
    if len(wrong):
        value = position[wrong[0]]
        raise DataError(
            f"position[{wrong[0]}] is {value:g}. Positions count from 1, and position^{eta:g} must be finite."
        )
    return weights


def take_positions(documents, known=()):
    """Return (Documents without the column of positions, the positions (l,) or None); known: names of features."""
    names = [] if documents.names is None else documents.names.tolist()
    places = [place for place, name in enumerate(names) if normalize_name(name) == COLUMN and name not in known]
    if len(places) != 1 or len(names) == 1:
        return documents, None
    column = documents.X[:, places]
    position = (column.toarray() if hasattr(column, "indptr") else column)[:, 0]
    others = np.delete(np.arange(len(names)), places)
    return documents._replace(X=take_columns(documents.X, others), names=documents.names[others]), position


def _weigh_clicks(documents, paths, name, eta):
    """Return documents with position_weights, without a column of positions; paths: files of positions next to it."""
    documents, position = take_positions(documents)
    if position is None and not paths:
        raise DataError(
            f"{name} has no positions for position_bias (--position-bias): it needs a column {COLUMN!r}, or a file "
            f"{name}.position with the position of each document, one per line."
        )
    if position is None:
        name = paths[0]
        position = np.array([float(word) for word in _words_in(name, "a position, a number from 1 up", _is_weight)])
    if documents.weights is not None:
        raise DataError(
            f"{name} has positions and weights. position_bias (--position-bias) makes weights: leave one out."
        )
    try:
        return documents._replace(weights=position_weights(documents.y, position, eta))
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _is_count(word):
    most_digits = 18  # of a document count
    return word.isdecimal() and len(word) <= most_digits and int(word) > 0


def _words_in(path, what, is_valid):
    """Return the lines [str] of a small text file with a number per line.

    what: its name, for the DataError with the first line that is_valid rejects.
    """
    lines = decode(sources.read_whole(path, f"{what}, a line each")[1]).split("\n")
    words = [(number, word) for number, line in enumerate(lines, 1) if (word := line.strip())]
    for number, word in words:
        if not is_valid(word):
            raise DataError(f"{path}, line {number:,}: {quote(word)} is not {what}.")
    return [word for _, word in words]


def is_letor(path):
    """Return True for files that read_letor reads.

    These are a copy, query ids in the first line or columns, or FILE.query next to it. path: as in read_letor. Raises
    DataError if it cannot be opened.
    """
    with sources.open_source(path, NEEDED) as source:
        if source.format == "gkl" or find_companions(source.path, GROUPS):
            return True
        if source.format == "parquet":
            from gpukit.io.tables import Reader

            return tables.are_documents(Reader(source).names)
        head = b"" if source.compression == "zip" else source.stream().head()
        return _has_qids(head) or tables.is_csv(head)


def find_companions(path, suffixes):
    """Return the files named FILE.suffix next to path, of a packed FILE.gz or FILE.zip too.

    path: a Path or None.
    """
    if path is None:
        return []
    names = [path.name, path.stem] if path.suffix[1:].lower() in sources.PACKED else [path.name]
    files = (path.with_name(name + suffix) for suffix in suffixes for name in names)
    return [file for file in files if os.path.isfile(file)]


def _read_text(stream, groups, null, n_features, dtype):
    """Return the Documents of svmlight text; groups: count files next to it."""
    from gpukit.documents.gather import DocumentsBuilder, assemble_features

    head, unread = stream.text_head(), []
    if _has_qids(head):
        groups, unread = [], groups
    builder = DocumentsBuilder(stream, not groups, null, dtype)
    with contextlib.closing(stream.blocks(sources.count_marks(head))) as blocks:
        for block in strip_blank_end(blocks, " ", stream.name):
            builder.add(block)
    builder.finish()
    X = assemble_features(builder, _width(builder.largest, n_features, stream.name))
    offsets, qids = builder.queries() if not groups else _groups(groups, stream.name, builder.rows)
    for path in unread:
        _warn_of_other_counts(path, np.diff(offsets).tolist(), stream.name)
    if builder.nulls and null == NULL_KEPT:
        fill_nulls(X, offsets)
    return Documents(X, builder.joined_labels(), offsets, qids, builder.joined_comments())


def _has_qids(head):
    """Return True if the first line's second token begins with qid:.

    Comments are skipped.
    """
    for line in head[sources.count_marks(head) :].split(b"\n"):
        words = line.split(b"#")[0].split()
        if words:
            return len(words) > 1 and words[1].startswith(b"qid:")
    return False


def _width(width, wanted, path):
    """Return the number of columns; DataError for none, or more features than expected."""
    if not (width or wanted):
        raise DataError(f"{path} has no features: no line has an index:value. Needed: {NEEDED}.")
    if wanted is not None and width > wanted:
        raise DataError(
            f"{path} has {width:,} features where {wanted:,} are expected, those of the training set. Train "
            "on data with the same features, or leave out the others."
        )
    return wanted or width


def _widen(documents, n_features, path):
    """Return documents with zero columns up to n_features, then unnamed."""
    X = documents.X
    missing = _width(X.shape[1], n_features, path) - X.shape[1]
    if not missing:
        return documents
    if isinstance(X, np.ndarray):
        return documents._replace(X=np.pad(X, ((0, 0), (0, missing))), names=None)
    X.resize((X.shape[0], n_features))
    return documents._replace(names=None)


def _groups(paths, name, rows):
    """Return (offsets (m+1,) int64, qids 1..m) of files of document counts.

    Raises DataError if two files differ.
    """
    path, counts = paths[0], _counts(paths[0])
    differs = next((other for other in paths[1:] if _counts(other) != counts), None)
    if differs is not None:
        raise DataError(f"{path} and {differs} count different documents of queries. Remove one of them.")
    if sum(counts) != rows:
        raise DataError(
            f"{path} counts {sum(counts):,} documents in {len(counts):,} queries, but {name} has {rows:,}. "
            "One of the two belongs to another file, or is cut short."
        )
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), np.arange(1, len(counts) + 1, dtype=np.int64)


def _warn_of_other_counts(path, counts, name):
    """Warn if a file of document counts contradicts the query ids of the documents, which are used."""
    with contextlib.suppress(DataError):
        if _counts(path) == counts:
            return
    warnings.warn(f"{path} is not read: {name} has query ids, and other numbers of documents for them.", stacklevel=5)


def _counts(path):
    return list(map(int, _words_in(path, "a number of documents (1 or more, at most 18 digits)", _is_count)))
