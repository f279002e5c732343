"""Kernels of iALS against their twins and the oracle, and epochs on a GPU."""

import functools

import numpy as np
import pytest
from support import SIMULATED, launch_repeatably, small_launches

from factorization.solvers.ials import naive
from factorization.solvers.ials.inputs import TERMS, begun, clicks_of

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.errors import ParameterError
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers import gpu, ials, ials_kernels, ials_twins

SHAPE = (23, 14)


LAYOUTS = [(8, 4), (16, 12), (32, 4)]


@pytest.mark.parametrize("lanes, count", LAYOUTS)
@pytest.mark.parametrize("one_weight", [False, True])
def test_products_of_pieces(lanes, count, one_weight):
    """Pieces shorter and longer than the groups of a block.

    Also a click of the last row.
    """
    rng, width = np.random.default_rng(0), lanes * count
    pieces = np.array([[2, 0, 1], [0, 1, 30], [1, 31, 8]])
    minor, weights = rng.integers(0, 9, 39).astype(np.int32), rng.uniform(0.5, 2, 1 if one_weight else 39)
    ways, table = (rng.normal(size=(rows, width + 8)).astype(np.float32) for rows in (4, 10))
    arguments = pieces, minor, weights.astype(np.float32), np.float32(0.75), ways, table
    made = [np.full((3, width), np.nan, np.float32) for _ in range(2)]
    launch_repeatably(
        ials_kernels.make_products_of_pieces(lanes, count), 2, ials_kernels.PRODUCT_THREADS, *arguments, made[0]
    )
    ials_twins.products_of_pieces(*arguments, made[1])
    expected = np.zeros((3, width))
    for p, (row, first, length) in enumerate(pieces):
        for t in range(first, first + length):
            v = table[minor[t], :width].astype(float)
            w = weights[0 if one_weight else t]
            expected[p] += w * (ways[row, :width].astype(float) @ v - 0.75) * v
    for found in made:
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("width, rows, size", [(32, 19, 1), (32, 3, 1e-20), (192, 5, 1), (264, 3, 1), (288, 2, 1)])
def test_a_step(width, rows, size, monkeypatch):
    """More and fewer rows than a block; several pieces per row.

    Also more factors than threads (264: in blocks of two rows), in the simulator 72 or 96 and 64 threads; residuals
    whose products are subnormal.
    """
    if width == 264:
        monkeypatch.setattr(ials_kernels, "rows_of_block", lambda width: 2)
    make_descent = ials_kernels.make_descent
    if SIMULATED and width > 32:
        width = {192: 48, 264: 72, 288: 96}[width]
        make_descent = make_descent.__wrapped__  # kernels of other constants are not kept
        monkeypatch.setattr(ials_kernels, "WARPS", 2)
        monkeypatch.setattr(ials_kernels, "THREADS", 64)
    rng = np.random.default_rng(width)
    owners = np.array([[row + 1, 2 * row, 1 + row % 2, 9] for row in range(rows)])
    half = rng.normal(size=(width, width)) / width**0.5
    shared = half @ half.T
    inverse = np.linalg.inv(shared + 1.5 * np.eye(width))
    numbers = rng.uniform(1, 2, rows), size * rng.normal(size=(2 * rows, width)), shared, inverse
    state = [size * rng.normal(size=(rows + 2, columns)) for columns in (width, width)]
    state += [size**2 * rng.uniform(0.5, 1, rows + 2), size * rng.normal(size=(rows + 2, width + 8))]
    lists = [array.astype(np.float32) for array in (*numbers, *state)]
    calls = [(0, "begin_descent", ()), (1, "descend", (False,)), (1, "descend", (True,))]
    for number, name, last in calls[: 3 if width == 32 else 2]:
        made = [[array.copy() for array in lists] for _ in range(2)]
        kernel = make_descent(width)[number]
        given, of_twin = ((owners, *own[:4], *last, ials.Directions(*own[4:7]), own[7]) for own in made)
        launch_repeatably(kernel, 2, ials_kernels.THREADS, *given)
        getattr(ials_twins, name)(*of_twin)
        assert (made[0][4] == lists[4]).all() == (last == (True,))
        for found, twin, before in zip(made[0][4:], made[1][4:], lists[4:]):
            np.testing.assert_allclose(found, twin, rtol=0, atol=1e-5 * np.abs(twin).max())
            np.testing.assert_array_equal(found[[0, -1]], before[[0, -1]])
        assert (made[0][5] != lists[5])[1:-1].any() == (size == 1 or number == 0)


@pytest.mark.slow
@pytest.mark.parametrize("n, decay", [(1, 0.5), (33, 0.5), (40, 0.0)])
def test_an_inverse_by_panels(n, decay, monkeypatch):
    """Incomplete panels; without decay two unknowns with zero rows.

    In the simulator 17 and 20 unknowns are three panels of eight, by blocks of 32 threads.
    """
    if SIMULATED and n > 1:
        n = {33: 17, 40: 20}[n]
        for module in (ials, ials_twins, ials_kernels):
            monkeypatch.setattr(module, "PANEL", 8)
        for name, value in {"SIDE": 9, "ROOM": 72, "THREADS": 32, "OWN": 2}.items():
            monkeypatch.setattr(ials_kernels, name, value)
    half = np.random.default_rng(n).normal(size=(n, max(4 * n, 40)))
    dead = [] if decay else [at for at in (n - 1, n // 2) if n > 1]
    half[dead] = 0
    shared = (half @ half.T).astype(np.float32)
    live = np.setdiff1d(np.arange(n), dead)
    expected = np.zeros((n, n))
    expected[np.ix_(live, live)] = np.linalg.inv(shared.astype(float)[np.ix_(live, live)] + decay * np.eye(len(live)))
    steps = -(-n // ials.PANEL)
    made = []
    for run in (
        functools.partial(launch_repeatably, ials_kernels.invert_panel, (steps, steps), ials_kernels.THREADS),
        None,
    ):
        source, out, found = np.full((n, n), np.nan), np.full((n, n), np.nan), np.full((n, n), np.nan, np.float32)
        for step in range(steps):
            (run or ials_twins.invert_panel)(shared, np.float64(decay), step, source, out, found)
            source, out = out, source
        made.append(found)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * np.abs(expected).max())
    np.testing.assert_array_equal(made[0] == 0, made[1] == 0)


@pytest.mark.slow
def test_epochs_by_elimination(monkeypatch):
    check_epoch("cholesky", monkeypatch)


def test_matrices_that_are_too_large(monkeypatch):
    """A GPU eliminates matrices of up to 260 factors."""
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: "cholesky")
    small_launches(monkeypatch)
    with pytest.raises(ParameterError, match="n_factors=261 is too large.*Use row_solver='gradients', or device='cpu'"):
        begun(clicks_of(), SHAPE, 261, "cuda")


@pytest.mark.slow
def test_epochs_by_gradients(monkeypatch):
    check_epoch("gradients", monkeypatch)


def check_epoch(way, monkeypatch):
    """In batches, with rows in several pieces, against the oracle."""
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: way)
    monkeypatch.setattr(gpu, "LONGEST", 4)
    monkeypatch.setattr(gpu, "SCRATCH", 3 * 4 * 64 * 3)
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
        U = naive.descended(clicks, U, 0, V, *TERMS, RULES.gradient_steps)
        V = naive.descended(clicks, V, 1, U, *TERMS, RULES.gradient_steps)
    state = session.state()
    for found, expected in ((state.user_factors, U), (state.item_factors, V)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
