"""Kernels of an epoch in batches against the oracle.

With threads in both orders they are compared with themselves.
"""

import numpy as np
import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from support import launch, launch_repeatably

from factorization.inputs import lanes_layout, rates
from factorization.solvers.sgd.batch_inputs import assert_learned, case_of, dealt, learned
from factorization.test_kernels import words
from gpukit.factorization import gpu
from gpukit.factorization.solvers.sgd import batch_kernels as key_kernels
from gpukit.factorization.solvers.sgd.batch_kernels import make_walk_major, make_walk_minor


def by_kernels(case, layout, batch, steps, warps, grid, block, launch=launch):
    major = make_walk_major(layout.lanes, layout.factors, layout.near, warps)
    minor = make_walk_minor(layout.lanes, layout.factors, warps)
    return learned(
        case,
        layout,
        batch,
        steps,
        gpu.seen_width(layout),
        lambda *arrays: launch(major, grid, block, *arrays),
        lambda *arrays: launch(minor, grid, block, *arrays),
        words,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_factors, n_neighbors, lanes, warps, grid, block",
    [
        (1, 0, 8, 1, 1, 32),
        (33, 0, 8, 1, 2, 64),
        (33, 0, 8, 4, 1, 128),
        (130, 0, 16, 2, 3, 64),
        (1, 1, 8, 4, 3, 128),
        (32, 33, 8, 1, 1, 96),
        (33, 5, 16, 4, 2, 128),
        (3, 31, 32, 1, 2, 32),
        (3, 5, 32, 2, 1, 64),
    ],
)
def test_a_batch(n_factors, n_neighbors, lanes, warps, grid, block):
    case, layout = case_of(n_factors, n_neighbors), lanes_layout(n_factors, n_neighbors, lanes)
    batch = dealt(case)
    assert_learned(case, by_kernels(case, layout, batch, rates(), warps, grid, block), batch, rates())


@pytest.mark.slow
@pytest.mark.parametrize("kind, biases, walk", [("paper", True, "items"), ("adaptive", False, "users")])
def test_other_rates(kind, biases, walk):
    case, steps = case_of(6, 0, seed=1, walk=walk), rates(kind, biases)
    batch = dealt(case, seed=1)
    assert_learned(case, by_kernels(case, lanes_layout(6, 0, 8), batch, steps, 4, 2, 128), batch, steps)


@pytest.mark.slow
@pytest.mark.parametrize("warps, blocks", [(1, 2), (4, 7)])
def test_any_number_of_workers(warps, blocks):
    """Bit-identical with few teams, with more than the minor side has rows, and in reverse order."""
    case, layout = case_of(5, 3), lanes_layout(5, 3, 8)
    batch = dealt(case)
    one, more = (
        by_kernels(case, layout, batch, rates(), warps, grid, 128, run)
        for grid, run in ((1, launch), (blocks, launch_repeatably))
    )
    for first, second in zip(one, more):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("grid, block", [(1, 32), (3, 64)])
def test_key_batch(grid, block):
    batch = dealt(case_of(1, 0))
    ranks, n = np.argsort(batch.rows).astype(np.int32), len(batch.pairs)
    keys, slots = np.zeros(n, np.uint64), np.zeros(n, np.uint32)
    launch(key_kernels.key_batch, grid, block, batch.chunks, batch.minor, ranks, keys, slots)
    assert keys.tolist() == [ranks[j] for _, j in batch.by_slot()]
    np.testing.assert_array_equal(slots, np.arange(n))
