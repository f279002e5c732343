"""The kernels of iALS against their twins and the oracle, and epochs on a GPU."""

import numpy as np
import pytest
from support import launch_repeatably, small_launches

from factorization.ials import naive
from factorization.ials.inputs import TERMS, begun, clicks_of

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization.solvers.ials import gpu, plan
from gpukit.factorization.solvers.ials.kernels import descent, products
from gpukit.factorization.solvers.ials.twins import descent as descent_twins
from gpukit.factorization.solvers.ials.twins import products as product_twins

SHAPE = (23, 14)


LAYOUTS = [(8, 4), (16, 12), (32, 4)]


@pytest.mark.parametrize("lanes, count", LAYOUTS)
@pytest.mark.parametrize("one_weight", [False, True])
def test_products_of_pieces(lanes, count, one_weight):
    """Pieces shorter and longer than a block has groups; a click of the last row."""
    rng, width = np.random.default_rng(0), lanes * count
    pieces = np.array([[2, 0, 1], [0, 1, 30], [1, 31, 8]])
    minor, weights = rng.integers(0, 9, 39).astype(np.int32), rng.uniform(0.5, 2, 1 if one_weight else 39)
    ways, table = (rng.normal(size=(rows, width + 8)).astype(np.float32) for rows in (4, 10))
    arguments = pieces, minor, weights.astype(np.float32), np.float32(0.75), ways, table
    made = [np.full((3, width), np.nan, np.float32) for _ in range(2)]
    launch_repeatably(products.make_products_of_pieces(lanes, count), 2, products.THREADS, *arguments, made[0])
    product_twins.products_of_pieces(*arguments, made[1])
    expected = np.zeros((3, width))
    for p, (row, first, length) in enumerate(pieces):
        for t in range(first, first + length):
            v = table[minor[t], :width].astype(float)
            w = weights[0 if one_weight else t]
            expected[p] += w * (ways[row, :width].astype(float) @ v - 0.75) * v
    for found in made:
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("width, rows", [(32, 19), (192, 5), (384, 2)])
def test_a_step(width, rows, monkeypatch):
    """More rows than a block has and fewer, several pieces a row; more factors than a block has threads."""
    rng = np.random.default_rng(width)
    owners = np.array([[row + 1, 2 * row, 1 + row % 2, 9] for row in range(rows)])
    half = rng.normal(size=(width, width)) / width**0.5
    shared = half @ half.T
    inverse = np.linalg.inv(shared + 1.5 * np.eye(width))
    numbers = rng.uniform(1, 2, rows), rng.normal(size=(2 * rows, width)), shared, inverse
    state = [rng.normal(size=(rows + 2, columns)) for columns in (width, width)]
    state += [rng.uniform(0.5, 1, rows + 2), rng.normal(size=(rows + 2, width + 8))]
    lists = [array.astype(np.float32) for array in (*numbers, *state)]
    for number, name in enumerate(("begin_descent", "descend")):
        made = [[array.copy() for array in lists] for _ in range(2)]
        launch_repeatably(descent.make_descent(width)[number], 2, descent.THREADS, owners, *made[0])
        getattr(descent_twins, name)(owners, *made[1])
        for found, twin, before in zip(made[0][4:], made[1][4:], lists[4:]):
            np.testing.assert_allclose(found, twin, rtol=0, atol=1e-5 * np.abs(twin).max())
            np.testing.assert_array_equal(found[[0, -1]], before[[0, -1]])
        assert (made[0][5] != lists[5])[1:-1].any()


@pytest.mark.parametrize("way", plan.WAYS)
def test_epochs(way, monkeypatch):
    """In batches, rows in several pieces, against the oracle."""
    monkeypatch.setattr(plan, "way_of", lambda *facts: way)
    monkeypatch.setattr(gpu.squares, "LONGEST", 4)
    monkeypatch.setattr(gpu.squares, "SCRATCH", 3 * 4 * 64 * 3)
    monkeypatch.setattr(gpu, "MOMENT_PIECES", 3)
    small_launches(monkeypatch)
    clicks = clicks_of(12, 7, weighted=True)
    session, training = begun(clicks, (12, 7), 6, "cuda")
    state = session.state()
    U, V = state.user_factors.astype(float), state.item_factors.astype(float)
    training.epoch(0)
    if way == "cholesky":
        assert len(training.halves[0].batches) > 2
        U = naive.solved(clicks, 12, 0, V, *TERMS)
        V = naive.solved(clicks, 7, 1, U, *TERMS)
    else:
        U = naive.descended(clicks, U, 0, V, *TERMS, plan.STEPS)
        V = naive.descended(clicks, V, 1, U, *TERMS, plan.STEPS)
    state = session.state()
    for found, expected in ((state.user_factors, U), (state.item_factors, V)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
