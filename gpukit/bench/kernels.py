"""Kernels as the papers describe them, for comparison with the library's kernels."""

import numpy as np

from gpukit._cuda import cuda, factory, kernel
from gpukit.factorization.solvers.sgd import formulas
from gpukit.primitives.rows import load_scalars, partial_dot
from gpukit.primitives.warp import group_max, group_sum

U32, I32, U64 = np.uint32, np.int32, np.uint64


@factory
def make_paper_epoch(lanes, factors):
    """Return paper_epoch for `lanes` threads a rating with `factors` factors each; the paper has 32 lanes."""

    @kernel
    def paper_epoch(rows, indptr, minor, ratings, P, Q, rate, decay):
        """Algorithm 2 of the paper: u stays in registers for a row, v is overwritten at every rating without locks.

        rows (M,) int32: rows by falling length; indptr (M + 1,) int64, minor (nnz,) int32, ratings (nnz,) float32; P
        (M, F), Q (N, F) float32: factors; rate, decay float32: gamma of Eq. (7), lambda.

        Launch: any grid, blocks of a multiple of 32 threads.
        Deterministic: no (racy stores).
        Source: Li et al. 2022, Algorithm 2, Eq. (5), (7).
        """
        lane = U32(U32(cuda.threadIdx.x) % U32(lanes))
        worker, workers = I32(cuda.grid(1)) // I32(lanes), I32(cuda.gridsize(1)) // I32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        q_next = cuda.local.array(factors, np.float32)
        for done in range(I32(0), I32(rows.size), workers):
            busy = done + worker < rows.size
            row = U32(rows[U32(done + worker if busy else 0)])
            length = I32(indptr[row + U32(1)] - indptr[row]) if busy else I32(0)
            start = U64(indptr[row] if length > 0 else 0)
            last = max(length - I32(1), I32(0))
            load_scalars(P, row, lane, lanes, factors, p)
            other, rating = U32(minor[start]), ratings[start]
            load_scalars(Q, other, lane, lanes, factors, q_next)
            t = U64(start + U64(min(I32(1), last)))
            later, later_rating = U32(minor[t]), ratings[t]
            for step in range(group_max(length, 32)):
                live, item, error = step < length, other, rating
                for i in range(factors):
                    q[i] = q_next[i]
                other, rating = later, later_rating
                load_scalars(Q, other, lane, lanes, factors, q_next)
                t = U64(start + U64(min(I32(step + 2), last)))
                later, later_rating = U32(minor[t]), ratings[t]
                error -= group_sum(partial_dot(p, q, factors), lanes)
                if live:
                    for i in range(factors):
                        u, v = p[i], q[i]
                        p[i] = u + formulas.factor_change(u, v, error, rate, decay)
                        Q[item, U32(lane + U32(i * lanes))] = v + formulas.factor_change(v, u, error, rate, decay)
            if busy:
                for i in range(factors):
                    P[row, U32(lane + U32(i * lanes))] = p[i]

    return paper_epoch
