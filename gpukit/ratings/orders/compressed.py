"""Ratings grouped by row on the host: compressed rows, in the order that scipy knows. O(n), a counting sort."""

import numpy as np

from gpukit._jit import njit
from gpukit.io import trust


@njit
def _starts(rows, n_rows):
    """indptr (n_rows+1,) int64: where each row starts when rows (n,) are grouped."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    for row in rows:
        indptr[row + 1] += 1
    for row in range(n_rows):
        indptr[row + 1] += indptr[row]
    return indptr


@njit
def _grouped(rows, indptr, order):
    """Fill order (n,) integers: positions of the ratings grouped by row, in input order within a row."""
    cursor = indptr[:-1].copy()
    for at in range(len(rows)):
        order[cursor[rows[at]]] = at
        cursor[rows[at]] += 1


@njit
def _compress(rows, columns, values, order, indptr, indices, ordered):
    """Fill indices and ordered (n,), grouped by row: order visits the ratings by ascending column."""
    cursor = indptr[:-1].copy()
    for at in order:
        place = cursor[rows[at]]
        cursor[rows[at]] += 1
        indices[place] = columns[at]
        ordered[place] = values[at]


def grouped(rows, n_rows):
    """(indptr (n_rows+1,) int64, order (n,) int32 or int64): where each row starts, and its ratings in input order."""
    order = np.empty(len(rows), dtype=np.int32 if len(rows) < 2**31 else np.int64)
    indptr = _starts(rows, n_rows)
    _grouped(rows, indptr, order)
    return indptr, order


def compressed_rows(rows, columns, values, n_rows, n_columns):
    """(indptr (n_rows+1,) int64, indices (n,) int32, values (n,) float32) with each row's columns ascending.

    Pairs that occur twice stay, in their order in the input. Raises DataError for what is no row or no column.
    """
    for what, numbers, size in (("row numbers", rows, n_rows), ("column numbers", columns, n_columns)):
        trust.check_indices(what, numbers, len(values), size)
    indices, ordered = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.float32)
    indptr = _starts(rows, n_rows)
    _compress(rows, columns, values, grouped(columns, n_columns)[1], indptr, indices, ordered)
    return indptr, indices, ordered
