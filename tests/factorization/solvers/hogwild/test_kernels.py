"""Kernels of batch-Hogwild against the oracle and the twins."""

import numpy as np
import pytest
from support import launch, launch_repeatably

from factorization.inputs import problem
from factorization.solvers.hogwild.inputs import (
    BATCH,
    RATES,
    TURN,
    assert_learned,
    in_random_order,
    samples_of,
    tables_of,
    visits,
    without_conflicts,
)
from factorization.test_kernels import has_quad_additions

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization.model.layout import gpu_layout
from gpukit.factorization.solvers import hogwild_twins as twins
from gpukit.factorization.solvers.hogwild import Samples
from gpukit.factorization.solvers.hogwild_kernels import make_hogwild_epoch, scatter_ratings


def epoch_of(layout, vector=False):
    """Return hogwild_epoch for rows of a layout."""
    return make_hogwild_epoch(layout.lanes, layout.factors, vector)


@pytest.mark.parametrize("n_factors, batch", [(1, 7), (3, 1), (33, 1000), (130, 7), (260, 40)])
@pytest.mark.parametrize("vector", [False, True])
def test_one_worker(n_factors, batch, vector):
    """Groups of lanes without a batch do nothing."""
    if vector and not has_quad_additions():
        pytest.skip("vector additions need compute capability 9.0")
    case, layout = problem(n_factors, 0, n_ratings=40), gpu_layout(n_factors, 0)
    pairs, tables = in_random_order(case), tables_of(case, layout)
    launch(epoch_of(layout, vector), 1, 64, samples_of(case, pairs), *tables, RATES, batch, TURN, 1)
    assert_learned(case, tables, visits(pairs, batch))


@pytest.mark.parametrize("n_factors, workers", [(5, 2), (5, 3), (40, 3)])
def test_workers_without_conflicts(n_factors, workers):
    (case, pairs), layout = without_conflicts(n_factors, workers), gpu_layout(n_factors, 0)
    tables = tables_of(case, layout)
    arguments = samples_of(case, pairs), *tables, RATES, BATCH, TURN, workers
    launch_repeatably(epoch_of(layout), 1, 64, *arguments)
    assert_learned(case, tables, visits(pairs, BATCH))


@pytest.mark.gpu
def test_every_step_of_workers_that_share_rows_is_added():
    """All steps of workers that share rows are added.

    All workers share four users and items; at a low rate the sum of the steps is that of one worker.
    """
    layout, rng = gpu_layout(5, 0), np.random.default_rng(0)
    samples = Samples(*rng.integers(0, 4, (2, 20_000)).astype(np.int32), rng.normal(1, 1, 20_000).astype(np.float32))
    rate, start = np.float32(1e-7), np.zeros((5, layout.major.stride), np.float32)
    rates = RATES._replace(factor=rate, bias=rate)
    start[:4, :5] = 1
    found = []
    for workers in (1, 64):
        tables = start.copy(), start.copy()
        launch(epoch_of(layout), 64, 64, samples, *tables, rates, 32, TURN, workers)
        found.append(np.concatenate(tables) - np.concatenate((start, start)))
    assert np.abs(found[0]).max() > 1e-4
    np.testing.assert_allclose(found[1], found[0], atol=2e-5)


@pytest.mark.parametrize("counts", [(1,), (0, 3, 0, 5), (40, 0, 1, 23)])
def test_ratings_are_scattered(counts):
    """Bit-identical to the twin."""
    starts, n = np.concatenate(([0], np.cumsum(counts))).astype(np.int64), sum(counts)
    minor, values = np.arange(n, dtype=np.int32), np.linspace(-1, 1, n).astype(np.float32)
    found, expected = (
        Samples(np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.full(n, np.nan, np.float32)) for _ in range(2)
    )
    twins.scatter_ratings(starts, minor, values, np.uint32(9), expected)
    launch_repeatably(scatter_ratings, 3, 32, starts, minor, values, np.uint32(9), found)
    for mine, other in zip(expected, found):
        np.testing.assert_array_equal(mine, other)
