"""GPU kernel of the thresholding; twins.py has it for the CPU. How lanes hold vectors is in vectors.py.

A block has a slice: the vectors (columns of B, the slice or its transpose, whichever is tall) lie in shared memory, or
in global memory where that is too small. Each becomes a row of R in its turn, and the rows of R become A.
"""

import functools
import math

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.primitives.warp import group_sum
from gpukit.svt.formulas import (
    binary_scale,
    leak,
    least_square,
    partner,
    rotation,
    settled,
    squared_cosine,
    tolerances,
    turned,
    weight,
)
from gpukit.svt.vectors import FULL, block_max, dot, largest_of, load, store

U32 = np.uint32
I32 = np.int32
SWEEPS = 40  # most; none needs half as many
ROWS = 4  # of B that a warp multiplies at a time


@device
def stage(X, wide, space, pitch, zero):
    """space = the vectors of a slice X (m, n), zeros behind them; returns the size of the thread's largest number."""
    rows, columns = U32(X.shape[0]), U32(X.shape[1])
    vectors, largest = rows if wide else columns, zero
    for at in range(U32(cuda.threadIdx.x), U32(vectors * pitch), U32(cuda.blockDim.x)):
        space[U32(at)] = zero
    cuda.syncthreads()
    for at in range(U32(cuda.threadIdx.x), U32(rows * columns), U32(cuda.blockDim.x)):
        i = U32(U32(at) // columns)
        j = U32(U32(at) - U32(i * columns))
        value = X[i, j]
        space[U32(U32(i * pitch) + j) if wide else U32(U32(j * pitch) + i)] = value
        largest = max(largest, abs(value))
    return largest


@device
def measure(space, pitch, vectors, group, groups, lane, lanes, count, x, scale, norms):
    """Multiply the vectors by scale; norms = their squared lengths."""
    for turn in range(U32(0), vectors, groups):
        vector = U32(U32(turn) + group)
        live = vector < vectors
        vector = vector if live else U32(0)
        load(space, vector, pitch, lane, lanes, count, x)
        for e in range(count):
            x[e] *= scale
        square = group_sum(dot(x, x, count), lanes)
        if live:
            store(space, vector, pitch, lane, lanes, count, x)
            if lane == U32(0):
                norms[vector] = square
    cuda.syncthreads()


@device
def project(space, pitch, vectors, group, groups, lane, lanes, count, pivot, square, q, x, norms, row, ended):
    """A step of Gram-Schmidt: take the pivot's direction out of the vectors that are left.

    norms, row = their squared lengths (negative: a pivot already) and the step's row of R, for the next step.
    """
    load(space, pivot, pitch, lane, lanes, count, q)
    length = math.sqrt(square)
    for turn in range(U32(0), vectors, groups):
        vector = U32(U32(turn) + group)
        inside = vector < vectors
        vector = vector if inside else U32(0)
        done = norms[ended, vector] < 0
        live = inside and not done and vector != pivot
        load(space, vector, pitch, lane, lanes, count, x)
        share = group_sum(dot(q, x, count), lanes)
        for e in range(count):
            x[e] -= share / square * q[e]
        rest = group_sum(dot(x, x, count), lanes)
        if live:
            store(space, vector, pitch, lane, lanes, count, x)
        if inside and lane == U32(0):
            norms[U32(1) - ended, vector] = rest if live else -length
            row[U32(1) - ended, vector] = share / length if live else (length if vector == pivot else length - length)
    cuda.syncthreads()


@device
def total_of(squares, vectors):
    """The sum of the squared lengths."""
    total = squares[0]
    for vector in range(U32(1), vectors):
        total += squares[U32(vector)]
    return total


@device
def triangulate(space, pitch, vectors, group, groups, lane, lanes, count, floor, q, x, norms, row):
    """The vectors become rows of R, pivot first; rows of squared lengths up to floor become 0."""
    ended, thread, step = U32(0), U32(cuda.threadIdx.x), U32(0)
    pivot, square = largest_of(norms[0], vectors)
    while step < vectors and square > floor:
        project(space, pitch, vectors, group, groups, lane, lanes, count, pivot, square, q, x, norms, row, ended)
        ended, step = U32(U32(1) - ended), U32(step + U32(1))
        for i in range(thread, U32(lanes * count), U32(cuda.blockDim.x)):
            space[U32(U32(pivot * pitch) + U32(i))] = row[ended, U32(i)] if i < vectors else floor - floor
        pivot, square = largest_of(norms[ended], vectors)
    for vector in range(vectors):
        if not norms[ended, U32(vector)] < 0:
            for i in range(thread, U32(lanes * count), U32(cuda.blockDim.x)):
                space[U32(U32(U32(vector) * pitch) + U32(i))] = floor - floor
    cuda.syncthreads()


@device
def arrange(squares, vectors, least, drop, seats):
    """seats = the vectors by falling length; returns how many of them count.

    Those at the end do not whose squared lengths add up to less than `least`, or than `drop` of all. A thread a vector.
    """
    mine = U32(cuda.threadIdx.x)
    inside = mine < vectors
    own = squares[mine] if inside else least
    rank, below, total = U32(0), least - least, least - least
    for other in range(vectors):
        square = squares[U32(other)]
        ahead = square > own or (square == own and U32(other) < mine)
        total += square
        rank = U32(rank + (U32(1) if ahead else U32(0)))
        below += total - total if ahead else square
    if inside:
        seats[rank] = I32(mine)
    counts = inside and below > 0 and not below < max(least, drop * total)
    return U32(cuda.syncthreads_count(I32(1) if counts else I32(0)))


@device
def orthogonalize(space, pitch, first, second, live, counts, tolerance, lane, lanes, count, x, y, squares, extremes):
    """Rotate two vectors until they are orthogonal, the longer one first; counts: the second one does, too.

    All lanes of a warp must arrive.
    """
    load(space, first, pitch, lane, lanes, count, x)
    load(space, second, pitch, lane, lanes, count, y)
    product = group_sum(dot(x, y, count), lanes)
    a, b = squares[first], squares[second]
    cosine, swap = squared_cosine(a, b, product), b > a
    cuda.syncwarp()
    if live and (cosine > tolerance or swap):
        if cosine > tolerance:
            t, s, h = rotation(a, b, product)
            extremes[0], extremes[1] = max(extremes[0], cosine), max(extremes[1], abs(t))
            extremes[2] = extremes[2] if counts else max(extremes[2], leak(a, b, t))
            for e in range(count):
                x[e], y[e] = turned(x[e], y[e], s, h)
            a, b = a - t * product, b + t * product
        store(space, second if swap else first, pitch, lane, lanes, count, x)
        store(space, first if swap else second, pitch, lane, lanes, count, y)
        if lane == U32(0):
            squares[first], squares[second] = (b if swap else a), (a if swap else b)


@device
def sweep(space, pitch, seats, vectors, counting, tolerance, group, groups, lane, lanes, count, x, y, squares,
          extremes):
    """Every two vectors once, in a round-robin tournament of the seats; two of which none counts are left alone."""
    players = U32(vectors + (vectors & U32(1)))
    pairs = U32(players >> U32(1))
    extremes[0] = extremes[1] = extremes[2] = squares[0] - squares[0]
    for step in range(U32(0), U32(players - U32(1))):
        for turn in range(U32(0), pairs, groups):
            pair = U32(U32(turn) + group)
            i, j = partner(pair if pair < pairs else U32(0), U32(step), players)
            live = pair < pairs and j < vectors and i < counting
            if cuda.any_sync(FULL, live):
                first, second = U32(seats[i if live else U32(0)]), U32(seats[j if live else U32(0)])
                orthogonalize(space, pitch, first, second, live, j < counting, tolerance, lane, lanes, count, x, y,
                              squares, extremes)
        cuda.syncthreads()


@device
def multiply(X, wide, space, pitch, vectors, seats, kept, weights, row, y, shares, parts):
    """y = ROWS rows of B A' diag(weights) A from `row` on: lane l has numbers l, l + 32, ... of them; by one warp."""
    lane, last = U32(cuda.laneid), U32((X.shape[1] if wide else X.shape[0]) - 1)
    nothing = weights[0] - weights[0]
    for e in range(ROWS * parts):
        y[e] = nothing
    for begin in range(U32(0), kept, U32(32)):
        mine = U32(U32(begin) + lane)
        inside = mine < kept
        at = U32(U32(seats[mine if inside else U32(0)]) * U32(pitch))
        for r in range(ROWS):
            shares[r] = nothing
        for j in range(vectors):
            number = space[U32(at + U32(j))]
            for r in range(ROWS):
                i = min(U32(row + U32(r)), last)
                shares[r] += number * (X[U32(j), i] if wide else X[i, U32(j)])
        own = weights[mine] if inside else nothing
        for other in range(min(U32(32), U32(kept - U32(begin)))):
            at = U32(U32(seats[U32(U32(begin) + U32(other))]) * U32(pitch))
            for r in range(ROWS):
                share = cuda.shfl_sync(FULL, shares[r] * own, other)
                for part in range(parts):
                    j = min(U32(lane + U32(32 * part)), U32(vectors - U32(1)))
                    y[r * parts + part] += share * space[U32(at + j)]


@device
def write(out, wide, vectors, row, y, parts):
    """ROWS rows of the result, from `row` on, as `multiply` left them; by one warp."""
    lane, rows = U32(cuda.laneid), U32(out.shape[1] if wide else out.shape[0])
    for r in range(ROWS):
        i = U32(row + U32(r))
        for part in range(parts):
            j = U32(lane + U32(32 * part))
            if i < rows and j < vectors:
                if wide:
                    out[j, i] = y[r * parts + part]
                else:
                    out[i, j] = y[r * parts + part]


@functools.cache
def make_threshold(real, lanes, count, threads, parts, shared):
    """threshold_slices for vectors of up to lanes * count numbers of type real, up to 32 * parts vectors, in blocks of
    `threads`; shared: the vectors lie in the launch's dynamic shared memory."""
    warps, most, pitch, numbers = threads // 32, 32 * parts, lanes * count + 4, ROWS * parts
    tolerance, goal, drop = (real(value) for value in tolerances(np.dtype(real).itemsize))

    @kernel(max_registers=64 if real == np.float32 and count <= 8 else 128)
    def threshold_slices(X, lam, out, values, ranks, sweeps, workspace):
        """out[k] = U (S - lam[k])+ V' of X[k] = U S V', for every slice.

        X (N, m, n), lam (N,), out (N, m, n), all of `real`; values (N, min(m, n)) of `real`: the singular values,
        falling, or (N, 0) when they are not wanted, which saves work; ranks (N,) int32: how many are above lam[k] and
        above the rounding error of the largest; sweeps (N,) int32: of Jacobi, as many as it took; workspace
        (N, min(m, n) * pitch) of `real`, or (1, 1) when the vectors lie in shared memory.
        Launch: grid N, block `threads`, dynamic shared memory of min(m, n) * pitch numbers.
        Deterministic: yes.   Source: see the room's __init__.py and formulas.py.
        """
        space = cuda.shared.array(0, real) if shared else workspace[cuda.blockIdx.x]
        squares = cuda.shared.array((2, most), real)
        row = cuda.shared.array((2, most), real)
        parted = cuda.shared.array(warps, real)
        seats = cuda.shared.array(most, np.int32)
        x = cuda.local.array(count, real)
        y = cuda.local.array(count, real)
        product = cuda.local.array(numbers, real)
        shares = cuda.local.array(ROWS, real)
        extremes = cuda.local.array(3, real)
        k, thread = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x)
        group, groups, lane = U32(thread // U32(lanes)), U32(threads // lanes), U32(thread % U32(lanes))
        wide = X.shape[1] < X.shape[2]
        vectors, whole = U32(min(X.shape[1], X.shape[2])), values.shape[1] > 0
        largest = block_max(stage(X[k], wide, space, U32(pitch), real(0.0)), warps, parted)
        scale = binary_scale(largest) if largest > 0 else real(1.0)
        bound = lam[k] * scale
        measure(space, pitch, vectors, group, groups, lane, lanes, count, x, scale, squares[0])
        total = total_of(squares[0], vectors)
        triangulate(space, pitch, vectors, group, groups, lane, lanes, count, drop / real(vectors) * total, x, y,
                    squares, row)
        done, settling = I32(0), total <= bound * bound and not whole
        while not settling and done < SWEEPS:
            measure(space, pitch, vectors, group, groups, lane, lanes, count, x, real(1.0), squares[0])
            counting = arrange(squares[0], vectors, least_square(bound, done, whole), drop, seats)
            sweep(space, pitch, seats, vectors, counting, tolerance, group, groups, lane, lanes, count, x, y,
                  squares[0], extremes)
            for e in range(3):
                extremes[e] = block_max(extremes[e], warps, parted)
            settling = settled(extremes[0], extremes[1], extremes[2], goal)
            done += I32(1)
        measure(space, pitch, vectors, group, groups, lane, lanes, count, x, real(1.0), squares[0])
        counting = arrange(squares[0], vectors, real(0.0), drop, seats)
        kept = U32(0)
        for seat in range(counting):
            kept = U32(kept + (U32(1) if math.sqrt(squares[0, U32(seats[U32(seat)])]) > bound else U32(0)))
        if thread < vectors:
            square = squares[0, U32(seats[thread])]
            row[0, thread] = weight(square, bound)
            if whole:
                values[k, thread] = math.sqrt(square) / scale
        if thread == U32(0):
            ranks[k], sweeps[k] = I32(kept), done
        cuda.syncthreads()
        for first in range(U32(U32(thread >> U32(5)) * U32(ROWS)), U32(max(X.shape[1], X.shape[2])),
                           U32(warps * ROWS)):
            multiply(X[k], wide, space, pitch, vectors, seats, kept, row[0], U32(first), product, shares, parts)
            write(out[k], wide, vectors, U32(first), product, parts)

    return threshold_slices
