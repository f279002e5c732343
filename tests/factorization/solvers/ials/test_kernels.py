"""Kernels of iALS against their twins and the oracle, and epochs on a GPU."""

import functools

import numpy as np
import pytest
from support import launch_repeatably, small_launches

from factorization.solvers.ials import naive
from factorization.solvers.ials.inputs import TERMS, begun, clicks_of

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization.solvers.ials import (
    blocks_kernels,
    descent_kernels,
    descent_twins,
    few_kernels,
    few_twins,
    formulas,
    gpu,
    inverse_kernels,
    inverse_twins,
    products_kernels,
)
from gpukit.factorization.solvers.ials import blocks_twins as block_twins
from gpukit.factorization.solvers.ials import products_twins as product_twins
from gpukit.factorization.solvers.squares.plan import shape_of

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
        products_kernels.make_products_of_pieces(lanes, count), 2, products_kernels.THREADS, *arguments, made[0]
    )
    product_twins.products_of_pieces(*arguments, made[1])
    expected = np.zeros((3, width))
    for p, (row, first, length) in enumerate(pieces):
        for t in range(first, first + length):
            v = table[minor[t], :width].astype(float)
            w = weights[0 if one_weight else t]
            expected[p] += w * (ways[row, :width].astype(float) @ v - 0.75) * v
    for found in made:
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("width, rows, size", [(32, 19, 1), (32, 3, 1e-20), (192, 5, 1), (288, 2, 1)])
def test_a_step(width, rows, size):
    """More and fewer rows than a block; several pieces per row.

    Also more factors than threads; residuals whose products are subnormal.
    """
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
        kernel = descent_kernels.make_descent(width)[number]
        launch_repeatably(kernel, 2, descent_kernels.THREADS, owners, *made[0][:4], *last, *made[0][4:])
        getattr(descent_twins, name)(owners, *made[1][:4], *last, *made[1][4:])
        assert (made[0][4] == lists[4]).all() == (last == (True,))
        for found, twin, before in zip(made[0][4:], made[1][4:], lists[4:]):
            np.testing.assert_allclose(found, twin, rtol=0, atol=1e-5 * np.abs(twin).max())
            np.testing.assert_array_equal(found[[0, -1]], before[[0, -1]])
        assert (made[0][5] != lists[5])[1:-1].any() == (size == 1 or number == 0)


@pytest.mark.slow
@pytest.mark.parametrize("n, decay", [(1, 0.5), (33, 0.5), (40, 0.0)])
def test_an_inverse_by_panels(n, decay):
    """Incomplete panels; without decay two unknowns with zero rows."""
    half = np.random.default_rng(n).normal(size=(n, max(4 * n, 40)))
    dead = [] if decay else [at for at in (n - 1, n // 2) if n > 1]
    half[dead] = 0
    shared = (half @ half.T).astype(np.float32)
    live = np.setdiff1d(np.arange(n), dead)
    expected = np.zeros((n, n))
    expected[np.ix_(live, live)] = np.linalg.inv(shared.astype(float)[np.ix_(live, live)] + decay * np.eye(len(live)))
    steps = -(-n // formulas.PANEL)
    made = []
    for run in (
        functools.partial(launch_repeatably, inverse_kernels.invert_panel, (steps, steps), inverse_kernels.THREADS),
        None,
    ):
        source, out, found = np.full((n, n), np.nan), np.full((n, n), np.nan), np.full((n, n), np.nan, np.float32)
        for step in range(steps):
            (run or inverse_twins.invert_panel)(shared, np.float64(decay), step, source, out, found)
            source, out = out, source
        made.append(found)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * np.abs(expected).max())
    np.testing.assert_array_equal(made[0] == 0, made[1] == 0)


@pytest.mark.parametrize("first, width", [(0, 36), (32, 36)])
def test_a_block(first, width):
    """The parts of a step for incomplete blocks and rows.

    Rows after the last of a block, factors after the last of a row.
    """
    rng, size, rows = np.random.default_rng(width), 32, 19
    shape = shape_of(size)
    owners = np.array([[row + 1, 2 * row, 1 + row % 2, 9] for row in range(rows)])
    shared = rng.normal(size=(width, width)).astype(np.float32)
    shared += shared.T
    decays, table = (
        rng.uniform(1, 2, rows).astype(np.float32),
        rng.normal(size=(rows + 2, width + 8)).astype(np.float32),
    )
    grams = np.ones((2 * rows, 64, shape.tiles), np.float32), np.ones((2 * rows, size + 2, size + 2), np.float32)
    kernel = blocks_kernels.make_targets_of_block(width, size, *shape[:2])
    launch_repeatably(kernel, 2, descent_kernels.THREADS, owners, decays, shared, first, table, grams[0])
    block_twins.targets_of_block(owners, decays, shared, first, table, grams[1])
    places = [(i, j) for j in range(shape.tile_rows) for i in range(j, shape.tile_rows)]
    kept, target = min(size, width - first), 4 * shape.quads + 1
    expected = (
        1 - (table[1:-1, :width].astype(float) @ shared + decays[:, None] * table[1:-1, :width])[:, first:][:, :size]
    )
    np.testing.assert_allclose(grams[1][::2, size + 1, :kept], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert (grams[1][1::2] == 1).all() and (grams[1][:, : size + 1] == 1).all()
    full = np.ones((2 * rows, 8 * shape.tile_rows, 8 * shape.tile_rows), np.float32)
    for tile, (i, j) in enumerate(places):
        full[:, 8 * i : 8 * i + 8, 8 * j : 8 * j + 8] = grams[0][:, :, tile].reshape(-1, 8, 8)
    np.testing.assert_allclose(full[:, target, :kept], grams[1][:, size + 1, :kept], rtol=0, atol=2e-5)
    assert (np.delete(full, target, 1) == 1).all() and (full[:, target, kept:] == 1).all()
    made = [[np.full((rows, size + 8), np.nan, np.float32), table.copy()] for _ in range(2)]
    found = rng.normal(size=(rows + 2, size + 8)).astype(np.float32)
    for module, (out, own) in zip((None, block_twins), made):
        calls = ("take_columns", (table, first, width, out)), ("add_columns", (owners, found, first, width, own))
        for name, arguments in calls:
            if module is None:
                launch_repeatably(getattr(blocks_kernels, name), 3, 96, *arguments)
            else:
                getattr(module, name)(*arguments)
    for one, other in zip(*made):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(made[0][0][:, :kept], table[:rows, first : first + kept])
    assert not made[0][0][:, kept:].any() and (made[0][1][[0, -1]] == table[[0, -1]]).all()
    np.testing.assert_array_equal(
        made[0][1][1:-1, first : first + kept], (table + 0)[1:-1, first : first + kept] + found[1:-1, :kept]
    )


@pytest.mark.parametrize("begins", [True, False])
def test_what_clicks_lack(begins):
    """Pieces shorter and longer than the groups of a block.

    Clicks of other pieces are unchanged.
    """
    rng, width = np.random.default_rng(0), 32
    pieces = np.array([[2, 0, 1], [0, 1, 30], [1, 31, 8]])
    minor = rng.integers(0, 9, 40).astype(np.int32)
    ways, table = (rng.normal(size=(rows, width + 8)).astype(np.float32) for rows in (4, 10))
    made = [np.full(40, 0.25, np.float32) for _ in range(2)]
    arguments = pieces, minor, begins, ways, table
    launch_repeatably(blocks_kernels.make_errors_of_pieces(8, 4), 2, blocks_kernels.OF_PIECE, *arguments, made[0])
    block_twins.errors_of_pieces(*arguments, made[1])
    expected = np.full(40, 0.25)
    for row, first, length in pieces:
        for t in range(first, first + length):
            dot = ways[row, :width].astype(float) @ table[minor[t], :width].astype(float)
            expected[t] = (1 if begins else 0.25) - dot
    for found in made:
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("clicks, width, one_weight", [(6, 32, False), (20, 36, True)])
def test_rows_of_few_clicks(clicks, width, one_weight):
    """Rows of few clicks in one and several tiles.

    Factors that are not a multiple of STAGED; a line of one click and a full one.
    """
    rng, shape = np.random.default_rng(width), shape_of(clicks)
    lines = np.array([[2, 0, 1], [0, 1, clicks], [3, clicks + 1, clicks - 2]])
    minor, weights = rng.integers(0, 9, 60).astype(np.int32), rng.uniform(0.5, 2, 1 if one_weight else 60)
    numbers = weights, rng.uniform(1, 2, 3), rng.uniform(0, 3, width), rng.normal(size=(10, width))
    weights, decays, spectrum, table = (array.astype(np.float32) for array in numbers)
    given = lines, minor, weights, decays, spectrum, table
    grams = np.full((3, 64, shape.tiles), np.nan, np.float32), np.full((3, clicks + 2, clicks + 2), np.nan, np.float32)
    kernel = few_kernels.make_grams_of_few(*shape[:3], shape.whole)
    launch_repeatably(kernel, 2, shape.whole, *given, grams[0])
    few_twins.grams_of_few(*given, grams[1])
    places = [(i, j) for j in range(shape.tile_rows) for i in range(j, shape.tile_rows)]
    for line, (_, first, count) in enumerate(lines):
        V, w = table[minor[first : first + count]].astype(float), np.broadcast_to(weights, 60)[first : first + count]
        expected = V @ np.diag(1 / (spectrum + decays[line])) @ V.T + np.diag(1 / w)
        np.testing.assert_allclose(grams[1][line][:count, :count], np.tril(expected), atol=2e-6 * expected.max())
        full = np.zeros((8 * shape.tile_rows,) * 2)
        full[:count, :count], full[4 * shape.quads + 1, :count] = expected, 1
        for tile, (i, j) in enumerate(places):
            square = full[8 * i : 8 * i + 8, 8 * j : 8 * j + 8]
            found = grams[0][line, :, tile].reshape(8, 8)
            np.testing.assert_allclose(found, square, atol=2e-6 * expected.max())
    found, back = (rng.normal(size=size).astype(np.float32) for size in ((3, clicks + 8), (width, width)))
    turn, answer = few_kernels.make_turns(width)
    made = [[np.full((9, width), np.nan, np.float32), np.ones((5, width + 8), np.float32)] for _ in range(2)]
    launch_repeatably(turn, 2, descent_kernels.THREADS, table, back, made[0][0])
    few_twins.turn_rows(table, back, made[1][0])
    launch_repeatably(
        answer, 2, descent_kernels.THREADS, lines, minor, decays, spectrum, found, table, back, made[0][1]
    )
    few_twins.rows_of_few(lines, minor, decays, spectrum, found, table, back, made[1][1])
    for one, other in zip(*made):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(other).max())
    np.testing.assert_allclose(made[1][0], table[:9].astype(float) @ back, atol=1e-4)
    _, first, count = lines[1]
    there = table[minor[first : first + count]].astype(float).T @ found[1, :count] / (spectrum + decays[1])
    np.testing.assert_allclose(made[1][1][0, :width], there @ back, atol=1e-5 * np.abs(made[1][1]).max())
    assert (made[0][1][:, width:] == 1).all() and (made[0][1][[1, 4]] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("clicks", [0, 3])
def test_epochs_by_elimination(clicks, monkeypatch):
    """In batches; rows of few clicks in the clicks' unknowns."""
    monkeypatch.setattr(formulas, "few_of", lambda *facts: clicks)
    monkeypatch.setattr(gpu, "FEW", 3)
    check_epoch("cholesky", monkeypatch)


@pytest.mark.slow
def test_epochs_by_gradients(monkeypatch):
    check_epoch("gradients", monkeypatch)


@pytest.mark.slow
def test_epochs_by_blocks(monkeypatch):
    """Two blocks, the second incomplete."""
    monkeypatch.setattr(formulas, "BLOCK", 32)
    check_epoch("blocks", monkeypatch, n_factors=34)


def check_epoch(way, monkeypatch, n_factors=6):
    """In batches, with rows in several pieces, against the oracle."""
    monkeypatch.setattr(formulas, "way_of", lambda *facts: way)
    monkeypatch.setattr(gpu.squares, "LONGEST", 4)
    monkeypatch.setattr(gpu.squares, "SCRATCH", 3 * 4 * 64 * 3)
    monkeypatch.setattr(gpu, "MOMENT_PIECES", 3)
    small_launches(monkeypatch)
    clicks = clicks_of(12, 7, weighted=True)
    session, training = begun(clicks, (12, 7), n_factors, "cuda")
    state = session.state()
    U, V = state.user_factors.astype(float), state.item_factors.astype(float)
    training.epoch(0)
    if way == "cholesky":
        assert training.halves[0].few or len(training.halves[0].batches) > 2
        U = naive.solved(clicks, 12, 0, V, *TERMS)
        V = naive.solved(clicks, 7, 1, U, *TERMS)
    elif way == "blocks":
        U = naive.by_blocks(clicks, U, 0, V, *TERMS, formulas.BLOCK)
        V = naive.by_blocks(clicks, V, 1, U, *TERMS, formulas.BLOCK)
    else:
        U = naive.descended(clicks, U, 0, V, *TERMS, formulas.STEPS)
        V = naive.descended(clicks, V, 1, U, *TERMS, formulas.STEPS)
    state = session.state()
    for found, expected in ((state.user_factors, U), (state.item_factors, V)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
