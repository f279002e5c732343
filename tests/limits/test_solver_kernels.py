"""Solvers other than SGD on ratings beyond 2**31."""

import numpy as np
import pytest
from factorization.solvers.squares.inputs import batch_of, problem, table_of

from limits.sparse import sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.factorization.solvers import squares
from gpukit.factorization.solvers.hogwild import Samples
from gpukit.factorization.solvers.hogwild_kernels import make_hogwild_epoch, scatter_ratings
from gpukit.factorization.solvers.sgd.formulas import Rates
from gpukit.factorization.solvers.squares_kernels import make_gram_of_pieces

FAR = 2**32 - 99  # position of the first rating
U32 = np.uint32
BLOCK = 32


def blocks_of(x, y=1):
    return [(i, j, 0) for i in range(x) for j in range(y)]


def test_normal_equations():
    case, shape, made = problem(3, (5, 40)), squares.shape_of(3), []
    pieces, *_ = batch_of(case, 30)
    table = table_of(case.V, case.b, 4)
    for offset in (0, FAR):
        grams = np.zeros((len(pieces), 64, shape.tiles), np.float32)
        lists = (
            with_tail(offset, case.minor),
            with_tail(offset, case.values),
            np.ones(1, np.float32),
            table,
            True,
            grams,
        )
        there, grid = pieces + [0, offset, 0], (len(pieces), shape.groups)
        run_blocks(make_gram_of_pieces(*shape), grid, shape.threads, blocks_of(*grid), there, *lists)
        made.append(grams)
    np.testing.assert_array_equal(made[1], made[0])
    assert made[0].any()


def test_hogwild_epochs():
    rng, n = np.random.default_rng(0), FAR + 40
    tail = rng.integers(0, 4, 40).astype(np.int32), rng.integers(0, 9, 40).astype(np.int32)
    values, made = rng.normal(size=40).astype(np.float32), []
    P, Q = (rng.normal(size=(rows, 136)).astype(np.float32) for rows in (5, 10))
    for offset in (0, FAR):
        own = Samples(*(with_tail(offset, column) for column in (*tail, values)))
        tables, rate = (P.copy(), Q.copy()), np.float32(0.001)
        rates = Rates(rate, np.float32(0), rate, rate, np.float32(0), rate, np.float32(0), np.float32(0))
        batch, workers = (40, 1) if not offset else (offset, 2)  # the second worker's batch is the tail
        epoch = make_hogwild_epoch(32, 4, False)
        arguments = (
            own,
            *tables,
            rates,
            batch,
            U32(1),
            workers,
        )  # a round in which two batches keep their order
        run_blocks(epoch, workers, BLOCK, [(workers - 1, 0, 0)], *arguments)
        made.append(tables)
    assert all(np.array_equal(near, far) for near, far in zip(*made)) and not np.array_equal(made[0][0], P)
    out = Samples(sparse(n, np.int32), sparse(n, np.int32), sparse(n, np.float32))
    starts, lists = np.array([FAR, FAR + 17, n]), (with_tail(FAR, tail[1]), with_tail(FAR, values))
    run_blocks(scatter_ratings, 2, BLOCK, blocks_of(2), starts, *lists, U32(3), out)
    from gpukit.factorization.prepare.formulas import half_width
    from gpukit.random import shuffle_index

    for t in (0, 17, 39):
        there = int(shuffle_index(U32(3), U32(FAR + t), half_width(n), n))
        assert out.minor[there] == tail[1][t] and out.values[there] == values[t] and out.major[there] == (t >= 17)
