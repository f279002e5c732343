"""Thresholding by matrix products alone, at a GPU's peak rate: for slices too large for shared memory.

B (q, p), q >= p, is a slice or its transpose, whichever is tall. Q is its polar factor, U V' where B is
U diag(sigma) V'. S is the matrix sign of Q'B - lambda I, which is V sign(diag(sigma - lambda)) V'. Then

    U (diag(sigma) - lambda)+ V' = (B - lambda Q) (I + S) / 2

S may be inexact where sigma is close to lambda, because it is multiplied by nearly 0. Q and S may be inexact where
sigma is far below lambda. Both result from iterating x -> a x + b x^3 + c x^5 on singular values and eigenvalues:

- STEADY, while some relevant values are small. It multiplies them by 3.65 and keeps values of 0.15 or more above 1/2.
  The steepest polynomials (4.26) map large values down to the size of rounding errors, which are then 20 times the
  error and more. STEADY is designed for [0, 1.01]: values above 1 by rounding would grow sevenfold per step beyond it.
- then the polynomials closest to 1 on the remaining interval.

Singular values are not computed, and ranks cannot be capped. Cost of a slice, in products of p x p by p x p: 46 to
73 in float32, depending on the ratio of lambda to the largest singular value; 85 to 148 in float64.
Source: Higham, Functions of Matrices (2008), 5.2, 8.1; Nakatsukasa and Higham, SIAM J. Matrix Anal. Appl. 33 (2012),
1125-1140 (why large values must not become small); Chen and Chow, arXiv 1408.3340 (nearest polynomials, step by step).

CpuTools and GpuTools have the same attributes. Arrays are numpy's in one, and cupy's on the default stream in the
other.
"""

import importlib.util

import numpy as np

from gpukit.device.memory import spare_memory
from gpukit.device.workspace import Workspace
from gpukit.errors import DeviceError
from gpukit.runtime.start import gpu_memory_limit
from gpukit.svt.plan import CPU_BATCH, LARGE_ON_GPU, Resident, buffers, bytes_of_whiten, sides

SCRATCH = 512 << 20  # bytes: 64 slices of 512 x 512 in float32 fill a GPU

STEADY = (3.6548, -8.2034, 5.481)  # 1 at 0.433 and at 1.01, 1/2 between them, at 0.843
# By bytes of a number, relative to the largest singular value: relevant for Q, for S; tolerance of steps; rounding.
BOUNDS = {4: (1e-5, 2e-5, 1e-7, 1e-6), 8: (1e-12, 1e-12, 1e-15, 1e-14)}


def array_library():
    """Return cupy; raise DeviceError if it is not installed."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            "imputation on a GPU needs cupy, which is not installed: pip install 'gpukit[cuda]', or use --device cpu."
        ) from None
    return cupy


def parts_of(total, most=None):
    """Return slices of nearly equal size, the largest first, at most `most`, that cover `total`; None: one slice."""
    count = -(-total // most) if most and total else 1
    edges = [-(-total * number // count) for number in range(count + 1)]
    return [slice(*pair) for pair in zip(edges, edges[1:])]


def make_tools(on_gpu, workspace=None):
    """Return GpuTools or CpuTools; workspace: device.workspace.Workspace of a run on a GPU, or None."""
    return GpuTools(workspace) if on_gpu else CpuTools()


def transpose(matrices):
    """Return the transpose of each matrix."""
    return matrices.swapaxes(1, 2)


class CpuTools:
    """Array operations on the host."""

    SCRATCH = 4 << 20  # bytes that fit into the caches
    library = np
    product = staticmethod(np.matmul)
    host = staticmethod(np.asarray)

    def __init__(self):
        from gpukit.svt import cpu
        from gpukit.svt.twins import bulge_chasing, subspace

        self.exact, self.products, self.subspace, self.work = cpu, bulge_chasing, subspace, None

    def put(self, target, values):
        """Set an array of the device to host values, converted to its type."""
        target[...] = values

    def trim(self):
        """Release freed memory: nothing is kept."""

    def whiten(self, gram, shift, out):
        """See kernels.subspace.whiten."""
        self.subspace.whiten(gram, shift, out)

    def combine(self, Y, Z, polynomial, out):
        """See kernels.bulge_chasing.combine."""
        self.products.combine(Y, Z, *(Y.dtype.type(factor) for factor in polynomial), out)

    def threshold(self, X, lam, cap, whole):
        """Threshold slices in place; return (values, ranks) on the host."""
        return self.exact.threshold(X, lam, X, whole, cap)

    def thresholding(self, X, lam, cap, whole):
        """Return a function that thresholds the same arrays in place and returns a function, see `start`.

        Its buffers are those of the last such function if their sizes allow.
        """
        slices, p = min(len(X), CPU_BATCH), min(X.shape[1:])
        V = None if self.work is None else self.work.V
        if V is None or len(V) < slices or V.shape[1] != p or V.dtype != X.dtype:
            self.work = buffers(slices, p, X.dtype, np.empty)
        work = self.work

        def start():
            """Threshold; return a function that returns (values, ranks) on the host, once a GPU has computed them."""
            result = self.exact.threshold(X, lam, X, whole, cap, work)
            return lambda: result

        return start

    def values(self, X):
        """Return all singular values (N, min(m, n)) of X on the host; X is overwritten."""
        none = np.zeros(len(X), np.int32)
        return self.exact.threshold(X, none.astype(X.dtype), X, True, none)[0]


class GpuTools:
    """Array operations on a GPU; see CpuTools."""

    SCRATCH = 5 << 28  # bytes; much smaller batches have too few cores to fill the device

    def __init__(self, workspace=None):
        from gpukit._cuda import cuda
        from gpukit.svt import gpu
        from gpukit.svt.kernels import subspace as subspace_kernels

        self.library, self.cuda, self.exact, self.kernels = array_library(), cuda, gpu, subspace_kernels
        self.host = self.library.asnumpy
        self.prepared, self.workspace = (None, None), workspace or Workspace()

    def put(self, target, values):
        """See CpuTools."""
        target.set(np.ascontiguousarray(values, target.dtype))

    def spare_memory(self):
        """Return the bytes of the GPU for a task; cupy's arrays count within GPUKIT_GPU_MEMORY too."""
        used = self.library.get_default_memory_pool().used_bytes() if gpu_memory_limit() else 0
        return spare_memory() - used

    def trim(self):
        """Release freed memory of numba and of cupy's pool."""
        self.cuda.current_context().deallocations.clear()
        self.library.get_default_memory_pool().free_all_blocks()

    def product(self, a, b, out):
        """Compute out = a b, all (N, rows, columns).

        a and b are contiguous or transposed; cupy.matmul would copy transposed ones.
        """
        cublas = self.library.cuda.cublas
        gemm = cublas.sgemmStridedBatched if out.itemsize == 4 else cublas.dgemmStridedBatched
        unit, zero = np.ones(1, out.dtype), np.zeros(1, out.dtype)
        (batch, m, n), k = out.shape, a.shape[2]
        gemm(
            self.library.cuda.device.get_cublas_handle(),
            *(transpose_flag(b), transpose_flag(a), n, m, k, unit.ctypes.data),
            *(b.data.ptr, pitch(b), b.shape[1] * b.shape[2], a.data.ptr, pitch(a), m * k),
            *(zero.ctypes.data, out.data.ptr, n, m * n, batch),
        )

    def shared(self, array):
        """Return a cupy array as numba's without synchronization: both use the default stream."""
        return self.cuda.as_cuda_array(array, sync=False)

    def whiten(self, gram, shift, out):
        """See kernels.subspace.whiten."""
        from gpukit._cuda import with_shared_memory

        k, make = gram.shape[1], self.kernels.make_whiten
        launch = with_shared_memory(
            make(gram.dtype.type), len(gram), self.kernels.threads_for(k), bytes_of_whiten(k, gram.itemsize)
        )
        launch(self.shared(gram), shift, self.shared(out))

    def combine(self, Y, Z, polynomial, out):
        """See kernels.products.combine."""
        from gpukit.svt.kernels import bulge_chasing as products_kernels

        factors = (Y.dtype.type(factor) for factor in polynomial)
        grid = products_kernels.BLOCKS, min(len(out), products_kernels.MATRICES)
        launch = products_kernels.combine[grid, products_kernels.THREADS]
        launch(self.shared(Y), self.shared(Z), *factors, self.shared(out))

    def threshold(self, X, lam, cap, whole):
        """See CpuTools. Buffers for a number of slices, a power of two, are reused by the next call."""
        capacity = 1 << (len(X) - 1).bit_length()
        key = capacity, *X.shape[1:], X.dtype, whole
        if self.prepared[0] != key:
            self.prepared = None, None  # release memory first
            shapes = ((capacity, *X.shape[1:]), X.dtype), (capacity, X.dtype), (capacity, np.int32)
            arrays = [self.library.zeros(*shape) for shape in shapes]
            self.prepared = key, (arrays, self.thresholding(*arrays, whole))
        arrays, exact = self.prepared[1]
        for array, source in zip(arrays, (X, lam, cap)):
            array[: len(X)] = source
        values, ranks = exact()()
        X[...] = arrays[0][: len(X)]
        return values[: len(X)], ranks[: len(X)]

    def thresholding(self, X, lam, cap, whole):
        """See CpuTools."""
        X, lam, cap = map(self.shared, (X, lam, cap))
        work = self.exact.Thresholding(X, lam, X, whole, cap, self.workspace)

        def start():
            work.run()
            return lambda: (work.values.copy_to_host(), work.fetch_ranks())

        return start

    def values(self, X):
        """See CpuTools."""
        lam, cap = (self.library.zeros(len(X), dtype) for dtype in (X.dtype, np.int32))
        work = self.exact.Thresholding(*map(self.shared, (X, lam)), None, True, self.shared(cap), self.workspace)
        work.run()
        work.fetch_ranks()
        return work.values.copy_to_host()


def transpose_flag(matrices):
    """Return 1 for transposed matrices, 0 for contiguous ones."""
    return int(matrices.strides[-1] != matrices.itemsize)


def pitch(matrices):
    """Return the distance of two rows in memory; of two columns for transposed matrices."""
    return max(matrices.strides[-2:]) // matrices.itemsize


def pays(shape):
    """Return True if products are faster for slices (N, m, n).

    On a GPU, with cupy.
    """
    return sides(shape)[0] > LARGE_ON_GPU and importlib.util.find_spec("cupy") is not None


def workspace_of(shape, itemsize):
    """Return bytes of workspace of a slice."""
    p, q = sides(shape)
    return (3 * q + 5 * p) * p * itemsize


def batch_of(shape, itemsize):
    """Return the number of slices of a batch."""
    return max(1, min(shape[0], SCRATCH // workspace_of(shape, itemsize)))


def memory_needed(shape, dtype):
    """Return device bytes for X, thresholded in place, and for ProductThresholding."""
    size = np.dtype(dtype).itemsize
    return int(np.prod(shape)) * size + batch_of(shape, size) * workspace_of(shape, size)


class ProductThresholding:
    """Repeated thresholding of the same arrays: run() reads X and lam and writes out, which may be X.

    X, out (N, m, n) float32 or float64, C-contiguous; lam (N,) of their type; numpy arrays, or cupy's with on_gpu.
    arrays: where X and out are, a Resident or gpu.Travelling.
    Memory: eight matrices a slice, up to SCRATCH at a time. Raises DeviceError without cupy.
    """

    def __init__(self, X, lam, out, on_gpu=False, workspace=None, arrays=None):
        self.tools = make_tools(on_gpu, workspace)
        self.arrays = arrays or Resident(self.tools.library)
        self.X, self.lam, self.out = X, lam, out
        (p, q), empty = sides(X.shape), self.tools.library.empty
        batch = batch_of((self.arrays.slices or len(X), *X.shape[1:]), X.itemsize)
        self.parts = parts_of(len(X), batch)
        self.tall = [empty((batch, q, p), X.dtype) for _ in range(3)]
        self.square = [empty((batch, p, p), X.dtype) for _ in range(5)]
        self.ranks = np.zeros(len(X), np.int32)

    def run(self):
        """Threshold and return ranks (N,) int32 on the host.

        A rank is the number of singular values above lam and above rounding errors.
        """
        for part, X, out in self.arrays.each(self.parts, (self.X,), (self.out,)):
            ranks = self.threshold(X, self.lam[part], out)
            self.ranks[part] = self.tools.host(ranks).astype(np.int32)
        return self.ranks

    def threshold(self, X, lam, out):
        """Threshold X into out; return ranks as numbers of X's type."""
        xp, product = self.tools.library, self.tools.product
        counts, resolved, goal, rounding = BOUNDS[X.itemsize]
        B, P, spare = (array[: len(X)] for array in self.tall)
        G, Z, T, M, other = (array[: len(X)] for array in self.square)
        unit = self.units(X)
        B[...] = (X if X.shape[1] >= X.shape[2] else transpose(X)) * unit[:, None, None]
        lam = lam * unit
        size = self.sizes(B, G, Z)
        xp.divide(B, size[:, None, None], out=P)
        bound = xp.minimum(xp.maximum(lam, X.dtype.type(rounding) * size), size)
        least = min(max(float(self.tools.host((lam / size).min())), counts), 1.0)
        P = self.iterate_polynomials(P, spare, steps(least, goal), (G, Z, T))
        product(transpose(P), B, G)
        self.shift(G, -bound)
        xp.divide(G, size[:, None, None], out=M)
        S = self.iterate_polynomials(M, other, steps(resolved, goal), (G, Z, T))
        ranks = self.finish(out, (B, P, S), (lam, size))
        out /= unit[:, None, None]
        return ranks

    def units(self, X):
        """Return powers of two (N,) that scale the slices.

        The largest absolute value of a slice becomes (0.5, 1]; 1 for zeros.
        """
        xp = self.tools.library
        largest = xp.maximum(X.max(axis=(1, 2)), -X.min(axis=(1, 2))).astype(np.float64)
        limit = float(np.finfo(X.dtype).maxexp - 2)
        exponents = xp.ceil(xp.log2(xp.where(largest > 0, largest, 1.0)))
        return xp.exp2(xp.clip(-exponents, -limit, limit)).astype(X.dtype)

    def sizes(self, B, G, Z):
        """Return upper bounds (N,) of the largest singular values: the 8-norm; 1 for zeros.

        The bounds are at most p^(1/8) times the singular values.
        """
        xp = self.tools.library
        self.tools.product(transpose(B), B, G)
        self.tools.product(G, G, Z)
        sums = (Z.reshape(len(Z), -1) ** 2).sum(axis=1)
        return xp.where(sums > 0, B.dtype.type(1.0001) * sums ** B.dtype.type(0.125), B.dtype.type(1)).astype(B.dtype)

    def iterate_polynomials(self, P, spare, polynomials, buffers):
        """Apply odd polynomials to P, alternating two buffers.

        Each is P a + P P'P b + P (P'P)^2 c; P and spare are (N, rows, p).
        """
        product, (G, Z, T) = self.tools.product, buffers
        for polynomial in polynomials:
            product(transpose(P), P, G)
            product(G, G, Z)
            self.tools.combine(G, Z, polynomial, T)
            product(P, T, spare)
            P, spare = spare, P
        return P

    def shift(self, squares, offsets):
        """Add by (N,) I to squares (N, p, p) in place."""
        N, p, _ = squares.shape
        squares.reshape(N, p * p)[:, :: p + 1] += offsets[:, None]

    def finish(self, out, matrices, numbers):
        """Write out = (B - lam P) (I + S) / 2; return the ranks.

        out is 0 where lam exceeds all values.
        """
        xp, (B, P, S), (lam, size) = self.tools.library, matrices, numbers
        value = xp.ones_like(lam)
        self.shift(S, value)
        S *= (xp.where(lam < size, value, 0 * value) / 2)[:, None, None]
        P *= xp.minimum(lam, size)[:, None, None]
        B -= P
        if out.shape[1] >= out.shape[2]:
            self.tools.product(B, S, out)
        else:
            self.tools.product(transpose(S), transpose(B), out)
        p = S.shape[1]
        return xp.rint(S.reshape(len(S), p * p)[:, :: p + 1].sum(axis=1))


def steps(least, goal):
    """Return polynomials that map [least, 1] to within goal of 1, each (a, b, c)."""
    low = 0.4999  # lower bound of the values after STEADY
    polynomials, a, b, c = [], *STEADY
    while least < low:
        polynomials.append(STEADY)
        least = min(a * least + b * least**3 + c * least**5, low) if least < 0.3 else low
    most, off = 1.0, 1.0
    while off > goal:
        *polynomial, off = nearest(least, most)
        polynomials.append(tuple(polynomial))
        least, most = 1.0 - off, 1.0 + off
    return polynomials


def nearest(least, most):
    """Return (a, b, c, off) of the polynomial nearest to 1.

    It is a x + b x^3 + c x^5 on [least, most]. off is its largest distance from 1.
    """
    if most - least < 1e-5:
        return 15 / 8, -10 / 8, 3 / 8, ((most - least) / 2) ** 3
    low, high, last = (3 * least + most) / 4, (least + 3 * most) / 4, np.inf
    while True:  # Remez: the extrema of the error, alternately below and above 1
        points = np.array([least, low, high, most])
        table = np.column_stack((points, points**3, points**5, [1.0, -1.0, 1.0, -1.0]))
        a, b, c, off = np.linalg.solve(table, np.ones(4))
        if abs(off - last) <= 1e-12:
            return float(a), float(b), float(c), float(off)
        root = np.sqrt(9 * b * b - 20 * a * c)
        low, high, last = np.sqrt((-3 * b - root) / (10 * c)), np.sqrt((-3 * b + root) / (10 * c)), off


def threshold_on_host(X, lam, whole, require):
    """Return (out, values or None, ranks) of host arrays; require(bytes): check of the device's memory.

    Matrix products, which compute no singular values, are faster for large slices.
    """
    from gpukit._cuda import cuda
    from gpukit.device.upload import upload
    from gpukit.svt import gpu

    if not whole and pays(X.shape):
        import cupy

        require(memory_needed(X.shape, X.dtype))
        device_X = cupy.empty(X.shape, X.dtype)
        upload(X, cuda.as_cuda_array(device_X, sync=False))
        ranks = ProductThresholding(device_X, cupy.asarray(lam), device_X, on_gpu=True).run()
        return device_X.get(), None, ranks
    require(gpu.memory_needed(X.shape, X.dtype))
    device_X, out = (cuda.device_array(X.shape, X.dtype) for _ in range(2))
    upload(X, device_X)
    values, ranks = gpu.threshold(device_X, cuda.to_device(lam), out, whole)
    return out.copy_to_host(), values.copy_to_host() if whole else None, ranks
