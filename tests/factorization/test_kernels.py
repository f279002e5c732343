"""The kernels against the oracle: learning and predictions within the error budget, codes exact.

With one worker, or without conflicts between workers, an epoch has one result, which is compared.
"""

import numpy as np
import pytest
from support import assert_within_budget, launch, launch_repeatably

from factorization.inputs import (
    TURN,
    asked,
    assert_learned,
    assert_right_keys,
    assert_same_tables,
    code_lines,
    dealt,
    empty_tables,
    history,
    lanes_layout,
    pack,
    predictions,
    problem,
    query,
    rates,
    stored,
    tables_of,
    unpack,
    walk,
    with_weights,
    without_conflicts,
    worths,
)

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import SIMULATED, cuda, kernel
from gpukit.device import gpu_count
from gpukit.factorization import twins as twins_of_codes
from gpukit.factorization.kernels import (
    fill_tables,
    look_up_codes,
    make_predict_pairs,
    neighbor_codes,
    place_of,
    score_rows,
)
from gpukit.factorization.model.layout import NO_NEIGHBOR, gpu_layout
from gpukit.factorization.solvers.sgd.kernels import make_sgd_epoch


def words(codes):
    """Return lines of codes as arguments of kernels: four per word."""
    return codes.view(np.uint32) if codes.size else np.zeros((1, 1), np.uint32)


def has_quad_additions():
    """Return True if vector=True is supported: the simulator, or compute capability 9.0."""
    return SIMULATED or gpu_count() and tuple(cuda.get_current_device().compute_capability) >= (9, 0)


def learned(case, layout, trail, steps, vector=False, block=32, grid=1, workers=1):
    """Return the Problem's State after sgd_epoch over a Walk."""
    parameters, _ = pack(case, layout)
    if vector and not has_quad_additions():
        pytest.skip("vector additions need compute capability 9.0")
    epoch = make_sgd_epoch(layout.lanes, layout.factors, layout.near, layout.minor.half, vector)
    codes = words(code_lines(case, layout, trail.pairs))
    launch(epoch, grid, block, trail.chunks, trail.batch(codes), parameters, steps, TURN, workers)
    return unpack(case, layout, parameters)


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
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=24)
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
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=24, walk=side)
    layout, trail = lanes_layout(n_factors, n_neighbors, lanes, half=True), walk(case)
    state = learned(case, layout, trail, rates(), vector)
    assert_learned(case, state, trail.visits(), rates(), half=True)


@pytest.mark.parametrize("n_factors, n_neighbors, lanes", [(1, 0, 8), (6, 3, 8), (33, 33, 16)])
def test_sgd_epoch_of_ratings_that_count_differently(n_factors, n_neighbors, lanes):
    case = with_weights(problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=24))
    layout, trail = lanes_layout(n_factors, n_neighbors, lanes), walk(case)
    assert_learned(case, learned(case, layout, trail, rates()), trail.visits(), rates())


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("n_factors, n_neighbors", [(5, 0), (32, 32)])
def test_sgd_epoch_in_the_layout_that_is_used(n_factors, n_neighbors, half):
    case = problem(n_factors, n_neighbors, shape=(4, 36), n_ratings=24, seed=1)
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
    """Worker w has the users and items that are w modulo 3.

    Chunk lengths differ, so groups of a warp wait.
    """
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
    parameters, _ = pack(case, layout)
    pairs = [(i, j) for i in range(0, 9, 2) for j in range(0, 36, 5)][:37]
    predicted = np.full(len(pairs), np.nan, np.float32)
    predict = make_predict_pairs(layout.lanes, layout.factors, layout.near, half)
    launch(predict, grid, block, asked(case, pairs, words(code_lines(case, layout, pairs))), parameters, predicted)
    exact, plain = (predictions(case, dtype, pairs) for dtype in (np.float64, np.float32))
    assert_within_budget(predicted, plain, exact)


@kernel
def places(starts, groups, count, out, there):
    """Store place_of for each start and group.

    starts, groups (n,) uint64; count uint64; out (n,) uint64, there (n,) uint8.
    """
    t = cuda.grid(1)
    out[t], there[t] = place_of(starts[t], np.uint32(groups[t]), count)


@pytest.mark.parametrize("pairs", [5, 2**31 - 1, 2**31 + 7, 2**32 + 3])
def test_places_of_pairs_do_not_wrap(pairs):
    """Each pair belongs to one group and occurs once.

    Rounds of 100 groups, at the end.
    """
    starts = range(max(0, pairs // 100 - 2) * 100, pairs, 100)
    asked_for = [(done, group) for done in starts for group in range(100)]
    given = np.array(asked_for, np.uint64).T.copy()
    out, there = np.zeros(len(asked_for), np.uint64), np.zeros(len(asked_for), np.uint8)
    launch(places, 1, len(asked_for), *given, np.uint64(pairs), out, there)
    assert out[there == 1].tolist() == list(range(starts[0], pairs))
    assert there.sum() < len(there) and (out[there == 0] == pairs - 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize(
    "n_factors, n_neighbors, grid, block", [(3, 0, 1, 32), (33, 5, 3, 96), (8, 3, 2, 64), (4, 35, 1, 128)]
)
def test_score_rows(n_factors, n_neighbors, grid, block, hide):
    """With 35 neighbours a lane has two of their slots."""
    n_items = 36 if n_neighbors else 65
    case = problem(n_factors, n_neighbors, shape=(34, n_items), n_ratings=400, walk="items")
    (parameters, near), worth = pack(case, gpu_layout(n_factors, n_neighbors)), worths(n_items)
    users = np.random.default_rng(0).permutation(34)[:33].astype(np.int32)
    keys, tables = np.zeros((33, n_items), np.uint32), tables_of(case, users)
    args = users, tables, near, parameters, n_factors, worth, hide, keys
    launch_repeatably(score_rows, (grid, 2), block, *args)
    assert_right_keys(keys, case, users, worth, hide)


@pytest.mark.parametrize("block", [32, 64, 96])
def test_fill_tables(block):
    case = problem(2, 5, shape=(35, 70), n_ratings=700)
    users = np.array([2, 35, 34, *range(31), 0], np.int32)  # 35 is unknown, 34 has no ratings
    tables = empty_tables(len(users), 70)
    launch(fill_tables, 2, block, users, history(case), tables)
    assert_same_tables(tables, tables_of(case, users))


@pytest.mark.parametrize("block, blocks", [(32, 1), (64, 3), (96, 20)])
def test_look_up_codes(block, blocks):
    """As neighbor_codes, for fewer pairs: some users have no query."""
    case = problem(2, 5, shape=(9, 33), n_ratings=110)
    layout = lanes_layout(2, 5, 2)
    pairs = sorted((i, j) for i in (0, 3, 4, 8, 9) for j in (0, 1, 17, 32, 33))
    lines, near = query(case, pairs), pack(case, layout)[1]
    out, made = (np.full((len(pairs), layout.slots), 9, np.uint8) for _ in range(2))
    launch(look_up_codes, blocks, block, history(case), lines, near, out.view(np.uint32))
    twins_of_codes.look_up_codes(history(case), lines, near, made)
    np.testing.assert_array_equal(out[lines.places], code_lines(case, layout, pairs))
    np.testing.assert_array_equal(made, out)
    assert (out == NO_NEIGHBOR).any() and ((out > 0) & (out < NO_NEIGHBOR)).any()


@pytest.mark.parametrize("block, blocks", [(32, 1), (64, 3), (96, 20)])
def test_neighbor_codes(block, blocks):
    """More and fewer blocks than users.

    Nine users and the unknown one; item 33 is unknown; three slots are padding.
    """
    case = problem(2, 5, shape=(9, 33), n_ratings=110)
    layout = lanes_layout(2, 5, 2)
    pairs = sorted((i, j) for i in range(10) for j in (0, 1, 17, 32, 33))
    lines = query(case, pairs)
    out, tables = np.full((len(pairs), layout.slots), 9, np.uint8), np.zeros((blocks, 34), np.uint8)
    launch(neighbor_codes, blocks, block, history(case), lines, pack(case, layout)[1], out.view(np.uint32), tables)
    np.testing.assert_array_equal(out[lines.places], code_lines(case, layout, pairs))
    assert not tables.any() and (out == NO_NEIGHBOR).any()
