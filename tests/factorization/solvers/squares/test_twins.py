"""Normal equations on the CPU against the oracle; plans; whole half epochs in batches."""

import numpy as np
import pytest
from support import thinned

from factorization.solvers.squares.inputs import (
    DAMPING,
    assert_solved,
    batch_of,
    own_table,
    problem,
    square_of,
    table_of,
)
from gpukit.factorization.solvers import cpu, squares
from gpukit.factorization.solvers.squares_formulas import inverse_pivot, quotient

COUNTS = (0, 1, 2, 33, 0, 300, 7, 16, 0)


def solved(case, batches, n_factors, biased=True, damping=DAMPING):
    """Return the table of the rows' side after all batches."""
    own, other = own_table(case, n_factors), table_of(case.V, case.b, n_factors)
    equations = squares.Equations(cpu, n_factors, max(len(pieces) for pieces, *_ in batches), biased, damping)
    for batch in batches:
        equations.solve_batch(batch, case.data, other, square_of(case), own)
    return own


@pytest.mark.parametrize("n_factors, longest", thinned([1, 3, 32, 33, 133, 265], [1000, 40], share=2))
def test_rows_are_solved(n_factors, longest):
    """In one piece and in several; by elimination."""
    case = problem(n_factors, COUNTS)
    assert_solved(case, solved(case, [batch_of(case, longest)], n_factors), n_factors)


def test_without_biases():
    case = problem(5, COUNTS)
    case = case._replace(b=np.zeros_like(case.b))
    assert_solved(case, solved(case, [batch_of(case, 50)], 5, False), 5, biased=False)


def test_one_number_holds_for_all():
    """A common weight, and a common value."""
    case = problem(6, COUNTS, weighted=False)
    assert_solved(case, solved(case, [batch_of(case, 50)], 6), 6)
    alike = case._replace(values=np.full_like(case.values, 0.5))
    one = solved(alike._replace(values=alike.values[:1]), [batch_of(case, 50)], 6)
    np.testing.assert_array_equal(one, solved(alike, [batch_of(case, 50)], 6))


def test_what_nothing_tells_stays_zero():
    """Undetermined unknowns are 0.

    Without regularization a row with fewer ratings than factors has many solutions.
    """
    case = problem(4, (1, 2), weighted=False, shared=False)
    batch = *batch_of(case, 50)[:2], np.zeros(2, np.float32)
    own = solved(case, [batch], 4, damping=np.float32(0))
    assert np.isfinite(own).all()
    for row, other, z, _ in case.ratings():
        assert own[row, :4] @ case.V[other] + own[row, 4] + case.b[other] == pytest.approx(z, abs=2e-3)


def test_batches_solve_the_same_rows():
    """Bit-identical to one batch."""
    case = problem(6, COUNTS)
    whole = solved(case, [batch_of(case, 40)], 6)
    cut = squares.cut(case.indptr, 40, 3)
    assert len(cut.ends) > 3
    parts = squares.batches_of(cut, case.decays[cut.owners[:, 0]], cpu)
    np.testing.assert_array_equal(solved(case, parts, 6), whole)


@pytest.mark.parametrize("n_factors, longest", [(3, 7), (9, 1000)])
def test_sums_over_a_table(n_factors, longest):
    """The Gram matrix of all rows, times a weight, in pieces.

    As a full matrix it has zeros beyond the factors.
    """
    case, rows = problem(n_factors, (1,)), np.arange(41, dtype=np.int32)
    pieces = squares.cut(np.array([0, len(rows)]), longest, 1).pieces
    equations, weight = squares.Equations(cpu, n_factors, len(pieces)), np.array([0.3], np.float32)
    data = case.data._replace(minor=rows, values=np.zeros(1, np.float32), weights=weight)
    made = equations.matrix(equations.sums(pieces, data, table_of(case.V, case.b, n_factors)), n_factors + 2)
    V = case.V.astype(float)
    np.testing.assert_allclose(made[:n_factors, :n_factors], 0.3 * V.T @ V, atol=2e-6)
    assert not made[n_factors:].any() and not made[:, n_factors:].any()


@pytest.mark.parametrize("longest, most", [(1, 1), (7, 5), (40, 3), (1000, 1000)])
def test_every_rating_is_in_one_piece(longest, most):
    case = problem(2, COUNTS)
    cut = squares.cut(case.indptr, longest, most)
    places = np.concatenate([np.arange(first, first + length) for _, first, length in cut.pieces])
    np.testing.assert_array_equal(places, np.arange(case.indptr[-1]))
    assert 0 < cut.pieces[:, 2].min() and cut.pieces[:, 2].max() <= longest
    assert cut.owners[:, 0].tolist() == np.flatnonzero(COUNTS).tolist()
    assert cut.ends[0].tolist() == [0, 0] and cut.ends[-1].tolist() == [len(cut.pieces), len(cut.owners)]
    for (piece, owner), (last_piece, last_owner) in zip(cut.ends, cut.ends[1:]):
        mine = cut.owners[owner:last_owner]
        assert last_piece - piece <= max(most, mine[:, 2].max()) and mine[:, 2].sum() == last_piece - piece
        for row, first, pieces, count in mine.tolist():
            own = cut.pieces[piece + first : piece + first + pieces]
            assert (own[:, 0] == row).all() and own[:, 2].sum() == count == COUNTS[row]
    assert cut.largest == np.diff(cut.ends[:, 0]).max()


def test_registers_of_a_block():
    """Warps are distributed over the four parts of a multiprocessor.

    Each part has 16,384 registers.
    """
    for threads in range(32, 1025, 32):
        registers, warps = squares.registers_of(threads), -(-threads // 32)
        assert -(-warps // 4) * 32 * registers <= 16384 and registers % 8 == 0
    assert squares.registers_of(576) == 96 and squares.registers_of(352) == 128


def test_shapes():
    """Tiles of every thread, slices of a warp, memory of a block."""
    for n_factors in range(1, 1025):
        shape = squares.shape_of(n_factors)
        assert 8 * shape.tile_rows >= 4 * shape.quads + 2 >= n_factors + 2
        assert shape.tiles * shape.slices <= shape.threads * shape.groups and shape.threads % 32 == 0
        assert shape.threads <= 256 and (shape.slices == 1 or shape.threads == 32)
        assert shape.staged * (8 * shape.tile_rows + 4) * 4 <= 40 << 10
        assert n_factors > squares.MOST_FACTORS or shape.tiles <= shape.whole <= 640
    assert squares.MOST_FACTORS == 260


def test_formulas():
    assert inverse_pivot(np.float32(4), np.float32(9)) == 0.5
    assert inverse_pivot(np.float32(1e-8), np.float32(1)) == inverse_pivot(np.float32(-1), np.float32(0)) == 0
    assert quotient(np.float32(3), np.float32(2)) == 1.5 and quotient(np.float32(3), np.float32(0)) == 0
    subnormal = np.float32(1e-39)  # a GPU's reciprocal of it is infinite
    assert quotient(subnormal, subnormal) == inverse_pivot(subnormal, np.float32(0)) == 0
