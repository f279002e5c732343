"""GPU kernels of batch-Hogwild; hogwild_twins.py has their CPU twins."""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.kernels import lane_of, load_extra
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.prepare.formulas import half_width
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.primitives.rows import add_row, load_row, partial_dot
from gpukit.primitives.warp import WARP, group_max, group_sum
from gpukit.random import shuffle_index

U32, U64, I64 = np.uint32, np.uint64, np.int64


@kernel
def scatter_ratings(starts, minor, values, seed_key, samples):
    """samples = the ratings of all rows in a random order, a function of seed_key.

    starts (rows + 1 or more,) int64: first rating of each row; minor (n,) int32, values (n,) float32; seed_key uint32;
    samples: Samples, overwritten.
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours (Feistel permutations, Black and Rogaway 2002).
    """
    half, n = half_width(minor.size), U32(minor.size)
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        for t in range(I64(starts[U64(row)]) + I64(cuda.threadIdx.x), I64(starts[U64(row + 1)]), I64(cuda.blockDim.x)):
            target = U64(shuffle_index(seed_key, U32(t), half, n))
            samples.major[target] = row
            samples.minor[target] = minor[U64(t)]
            samples.values[target] = values[U64(t)]


@device
def _sample(samples, t):
    """Return (rows of both sides, z) of rating t."""
    return U32(samples.major[U64(t)]), U32(samples.minor[U64(t)]), samples.values[U64(t)]


@factory
def make_hogwild_epoch(lanes, factors, vector):
    """Return hogwild_epoch for `lanes` threads per rating, each with `factors` factors (a multiple of 4).

    vector: additions in quads (compute capability 9.0).
    """

    @kernel
    def hogwild_epoch(samples, own, other, rates, batch, turn, workers):
        """Apply Eq. (5) to every rating once; worker w processes the batches w, w + workers, ... of a random order.

        samples: Samples (n,); own, other (rows + 1, stride) float32: parameter rows with the biases; rates:
        formulas.Rates, whose gains are 0; batch int64: ratings of a batch; turn uint32: key of the epoch, which
        determines the order; workers int64: groups of lanes. Rows are read without locks while other workers add to
        them; no step is lost.

        Launch: any grid of at least lanes * workers threads, blocks of a multiple of 32.
        Deterministic: with one worker, or if no two workers share a row; else results depend on the order of steps.
        Source: Xie et al. 2017, sec. 4 and Algorithm 1 (batch-Hogwild), there with stores; Li et al. 2022, Eq. (5).
        """
        lane, worker = lane_of(lanes), I64(cuda.grid(1) // lanes)
        p = cuda.local.array(factors, F32)
        q = cuda.local.array(factors, F32)
        dp = cuda.local.array(factors, F32)
        dq = cuda.local.array(factors, F32)
        n, own_extras, other_extras = I64(samples.values.size), U32(own.shape[1] - EXTRA), U32(other.shape[1] - EXTRA)
        batches = (n + I64(batch) - I64(1)) // I64(batch)
        half = half_width(batches)
        for done in range(I64(0), batches, I64(workers)):
            place, first, length = done + worker, I64(0), I64(0)
            if worker < I64(workers) and place < batches:
                first = I64(shuffle_index(turn, U32(place), half, U32(batches))) * I64(batch)
                length = min(I64(batch), n - first)
            ahead, last = _sample(samples, first), max(length - I64(1), I64(0))
            for step in range(group_max(length, WARP)):
                u, v, z = ahead
                ahead = _sample(samples, first + min(I64(step + 1), last))
                load_row(own, u, U32(0), lane, lanes, factors, p)
                load_row(other, v, U32(0), lane, lanes, factors, q)
                b, c = load_extra(own, u, lane), load_extra(other, v, lane)
                biases = F32(b + c) if lane == U32(BIAS) else ZERO
                error = F32(z - group_sum(F32(partial_dot(p, q, factors) + biases), lanes))
                for f in range(factors):
                    dp[f] = formulas.factor_change(p[f], q[f], error, rates.factor, rates.factor_decay)
                    dq[f] = formulas.factor_change(q[f], p[f], error, rates.factor, rates.factor_decay)
                if step < length:
                    add_row(own, u, U32(0), lane, lanes, factors, vector, dp)
                    add_row(other, v, U32(0), lane, lanes, factors, vector, dq)
                    if lane == U32(BIAS):
                        change = formulas.bias_change(b, error, rates.bias, rates.bias_decay)
                        cuda.atomic.add(own, (u, U32(own_extras + U32(BIAS))), change)
                        change = formulas.bias_change(c, error, rates.bias, rates.bias_decay)
                        cuda.atomic.add(other, (v, U32(other_extras + U32(BIAS))), change)

    return hogwild_epoch
