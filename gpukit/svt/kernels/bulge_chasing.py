"""GPU kernels of the thresholding after bidiagonal.py; twins/bulge_chasing.py has their CPU twins.

B (q, p) is a slice or its transpose, whichever is tall. Order: bidiagonalize, chase, rotate, arrange, multiply.
`combine` computes the polynomials of the thresholding by products (svt/products.py).
"""

import numpy as np

from gpukit._cuda import SIMULATED, cuda, device, factory, kernel, overload, types
from gpukit.primitives.warp import group_sum
from gpukit.svt import formulas
from gpukit.svt.formulas import ZERO, inverse_root, tolerances, weight

U32, I32 = np.uint32, np.int32
FULL = U32(0xFFFFFFFF)
BLOCK = 256  # threads of multiply
BLOCKS, THREADS, MATRICES = 64, 256, 4096  # of a launch; MATRICES bounds the grid's second dimension

if not SIMULATED:

    @overload(inverse_root, target="cuda")
    def _inverse_root_on_a_gpu(x):
        """Compile formulas.inverse_root to the GPU's one instruction."""
        single, double = cuda.libdevice.rsqrtf, cuda.libdevice.rsqrt
        return (lambda x: single(x)) if x == types.float32 else (lambda x: double(x))


@factory
def make_chase(real, threads):
    """Return chase for numbers of type real, in blocks of `threads`."""
    share = real(tolerances(np.dtype(real).itemsize)[0])

    @kernel
    def chase(d, e, states, spans, turns):
        """Run QR sweeps on every bidiagonal until it is diagonal.

        They also end if turns or spans are full.

        If they are full, it is launched again. d (p, N), e (p + 1, N) of `real`, states (N, 3) int32, spans (N, sweeps)
        int32, turns (N, rotations, 2) of `real`: see formulas.chase. A slice with states[k, 1] = 0 is finished.
        Launch: a thread a slice, blocks of `threads`, dynamic shared memory of (2 p + 1) * threads numbers.
        Deterministic: yes.   Source: Golub and Van Loan 8.6.2.
        """
        space = cuda.shared.array(0, real)
        k, p, thread = U32(cuda.grid(1)), U32(len(d)), U32(cuda.threadIdx.x)
        if k < U32(len(states)) and states[k, 1] == 0:
            states[k, 2] = I32(0)
        elif k < U32(len(states)):
            own_d = space[thread : U32(p * U32(threads)) : threads]
            own_e = space[U32(U32(p * U32(threads)) + thread) : U32(U32(U32(2) * p + U32(1)) * U32(threads)) : threads]
            largest = real(0.0)
            for j in range(p):
                own_d[U32(j)], own_e[U32(j)] = d[U32(j), k], e[U32(j), k]
                largest = max(largest, max(abs(d[U32(j), k]), abs(e[U32(j), k])))
            own_e[p] = real(0.0)
            formulas.chase(own_d, own_e, share * largest, states[k], spans[k], turns[k])
            for j in range(p):
                d[U32(j), k], e[U32(j), k] = own_d[U32(j)], own_e[U32(j)]

    return chase


@device
def turn(Q, turns, position, lo, hi, lane):
    """Apply a sweep's rotations to a row of V.

    The rotations are from `position` on, over lo to hi; number j of the row is Q[32 * j + lane].
    """
    x = Q[U32(U32(lo << U32(5)) + lane)]
    for base in range(lo, hi, U32(32)):
        number = U32(position + U32(U32(base) - lo))
        index = U32(number + lane)
        index = index if U32(U32(base) + lane) < hi else number
        own_c, own_s = turns[index, 0], turns[index, 1]
        for other in range(min(U32(32), U32(hi - U32(base)))):
            place = U32(U32(U32(U32(base) + U32(other)) << U32(5)) + lane)
            c, s = cuda.shfl_sync(FULL, own_c, other), cuda.shfl_sync(FULL, own_s, other)
            y = Q[U32(place + U32(32))]
            Q[place] = c * x + s * y
            x = c * y - s * x
    Q[U32(U32(hi << U32(5)) + lane)] = x


@device
def turn_twice(Q, turns, position, then, lo, hi, end, lane):
    """Apply two sweeps' rotations, the second a row behind.

    They are from `position` over lo to hi and from `then` over lo to end <= hi.
    """
    first = U32(U32(lo << U32(5)) + lane)
    x = Q[first]
    behind = x
    for base in range(lo, U32(hi + U32(1)), U32(32)):
        offset = U32(U32(U32(base) - lo) + lane)
        index = U32(position + min(offset, U32(U32(hi - lo) - U32(1))))
        other_mine = U32(then + min(offset - U32(1) if offset > U32(0) else U32(0), U32(U32(end - lo) - U32(1))))
        own_c, own_s, own_a, own_b = turns[index, 0], turns[index, 1], turns[other_mine, 0], turns[other_mine, 1]
        for other in range(min(U32(32), U32(U32(hi + U32(1)) - U32(base)))):
            k = U32(U32(base) + U32(other))
            place = U32(U32(k << U32(5)) + lane)
            c, s = cuda.shfl_sync(FULL, own_c, other), cuda.shfl_sync(FULL, own_s, other)
            a, b = cuda.shfl_sync(FULL, own_a, other), cuda.shfl_sync(FULL, own_b, other)
            value = x
            if k < hi:
                y = Q[U32(place + U32(32))]
                value = c * x + s * y
                x = c * y - s * x
            if k == lo:
                behind = value
            elif k <= end:
                Q[U32(place - U32(32))] = a * behind + b * value
                behind = a * value - b * behind
                if k == end:
                    Q[place] = behind
            else:
                Q[place] = value


@factory
def make_rotate(real):
    """Return rotate for numbers of type real."""

    @kernel
    def rotate(states, spans, turns, V):
        """Apply chase's rotations to V, which becomes the singular vectors.

        V has the right vectors of the bidiagonal before.

        states (N, 3), spans (N, sweeps) int32, turns (N, rotations, 2), V (N, p, p) of `real`, as chase left them.
        Launch: grid (N, ceil(p / 32)), block 32, dynamic shared memory of p * 32 numbers.   Deterministic: yes.
        Source: Golub and Van Loan 8.6.2; two sweeps at a time read and write V once.
        """
        Q = cuda.shared.array(0, real)
        k, lane, p = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x), U32(V.shape[1])
        row = U32(U32(cuda.blockIdx.y) * U32(32) + lane)
        sweeps = U32(states[k, 2])
        if sweeps > U32(0):
            for j in range(p):
                Q[U32(U32(U32(j) << U32(5)) + lane)] = V[k, U32(j), row if row < p else U32(0)]
            position, number = U32(0), U32(0)
            while number < sweeps:
                span = U32(spans[k, number])
                after = U32(spans[k, U32(number + U32(1))]) if U32(number + U32(1)) < sweeps else U32(0)
                lo, hi, end = U32(span & U32(0xFFFF)), U32(span >> U32(16)), U32(after >> U32(16))
                if end > lo and end <= hi and U32(after & U32(0xFFFF)) == lo:
                    then = U32(position + U32(hi - lo))
                    turn_twice(Q, turns[k], position, then, lo, hi, end, lane)
                    position, number = U32(then + U32(end - lo)), U32(number + U32(2))
                else:
                    turn(Q, turns[k], position, lo, hi, lane)
                    position, number = U32(position + U32(hi - lo)), U32(number + U32(1))
            if row < p:
                for j in range(p):
                    V[k, U32(j), row] = Q[U32(U32(U32(j) << U32(5)) + lane)]

    return rotate


@factory
def make_arrange(real):
    """Return arrange for numbers of type real."""
    share = real(tolerances(np.dtype(real).itemsize)[1])

    @kernel
    def arrange(d, states, scales, lam, cap, seats, weights, ranks, values):
        """Sort the singular values and compute weights and ranks.

        d (p, N), states (N, 3) int32, as chase left them; scales, lam (N,) of `real`, cap (N,) int32; seats (N, p)
        int32: vectors by descending singular value; weights (N, p) of `real`: (1 - lam / sigma) of the first ranks[k],
        then 0; ranks (N,) int32: the number of values above lam[k] and above the rounding error of the largest, at most
        cap[k], or -1 where chase did not finish; values (N, p) of `real`, descending singular values, or (N, 0) if not
        requested.
        Launch: grid N, block 32.   Deterministic: yes, ties by index.   Source: formulas.weight.
        """
        k, lane, p = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x), U32(len(d))
        largest = real(0.0)
        for j in range(p):
            largest = max(largest, abs(d[U32(j), k]))
        bound, rank = lam[k] * scales[k], I32(0)
        for j in range(lane, p, U32(32)):
            sigma, seat = abs(d[U32(j), k]), U32(0)
            for other in range(p):
                value = abs(d[U32(other), k])
                ahead = value > sigma or (value == sigma and U32(other) < U32(j))
                seat = U32(seat + (U32(1) if ahead else U32(0)))
            stays = sigma > max(bound, share * largest) and I32(seat) < cap[k]
            rank = I32(rank + (I32(1) if stays else I32(0)))
            seats[k, seat] = I32(j)
            weights[k, seat] = weight(sigma, bound) if stays else real(0.0)
            if values.shape[1] > 0:
                values[k, seat] = sigma / scales[k]
        rank = group_sum(rank, 32)
        if lane == U32(0):
            ranks[k] = rank if states[k, 1] == 0 else I32(-1)

    return arrange


@device
def fetch_rows(X, wide, first, p, q, rows, count, threads):
    """Load rows of the tall slice.

    rows[j * (count + 1) + r] is number j of row first + r, 0 beyond its last row.
    """
    for index in range(U32(cuda.threadIdx.x), U32(p * U32(count)), U32(threads)):
        j, r = U32(0), U32(0)
        if wide:
            j, r = U32(U32(index) // U32(count)), U32(U32(index) % U32(count))
        else:
            r = U32(U32(index) // p)
            j = U32(U32(index) - U32(r * p))
        i = U32(first + r)
        value = ZERO
        if i < q:
            value = X[j, i] if wide else X[i, j]
        rows[U32(U32(j * U32(count + 1)) + r)] = value


@device
def fetch_vectors(V, seats, begin, count, p, vectors, threads):
    """Load singular vectors.

    vectors[t * (p + 1) + j] is number j of singular vector seats[begin + t].
    """
    for index in range(U32(cuda.threadIdx.x), U32(p * count), U32(threads)):
        t = U32(U32(index) // p)
        j = U32(U32(index) - U32(t * p))
        vectors[U32(U32(t * U32(p + U32(1))) + j)] = V[U32(seats[U32(begin + t)]), j]


@factory
def make_multiply(real, rows_own, columns_each, step):
    """Return multiply for numbers of type real.

    A thread has rows_own rows, 32 apart, and `columns_each` numbers of them, 8 apart; step: vectors of a batch.
    """
    rows_all, each, numbers = 32 * rows_own, step // 8, rows_own * columns_each
    width, pairs = rows_all + 1, rows_own * each

    @kernel
    def multiply(X, V, seats, weights, ranks, out):
        """Compute the thresholded slices from the singular vectors.

        out[k] = B V' diag(weights) V, B (q, p) the tall form of X[k].

        V: the first ranks[k] singular vectors (rows).
        X, out (N, m, n), V (N, p, p), weights (N, p) of `real`, seats (N, p), ranks (N,) int32: as arrange left them.
        Launch: grid (N, ceil(q / rows)), block 256, dynamic shared memory of p * (rows + 1) + step * (p + 1) numbers,
        rows = 32 * rows_own.   Deterministic: yes. A slice of rank -1 becomes 0.
        Source: Algorithm 2 of the graph-tensor imputation paper, U (S - lam)+ V' without U.
        """
        space = cuda.shared.array(0, real)
        parts = cuda.shared.array((step, width), real)
        total = cuda.local.array(numbers, real)
        share = cuda.local.array(pairs, real)
        k, thread = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x)
        wide = X.shape[1] < X.shape[2]
        p, q = U32(min(X.shape[1], X.shape[2])), U32(max(X.shape[1], X.shape[2]))
        pitch, last = U32(p + U32(1)), U32(p - U32(1))
        first, rank = U32(U32(cuda.blockIdx.y) * U32(rows_all)), U32(max(ranks[k], I32(0)))
        rows, vectors = space[: p * U32(width)], space[p * U32(width) :]
        row, column = U32(thread & U32(31)), U32(thread >> U32(5))
        for number in range(numbers):
            total[number] = real(0.0)
        if rank > U32(0):
            fetch_rows(X[k], wide, first, p, q, rows, rows_all, BLOCK)
        for begin in range(U32(0), rank, U32(step)):
            count = min(U32(step), U32(rank - U32(begin)))
            fetch_vectors(V[k], seats[k], U32(begin), count, p, vectors, BLOCK)
            cuda.syncthreads()
            for number in range(pairs):
                share[number] = real(0.0)
            for j in range(p):
                for t in range(each):
                    vector = min(U32(column + U32(8 * t)), U32(count - U32(1)))
                    value = vectors[U32(U32(vector * pitch) + U32(j))]
                    for r in range(rows_own):
                        share[r * each + t] += rows[U32(U32(U32(j) * U32(width)) + U32(row + U32(32 * r)))] * value
            for t in range(each):
                vector = U32(column + U32(8 * t))
                if vector < count:
                    for r in range(rows_own):
                        value = share[r * each + t] * weights[k, U32(U32(begin) + vector)]
                        parts[vector, U32(row + U32(32 * r))] = value
            cuda.syncthreads()
            for t in range(count):
                for number in range(columns_each):
                    j = min(U32(column + U32(8 * number)), last)
                    value = vectors[U32(U32(U32(t) * pitch) + j)]
                    for r in range(rows_own):
                        total[r * columns_each + number] += parts[U32(t), U32(row + U32(32 * r))] * value
            cuda.syncthreads()
        for r in range(rows_own):
            i = U32(first + U32(row + U32(32 * r)))
            for number in range(columns_each):
                j = U32(column + U32(8 * number))
                if i < q and j < p:
                    if wide:
                        out[k, j, i] = total[r * columns_each + number]
                    else:
                        out[k, i, j] = total[r * columns_each + number]

    return multiply


@kernel
def combine(Y, Z, a, b, c, out):
    """Compute a matrix polynomial of each matrix.

    out = a I + b Y + c Z.

    Y, Z, out (N, p, p) float32 or float64, contiguous; a, b, c of their type.
    Launch: any grid of two dimensions, blocks of one.   Deterministic: yes.   Source: products.py.
    """
    p = U32(out.shape[1])
    for matrix in range(U32(cuda.blockIdx.y), U32(len(out)), U32(cuda.gridDim.y)):
        k = U32(matrix)
        for index in range(U32(cuda.grid(2)[0]), U32(p * p), U32(cuda.gridsize(2)[0])):
            i = U32(U32(index) // p)
            j = U32(U32(index) - U32(i * p))
            value = b * Y[k, i, j] + c * Z[k, i, j]
            out[k, i, j] = value + a if i == j else value
