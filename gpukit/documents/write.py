"""Write documents as svmlight text, rows on all cores.

Each value is the shortest text that restores the number.
"""

import re

import numpy as np

from gpukit._jit import njit
from gpukit.documents.decimals import POWERS
from gpukit.errors import DataError
from gpukit.io.records import SHOWN, check_ids, check_word
from gpukit.scheduler import by_block

ROWS = 4096  # per write
SMALLEST, LARGEST, DECIMALS = 1e-10, 1e9, 18  # range and maximum decimals of `_spell`
WIDEST = 23  # characters: sign, zero, point, decimals
INDEX = 11  # characters of an index and its colon
LOST_IN_ID, LOST_IN_COMMENT = re.compile(r"[ \t\r\n#]"), re.compile(r"[\r\n]|^[ \t]|[ \t]$")


def check_text(documents):
    """Raise DataError for query ids or comments that text cannot restore.

    svmlight text has no quotes.
    """
    check_ids(documents.qids, "The query id")
    comments = () if documents.comments is None else filter(None, documents.comments.tolist())
    for word in comments:
        check_word(word, "The comment")
        _refuse_lost(word, LOST_IN_COMMENT, "The comment")
    for word in documents.qids.tolist() if documents.qids.dtype.kind == "U" else ():
        _refuse_lost(word, LOST_IN_ID, "The query id")


def _refuse_lost(word, lost, what):
    found = lost.search(word)
    if found is not None:
        raise DataError(
            f"{what} {word[:SHOWN]!r} contains {found[0]!r} where svmlight text cannot hold it. Rename it, or write "
            ".gkl or .parquet."
        )


def write_text(documents, file):
    """Write Documents to a binary file, one line `relevance qid:ID 1:value ... #comment` each."""
    labels = _spelled_labels(documents.y)
    qids = np.repeat(documents.qids.astype(str), np.diff(documents.offsets))
    comments = documents.comments
    for start in range(0, len(labels), ROWS):
        rows = slice(start, min(start + ROWS, len(labels)))
        ends = (
            [f" #{comment}\n" if comment else "\n" for comment in comments[rows].tolist()]
            if comments is not None
            else ["\n"] * (rows.stop - start)
        )
        heads = [f"{label} qid:{qid}" for label, qid in zip(labels[rows], qids[rows].tolist(), strict=True)]
        bodies = _features(documents.X, rows)
        file.write("".join([part for line in zip(heads, bodies, ends, strict=True) for part in line]).encode())


def _spelled_labels(y):
    """Return labels as [str], integers without a point."""
    different, which = np.unique(y, return_inverse=True)
    spelled = np.array([str(int(value)) if value == int(value) else repr(value) for value in different.tolist()])
    return spelled[which].tolist()


def _features(X, rows):
    """Return the text ` 1:value 2:value` of each row, [str]."""
    if isinstance(X, np.ndarray):
        part = np.ascontiguousarray(X[rows])
        counts, n = np.full(len(part), part.shape[1]), part.shape[1]
        values, columns, indptr = part.ravel(), np.tile(np.arange(n), len(part)), np.arange(0, part.size + 1, max(n, 1))
    else:
        part = X[rows].sorted_indices()
        values, columns, indptr = part.data, part.indices.astype(np.int64), part.indptr.astype(np.int64)
        counts = np.diff(indptr)
    room = np.concatenate(([0], np.cumsum(counts * (WIDEST + INDEX + 1))))
    letters, lengths = np.empty(int(room[-1]), dtype=np.uint8), np.empty(len(counts), dtype=np.int64)
    spell(values, columns, indptr, room, values.dtype == np.float32, letters, lengths)
    raw = letters.tobytes()
    return [
        raw[at : at + length].decode("ascii") if length >= 0 else _plainly(values[a:b], columns[a:b])
        for at, length, a, b in zip(room.tolist(), lengths.tolist(), indptr.tolist(), indptr[1:].tolist())
    ]


def _plainly(values, columns):
    """Return the features of a row that `spell` skipped."""
    words = [str(value).removesuffix(".0") for value in values]
    return "".join(f" {column + 1}:{word}" for column, word in zip(columns.tolist(), words, strict=True))


@by_block(lambda lengths: len(lengths))
def spell(start, stop, values, columns, indptr, room, single, letters, lengths):
    """Write each row's text into letters from room[row] on.

    lengths (rows,): length of the text, or -1 for a skipped row, which has a value without a plain decimal of moderate
    length. single: True if values (stored,) are float32.
    """
    for row in range(start, stop):
        at = room[row]
        for k in range(indptr[row], indptr[row + 1]):
            letters[at] = 32
            at = _integer(letters, at + 1, columns[k] + 1)
            letters[at] = 58  # the colon
            end = _spell(letters, at + 1, values[k], single)
            at = max(end, at)
            if end < 0:
                at = np.int64(-1)
                break
        lengths[row] = at - room[row] if at >= 0 else -1


@njit
def _spell(letters, at, value, single):
    """Write a value's shortest decimal; return its end or -1.

    single: the value is a float32.
    """
    size = np.float64(abs(value))
    if not (size == 0.0 or SMALLEST <= size < LARGEST):
        return np.int64(-1)
    if np.signbit(value):
        letters[at] = 45
        at += 1
    for decimals in range(DECIMALS + 1):
        mantissa = np.rint(size * POWERS[decimals])
        found = mantissa / POWERS[decimals]
        if found == size or (single and np.float32(found) == np.float32(size)):
            break
    else:
        return np.int64(-1)
    whole = np.int64(mantissa) // np.int64(POWERS[decimals])
    at = _integer(letters, at, whole)
    if decimals == 0:
        return at
    letters[at] = 46
    rest = np.int64(mantissa) - whole * np.int64(POWERS[decimals])
    for place in range(decimals):
        letters[at + decimals - place] = np.uint8(48 + rest % 10)
        rest //= 10
    return at + decimals + 1


@njit
def _integer(letters, at, value):
    """Write a natural number; return its end."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for place in range(digits):
        letters[at + digits - 1 - place] = np.uint8(48 + value % 10)
        value //= 10
    return at + digits
