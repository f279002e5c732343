"""GPU kernel of the places; twins.py has its CPU twin."""

import functools

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.factorization.kernels.rows import lane_of, load_extra
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.primitives.rows import add_stored, as_floats, load_stored

U32, U64, I64, F32 = np.uint32, np.uint64, np.int64, np.float32
RUN = 128  # consecutive ratings of a sample


@functools.cache
def make_grow_rows(lanes, factors, half, vector):
    """Return grow_rows for `lanes` threads per rating with `factors` factors; half, vector: see make_sgd_epoch."""

    @kernel
    def grow_rows(minor, every, share, Q):
        """Q[row] += share Q[row] for the row of each sampled rating, with the memory accesses of an epoch's step.

        Changes the factors and the first two of the last eight numbers. minor (n,) int32: rows; the sample: the first
        RUN of every RUN * every ratings; share float32; Q (rows, stride) float32: parameter rows.
        Launch: any grid, blocks of a multiple of `lanes`.
        Deterministic: if all rows differ or share is 0; else up to the order of atomic additions.
        Source: ours.
        """
        lane, n, apart = lane_of(lanes), I64(minor.size), I64(RUN) * I64(every)
        stored, row_of = cuda.local.array(factors, np.float32), cuda.local.array(factors, np.float32)
        count = n // apart * I64(RUN) + min(I64(RUN), n % apart)
        for t in range(I64(cuda.grid(1)) // I64(lanes), count, I64(cuda.gridsize(1)) // I64(lanes)):
            row = U32(minor[U64(t // I64(RUN) * apart + t % I64(RUN))])
            load_stored(Q, row, lane, lanes, factors, half, stored)
            extra = F32(share * load_extra(Q, row, lane))
            as_floats(stored, factors, half, row_of)
            for i in range(factors):
                row_of[i] = F32(share * row_of[i])
            add_stored(Q, row, lane, lanes, factors, half, vector, row_of)
            if lane <= U32(SQUARES):
                cuda.atomic.add(Q, (row, U32(U32(Q.shape[1] - EXTRA) + lane)), extra)

    return grow_rows
