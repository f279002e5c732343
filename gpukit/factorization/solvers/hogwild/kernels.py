"""GPU kernels of batch-Hogwild; twins.py has them for the CPU."""

import functools

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.prepare.formulas import half_width
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.primitives.rows import load_scalars, partial_dot
from gpukit.primitives.warp import group_sum
from gpukit.random import shuffled

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARP = 32


@kernel
def scatter_ratings(starts, minor, values, seed_key, samples):
    """The ratings of all rows in an order that is random, a function of seed_key.

    starts (rows + 1 or more,) int64: where rows begin; minor (n,) int32, values (n,) float32; seed_key uint32; samples:
    Samples, overwritten.
    Launch: any grid and block; a block walks whole rows.
    Deterministic: yes, exact.
    Source: ours (Feistel permutations, Black and Rogaway 2002).
    """
    half, n = half_width(minor.size), U32(minor.size)
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        for t in range(I64(starts[U64(row)]) + I64(cuda.threadIdx.x), I64(starts[U64(row + 1)]), I64(cuda.blockDim.x)):
            there = U64(shuffled(seed_key, U32(t), half, n))
            samples.major[there] = row
            samples.minor[there] = minor[U64(t)]
            samples.values[there] = values[U64(t)]


@kernel
def copy_factors(source, width, out):
    """out[r, f] = source[r, f] for f < width: rows of one precision from those of the other.

    source, out (rows, any) float32 or float16, out overwritten; width int64.
    Launch: any grid and block; a block copies whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for row in range(I64(cuda.blockIdx.x), I64(source.shape[0]), I64(cuda.gridDim.x)):
        for f in range(I64(cuda.threadIdx.x), I64(width), I64(cuda.blockDim.x)):
            out[U64(row), U64(f)] = source[U64(row), U64(f)]


@functools.cache
def make_hogwild_epoch(factors):
    """hogwild_epoch for up to 32 x `factors` factors, as many a lane."""

    @kernel
    def hogwild_epoch(samples, tables, rate, bias_rate, decay, batch, workers):
        """One pass over all ratings, Eq. (5) for each; worker w takes the batches w, w + workers, ...

        samples: Samples (n,); tables: HogwildTables (rows + 1, any); rate, bias_rate float32: gamma of factors and
        biases; decay float32: lambda; batch int64: ratings of a batch; workers int64: warps that take part. Rows are
        read, changed and stored without locks: what another worker stored meanwhile is lost.

        Launch: any grid of at least 32 * workers threads, blocks of a multiple of 32.
        Deterministic: with one worker, or when no two workers share a row; else no (racy stores).
        Source: Xie et al. 2017, sec. 4 and Algorithm 1 (batch-Hogwild); Li et al. 2022, Eq. (5).
        """
        lane, worker = U32(U32(cuda.threadIdx.x) % U32(WARP)), I64(cuda.grid(1) // WARP)
        p = cuda.local.array(factors, F32)
        q = cuda.local.array(factors, F32)
        P, Q, own, other = tables
        n = I64(samples.values.size)
        first = worker * I64(batch) if worker < workers else n
        for begin in range(first, n, I64(workers) * I64(batch)):
            for t in range(begin, min(n, begin + I64(batch))):
                u, v = U32(samples.major[U64(t)]), U32(samples.minor[U64(t)])
                load_scalars(P, u, lane, WARP, factors, p)
                load_scalars(Q, v, lane, WARP, factors, q)
                partial, at, there = partial_dot(p, q, factors), U32(own.shape[1] - EXTRA), U32(other.shape[1] - EXTRA)
                b, c = ZERO, ZERO
                if lane == U32(0):
                    b, c = own[u, U32(at + U32(BIAS))], other[v, U32(there + U32(BIAS))]
                error = F32(samples.values[U64(t)] - group_sum(F32(partial + F32(b + c)), WARP))
                for i in range(factors):
                    f = U32(lane + U32(i * WARP))
                    P[u, f] = p[i] + formulas.factor_change(p[i], q[i], error, rate, decay)
                    Q[v, f] = q[i] + formulas.factor_change(q[i], p[i], error, rate, decay)
                if lane == U32(0):
                    own[u, U32(at + U32(BIAS))] = b + formulas.bias_change(b, error, bias_rate, decay)
                    other[v, U32(there + U32(BIAS))] = c + formulas.bias_change(c, error, bias_rate, decay)
                cuda.syncwarp()

    return hogwild_epoch
