"""The kernels against the oracle (learning, predictions: within the error budget) and looking up (codes: exact).

With one worker, or without conflicts between workers, an epoch has one result; that is what is compared.
"""

import numpy as np
import pytest
from support import assert_within_budget, launch

from factorization import naive
from factorization.inputs import (
    TURN,
    assert_learned,
    code_lines,
    dealt,
    history,
    lanes_layout,
    levels,
    oracle,
    pack,
    problem,
    rates,
    stored,
    unpack,
    walk,
    without_conflicts,
)

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import gpu_count
from gpukit.factorization import kernels
from gpukit.factorization.model.layout import NO_NEIGHBOR, gpu_layout
from gpukit.selection.formulas import LAST, score_of_key


def words(codes):
    """Lines of codes as kernels take them: four to a word."""
    return codes.view(np.uint32) if codes.size else np.zeros((1, 1), np.uint32)


def has_quad_additions():
    """Whether this machine can run vector=True: the simulator, or compute capability 9.0."""
    from gpukit._cuda import SIMULATED, cuda

    return SIMULATED or gpu_count() and tuple(cuda.get_current_device().compute_capability) >= (9, 0)


def learned(case, layout, trail, steps, vector=False, block=32, grid=1, workers=1):
    """The Problem's State after sgd_epoch over a Walk."""
    tables = pack(case, layout)
    if vector and not has_quad_additions():
        pytest.skip("vector additions need compute capability 9.0")
    kernel = kernels.make_sgd_epoch(layout.lanes, layout.factors, layout.near, layout.minor.half, vector)
    codes = words(code_lines(case, layout, trail.pairs))
    ratings = trail.chunks, trail.minor, trail.ratings
    launch(kernel, grid, block, *ratings, codes, levels(), *tables.rows(), steps, TURN, workers)
    return unpack(case, layout, tables)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize(
    "n_factors, n_neighbors, lanes",
    [
        (1, 0, 8),
        (33, 0, 8),
        (130, 0, 16),
        (1, 1, 8),
        (32, 33, 8),
        (33, 5, 16),
        (3, 31, 32),
        (130, 5, 32),
    ],
)
def test_sgd_epoch(n_factors, n_neighbors, lanes, vector):
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=40)
    layout, trail = lanes_layout(n_factors, n_neighbors, lanes), walk(case)
    state = learned(case, layout, trail, rates(), vector)
    assert_learned(case, state, trail.visits(), rates())


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize(
    "n_factors, n_neighbors, lanes, side",
    [
        (1, 0, 8, "users"),
        (33, 0, 16, "items"),
        (130, 5, 32, "items"),
        (40, 3, 8, "items"),
        (64, 0, 8, "users"),
    ],
)
def test_sgd_epoch_with_halves(n_factors, n_neighbors, lanes, side, vector):
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=40, walk=side)
    layout, trail = lanes_layout(n_factors, n_neighbors, lanes, half=True), walk(case)
    state = learned(case, layout, trail, rates(), vector)
    assert_learned(case, state, trail.visits(), rates(), half=True)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("n_factors, n_neighbors", [(5, 0), (32, 32)])
def test_sgd_epoch_in_the_layout_that_is_used(n_factors, n_neighbors, half):
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=40, seed=1)
    layout, trail = gpu_layout(n_factors, n_neighbors, half), walk(case)
    state = learned(case, layout, trail, rates(), vector=has_quad_additions(), block=64)
    assert_learned(case, state, trail.visits(), rates(), half)


@pytest.mark.parametrize("kind, biases", [("paper", True), ("adaptive", False)])
def test_other_rates(kind, biases):
    case = problem(6, 3, shape=(4, 12), n_ratings=40, seed=1)
    trail, steps = walk(case), rates(kind, biases)
    assert_learned(case, learned(case, lanes_layout(6, 3, 8), trail, steps), trail.visits(), steps)


@pytest.mark.parametrize("grid, block", [(1, 32), (1, 64), (3, 96)])
@pytest.mark.parametrize("n_neighbors", [0, 3])
def test_workers_without_conflicts(n_neighbors, grid, block):
    """Worker w has the users and items that are w modulo 3; chunks differ in length, so groups of a warp wait."""
    case = problem(5, n_neighbors, shape=(7, 12), n_ratings=70, seed=6)
    case = without_conflicts(case, 3)
    trail = walk(case, longest=3)
    trail = trail._replace(chunks=dealt(trail.chunks, 3))
    state = learned(case, lanes_layout(5, n_neighbors, 8), trail, rates(), grid=grid, block=block, workers=3)
    assert_learned(case, state, trail.visits(), rates())


def test_groups_of_different_warps():
    """Two workers of 32 lanes each."""
    case = problem(5, 0, shape=(4, 12), n_ratings=30, seed=7)
    case = without_conflicts(case, 2)
    trail = walk(case, longest=4)
    trail = trail._replace(chunks=dealt(trail.chunks, 2))
    state = learned(case, lanes_layout(5, 0, 32), trail, rates(), block=64, workers=2)
    assert_learned(case, state, trail.visits(), rates())


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    "n_factors, n_neighbors, lanes, grid, block",
    [
        (1, 0, 8, 1, 32),
        (33, 0, 16, 2, 96),
        (8, 5, 8, 1, 64),
        (64, 33, 32, 3, 32),
    ],
)
def test_predict_pairs(n_factors, n_neighbors, lanes, grid, block, half):
    case = problem(n_factors, n_neighbors, shape=(9, 36), n_ratings=100)
    case = stored(case) if half else case
    layout = lanes_layout(n_factors, n_neighbors, lanes, half)
    tables, pairs = pack(case, layout), [(i, j) for i in range(0, 9, 2) for j in range(0, 36, 5)][:37]
    users, items = np.array(pairs, np.int32).T.copy()
    major, minor = (users, items) if case.walk == "users" else (items, users)
    predicted = np.full(len(pairs), np.nan, np.float32)
    launch(
        kernels.make_predict_pairs(layout.lanes, layout.factors, layout.near, half),
        grid,
        block,
        major,
        minor,
        words(code_lines(case, layout, pairs)),
        levels(),
        *tables.rows(),
        predicted,
    )
    exact, plain = ([naive.predict(oracle(case, dtype), *pair) for pair in pairs] for dtype in (np.float64, np.float32))
    assert_within_budget(predicted, plain, exact)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize(
    "n_factors, n_neighbors, lanes, grid, block", [(3, 0, 8, 1, 32), (33, 5, 16, 3, 96), (8, 3, 32, 2, 64)]
)
def test_score_rows(n_factors, n_neighbors, lanes, grid, block, hide):
    n_items = 21
    case = problem(n_factors, n_neighbors, shape=(9, n_items), n_ratings=90, walk="items")
    layout = lanes_layout(n_factors, n_neighbors, lanes)
    tables, users = pack(case, layout), np.array([3, 8, 0], np.int32)
    lines = np.zeros((3, n_items + 1), np.uint8)
    for line, i in zip(lines, users):
        line[[j for j in range(n_items) if (i, j) in case.rated]] = [
            1 + level for (u, _), level in sorted(case.rated.items()) if u == i
        ]
    keys = np.zeros((3, n_items), np.uint32)
    launch(
        kernels.make_score_rows(layout.lanes, layout.factors, layout.near),
        (grid, 3),
        block,
        users,
        lines,
        tables.near,
        levels(),
        *tables.rows(),
        hide,
        keys,
    )
    hidden = np.array([[hide and (i, j) in case.rated for j in range(n_items)] for i in users])
    np.testing.assert_array_equal(keys == LAST, hidden)
    scores = np.array([[score_of_key(key) for key in row] for row in keys], np.float32)
    exact, plain = (
        np.array([[naive.predict(oracle(case, dtype), i, j) for j in range(n_items)] for i in users])
        for dtype in (np.float64, np.float32)
    )
    assert_within_budget(scores[~hidden], plain[~hidden], exact[~hidden])


@pytest.mark.parametrize("block", [32, 64, 96])
def test_fill_tables(block):
    case = problem(2, 5, shape=(9, 70), n_ratings=200)
    users = np.array([2, 9, 8, 0], np.int32)  # 9 is unknown, 8 has no ratings
    lines = np.full((4, 71), 9, np.uint8)
    launch(kernels.fill_tables, 4, block, users, *history(case), lines)
    assert lines.tolist() == [[1 + case.rated.get((i, j), -1) for j in range(71)] for i in users]


@pytest.mark.parametrize("block, blocks", [(32, 1), (64, 3), (96, 20)])
def test_neighbor_codes(block, blocks):
    """Nine users and the unknown one, on fewer blocks or more; the unknown item 33; three padded slots."""
    case = problem(2, 5, shape=(9, 33), n_ratings=110)
    layout = lanes_layout(2, 5, 2)
    indptr, items, codes = history(case)
    pairs = sorted((i, j) for i in range(10) for j in (0, 1, 17, 32, 33))
    query = np.searchsorted([i for i, _ in pairs], np.arange(11)).astype(np.int64)
    places = np.random.default_rng(0).permutation(len(pairs))
    out, tables = np.full((len(pairs), layout.slots), 9, np.uint8), np.zeros((blocks, 34), np.uint8)
    launch(
        kernels.neighbor_codes,
        blocks,
        block,
        indptr,
        items,
        codes,
        query,
        np.array([j for _, j in pairs], np.int32),
        places,
        pack(case, layout).near,
        out,
        tables,
    )
    np.testing.assert_array_equal(out[places], code_lines(case, layout, pairs))
    assert not tables.any() and (out == NO_NEIGHBOR).any()
