"""GPU kernel of the thresholding; twins.py has it for the CPU. How lanes hold vectors is in vectors.py.

A block has a slice: the vectors (columns of B, the slice or its transpose, whichever is tall) lie in shared memory, or
in global memory where that is too small. Each becomes a row of R in its turn, and the rows of R become A.
"""

import functools
import math

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.primitives.warp import group_pick, group_sum
from gpukit.svt.formulas import (
    GAP,
    ONE,
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
from gpukit.svt.vectors import FULL, block_max, dot, largest_of, load, store, sum_four, sum_two

U32 = np.uint32
I32 = np.int32
SWEEPS = 40  # most; none needs half as many
ROWS = 4  # of B that a warp multiplies at a time


@device
def stage(X, wide, space, pitch, zero, threads):
    """space = the vectors of a slice X (m, n), zeros behind them; returns the size of the thread's largest number."""
    rows, columns = U32(X.shape[0]), U32(X.shape[1])
    vectors, largest = rows if wide else columns, zero
    for at in range(U32(cuda.threadIdx.x), U32(vectors * pitch), U32(threads)):
        space[U32(at)] = zero
    cuda.syncthreads()
    for at in range(U32(cuda.threadIdx.x), U32(rows * columns), U32(threads)):
        i = U32(U32(at) // columns)
        j = U32(U32(at) - U32(i * columns))
        value = X[i, j]
        space[U32(U32(i * pitch) + j) if wide else U32(U32(j * pitch) + i)] = value
        largest = max(largest, abs(value))
    return largest


@device
def measure(space, pitch, vectors, group, groups, lane, lanes, count, v, scale, squares):
    """Multiply the vectors by scale; squares = their squared lengths."""
    for turn in range(U32(0), vectors, groups):
        vector = U32(U32(turn) + group)
        live = vector < vectors
        vector = vector if live else U32(0)
        load(space, vector, pitch, lane, lanes, count, v, 0)
        for e in range(count):
            v[e] *= scale
        square = group_sum(dot(v, 0, v, 0, count), lanes)
        if live:
            store(space, vector, pitch, lane, lanes, count, v, 0)
            if lane == U32(0):
                squares[vector] = square
    cuda.syncthreads()


@device
def project(space, pitch, vectors, group, groups, lane, lanes, count, pivot, q, v, squares, row, ended):
    """A step of Gram-Schmidt: take the pivot's direction out of the vectors that are left, four a group at a time.

    squares, row = their squared lengths (negative: a pivot already) and the step's row of R, for the next step.
    """
    load(space, pivot, pitch, lane, lanes, count, q, 0)
    square = group_sum(dot(q, 0, q, 0, count), lanes)
    length, inverse, nothing = math.sqrt(square), ONE / square, square - square
    for turn in range(U32(0), vectors, U32(groups * U32(4))):
        own = U32(U32(U32(turn) + group) + U32(U32(lane & U32(3)) * groups))
        inside = own < vectors
        left = inside and own != pivot and not squares[ended, own if inside else U32(0)] < 0
        share = rest = nothing
        if cuda.any_sync(FULL, left):
            for w in range(4):
                vector = U32(U32(U32(turn) + group) + U32(U32(w) * groups))
                load(space, vector if vector < vectors else U32(0), pitch, lane, lanes, count, v, w)
            share = sum_four(dot(q, 0, v, 0, count), dot(q, 0, v, 1, count), dot(q, 0, v, 2, count),
                             dot(q, 0, v, 3, count), lane, lanes)
            factor = share * inverse if left else nothing
            for w in range(4):
                part = group_pick(factor, w, lanes)
                for e in range(count):
                    v[w * count + e] -= part * q[e]
                vector = U32(U32(U32(turn) + group) + U32(U32(w) * groups))
                if part != nothing:  # else it is as it was, or a row of R that others may be writing
                    store(space, vector, pitch, lane, lanes, count, v, w)
            rest = sum_four(dot(v, 0, v, 0, count), dot(v, 1, v, 1, count), dot(v, 2, v, 2, count),
                            dot(v, 3, v, 3, count), lane, lanes)
        if inside and lane < U32(4):
            squares[U32(1) - ended, own] = rest if left else -length
            row[U32(1) - ended, own] = share / length if left else (length if own == pivot else nothing)
    cuda.syncthreads()


@device
def total_of(squares, vectors):
    """The sum of the squared lengths."""
    total = squares[0]
    for vector in range(U32(1), vectors):
        total += squares[U32(vector)]
    return total


@device
def triangulate(space, pitch, vectors, group, groups, lane, lanes, count, floor, q, v, squares, row,
                threads):
    """The vectors become rows of R, pivot first; rows of squared lengths up to floor become 0."""
    ended, thread, step = U32(0), U32(cuda.threadIdx.x), U32(0)
    pivot, square = largest_of(squares[0], vectors)
    while step < vectors and square > floor:
        project(space, pitch, vectors, group, groups, lane, lanes, count, pivot, q, v, squares, row, ended)
        ended, step = U32(U32(1) - ended), U32(step + U32(1))
        for i in range(thread, U32(lanes * count), U32(threads)):
            space[U32(U32(pivot * pitch) + U32(i))] = row[ended, U32(i)] if i < vectors else floor - floor
        pivot, square = largest_of(squares[ended], vectors)
    for vector in range(vectors):
        if not squares[ended, U32(vector)] < 0:
            for i in range(thread, U32(lanes * count), U32(threads)):
                space[U32(U32(U32(vector) * pitch) + U32(i))] = floor - floor
    cuda.syncthreads()


@device
def counted(squares, vectors, least, seats):
    """(vectors left when those at the end that add up to less than least go, what these add up to, what all do)."""
    counting, behind, total, ended = vectors, least - least, least - least, False
    for turn in range(vectors):
        square = squares[U32(seats[U32(vectors - U32(1) - U32(turn))])]
        total += square
        ended = ended or (square > 0 and not behind + square < least)
        counting, behind = (counting if ended else U32(counting - U32(1))), (behind if ended else behind + square)
    return counting, behind, total


@device
def gapped(squares, vectors, counting, behind, seats):
    """The first number of vectors from `counting` on that are far longer than all others together (formulas.GAP)."""
    while counting > U32(0) and counting < vectors:
        square = squares[U32(seats[U32(counting - U32(1))])]
        if behind <= GAP * square:
            break
        behind -= squares[U32(seats[counting])]
        counting = U32(counting + U32(1))
    return counting


@device
def arrange(squares, vectors, least, drop, seats):
    """seats = the vectors by falling length; returns how many of them count.

    Those at the end do not whose squared lengths add up to less than `least`, if all others are far longer, nor those
    that add up to less than `drop` of all. A thread a vector.
    """
    mine = U32(cuda.threadIdx.x)
    own = squares[mine if mine < vectors else U32(0)]
    rank = U32(0)
    for other in range(vectors):
        square = squares[U32(other)]
        ahead = square > own or (square == own and U32(other) < mine)
        rank = U32(rank + (U32(1) if ahead else U32(0)))
    if mine < vectors:
        seats[rank] = I32(mine)
    cuda.syncthreads()
    counting, behind, total = counted(squares, vectors, least, seats)
    most, _, _ = counted(squares, vectors, drop * total, seats)
    counting = min(gapped(squares, vectors, counting, behind, seats), most)
    cuda.syncthreads()
    return counting


@device
def turn_two(v, x, y, s, h, count):
    """Rotate vectors x and y of a group by the angle of sine s and h, the tangent of its half."""
    for e in range(count):
        v[x * count + e], v[y * count + e] = turned(v[x * count + e], v[y * count + e], s, h)


@device
def rotate(v, a, b, c, d, squares, counts, tolerance, lane, lanes, count, extremes):
    """Make a and b of a group's four vectors orthogonal, and c and d; returns whether a lane of the warp did anything.

    squares: their squared lengths; counts: bit w, whether vector w counts. Even lanes find the angle for a and b, odd
    ones for c and d. All lanes of a warp must arrive.
    """
    odd = (lane & U32(1)) == U32(1)
    x, y = (squares[c] if odd else squares[a]), (squares[d] if odd else squares[b])
    first, second = U32(counts >> U32(c if odd else a)) & U32(1), U32(counts >> U32(d if odd else b)) & U32(1)
    product = sum_two(dot(v, a, v, b, count), dot(v, c, v, d, count), lane, lanes)
    cosine = squared_cosine(x, y, product, tolerance)
    turning = cosine > tolerance and (first | second) != U32(0)
    some = cuda.any_sync(FULL, turning)
    if some:
        nothing = tolerance - tolerance
        t, s, h = rotation(x, y, product)
        t, s, h = (t if turning else nothing), (s if turning else nothing), (h if turning else nothing)
        lean = leak(x, y, t) if first else leak(y, x, t)
        extremes[0], extremes[1] = max(extremes[0], cosine if turning else nothing), max(extremes[1], abs(t))
        extremes[2] = max(extremes[2], lean if turning and first != second else nothing)
        gain = t * product if turning else nothing
        other_s, other_h = cuda.shfl_xor_sync(FULL, s, 1), cuda.shfl_xor_sync(FULL, h, 1)
        other_gain = cuda.shfl_xor_sync(FULL, gain, 1)
        turn_two(v, a, b, other_s if odd else s, other_h if odd else h, count)
        turn_two(v, c, d, s if odd else other_s, h if odd else other_h, count)
        squares[a] -= other_gain if odd else gain
        squares[b] += other_gain if odd else gain
        squares[c] -= gain if odd else other_gain
        squares[d] += gain if odd else other_gain
    return some


@device
def meet(space, pitch, seats, vectors, counting, tolerance, first, second, opening, lane, lanes, count, v, squares,
         owners, lengths, extremes):
    """Every two vectors on two pairs of seats but those on one pair, and in a sweep's opening those as well."""
    counts = U32(0)
    for w in range(4):
        seat = U32(U32(U32(2) * (first if w < 2 else second)) + U32(w & 1))
        there = seat < vectors
        owners[w] = seats[seat if there else U32(0)]
        lengths[w] = squares[U32(owners[w])] if there else tolerance - ONE
        counts |= U32(1 << w) if seat < counting else U32(0)
        load(space, U32(owners[w]), pitch, lane, lanes, count, v, w)
    changed = False
    if opening:
        changed |= rotate(v, 0, 1, 2, 3, lengths, counts, tolerance, lane, lanes, count, extremes)
    changed |= rotate(v, 0, 2, 1, 3, lengths, counts, tolerance, lane, lanes, count, extremes)
    changed |= rotate(v, 0, 3, 1, 2, lengths, counts, tolerance, lane, lanes, count, extremes)
    if changed and counts != U32(0):
        for w in range(4):
            if lengths[w] >= tolerance - tolerance:
                store(space, U32(owners[w]), pitch, lane, lanes, count, v, w)
                if lane == U32(0):
                    squares[U32(owners[w])] = lengths[w]


@device
def sweep(space, pitch, seats, vectors, counting, tolerance, group, groups, lane, lanes, count, v, squares,
          owners, lengths, extremes):
    """Every two vectors once, in a round-robin tournament of pairs of seats; two of which none counts stay as they are.
    """
    couples = U32(U32(vectors + U32(1)) >> U32(1))
    players = U32(couples + (couples & U32(1)))
    matches = U32(players >> U32(1))
    extremes[0] = extremes[1] = extremes[2] = squares[0] - squares[0]
    for step in range(U32(0), U32(players - U32(1))):
        for turn in range(U32(0), matches, groups):
            match = U32(U32(turn) + group)
            first, second = partner(match, U32(step), players) if match < matches else (couples, couples)
            if cuda.any_sync(FULL, U32(first * U32(2)) < counting):
                meet(space, pitch, seats, vectors, counting, tolerance, first, second, step == U32(0), lane, lanes,
                     count, v, squares, owners, lengths, extremes)
        cuda.syncthreads()


@device
def fetch(X, wide, row, vectors, first, b):
    """b[r] = the lane's number, first + lane, of rows row + r of B; 0 past their end."""
    j, last = U32(first + U32(cuda.laneid)), U32((X.shape[1] if wide else X.shape[0]) - 1)
    inside = j < vectors
    j = j if inside else U32(0)
    for r in range(ROWS):
        i = min(U32(row + U32(r)), last)
        value = X[j, i] if wide else X[i, j]
        b[r] = value if inside else value - value


@device
def multiply(X, wide, space, pitch, vectors, seats, kept, weights, row, y, b, shares, parts):
    """y = ROWS rows of B A' diag(weights) A from `row` on: lane l has numbers l, l + 32, ... of them; by one warp."""
    lane, nothing = U32(cuda.laneid), weights[0] - weights[0]
    for e in range(ROWS * parts):
        y[e] = nothing
    for begin in range(U32(0), kept, U32(32)):
        mine = U32(U32(begin) + lane)
        inside = mine < kept
        at, own = U32(U32(seats[mine if inside else U32(0)]) * U32(pitch)), weights[mine] if inside else nothing
        for r in range(ROWS):
            shares[r] = nothing
        for part in range(parts):
            fetch(X, wide, row, vectors, U32(32 * part), b)
            for j in range(min(32, pitch - 4 - 32 * part)):
                number = space[U32(at + U32(32 * part + j))]
                for r in range(ROWS):
                    shares[r] += number * cuda.shfl_sync(FULL, b[r], j)
        for other in range(min(U32(32), U32(kept - U32(begin)))):
            at = U32(U32(seats[U32(U32(begin) + U32(other))]) * U32(pitch))
            for r in range(ROWS):
                b[r] = cuda.shfl_sync(FULL, shares[r] * own, other)
            for part in range(parts):
                number = space[U32(at + min(U32(lane + U32(32 * part)), U32(pitch - 4 - 1)))]
                for r in range(ROWS):
                    y[r * parts + part] += b[r] * number


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
    warps, most, pitch, numbers, held = threads // 32, 32 * parts, lanes * count + 4, ROWS * parts, 4 * count
    tolerance, goal, drop = (real(value) for value in tolerances(np.dtype(real).itemsize))

    @kernel(max_registers=80 if real == np.float32 and count <= 8 else 128)
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
        q = cuda.local.array(count, real)
        v = cuda.local.array(held, real)
        product = cuda.local.array(numbers, real)
        b = cuda.local.array(ROWS, real)
        shares = cuda.local.array(ROWS, real)
        lengths = cuda.local.array(4, real)
        owners = cuda.local.array(4, np.int32)
        extremes = cuda.local.array(3, real)
        k, thread = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x)
        group, groups, lane = U32(thread // U32(lanes)), U32(threads // lanes), U32(thread % U32(lanes))
        wide = X.shape[1] < X.shape[2]
        vectors, whole = U32(min(X.shape[1], X.shape[2])), values.shape[1] > 0
        largest = block_max(stage(X[k], wide, space, U32(pitch), real(0.0), threads), warps, parted)
        scale = binary_scale(largest) if largest > 0 else real(1.0)
        bound = lam[k] * scale
        measure(space, pitch, vectors, group, groups, lane, lanes, count, v, scale, squares[0])
        total = total_of(squares[0], vectors)
        triangulate(space, pitch, vectors, group, groups, lane, lanes, count, drop / real(vectors) * total, q, v,
                    squares, row, threads)
        done, settling = I32(0), total <= bound * bound and not whole
        while not settling and done < SWEEPS:
            measure(space, pitch, vectors, group, groups, lane, lanes, count, v, real(1.0), squares[0])
            counting = arrange(squares[0], vectors, least_square(bound, done, whole), drop, seats)
            sweep(space, pitch, seats, vectors, counting, tolerance, group, groups, lane, lanes, count, v, squares[0],
                  owners, lengths, extremes)
            for e in range(3):
                extremes[e] = block_max(extremes[e], warps, parted)
            settling = settled(extremes[0], extremes[1], extremes[2], goal)
            done += I32(1)
        measure(space, pitch, vectors, group, groups, lane, lanes, count, v, real(1.0), squares[0])
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
            multiply(X[k], wide, space, pitch, vectors, seats, kept, row[0], U32(first), product, b, shares,
                     parts)
            write(out[k], wide, vectors, U32(first), product, parts)

    return threshold_slices
