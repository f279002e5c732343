"""Steps of the pair sums on the GPU: launches of the kernels; cpu.py has the same names. Arrays stay on the device."""

import sys

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import copy_in, copy_out, device_array, launch
from gpukit.device.cpu_arrays import find_named
from gpukit.device.cuda_graph import GraphFunction
from gpukit.device.upload import to_device as put
from gpukit.ranking.blocks import MOST, HostBlocks, Recall, query_blocks
from gpukit.ranking.feature_map import Expanded
from gpukit.ranking.kernels import matrix as matrix_kernels
from gpukit.ranking.kernels import pair_sums as pair_sums_kernels
from gpukit.ranking.kernels.rows import LIMIT, THREADS, WARPS, shape
from gpukit.ranking.problem import Csr
from gpukit.ranking.solvers.choose import has_cupy
from gpukit.ranking.sparse import Sparse
from gpukit.sorting import gpu as sorting  # noqa: F401

STEPS, BLOCK = sys.modules[__name__], THREADS
SHARED = 48 << 10  # bytes per block
SHARES = 64  # most shares of the covariance; fewer if (n, n) is large
EXPANDED = 1 << 25  # numbers of a block of expanded features: 256 MiB
STREAMED, SHARE = 1 << 28, 24  # bytes of a block that travels, and at most this part of the free memory
TALL, WIDE = (8, 64), (32, 8)  # blocks that add the rows of other blocks' results


def empty(shape, dtype):
    """Return a new array on the device."""
    return device_array(shape, dtype)


def walk_blocks():
    """Return the number of lists of queries: the blocks of a launch."""
    blocks_a_processor = 4
    return blocks_a_processor * cuda.get_current_device().MULTIPROCESSOR_COUNT


def shared_bytes(capacity, n):
    """Return the shared memory of pair_product: u, sums, z of a query, X'z, a number per warp, v at 16 bytes."""
    lanes, quads = shape(min(n, LIMIT))  # pair_sums, for wider matrices, takes less
    return 8 * (3 * capacity + 2 + 2 * (4 * lanes * quads) + WARPS)


def room(longest, n, blocks):
    """Return (capacity, workspace) for queries of at most `longest` documents; capacity 0: they do not fit."""
    capacities = (256, 640, 1280, 1856)  # documents of the longest query that fits shared memory
    capacity = next((c for c in capacities if c >= longest and shared_bytes(c, n) <= SHARED), 0)
    return capacity, empty((1, 1) if capacity else (blocks, 3 * longest + 1), np.float64)


def grid(count, block=BLOCK):
    """Return the number of blocks for `count` threads."""
    return max(-(-count // block), 1)


def memory_needed(problem):
    """Return the largest memory of a session of a Problem, in bytes.

    It contains the matrix, the tables of the level tree and the shares of the covariance.
    """
    X, tree, n = problem.X, problem.tree, problem.X.shape[1]
    tables, recalled = table_bytes(tree), 8 * (MOST + 1) * len(tree.level)
    if isinstance(X, Expanded):  # blocks of two types with results between them, and three sums of the covariance
        rows = block_rows(X, tree.longest)
        arriving = 2 * rows if X.resident < X.shape[0] else 0
        blocks = rows * n * (8 + 3 * X.X.itemsize) + (X.resident + arriving) * X.X.shape[1] * X.X.itemsize
        return tables + blocks + 3 * 8 * n * n + recalled
    if isinstance(X, HostBlocks):
        rows, queries = max(part.stop - part.start for part in X.rows), max(last - first for first, last in X.queries)
        copies = 3  # of a block at the same time: the last one, the next one as it arrives, and with padded rows
        covariance = 0 if X.is_sparse else 8 * n * (gram_shares(n, rows) * n + queries)
        return tables + recalled + covariance + int(X.sizes[: X.kept].sum() + copies * X.sizes.max())
    if hasattr(X, "indptr"):
        return tables + 2 * (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if n > LIMIT:  # by rows and by columns
        return tables + 2 * X.size * (X.dtype.itemsize + 4)
    covariance = 8 * n * (gram_shares(n, X.shape[0]) * n + len(problem.weights))
    return tables + covariance + X.shape[0] * (n + -n % 4) * X.dtype.itemsize


def table_bytes(tree):
    """Return the memory of the level tree's tables and of 100 bytes more per document."""
    return len(tree.level) * (tree.planes * (2 * tree.arity - 1) * 4 + 100)


def streamed(problem, spare):
    """Return a Problem whose features stay on the host, except for those that fit in `spare` bytes of the GPU."""
    X, tree = problem.X, problem.tree
    if isinstance(X, Expanded):
        X = X.keeping(0)
        least = memory_needed(problem._replace(X=X))
        row = X.X.shape[1] * X.X.itemsize
        return problem._replace(X=X.keeping(int(np.clip((spare - least) // row, 0, X.shape[0]))))
    if X.shape[1] > LIMIT and not hasattr(X, "indptr"):
        import scipy.sparse

        X = scipy.sparse.csr_array(X)
    most = max(1, min(STREAMED, spare // SHARE))
    while True:
        streamed = problem._replace(X=HostBlocks(X, tree.offsets, most))
        left = spare - memory_needed(streamed)
        if left >= 0 or most == 1:
            streamed.X.keep(left)
            return streamed
        most = max(1, most // 4)


def gram_shares(n, count):
    """Return the number of shares in which the covariance (n, n) of l documents is added."""
    gram_bytes = 256 << 20
    return int(max(1, min(SHARES, gram_bytes // (8 * n * n), grid(count, matrix_kernels.STEP))))


def addition(partial, out):
    """Return the launch of kernels.matrix.add_rows, for launch."""
    rows, columns = partial.shape
    block = TALL if rows > SHARES else WIDE
    return matrix_kernels.make_add_rows(*block), grid(columns, block[0]), block, partial, out


def sum_rows(partial):
    """Return the sum of the rows of partial (rows, columns), on the host."""
    out = empty(partial.shape[1], np.float64)
    launch(*addition(partial, out))
    return copy_out(out)


def run(name, count, *arguments):
    """Launch a kernel by name, with a thread for each of count."""
    launch(find_named((matrix_kernels, pair_sums_kernels), name), grid(count), BLOCK, *arguments)


def pair_sums(room, u, margin, over, partners, z, loss):
    """kernels.pair_sums.pair_sums, a block for each number of loss; room: of `room`."""
    capacity, workspace = room
    kernel = pair_sums_kernels.make_pair_sums(capacity)
    launch(kernel, loss.size, THREADS, u, margin, over, partners, z, loss, workspace)


def matrix(X):
    """Return the Matrix of X of the host, or of a feature_map.Expanded.

    It is by rows if X is sparse or too wide for registers.
    """
    if isinstance(X, Expanded):
        return Blocks(X)
    if isinstance(X, HostBlocks):
        return Streamed(X)
    if hasattr(X, "indptr"):
        return Sparse(X, STEPS)
    if X.shape[1] > LIMIT:
        import scipy.sparse

        return Sparse(scipy.sparse.csr_array(X), STEPS)
    return Dense(X)


def pad_columns(X):
    """Return X with columns of zeros up to whole groups of four."""
    n = X.shape[1]
    if n % 4 == 0:
        return X
    shape = X.shape[0], n + -n % 4
    if isinstance(X, np.ndarray):
        out = np.zeros(shape, X.dtype)
        out[:, :n] = X
        return out
    out = empty(shape, X.dtype)
    launch(matrix_kernels.pad_rows, 8 * walk_blocks(), BLOCK, X, out)
    return out


class Dense:
    """Products with a dense X (l, n)."""

    def __init__(self, X):
        self.n, self.shape = X.shape[1], shape(X.shape[1])
        X = pad_columns(X)
        self.X = put(X) if isinstance(X, np.ndarray) else X  # a block that travelled
        self.v = empty(self.n, np.float64)

    def scores(self, v, out):
        """out = X v."""
        copy_in(v, self.v)
        self.multiply(self.v, out)

    def multiply(self, v, out):
        """out = X v, for v on the device."""
        kernel = matrix_kernels.make_document_scores(*self.shape)
        blocks = min(grid(out.size * self.shape[0], THREADS), 8 * walk_blocks())
        launch(kernel, blocks, THREADS, self.X, v, out)

    def transposed(self, z):
        """Return X'z (n,) on the host."""
        partial = empty((walk_blocks(), self.n), np.float64)
        launch(matrix_kernels.make_transposed_product(*self.shape), walk_blocks(), THREADS, self.X, z, partial)
        return sum_rows(partial)

    def product(self, over, partners, room):
        """See cpu.Dense."""
        return Product(self, over, partners, room)

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        n, tiles = self.n, np.array(tile_pairs(self.n), np.int32)
        means = empty((len(offsets) - 1, n), np.float64)
        launch(matrix_kernels.query_means, len(offsets) - 1, 64, self.X, offsets, pulls, means)
        shares = gram_shares(n, len(query))
        partial = empty((shares, n, n), np.float64)
        blocks = len(tiles), shares
        launch(matrix_kernels.weighted_gram, blocks, BLOCK, self.X, means, query, pulls, put(tiles), partial)
        whole = sum_rows(partial.reshape(shares, n * n)).reshape(n, n)
        return whole.diagonal() if diagonal else whole


class Product:
    """Launches of `Dense.product`, prepared once and repeated in the same memory."""

    def __init__(self, dense, over, partners, room):
        self.dense, self.given = dense, (over, partners)
        self.blocks, (self.capacity, self.workspace) = len(over.firsts) - 1, room
        self.partial = empty((self.blocks, dense.n + 1), np.float64)
        self.sums = empty(dense.n + 1, np.float64)
        self.rounds = {}

    def __call__(self, v, margin, exact):
        if (margin, exact) not in self.rounds:
            launches = self.walk(margin, exact), addition(self.partial, self.sums)
            self.rounds[margin, exact] = GraphFunction(self.dense.v, launches, self.sums)
        return self.rounds[margin, exact](v)

    def walk(self, margin, exact):
        """Return the launch for the vector in dense.v, for launch; the rows of self.partial add up to the product."""
        slots = self.given[1].tables.shape[1] // 2
        kernel = pair_sums_kernels.make_pair_product(*self.dense.shape, slots, self.capacity, exact)
        arguments = self.dense.X, self.dense.v, margin, *self.given, self.partial, self.workspace
        return kernel, self.blocks, THREADS, *arguments


def tile_pairs(n):
    """Return the tiles [(a, b)], a <= b, of the covariance."""
    tiles = -(-n // matrix_kernels.TILE)
    return [(a, b) for a in range(tiles) for b in range(a, tiles)]


def library():
    """Return cupy, which has views of the device arrays of this module, on the same stream."""
    import cupy

    return cupy


def block_rows(X, longest):
    """Return the documents of a block of a feature_map.Expanded: those of whole queries."""
    return min(max(longest, EXPANDED // X.shape[1]), X.shape[0])


class ByQueries:
    """Products with X by blocks of whole queries, in a pass over all blocks: X v, the sums over pairs, and X'z of each.

    An evaluation at a combination of earlier vectors takes one pass, any other one two; `passes` counts them. A
    subclass has each(), which yields the blocks; forward(block, v, out): out = X v; backward(block, z): adds X'z to
    what sums() returns; and view(array), an array of the device as these take it.
    """

    def __init__(self, shape, offsets, queries, recall):
        self.n, self.offsets, self.recall = shape[1], np.asarray(offsets, np.int64), recall
        self.queries = [run for run in queries if self.offsets[run[1]] > self.offsets[run[0]]]
        self.rows = [slice(*self.offsets[[*run]].tolist()) for run in self.queries]
        self.vector, self.u = empty(self.n, np.float64), empty(shape[0], np.float64)
        self.z, self.last, self.passes = put(np.zeros(shape[0])), None, 0  # z stays 0 without pairs

    def blocks(self, *scratch):
        """Yield (rows, block), and count the pass."""
        yield from zip(self.rows, self.each(*scratch), strict=True)
        self.passes += 1

    def scores(self, v, out):
        """out = X v."""
        if self.recall is None or not self.recall.combine(v, library().asarray(out)):
            copy_in(v, self.vector)
            scores = self.view(out)
            for rows, block in self.blocks():
                self.forward(block, self.vector, scores[rows])
            self._remember(v, out)
        self.last = v.copy(), out

    def _remember(self, v, scores):
        if self.recall is not None and v.any():
            self.recall.add(v, library().asarray(scores))

    def transposed(self, z):
        """Return X'z (n,) on the host."""
        z = self.view(z)
        for rows, block in self.blocks():
            self.backward(block, z[rows])
        return self.sums()

    def product(self, over, partners, room):
        """See cpu.Dense."""
        walks = self._walks(over)
        lists = [len(walk.firsts) - 1 for walk in walks]
        ends, loss = np.cumsum(lists), empty(sum(lists), np.float64)
        u, z = self.view(self.u), self.view(self.z)
        places = zip(walks, ends.tolist(), lists)
        parts = [(walk, loss[end - count : end] if count else None) for walk, end, count in places]

        def product(v, margin, exact):
            is_known = self.last is not None and np.array_equal(v, self.last[0])  # as in an evaluation
            if is_known:
                self.u.copy_to_device(self.last[1])
            else:
                copy_in(v, self.vector)
            for (walk, losses), (rows, block) in zip(parts, self.blocks(), strict=True):
                if not is_known:
                    self.forward(block, self.vector, u[rows])
                if losses is not None:
                    pair_sums(room, self.u, margin, walk, partners, self.z, losses)
                self.backward(block, z[rows])
            if not is_known:
                self._remember(v, self.u)
            return np.append(self.sums(), copy_out(loss).sum())

        return product

    def _walks(self, over):
        """Return the problem.Walk of each block of queries, in no more lists than there are."""
        most, queries, walks = len(over.firsts) - 1, np.sort(over.queries.copy_to_host()), []
        for first, last in self.queries:
            block_queries = queries[slice(*np.searchsorted(queries, (first, last)))]
            firsts = np.linspace(0, len(block_queries), min(len(block_queries), most) + 1).astype(np.int32)
            walks.append(over._replace(queries=put(block_queries), firsts=put(firsts)))
        return walks


class Streamed(ByQueries):
    """Products with a blocks.HostBlocks: each block is a Matrix, made when it is needed or kept."""

    def __init__(self, X):
        super().__init__(X.shape, X.offsets, X.queries, Recall() if has_cupy() else None)
        self.X, self.total = X, np.zeros(self.n)
        self.kept = [self.load(number) for number in range(X.kept)]

    def load(self, number):
        """Return the Matrix of a block; a dense one is padded on the device."""
        X, *by_columns = self.X.part(number)
        return Sparse(X, STEPS, *by_columns) if by_columns else Dense(put(X))

    def each(self):
        """Yield the Matrix of each block."""
        yield from self.kept
        for number in range(len(self.kept), len(self.queries)):
            yield self.load(number)

    def view(self, array):
        """See ByQueries."""
        return array

    def forward(self, block, vector, out):
        """See ByQueries."""
        block.multiply(vector, out)

    def backward(self, block, z):
        """See ByQueries."""
        self.total += block.transposed(z)

    def sums(self):
        """See ByQueries."""
        result, self.total = self.total, np.zeros(self.n)
        return result

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        return sum(block.gram(*local, diagonal) for block, local in self._local(pulls))

    def _local(self, pulls):
        """Yield each block with the offsets, queries and pulls of its documents."""
        for (first, last), (rows, block) in zip(self.queries, self.blocks(), strict=True):
            offsets = (self.offsets[first : last + 1] - rows.start).astype(np.int32)
            query = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(offsets))
            yield block, (put(offsets), put(query), pulls[rows])


class Blocks(ByQueries):
    """Products with a feature_map.Expanded, by blocks in scratch memory, which cuBLAS multiplies.

    Features are computed in X's type, their products with vectors in float64.
    """

    def __init__(self, X):
        longest = np.diff(X.offsets).max()
        super().__init__(X.shape, X.offsets, query_blocks(X.offsets, block_rows(X, longest)), Recall())
        self.library, self.host, self.resident = library(), X.X, X.resident
        self.map = X.map.moved(lambda array: self.view(put(array)), X.X.dtype) if X.map.extra else None
        scaling = X.scaling
        self.scaling = None if scaling.kind == "none" else [self.view(put(each)) for each in scaling[1:]]
        self.X = self.view(put(X.X[: self.resident])) if self.resident else None
        for rows in self.rows:
            if self.scaling and rows.start < self.resident:
                part = slice(rows.start, min(rows.stop, self.resident))
                self.X[part] = self._scaled(self.X[part])
        self.block = empty((max(rows.stop - rows.start for rows in self.rows), self.n), np.float64)
        self.total = empty(self.n, np.float64)
        self.view(self.total)[:] = 0.0

    def _scaled(self, X):
        """Return X scaled in float64, like the host does."""
        low, factor = self.scaling
        return ((X - low) * factor).astype(X.dtype)

    def _part(self, rows):
        """Return the scaled X of a block's documents, from the host unless all of it is on the device."""
        if rows.stop <= self.resident:
            return self.X[rows]
        X = self.view(put(self.host[rows]))
        return self._scaled(X) if self.scaling else X

    def each(self, block=None):
        """Yield the features of each block; they are in `block`."""
        block = self.view(self.block if block is None else block)
        for rows in self.rows:
            X = self._part(rows)
            features = block[: len(X)]
            features[:, : X.shape[1]] = X
            if self.map:
                self.map.fill(X, features[:, X.shape[1] :], self.library)
            yield features

    def view(self, array):
        """See ByQueries."""
        return self.library.asarray(array)

    def forward(self, block, vector, out):
        """See ByQueries."""
        out[:] = block @ self.view(vector)

    def backward(self, block, z):
        """See ByQueries."""
        total = self.view(self.total)
        total += z @ block

    def sums(self):
        """See ByQueries."""
        result = copy_out(self.total)
        self.view(self.total)[:] = 0.0
        return result

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        view, dtype = self.view, self.host.dtype
        block, total = empty(self.block.shape, dtype), put(np.zeros(self.n if diagonal else (self.n, self.n)))
        query, weights, sums = view(query), view(pulls), view(total)
        for (first, last), (rows, features) in zip(self.queries, self.blocks(block), strict=True):
            block_offsets = put((self.offsets[first : last + 1] - self.offsets[first]).astype(np.int32))
            means = empty((last - first, self.n), np.float64)
            grid_of_means = last - first, grid(self.n)
            launch(matrix_kernels.query_means, grid_of_means, BLOCK, block, block_offsets, pulls[rows], means)
            features -= view(means).astype(dtype)[query[rows] - first]
            weighted = features * weights[rows, None].astype(dtype)
            sums += (weighted * features).sum(axis=0) if diagonal else features.T @ weighted
        return copy_out(total)


def csr(X):
    """Return the problem.Csr of a CSR matrix, on the device: indptr int64, indices int32."""
    return Csr(put(X.indptr.astype(np.int64)), put(X.indices.astype(np.int32, copy=False)), put(X.data))
