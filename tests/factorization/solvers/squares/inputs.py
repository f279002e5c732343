"""Small awkward problems for tests of twins and kernels."""

from typing import NamedTuple

import numpy as np
from support import assert_within_budget

from factorization.solvers.squares import naive
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers import squares
from gpukit.factorization.solvers.squares import Data

OTHERS = 41
DAMPING = np.float32(2.0)
UNTOUCHED = np.float32(7.5)


class Problem(NamedTuple):
    """Rows with given numbers of ratings.

    indptr, minor, values, weights; V (N, F) and b (N,) of the other side. S (F, F): shared by the rows; decays (rows,).
    """

    indptr: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    V: np.ndarray
    b: np.ndarray
    S: np.ndarray
    decays: np.ndarray

    def ratings(self):
        """[(row, other, z, w)]."""
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        weights = np.broadcast_to(self.weights, self.values.shape)
        return list(zip(rows.tolist(), self.minor.tolist(), self.values, weights))

    @property
    def data(self):
        """arrays.Data."""
        return Data(self.minor, self.values, self.weights)


def problem(n_factors, counts, seed=0, weighted=True, shared=True):
    """Return a Problem of rows with these counts, with repeated others.

    weighted: random weights; shared: S is not zero.
    """
    rng = np.random.default_rng([seed, n_factors])
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    minor = rng.integers(0, OTHERS, indptr[-1]).astype(np.int32)
    V = rng.normal(size=(OTHERS, n_factors)) / n_factors**0.5
    numbers = rng.normal(size=indptr[-1]), rng.uniform(0.2, 3, indptr[-1]) if weighted else np.ones(1)
    others = V, 0.4 * rng.normal(size=OTHERS)
    half = 0.3 * rng.normal(size=(n_factors, n_factors)) * shared
    decays = 0.05 * np.array(counts) + 0.01 * rng.uniform(size=len(counts)) * shared
    arrays = *numbers, *others, half @ half.T / n_factors, decays
    return Problem(indptr, minor, *(np.ascontiguousarray(array, np.float32) for array in arrays))


def table_of(V, b, padded):
    """Return parameter rows (rows + 1, padded + 8), zero elsewhere."""
    table = np.zeros((len(V) + 1, padded + EXTRA), np.float32)
    table[:-1, : V.shape[1]], table[:-1, padded + BIAS] = V, b
    return table


def own_table(case, padded):
    """Return parameter rows of the side to solve for; rows without ratings must stay."""
    table = table_of(np.zeros((len(case.indptr) - 1, case.V.shape[1])), np.zeros(len(case.indptr) - 1), padded)
    table[np.flatnonzero(np.diff(case.indptr) == 0)] = UNTOUCHED
    return table


def square_of(case):
    """Return S as the CPU's Gram matrix."""
    return np.pad(case.S, (0, 2))[None]


def tiles_of(case, shape):
    """Return S as a GPU's Gram matrix (1, 64, tiles) for a squares.Shape."""
    side = 8 * shape.tile_rows
    full = np.pad(case.S, (0, side - len(case.S)))
    places = [(i, j) for j in range(shape.tile_rows) for i in range(j, shape.tile_rows)]
    tiles = [full[8 * i : 8 * i + 8, 8 * j : 8 * j + 8].reshape(64) for i, j in places]
    return np.ascontiguousarray(np.transpose(tiles), np.float32)[None]


def batch_of(case, longest, most=10**6):
    """Return (pieces, owners, decays), the only batch of a Problem's squares.Cut."""
    cut = squares.cut(case.indptr, longest, most)
    assert len(cut.ends) == 2
    return cut.pieces, cut.owners, case.decays[cut.owners[:, 0]]


def assert_solved(case, table, padded, biased=True):
    """Check a table within the error budget; empty rows are unchanged."""
    F = case.V.shape[1]
    facts = case.ratings(), case.V, case.b, case.S, case.decays, DAMPING
    exact, plain = (np.column_stack(naive.half_step(*facts, dtype, biased)) for dtype in (np.float64, np.float32))
    rated = np.diff(case.indptr) > 0
    found = np.column_stack((table[:-1, :F], table[:-1, padded + BIAS]))
    assert_within_budget(found[rated], plain[rated], exact[rated], 4)
    assert (table[:-1][~rated] == UNTOUCHED).all() and not table[-1].any()
    assert not table[:-1][rated][:, F:padded].any()
