"""The kernels of batch-Hogwild against the oracle and the twins."""

import numpy as np
import pytest
from support import launch, launch_repeatably

from factorization.inputs import problem
from factorization.solvers.hogwild.inputs import (
    BATCH,
    BIAS_RATE,
    DECAY,
    RATE,
    assert_learned,
    in_random_order,
    samples_of,
    tables_of,
    without_conflicts,
)

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization.model.layout import EXTRA, gpu_layout
from gpukit.factorization.solvers.hogwild import twins
from gpukit.factorization.solvers.hogwild.arrays import Samples
from gpukit.factorization.solvers.hogwild.gpu import stored_width
from gpukit.factorization.solvers.hogwild.kernels import copy_factors, make_hogwild_epoch, scatter_ratings


def apart(tables):
    """Factors in arrays of their own: `launch` copies each array by itself."""
    return tables._replace(P=tables.P.copy(), Q=tables.Q.copy())


def together(tables):
    """The Tables with the factors of P and Q, and the biases beside."""
    for factors, table in zip(tables[:2], tables[2:]):
        table[:, :-EXTRA] = factors[:, :-EXTRA]
    return tables


@pytest.mark.parametrize("n_factors, batch", [(1, 7), (3, 1), (33, 1000), (130, 7)])
def test_one_worker(n_factors, batch):
    """A second warp, without a batch of its own, does nothing."""
    case = problem(n_factors, 0, n_ratings=40)
    pairs, tables = in_random_order(case), apart(tables_of(case, gpu_layout(n_factors, 0)))
    kernel = make_hogwild_epoch(stored_width(n_factors) // 32)
    launch(kernel, 1, 64, samples_of(case, pairs), tables, RATE, BIAS_RATE, DECAY, batch, 1)
    assert_learned(case, together(tables), pairs)


def test_workers_without_conflicts():
    case, pairs = without_conflicts(5, 2)
    tables = apart(tables_of(case, gpu_layout(5, 0)))
    arguments = samples_of(case, pairs), tables, RATE, BIAS_RATE, DECAY, BATCH, 2
    launch_repeatably(make_hogwild_epoch(1), 1, 64, *arguments)
    assert_learned(case, together(tables), pairs)


def test_halves():
    """As in single precision to a float16 number's last places; what is stored are halves."""
    case = problem(33, 0, n_ratings=40)
    pairs, layout = in_random_order(case), gpu_layout(33, 0)
    tables, halves = tables_of(case, layout), []
    for table in tables[:2]:
        halves.append(np.full((len(table), stored_width(33)), np.nan, np.float16))
        launch_repeatably(copy_factors, 2, 32, table, stored_width(33), halves[-1])
    stored = tables._replace(P=halves[0], Q=halves[1])
    arguments = samples_of(case, pairs), stored, RATE, BIAS_RATE, DECAY, BATCH, 1
    launch(make_hogwild_epoch(2), 1, 32, *arguments)
    for half, table in zip(halves, tables[:2]):
        assert half.dtype == np.float16 and not np.array_equal(half[:-1, :33], table[:-1, :33].astype(np.float16))
        launch_repeatably(copy_factors, 2, 32, half, 33, table)
        np.testing.assert_array_equal(table[:, :33], half[:, :33].astype(np.float32))
    assert_learned(case, tables, pairs, within=4e-3)


@pytest.mark.parametrize("counts", [(1,), (0, 3, 0, 5), (40, 0, 1, 23)])
def test_ratings_are_scattered(counts):
    """As the twin does, to the bit."""
    starts, n = np.concatenate(([0], np.cumsum(counts))).astype(np.int64), sum(counts)
    minor, values = np.arange(n, dtype=np.int32), np.linspace(-1, 1, n).astype(np.float32)
    found, expected = (
        Samples(np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.full(n, np.nan, np.float32)) for _ in range(2)
    )
    twins.scatter_ratings(starts, minor, values, np.uint32(9), expected)
    launch_repeatably(scatter_ratings, 3, 32, starts, minor, values, np.uint32(9), found)
    for mine, other in zip(expected, found):
        np.testing.assert_array_equal(mine, other)
