"""Small awkward problems that the twin tier and the kernel tier share."""

from typing import NamedTuple

import numpy as np
from support import assert_within_budget

from factorization.als import naive
from gpukit.factorization import cpu
from gpukit.factorization.arrays import Side
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.als import plan
from gpukit.factorization.solvers.als.training import UNIT, Weights, weighted

OTHERS = 41
WEIGHTS = Weights(np.float32(0.05), np.float32(2.0), 200, np.float32(1e-7))
UNTOUCHED = np.float32(7.5)


class Problem(NamedTuple):
    """Rows with so many ratings each, in some order: indptr, minor, values; the other side's V (N, F) and b (N,);
    weights (n,) of the ratings, or None."""

    indptr: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    V: np.ndarray
    b: np.ndarray
    weights: np.ndarray | None = None

    def ratings(self):
        """[(row, other, z, weight)]."""
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        weights = np.ones(len(rows), np.float32) if self.weights is None else self.weights
        return list(zip(rows.tolist(), self.minor.tolist(), self.values, weights))


def problem(n_factors, counts, seed=0):
    """A Problem of rows with so many ratings, of others that may come twice."""
    rng = np.random.default_rng([seed, n_factors])
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    minor = rng.integers(0, OTHERS, indptr[-1]).astype(np.int32)
    V = rng.normal(size=(OTHERS, n_factors)) / n_factors**0.5
    numbers = rng.normal(size=indptr[-1]), V, 0.4 * rng.normal(size=OTHERS)
    return Problem(indptr, minor, *(np.ascontiguousarray(array, np.float32) for array in numbers))


def weighed(case, longest):
    """((pieces, owners), arrays.Side, Weights) of a Problem whose ratings count differently, made as training makes
    them; the Problem."""
    weights = np.random.default_rng(7).uniform(0.01, 3, len(case.minor)).astype(np.float32)
    cut = plan.cut(case.indptr, longest, 10**6)
    side = Side(case.indptr, case.indptr, case.minor, case.values, None, None, None, weights)
    cut, side = weighted(cut, side, cpu.preparing)
    unit = WEIGHTS._replace(decay=np.float32(WEIGHTS.decay / UNIT))
    return (cut.pieces, cut.owners), side, unit, case._replace(weights=weights)


def table_of(V, b, padded):
    """(rows + 1, padded + 8) parameter rows, zero where there is nothing."""
    table = np.zeros((len(V) + 1, padded + EXTRA), np.float32)
    table[:-1, : V.shape[1]], table[:-1, padded + BIAS] = V, b
    return table


def own_table(case, padded):
    """Parameter rows of the side to be solved for, with numbers that stay where nothing is known."""
    table = table_of(np.zeros((len(case.indptr) - 1, case.V.shape[1])), np.zeros(len(case.indptr) - 1), padded)
    table[np.flatnonzero(np.diff(case.indptr) == 0)] = UNTOUCHED
    return table


def pieces_and_owners(case, longest, most=10**6):
    """The only batch of a Problem's plan.Cut."""
    cut = plan.cut(case.indptr, longest, most)
    assert len(cut.ends) == 2
    return cut.pieces, cut.owners


def assert_solved(case, table, padded, biased=True, within=0.0):
    """The table within the error budget of the oracle's, and `within` of its largest number; rows without ratings as
    they were."""
    F, rows = case.V.shape[1], len(case.indptr) - 1
    facts = case.ratings(), case.V, case.b, WEIGHTS.decay, WEIGHTS.damping
    exact, plain = (np.column_stack(naive.half_step(rows, *facts, dtype, biased)) for dtype in (np.float64, np.float32))
    rated = np.diff(case.indptr) > 0
    found = np.column_stack((table[:-1, :F], table[:-1, padded + BIAS]))
    assert_within_budget(found[rated], plain[rated], exact[rated], 4 + within / 2.0**-23)
    assert (table[:-1][~rated] == UNTOUCHED).all() and not table[-1].any()
    assert not table[:-1][rated][:, F:padded].any()
