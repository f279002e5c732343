"""The documents on one device, and sums over their pairs for changing w; `steps` is the module cpu.py or gpu.py."""

import numpy as np

from gpukit.ranking.problem import Partners, Ranks, Sums, Walk, index_dtype, share_out
from gpukit.ranking.solvers.counting import loss_of_pairs


class PairSums:
    """Scores, pair statistics and products of a Problem; base class of the two methods for the statistics.

    walk(v, margin, exact=True) -> (n + 1,) float64: X'W (A'A X v - margin A'e), then v'X'W (A'A X v - 2 margin A'e) +
    margin p_w, for the active pairs of the last `move`. exact=False: products with X may be in float32.
    """

    def __init__(self, problem, steps):
        self.steps, self.problem, self.n = steps, problem, problem.X.shape[1]
        self.matrix = steps.matrix(problem.X)
        self.size, tree = len(problem.tree.level), problem.tree
        self.level, self.offsets = steps.put(tree.level), steps.put(tree.offsets)
        self.ranks = Ranks(*map(steps.put, (tree.query, tree.rank_level, tree.first_group, tree.group_starts)))
        self.weights = steps.put(problem.weights)
        self.scores = steps.empty(self.size, np.float64)

    def gram(self, diagonal=False):
        """Return the weighted covariance of the documents within their queries, (n, n) float64, for all pairs.

        diagonal: return its diagonal alone, (n,).
        """
        return self.matrix.gram(self.offsets, self.ranks.query, self._pulls(), diagonal)

    def pair_loss(self):
        """Return the loss at the current scores, added pair by pair; None on a GPU and for too many pairs."""
        if not isinstance(self.scores, np.ndarray):
            return None
        return loss_of_pairs(self.scores, self.problem)

    def _pulls(self):
        """Return the sum of the weights of the pairs of each document, (l,) on the device."""
        if self.problem.is_weighted or isinstance(self.scores, np.ndarray):
            return self.steps.put(self.problem.pulls())
        pulls = self.steps.empty(self.size, np.float64)
        self.steps.run("pair_pulls", self.size, self.ranks, self.level, self.offsets, self.weights, pulls)
        return pulls


class LevelTreeSums(PairSums):
    """solver="scan": margins by search in the level tree once per move, prefix sums in every product."""

    def __init__(self, problem, steps):
        super().__init__(problem, steps)
        tree, put, empty = problem.tree, steps.put, steps.empty
        self.over = Walk(*map(put, share_out(problem, steps.walk_blocks())))
        self.plan = steps.sorting.plan(tree.group_starts.astype(np.int64), np.float64)
        self.place, self.documents = put(tree.place), put(tree.documents)
        self.order, self.keys = empty(self.size, np.int32), empty(self.size, np.float64)
        self.values = [empty(self.size, np.float64), empty(self.size, np.float64)]
        tables = empty((tree.planes, 2 * tree.arity - 1, self.size), index_dtype(tree.longest))
        self.partners = Partners(tables, empty((2, self.size), np.int32))
        self.room = steps.room(tree.longest, self.n, len(self.over.firsts) - 1)
        if hasattr(self.matrix, "product"):
            self.product = self.matrix.product(self.over, self.partners, self.room)
        else:
            self.product, self.loss = self.take_two_passes, empty(len(self.over.firsts) - 1, np.float64)
            self.u, self.z = empty(self.size, np.float64), put(np.zeros(self.size))  # z stays 0 without pairs

    def move(self, w):
        """Compute the scores of w and the level tree's tables for them."""
        steps = self.steps
        self.matrix.scores(w, self.scores)
        steps.run("by_rank", self.size, self.scores, self.place, self.keys)
        steps.sorting.argsort(self.keys, self.plan, self.order)
        tables = self.partners.tables
        steps.run("start_planes", self.size, self.order, self.keys, self.ranks, self.documents, tables, self.values[0])
        for plane in range(self.problem.tree.planes):
            width = self.problem.tree.arity**plane
            now, following = self.values[plane % 2], self.values[1 - plane % 2]
            steps.run("search_plane", self.size, plane, width, self.ranks, self.partners, now, following)

    def walk(self, v, margin, exact=True):
        """See PairSums."""
        return self.product(v, float(margin), exact)

    def take_two_passes(self, v, margin, exact):
        """`walk` for a matrix that computes X v for all documents before X'z."""
        self.matrix.scores(v, self.u)
        self.steps.pair_sums(self.room, self.u, margin, self.over, self.partners, self.z, self.loss)
        return np.append(self.matrix.transposed(self.z), self.steps.copy_out(self.loss).sum())


class SortedSums(PairSums):
    """Solvers without the level tree: each query is sorted once per move, then `solver` computes every sum.

    solver: the name of p_swx, dcm or ost, (order, scores, level, offsets, u, sums).
    """

    def __init__(self, problem, steps, solver):
        super().__init__(problem, steps)
        tree, empty = problem.tree, steps.empty
        self.solver, self.threads = solver, 256 * len(problem.weights)  # a block for each query
        self.plan = steps.sorting.plan(tree.offsets.astype(np.int64), np.float64)
        ones = np.ones(self.size)
        weights = ones if problem.document_weights is None else problem.document_weights
        self.order, self.own = empty(self.size, np.int32), steps.put(weights)
        self.document_weights = steps.put(problem.weights[tree.query] * weights)
        unit, none = steps.put(ones), steps.put(0.0 * ones)
        self.once = Sums(unit, none), Sums(none, none)
        self.u, self.z, self.loss = (empty(self.size, np.float64) for _ in range(3))
        self.counts, self.sums = (Sums(*(empty(self.size, np.float64) for _ in range(2))) for _ in range(2))
        self.gains = None if problem.gains is None else steps.put(problem.gains)
        if self.gains is not None:
            above, below, self.product = (empty(self.size, np.float64) for _ in range(3))
            self.raised, self.minus = Sums(above, below), steps.put(-ones)

    def move(self, w):
        """Compute the scores of w, their order in each query, beta+ and beta-, which add up weights of documents."""
        self.matrix.scores(w, self.scores)
        self.steps.sorting.argsort(self.scores, self.plan, self.order)
        self.add_partners(self.own, self.counts)

    def walk(self, v, margin, exact=True):
        """See PairSums."""
        self.matrix.scores(v, self.u)
        u = self.u
        if self.problem.document_weights is not None:
            u = self.z
            self.multiply(self.u, self.own, u)
        self.add_partners(u, self.sums)
        self.combine(self.u, margin, self.counts, self.sums, self.document_weights, self.z)
        return np.append(self.matrix.transposed(self.z), self.steps.copy_out(self.loss).sum())

    def add_partners(self, u, sums):
        """sums = the sums of u over the partners of each document, times the differences of gains if there are any."""
        places = self.order, self.scores, self.level, self.offsets
        self.steps.run(self.solver, self.threads, *places, u, sums)
        if self.gains is None:
            return
        unit, none = self.once[0]
        self.multiply(u, self.gains, self.product)
        self.steps.run(self.solver, self.threads, *places, self.product, self.raised)
        for total, raised, sign in zip(sums, self.raised, (self.minus, unit)):  # total = sign (gains total - raised)
            self.combine(self.gains, 0.0, Sums(total, none), Sums(raised, none), sign, total)

    def multiply(self, a, b, out):
        """out = a b: `once` counts each document once, without partners."""
        self.combine(a, 0.0, *self.once, b, out)

    def combine(self, *arguments):
        """kernels.pair_sums.combine, with the parts of the loss in self.loss."""
        self.steps.run("combine", self.size, *arguments, self.loss)


def make_pair_sums(problem, solver, steps):
    """Return the PairSums of a solver: scan, p-swx, dcm or ost (the last two on the CPU)."""
    if solver == "scan":
        return LevelTreeSums(problem, steps)
    return SortedSums(problem, steps, solver.replace("-", "_"))
