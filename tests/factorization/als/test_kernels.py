"""The kernels of alternating least squares against the oracle, and the host steps of the GPU."""

import numpy as np
import pytest
from support import launch, launch_repeatably

from factorization.als.inputs import WEIGHTS, assert_solved, own_table, pieces_and_owners, problem, table_of, weighed
from gpukit.factorization.arrays import Side

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda
from gpukit.factorization.solvers.als import gpu, plan
from gpukit.factorization.solvers.als.kernels.cholesky import make_solve_by_cholesky
from gpukit.factorization.solvers.als.kernels.gradients import THREADS, make_solve_by_gradients
from gpukit.factorization.solvers.als.kernels.gram import make_gram_of_pieces

COUNTS = (0, 1, 2, 33, 0, 70)


def grams_of(case, pieces, shape, padded, biased=True, values=None):
    """(pieces, 64, tiles) by the kernel."""
    values = case.values if values is None else values
    grams = np.full((len(pieces), 64, shape.tiles), np.nan, np.float32)
    table = table_of(case.V, case.b, padded)
    grid = max(1, len(pieces) - 1), shape.groups
    kernel = make_gram_of_pieces(*shape)
    launch_repeatably(kernel, grid, shape.threads, pieces, case.minor, values, table, biased, grams)
    return grams


SIZES = [(1, 4, 100), (3, 4, 20), (8, 32, 100), (33, 36, 40), (62, 64, 100)]


@pytest.mark.parametrize("n_factors, padded, longest", SIZES)
def test_rows_are_solved(n_factors, padded, longest):
    """One tile, several slices of a warp, a warp, two warps; rows in one piece and in several; one block less than
    rows."""
    counts = COUNTS if n_factors < 60 else (1, 0, 6)
    case, shape = problem(n_factors, counts), plan.shape_of(n_factors)
    pieces, owners = pieces_and_owners(case, longest)
    grams, own = grams_of(case, pieces, shape, padded), own_table(case, padded)
    kernel = make_solve_by_cholesky(*shape[:4])
    launch_repeatably(kernel, max(1, len(owners) - 1), shape.threads, owners, grams, *WEIGHTS[:2], own)
    assert_solved(case, own, padded)


@pytest.mark.parametrize("n_factors, padded, longest", [(3, 4, 20), (33, 36, 40)])
def test_ratings_that_count_differently(n_factors, padded, longest):
    (pieces, owners), side, weights, case = weighed(problem(n_factors, (0, 1, 2, 20)), longest)
    shape, own = plan.shape_of(n_factors), own_table(case, padded)
    grams = grams_of(case, pieces, shape, padded, values=side.values)
    launch(make_solve_by_cholesky(*shape[:4]), 1, shape.threads, owners, grams, *weights[:2], own)
    assert_solved(case, own, padded)


def test_without_biases():
    case, shape = problem(5, (3, 9)), plan.shape_of(5)
    case = case._replace(b=np.zeros_like(case.b))
    pieces, owners = pieces_and_owners(case, 100)
    grams, own = grams_of(case, pieces, shape, 8, False), own_table(case, 8)
    launch(make_solve_by_cholesky(*shape[:4]), 1, shape.threads, owners, grams, *WEIGHTS[:2], own)
    assert_solved(case, own, 8, biased=False)


@pytest.mark.parametrize("n_factors, padded, longest", [(3, 4, 10), (14, 16, 40)])
def test_conjugate_gradients_solve_the_same(n_factors, padded, longest):
    case, shape = problem(n_factors, (0, 1, 9)), plan.shape_of(n_factors)
    pieces, owners = pieces_and_owners(case, longest)
    grams, own = grams_of(case, pieces, shape, padded), own_table(case, padded)
    launch_repeatably(make_solve_by_gradients(*shape[:3]), 2, THREADS, owners, grams, *WEIGHTS._replace(steps=30), own)
    assert_solved(case, own, padded, within=2e-6)


def test_several_blocks_share_a_matrix():
    """More tiles than a block has threads: every number of the Gram matrix."""
    n_factors = 180
    case, shape = problem(n_factors, (2,)), plan.shape_of(n_factors)
    assert shape.groups == 2
    grams = grams_of(case, pieces_and_owners(case, 9)[0], shape, n_factors)
    rows = np.zeros((2, 8 * shape.tile_rows))
    rows[:, :n_factors], rows[:, n_factors] = case.V[case.minor], 1
    rows[:, n_factors + 1] = case.values - case.b[case.minor]
    expected = rows.T @ rows
    for tile in range(shape.tiles):
        i = int((np.sqrt(8 * tile + 1) - 1) / 2)
        j = tile - i * (i + 1) // 2
        square = expected[8 * i : 8 * i + 8, 8 * j : 8 * j + 8]
        np.testing.assert_allclose(grams[0, :, tile].reshape(8, 8), square, atol=1e-5)


@pytest.mark.parametrize("direct", [True, False])
def test_the_host_steps(direct, monkeypatch):
    monkeypatch.setattr(gpu, "is_direct", lambda n_factors: direct)
    case = problem(6, (0, 3, 12))
    batch = [cuda.to_device(array) for array in pieces_and_owners(case, 5)]
    own, other = (cuda.to_device(table) for table in (own_table(case, 8), table_of(case.V, case.b, 8)))
    side = Side(case.indptr, None, cuda.to_device(case.minor), cuda.to_device(case.values), None, None, None)
    gpu.Equations(6, len(batch[0])).solve(batch, side, other, True, WEIGHTS, own)
    assert_solved(case, own.copy_to_host(), 8, within=0 if direct else 2e-6)
