"""GPU kernel of bidiagonalization; twins/bidiagonal.py has its CPU twin.

A slice, or its transpose, whichever is tall, is B (q, p): groups of lanes hold its rows, cyclically.
"""

import math

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.primitives.warp import group_max, group_sum
from gpukit.svt.formulas import ONE, ZERO, binary_scale, reflection

U32, I32 = np.uint32, np.int32
FULL = U32(0xFFFFFFFF)


@device
def stage(X, wide, pitch, B, threads, parts):
    """Load a slice or its transpose into B, scaled.

    Returns the scale, a power of two. Numbers beyond its columns are 0.
    """
    rows, columns = U32(X.shape[0]), U32(X.shape[1])
    p, q = (rows, columns) if wide else (columns, rows)
    thread, largest = U32(cuda.threadIdx.x), ZERO
    for index in range(thread, U32(rows * columns), U32(threads)):
        i = U32(U32(index) // columns)
        largest = max(largest, abs(X[i, U32(U32(index) - U32(i * columns))]))
    largest = group_max(largest, 32)
    if U32(cuda.laneid) == U32(0):
        parts[U32(thread >> U32(5))] = largest
    cuda.syncthreads()
    for other in range(threads // 32):
        largest = max(largest, parts[other])
    scale = binary_scale(largest)
    for index in range(thread, U32(q * U32(pitch)), U32(threads)):
        i = U32(U32(index) // U32(pitch))
        j = U32(U32(index) - U32(i * U32(pitch)))
        value = ZERO
        if j < p:
            value = (X[j, i] if wide else X[i, j]) * scale
        B[U32(index)] = value
    cuda.syncthreads()
    return scale


@device
def combine(s, lanes, count, warps, sums, total):
    """Sum the threads' s into total, column by column."""
    warp, lane = U32(U32(cuda.threadIdx.x) >> U32(5)), U32(cuda.laneid)
    for e in range(count):
        value, offset = s[e], lanes
        while offset < 32:
            value += cuda.shfl_xor_sync(FULL, value, offset)
            offset <<= 1
        if lane < U32(lanes):
            sums[warp, U32(lane + U32(lanes * e))] = value
    cuda.syncthreads()
    for j in range(U32(cuda.threadIdx.x), U32(lanes * count), U32(warps * 32)):
        value = sums[0, U32(j)]
        for other in range(1, warps):
            value += sums[other, U32(j)]
        total[U32(j)] = value
    cuda.syncthreads()


@device
def prepare(B, pitch, k, p, total, lane, lanes, count, w, v, d, e):
    """Compute step k's two reflections, w and v, in the thread's columns.

    Returns (w, v) of column k + 1 and the second factor. Writes d[k] and e[k + 1].
    """
    row_start, after = U32(k * U32(pitch)), U32(k + U32(1))
    alpha, factor = reflection(B[U32(row_start + k)], total[k])
    pivot, last = B[U32(row_start + k)] - alpha, after >= p
    w1 = ZERO if last else (total[after] - alpha * B[U32(row_start + after)]) * factor
    v1 = ZERO if last else cuda.fma(-pivot, w1, B[U32(row_start + after)])
    rest = ZERO
    for number in range(count):
        j = U32(lane + U32(lanes * number))
        value, other = ZERO, ZERO
        if j > k:
            value = (total[j] - alpha * B[U32(row_start + j)]) * factor
            other = v1 if j == after else cuda.fma(-pivot, value, B[U32(row_start + j)])
        w[number] = w1 if j == after else value
        v[number] = other
        rest += other * other
    rest = group_sum(rest, lanes)
    beta, second = v1, ZERO
    if U32(k + U32(2)) < p:
        beta, second = reflection(v1, rest)
    v1 -= beta
    for number in range(count):
        v[number] = v1 if U32(lane + U32(lanes * number)) == after else v[number]
    if U32(cuda.threadIdx.x) == U32(0):
        d[k], e[after] = alpha, beta
    return w1, v1, second


@device
def keep(B, pitch, k, lane, lanes, count, v, factor):
    """Store u of step k's reflection in row k of B.

    The reflection is I - u u'; numbers to the diagonal are 0. First group of lanes only.
    """
    if U32(cuda.threadIdx.x) < U32(lanes):
        size = math.sqrt(factor)
        for e in range(count):
            B[U32(U32(k * U32(pitch)) + U32(lane + U32(lanes * e)))] = v[e] * size


@device
def expand(B, pitch, p, group, groups, lane, lanes, count, u, r):
    """Replace the rows of B by the product of all reflections.

    Row k is the u of I - u u'; the product is last to first.
    """
    for turn in range(p):
        k = U32(p - U32(1) - U32(turn))
        for e in range(count):
            u[e] = B[U32(U32(k * U32(pitch)) + U32(lane + U32(lanes * e)))]
        cuda.syncthreads()
        for base in range(k, p, groups):
            i = U32(U32(base) + group)
            row_start, share = U32(i * U32(pitch)), ZERO
            for e in range(count):
                j = U32(lane + U32(lanes * e))
                r[e] = ONE if j == i else ZERO
                if k < i < p:
                    r[e] = B[U32(row_start + j)]
                share += r[e] * u[e]
            share = group_sum(share, lanes)
            if i < p:
                for e in range(count):
                    B[U32(row_start + U32(lane + U32(lanes * e)))] = r[e] - share * u[e]
        cuda.syncthreads()


@device
def renew(B, pitch, k, q, group, groups, lane, lanes, count, w, v, w1, v1, factor, r, s):
    """Apply both reflections to the rows below k; s = the thread's part of column k + 1's products with all columns."""
    after = U32(k + U32(1))
    for e in range(count):
        s[e] = ZERO
    for base in range(after, q, groups):
        i = U32(U32(base) + group)
        inside = i < q
        row_start = U32((i if inside else k) * U32(pitch))
        x, first, share = B[U32(row_start + k)], B[U32(row_start + after)], ZERO
        for e in range(count):
            if U32(lanes * (e + 1)) > after:
                r[e] = cuda.fma(-x, w[e], B[U32(row_start + U32(lane + U32(lanes * e)))])
                share += r[e] * v[e]
        z = group_sum(share, lanes) * factor
        cuda.syncwarp()  # all lanes have read columns k and k + 1 of their rows
        first = cuda.fma(-z, v1, cuda.fma(-x, w1, first))
        if inside:
            for e in range(count):
                if U32(lanes * (e + 1)) > after:
                    r[e] = cuda.fma(-z, v[e], r[e])
                    B[U32(row_start + U32(lane + U32(lanes * e)))] = r[e]
                    s[e] += first * r[e]


@factory
def make_bidiagonalize(real, lanes, count, pitch, warps, shared):
    """Return bidiagonalize for slices of type real.

    They have up to lanes * count columns. Rows are `pitch` apart, blocks have `warps`; shared: the slice is in the
    launch's dynamic shared memory.
    """
    most, threads, groups = lanes * count, 32 * warps, 32 * warps // lanes
    beyond = most + 1

    @kernel(max_registers=128)
    def bidiagonalize(X, d, e, scales, states, V, workspace):
        """Bidiagonalize every slice into d and e; V holds the column transformations.

        Row transformations are not stored. X (N, m, n), d (p, N), e (p + 1, N), scales (N,), V (N, p, p) of `real`,
        p = min(m, n); states (N, 3) int32: for d, e and states see formulas.chase. scales: powers of two that the
        slices are multiplied by first. The rows of V are the right vectors: B V' = (left vectors) (bidiagonal).
        workspace (N, max(m, n) * pitch) of `real`, or (1, 1) if the slice is in shared memory.
        Launch: grid N, block 32 * warps, dynamic shared memory of max(m, n) * pitch numbers.
        Deterministic: yes.   Source: Golub and Van Loan 5.4.8; both reflections of a step are one pass over the slice.
        """
        B = cuda.shared.array(0, real) if shared else workspace[cuda.blockIdx.x]
        sums = cuda.shared.array((warps, most), real)
        total = cuda.shared.array(beyond, real)
        parts = cuda.shared.array(warps, real)
        w = cuda.local.array(count, real)
        v = cuda.local.array(count, real)
        r = cuda.local.array(count, real)
        s = cuda.local.array(count, real)
        slice_, thread = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x)
        group, lane = U32(thread // U32(lanes)), U32(thread % U32(lanes))
        wide = X.shape[1] < X.shape[2]
        p, q = U32(min(X.shape[1], X.shape[2])), U32(max(X.shape[1], X.shape[2]))
        scale = stage(X[slice_], wide, pitch, B, threads, parts)
        for number in range(count):
            s[number] = real(0.0)
        for i in range(group, q, U32(groups)):
            row_start = U32(U32(i) * U32(pitch))
            for number in range(count):
                s[number] += B[row_start] * B[U32(row_start + U32(lane + U32(lanes * number)))]
        combine(s, lanes, count, warps, sums, total)
        for k in range(p):
            w1, v1, factor = prepare(B, pitch, U32(k), p, total, lane, lanes, count, w, v, d[:, slice_], e[:, slice_])
            if U32(U32(k) + U32(1)) < p:
                renew(B, pitch, U32(k), q, group, U32(groups), lane, lanes, count, w, v, w1, v1, factor, r, s)
            combine(s, lanes, count, warps, sums, total)
            keep(B, pitch, U32(k), lane, lanes, count, v, factor)
        cuda.syncthreads()
        expand(B, pitch, p, group, U32(groups), lane, lanes, count, w, r)
        for i in range(group, p, U32(groups)):
            for number in range(count):
                j = U32(lane + U32(lanes * number))
                if j < p:
                    V[slice_, U32(i), j] = B[U32(U32(U32(i) * U32(pitch)) + j)]
        if thread == U32(0):
            scales[slice_], e[0, slice_] = scale, real(0.0)
            states[slice_, 0], states[slice_, 1], states[slice_, 2] = I32(0), I32(p - U32(1)), I32(0)

    return bidiagonalize
