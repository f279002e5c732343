"""Kernels of least squares against the oracle, and the host steps of the GPU."""

import numpy as np
import pytest
from support import launch, launch_repeatably

from factorization.solvers.squares.inputs import (
    DAMPING,
    assert_solved,
    batch_of,
    own_table,
    problem,
    table_of,
    tiles_of,
)

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda
from gpukit.factorization.solvers import gpu, squares
from gpukit.factorization.solvers.squares import Data
from gpukit.factorization.solvers.squares_kernels import (
    as_matrix,
    make_gram_of_pieces,
    make_solve_by_cholesky,
    sum_of_grams,
)

COUNTS = (0, 1, 2, 33, 0, 70)


def grams_of(case, pieces, shape, padded, biased=True):
    """Return (pieces, 64, tiles) by the kernel."""
    grams = np.full((len(pieces), 64, shape.tiles), np.nan, np.float32)
    table = table_of(case.V, case.b, padded)
    grid = max(1, len(pieces) - 1), shape.groups
    kernel = make_gram_of_pieces(*shape)
    launch_repeatably(kernel, grid, shape.threads, pieces, *case.data, table, biased, grams)
    return grams


SIZES = [(1, 4, 100), (3, 4, 20), (8, 32, 100), (33, 36, 40), (62, 64, 100)]


@pytest.mark.parametrize("n_factors, padded, longest", SIZES)
def test_rows_are_solved(n_factors, padded, longest):
    """Rows in one piece and in several; fewer blocks than rows.

    With a single tile, several slices of a warp, one warp, two warps.
    """
    counts = COUNTS if n_factors < 60 else (1, 0, 6)
    case, shape = problem(n_factors, counts), squares.shape_of(n_factors)
    pieces, owners, decays = batch_of(case, longest)
    grams, own = grams_of(case, pieces, shape, padded), own_table(case, padded)
    kernel = make_solve_by_cholesky(*shape[:3], shape.whole)
    solver = owners, grams, tiles_of(case, shape), decays, DAMPING, own
    launch_repeatably(kernel, max(1, len(owners) - 1), shape.whole, *solver)
    assert_solved(case, own, padded)


def test_without_biases():
    case, shape = problem(5, (3, 9)), squares.shape_of(5)
    case = case._replace(b=np.zeros_like(case.b))
    pieces, owners, decays = batch_of(case, 100)
    grams, own = grams_of(case, pieces, shape, 8, False), own_table(case, 8)
    solver = owners, grams, tiles_of(case, shape), decays, DAMPING, own
    launch(make_solve_by_cholesky(*shape[:3], shape.whole), 1, shape.whole, *solver)
    assert_solved(case, own, 8, biased=False)


def test_several_blocks_share_a_matrix():
    """More tiles than threads of a block: every number of the Gram matrix."""
    n_factors = 180
    case, shape = problem(n_factors, (2,), weighted=False), squares.shape_of(n_factors)
    assert shape.groups == 2
    grams = grams_of(case, batch_of(case, 9)[0], shape, n_factors)
    rows = np.zeros((2, 8 * shape.tile_rows))
    rows[:, :n_factors], rows[:, n_factors] = case.V[case.minor], 1
    rows[:, n_factors + 1] = case.values - case.b[case.minor]
    expected = rows.T @ rows
    places = [(i, j) for j in range(shape.tile_rows) for i in range(j, shape.tile_rows)]
    for tile, (i, j) in enumerate(places):
        square = expected[8 * i : 8 * i + 8, 8 * j : 8 * j + 8]
        np.testing.assert_allclose(grams[0, :, tile].reshape(8, 8), square, atol=1e-5)


@pytest.mark.parametrize("n_factors, padded", [(3, 4), (14, 16)])
def test_sums_over_a_table(n_factors, padded):
    case, shape = problem(n_factors, (1,)), squares.shape_of(n_factors)
    rows, zero = np.arange(41, dtype=np.int32), np.zeros(1, np.float32)
    case = case._replace(minor=rows, values=zero, weights=np.array([0.3], np.float32), b=np.zeros_like(case.b))
    grams = grams_of(case, squares.cut(np.array([0, len(rows)]), 9, 1).pieces, shape, padded, False)
    total, matrix = np.empty((1, *grams.shape[1:]), np.float32), np.full((padded, padded), np.nan, np.float32)
    launch_repeatably(sum_of_grams, 2, 32, grams, total)
    launch_repeatably(as_matrix, 2, 32, total, matrix)
    V = case.V.astype(float)
    np.testing.assert_allclose(matrix[:n_factors, :n_factors], 0.3 * V.T @ V, atol=2e-6)
    assert not matrix[n_factors:].any() and not matrix[:, n_factors:].any()


def on_gpu(arrays):
    return [cuda.to_device(array) for array in arrays]


def test_the_host_steps():
    case = problem(6, (0, 3, 12), shared=False)
    batch, data = on_gpu(batch_of(case, 5)), Data(*on_gpu(case.data))
    own, other = on_gpu((own_table(case, 8), table_of(case.V, case.b, 8)))
    equations = squares.Equations(gpu, 6, 9, True, DAMPING)
    equations.solve_batch(batch, data, other, equations.nothing(), own)
    assert_solved(case, own.copy_to_host(), 8)
    every = on_gpu((np.array([[0, 0, 20], [0, 20, 21]]), np.arange(41, dtype=np.int32), *np.float32([[0], [2]])))
    made = equations.matrix(equations.sums(every[0], every[1:], other), 8).copy_to_host()
    np.testing.assert_allclose(made[:6, :6], 2 * case.V.T @ case.V, atol=2e-5)
