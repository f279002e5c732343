"""Judges of tables by the docstrings of Ratings, Documents and GraphTensor, with numpy only.

A judge returns None, or one line that describes the fault.
"""

import re

import numpy as np

WORDS = re.compile(rb"[^\s,;|:\"]+")
COMMAS = re.compile(rb"(?<![^;|\s\"])[^;|\s\",]*,[^;|\s\",]*(?![^;|\s\"])")  # 3,5 with other field separators


def ratings(answer, files):
    """Judge the columns of Ratings, and the parts of csr and csc.

    Columns: users, items, values, user_ids, item_ids, times, weights, counts.
    """
    users, items, values = answer["users"], answer["items"], answer["values"]
    n, shape = len(values), (len(answer["user_ids"]), len(answer["item_ids"]))
    return (
        _vector("users", users, n, "i4")
        or _vector("items", items, n, "i4")
        or _vector("values", values, n, "f4")
        or _optional("times", answer["times"], n, ("i8",))
        or _optional("weights", answer["weights"], n, ("f4",))
        or _optional("counts", answer["counts"], n, ("i4", "f4"))
        or _rows("users", users, shape[0])
        or _rows("items", items, shape[1])
        or _ids("user_ids", answer["user_ids"])
        or _ids("item_ids", answer["item_ids"])
        or (None if np.isfinite(values).all() else "a rating is not finite")
        or _compressed("csr", answer, users, items, values, shape)
        or _compressed("csc", answer, items, users, values, shape[::-1])
    )


def _vector(name, array, n, dtype):
    if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != np.dtype(dtype):
        return f"{name} is {getattr(array, 'dtype', type(array))} {np.shape(array)}, not {dtype} ({n},)"
    return None


def _optional(name, array, n, dtypes):
    if array is None:
        return None
    if array.dtype not in [np.dtype(dtype) for dtype in dtypes] or array.shape != (n,):
        return f"{name} is {array.dtype} {array.shape}"
    if name != "times" and not (np.isfinite(array) & (array >= 0)).all():
        return f"{name} are not finite and 0 or more"
    return None


def _rows(name, rows, count):
    return None if not len(rows) or (rows.min() >= 0 and rows.max() < count) else f"{name} are not rows of 0 to {count}"


def _ids(name, ids):
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        return f"{name} is {ids.dtype} {ids.shape}"
    return None if len(set(ids.tolist())) == len(ids) else f"{name} are not each once"


def _compressed(name, answer, rows, columns, values, shape):
    """The table as csr (or, transposed, csc): by rows, each row's columns ascending."""
    order = np.lexsort((columns, rows))
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.add.at(indptr, rows + 1, 1)
    expected = np.cumsum(indptr), columns[order], values[order]
    for part, wanted in zip(("indptr", "indices", "values"), expected):
        found = answer[f"{name}_{part}"]
        if not np.array_equal(found, wanted):
            return f"{name}: {part} is {found[:8]}, not {wanted[:8]}"
    return None


def distinct(answer, files):
    """Pairs are distinct. Binary copies are exempt, because the check takes longer than reading."""
    pairs = set(zip(answer["users"].tolist(), answer["items"].tolist()))
    return None if len(pairs) == len(answer["users"]) else "a pair stands in the table twice"


def spelled(answer, files):
    """Ids and ratings of a table read from text are in the text, ids sorted.

    Pairs without ratings have ones, and counts.
    """
    text = b"\n".join(files.values())
    shown = text.decode("utf-8", "replace") + text.decode("latin-1") + text.decode("cp1252", "replace")
    for name in ("user_ids", "item_ids"):
        if answer[name].tolist() != sorted(answer[name].tolist()):
            return f"{name} are not sorted"
        for one in answer[name].tolist():
            if str(one) not in shown and str(one).replace('"', '""') not in shown:
                return f"{name} has {one!r}, which is not in the file"
    if answer["counts"] is not None and (answer["values"] == 1).all():
        return None if (answer["counts"] >= 0).all() else "a count is below 0"
    return None if numbers_stand_in(answer["values"], text) else "a rating is not in the file"


def numbers_stand_in(values, text):
    """Return True if each value is float32(float(word)) of a word.

    The word is in the text, or a part of a quoted one.
    """
    known = set()
    text = text.replace(b"\0", b" ")
    for word in WORDS.findall(text) + pointed(text):
        try:
            known.add(np.float32(float(word.decode("utf-8", "replace"))).tobytes())
        except (ValueError, OverflowError):
            continue
    return all(value.tobytes() in known for value in np.unique(values.astype(np.float32)))


def pointed(text):
    """Return the numbers in a text that have decimal commas, with points."""
    return [word.replace(b",", b".") for word in COMMAS.findall(text)]


FEATURES, FIELDS = rb":([^ \t\n:#]+)", rb"[^,;\t \r\n\"]+"  # words after a colon; between separators


def features_stand_in(values, text, words=FEATURES):
    """Return True if each value is float(word) of the text's words.

    A regular expression finds the words.
    """
    known = set()
    for word in re.findall(words, text) + pointed(text):
        try:
            value = float(word.decode("utf-8", "replace"))
            known |= {value, float(np.float32(value))}
        except (ValueError, OverflowError):
            continue
    return all(float(value) in known for value in values)


def pairs(answer, files):
    """Judge an answer: users, items: ids, one of each per pair."""
    users, items = answer["users"], answer["items"]
    if users.ndim != 1 or users.shape != items.shape or not len(users):
        return f"{users.shape} users and {items.shape} items"
    if users.dtype.kind not in "iU" or items.dtype.kind not in "iU":
        return f"ids of {users.dtype} and {items.dtype}"
    text = b"\n".join(files.values())
    shown = text.decode("utf-8", "replace") + text.decode("latin-1") + text.decode("cp1252", "replace")
    strange = [one for one in {*users.tolist(), *items.tolist()} if str(one) not in shown]
    return f"{strange[0]!r} is not in the file" if strange else None


def titles(answer, files):
    """Judge an answer: ids, titles: lists."""
    ids, words = answer["ids"], answer["titles"]
    if not ids or len(ids) != len(words):
        return f"{len(ids)} ids and {len(words)} titles"
    if not all(isinstance(word, str) and word for word in words):
        return "a title is empty"
    if {type(one) for one in ids} not in ({int}, {str}):
        return "ids of both kinds"
    return None


def categories(answer, files):
    """Judge an answer: categories and items, lists of words of the file.

    There are no categories if only items were read.
    """
    words = [*answer["categories"], *answer["items"]]
    if not answer["items"] or not all(isinstance(word, str) and word for word in words):
        return f"{len(answer['items'])} items, or an empty word"
    text = b"\n".join(files.values())
    shown = text.decode("utf-8", "replace") + text.decode("latin-1") + text.decode("cp1252", "replace")
    strange = [word for word in words if word not in shown and '"' not in shown]
    return f"{strange[0]!r} is not in the file" if strange else None


def documents(answer, files):
    """Judge an answer: X or data, indices, indptr; shape; y, offsets, qids, comments, weights."""
    (l, n), y, offsets, qids = answer["shape"], answer["y"], answer["offsets"], answer["qids"]
    m = len(qids)
    fitting = (
        (isinstance(y, np.ndarray) and y.dtype == np.float64 and y.shape == (l,), "y"),
        (l > 0 and n >= 0, "the shape"),
        (offsets.dtype == np.int64 and offsets.shape == (m + 1,), "offsets"),
        (qids.ndim == 1 and qids.dtype.kind in "iuU", "qids"),
    )
    for good, name in fitting:
        if not good:
            return f"{name} is not as said: {l} documents of {n} features, {m} queries"
    if offsets[0] != 0 or offsets[-1] != l or (np.diff(offsets) < 1).any():
        return f"offsets do not rise from 0 to {l}"
    if len(set(qids.tolist())) < m:
        return "a query id comes twice"
    if not np.isfinite(y).all():
        return "a relevance is not finite"
    for name, shapes in (("comments", [(l,)]), ("weights", [(m,), (l,)])):
        if answer[name] is not None and answer[name].shape not in shapes:
            return f"{name} are {answer[name].shape}"
    if answer["weights"] is not None and not (np.isfinite(answer["weights"]) & (answer["weights"] >= 0)).all():
        return "a weight is not finite and 0 or more"
    return _features(answer, l, n)


def _features(answer, l, n):
    if "X" in answer:
        X = answer["X"]
        if X.shape != (l, n) or X.dtype not in (np.float32, np.float64) or not X.flags.c_contiguous:
            return f"X is {X.dtype} {X.shape}"
        return None if np.isfinite(X).all() else "a feature is not finite"
    return csr("X", answer["data"], answer["indices"], answer["indptr"], (l, n))


def csr(name, data, indices, indptr, shape):
    """Judge a compressed matrix: pointers from 0, indices in range, finite.

    Columns may repeat, as in scipy's.
    """
    if indptr.shape != (shape[0] + 1,) or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        return f"{name}: indptr does not rise from 0"
    stored = int(indptr[-1])
    if len(data) < stored or len(indices) < stored:
        return f"{name}: indptr goes to {stored}, beyond {len(data)} values and {len(indices)} indices"
    if stored and (indices[:stored].min() < 0 or indices[:stored].max() >= shape[1]):
        return f"{name}: indices are not below {shape[1]}"
    return None if np.isfinite(data[:stored]).all() else f"{name}: a value is not finite"


def graph(answer, files):
    """Judge adjacency, dense (N, N); tensor, mask, vertices, truth, times; fourier: the smallest eigenvalues."""
    A, tensor, mask = answer["adjacency"], answer["tensor"], answer["mask"]
    N = len(A)
    if A.shape != (N, N) or A.dtype != np.float64 or not np.array_equal(A, A.T):
        return "the adjacency is not square and symmetric"
    if not np.isfinite(A).all() or (A < 0).any() or np.diag(A).any() or not A.any():
        return "the adjacency has weights that are negative, not finite, on the diagonal, or none at all"
    if tensor.ndim != 3 or len(tensor) != N or tensor.dtype not in (np.float32, np.float64) or 0 in tensor.shape:
        return f"the tensor is {tensor.dtype} {tensor.shape} on {N} vertices"
    if mask.dtype != bool or mask.shape not in ((N,), tensor.shape):
        return f"the mask is {mask.dtype} {mask.shape}"
    seen = mask if mask.ndim == 3 else mask[:, None, None] & np.ones(tensor.shape, bool)
    if not np.isfinite(tensor).all() or tensor[~seen].any() or not seen.any():
        return "the tensor is not finite, not 0 where it is missing, or all missing"
    vertices, truth, times = answer["vertices"], answer["truth"], answer["times"]
    if vertices is not None and (vertices.shape != (N,) or len(set(vertices.tolist())) < N):
        return f"vertices are {vertices.shape}, or not each once"
    if truth is not None and (truth.shape != tensor.shape or truth.dtype != tensor.dtype):
        return f"the truth is {truth.dtype} {truth.shape}, the tensor {tensor.dtype} {tensor.shape}"
    if times is not None and (times.dtype != np.int64 or times.shape not in (tensor.shape[2:], tensor.shape[1:])):
        return f"times are {times.dtype} {times.shape}"
    return None
