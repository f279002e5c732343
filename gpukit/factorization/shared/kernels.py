"""GPU kernels of training over ranks; twins.py has their CPU twins."""

import numpy as np

from gpukit._cuda import cuda, factory, kernel
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.solvers.sgd.formulas import change_weight
from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.primitives.block import block_sum
from gpukit.primitives.rows import add_row, add_stored, as_floats, load_row, load_stored, store_row

F32, F64, U32, U64, I64 = np.float32, np.float64, np.uint32, np.uint64, np.int64
WARPS = 8


@factory
def make_take_changes(half):
    """Return take_changes for factors in float16 (half, two in each float32) or float32."""

    @kernel
    def take_changes(table, rows, common, changes):
        """changes[r] = table[rows[r]] - common[r] for each row of changes; other kernels may add concurrently.

        table (any, stride) float32: parameter rows, stride a multiple of 4; rows (n or more,) int32; common (n or more,
        F + 4) float32 and changes (n, F + 4) float32, overwritten: factors, F a multiple of 4, then the first extras.
        Launch: any grid and block; a thread handles four numbers.
        Deterministic: yes, exact, without concurrent additions.
        Source: ours.
        """
        stored, now = cuda.local.array(QUAD, np.float32), cuda.local.array(QUAD, np.float32)
        quads = U32(U32(changes.shape[1]) // U32(QUAD))
        extras = U32(U32(table.shape[1]) - U32(EXTRA))
        for t in range(I64(cuda.grid(1)), I64(changes.shape[0]) * I64(quads), I64(cuda.gridsize(1))):
            r = U32(U32(t) // quads)
            row, quad = U32(rows[r]), U32(U32(t) - U32(r * quads))
            if U32(quad + U32(1)) < quads:
                load_stored(table, row, quad, 1, QUAD, half, stored)
                as_floats(stored, QUAD, half, now)
            else:
                load_row(table, row, extras, U32(0), 1, QUAD, now)
            load_row(common, r, U32(0), quad, 1, QUAD, stored)
            for i in range(QUAD):
                now[i] -= stored[i]
            store_row(changes, r, U32(0), quad, 1, QUAD, now)

    return take_changes


@factory
def make_add_changes(half, vector):
    """Return add_changes for rows as in make_take_changes; vector: additions in quads (compute capability 9.0)."""

    @kernel
    def add_changes(changes, sums, shares, rows, table, common):
        """common[r] += shares[r] sums[r]; table[rows[r]] += shares[r] sums[r] - changes[r].

        The table has its own changes already. The sum of squared errors is added with share 1. changes, sums (n, F + 4)
        float32, shares (n or more,) float32, rows (n or more,) int32, all different, table (any, stride) float32,
        common (n or more, F + 4) float32: as in take_changes.
        Launch: any grid and block; a thread handles four numbers.
        Deterministic: yes, exact, without concurrent additions.
        Source: ours.
        """
        own, total = cuda.local.array(QUAD, np.float32), cuda.local.array(QUAD, np.float32)
        quads = U32(U32(changes.shape[1]) // U32(QUAD))
        extras = U32(U32(table.shape[1]) - U32(EXTRA))
        for t in range(I64(cuda.grid(1)), I64(changes.shape[0]) * I64(quads), I64(cuda.gridsize(1))):
            r = U32(U32(t) // quads)
            row, quad, share = U32(rows[r]), U32(U32(t) - U32(r * quads)), shares[r]
            load_row(changes, r, U32(0), quad, 1, QUAD, own)
            load_row(sums, r, U32(0), quad, 1, QUAD, total)
            for i in range(QUAD):
                whole = i == SQUARES and U32(quad + U32(1)) == quads
                total[i] = total[i] if whole else F32(share * total[i])
                own[i] = total[i] - own[i]
            if U32(quad + U32(1)) < quads:
                add_stored(table, row, quad, 1, QUAD, half, vector, own)
            else:
                add_row(table, row, extras, U32(0), 1, QUAD, vector, own)
            load_row(common, r, U32(0), quad, 1, QUAD, own)
            for i in range(QUAD):
                own[i] += total[i]
            store_row(common, r, U32(0), quad, 1, QUAD, own)

    return add_changes


@kernel
def factor_squares(table, counts, factors, every, sums):
    """sums[b] = (sum of counts[r] |p_r|^2, sum of counts[r]) over part b of the rows r = 0, every, 2 every, ...

    table (rows, stride) float32: parameter rows that begin with `factors` factors; other kernels may add concurrently;
    counts (rows or fewer,) float32; factors, every int64; sums (blocks, 2) float64, overwritten.
    Launch: 256 threads, one block for each row of sums.
    Deterministic: yes, of a grid; budget.
    Source: ours.
    """
    squares, sizes = cuda.shared.array(WARPS, np.float64), cuda.shared.array(WARPS, np.float64)
    square, size = F64(0.0), F64(0.0)
    chosen = (I64(counts.size) + I64(every) - I64(1)) // I64(every)
    for t in range(I64(cuda.grid(1)), chosen * I64(factors), I64(cuda.gridsize(1))):
        row = U64(t // I64(factors) * I64(every))
        count, p = counts[row], table[row, U64(t % I64(factors))]
        square += F64(F32(count * F32(p * p)))
        size += F64(count) if t % I64(factors) == 0 else F64(0.0)
    square, size = block_sum(square, WARPS, squares), block_sum(size, WARPS, sizes)
    if cuda.threadIdx.x == 0:
        sums[U32(cuda.blockIdx.x), 0] = square
        sums[U32(cuda.blockIdx.x), 1] = size


@kernel
def damp(sums, paces, ranks, shares):
    """shares[r] = share_of(paces[r] |p|^2), with |p|^2 the quotient of the column sums of `sums`; 1 if both are 0.

    sums (any, 2) float64: factor_squares' of all ranks; paces, shares (n,) float32, shares overwritten; ranks int64.
    Launch: any grid and block.
    Deterministic: yes; budget.
    Source: ours, after partition.paces.
    """
    square, size = F64(0.0), F64(0.0)
    for b in range(sums.shape[0]):
        square += sums[U32(b), 0]
        size += sums[U32(b), 1]
    mean = F32(square / size) if size > F64(0.0) else F32(0.0)
    for r in range(I64(cuda.grid(1)), I64(shares.size), I64(cuda.gridsize(1))):
        shares[U64(r)] = change_weight(F32(paces[U64(r)] * mean), F32(ranks))
