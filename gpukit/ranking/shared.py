"""A training set over ranks: each has a part of the queries; rank 0 trains, the others compute partial sums."""

import numpy as np

from gpukit.ranking.problem import QUERY_COST, make_problem
from gpukit.ranking.solvers.tron import Result

END, MOVE, WALK, GRAM = range(4)


def queries_of_rank(offsets, rank, size):
    """Return the range (first, last) of a rank's queries, balanced by documents and queries.

    offsets (m + 1,) int64. With fewer queries than ranks some ranks have none.
    """
    cost = np.asarray(offsets) + QUERY_COST * np.arange(len(offsets))
    return tuple(np.searchsorted(cost, cost[-1] * np.array([rank, rank + 1]) / size))


def part_of_rank(problem, y, team):
    """Return the Problem of a rank's queries, of a Problem with labels y (l,); None if they have no pairs."""
    if team.size == 1:
        return problem
    offsets = problem.tree.offsets.astype(np.int64)
    first, last = queries_of_rank(offsets, team.rank, team.size)
    if not problem.tree.heights[first:last].any():
        return None
    rows = slice(offsets[first], offsets[last])
    own_offsets = offsets[first : last + 1] - offsets[first]
    more = (None if array is None else array[rows] for array in (problem.document_weights, problem.gains))
    return make_problem(problem.X[rows], y[rows], own_offsets, problem.weights[first:last], *more)


class SharedPairSums:
    """The PairSums of a whole team: results, summed over ranks in their order.

    local: the PairSums of this rank's queries, or None if it has none; n features. Rank 0 calls the methods; the others
    are in `serve`.
    """

    def __init__(self, local, n, team):
        self.local, self.n, self.team = local, n, team

    def move(self, w):
        """See pair_sums.PairSums."""
        self._answer(MOVE, w)

    def walk(self, v, margin, exact=True):
        """See pair_sums.PairSums."""
        return self._answer(WALK, v, margin, exact)

    def pair_loss(self):
        """Return None: there is no sum pair by pair over ranks."""

    def gram(self, diagonal=False):
        """See pair_sums.PairSums."""
        return self._answer(GRAM, np.array([diagonal]))

    def _answer(self, what, vector, margin=0.0, exact=True):
        question = self.team.broadcast(np.concatenate(([what, margin, exact], vector)))
        return self._do(question)

    def _do(self, question):
        """Return this rank's part of a result; on rank 0 the whole result."""
        what, margin, exact, vector = int(question[0]), question[1], bool(question[2]), question[3:]
        if what == MOVE:
            if self.local is not None:
                self.local.move(vector)
            return None
        if self.local is None:
            part = np.zeros(self.n + 1 if what == WALK else self.n if vector[0] else (self.n, self.n))
        elif what == WALK:
            part = self.local.walk(vector, float(margin), exact)
        else:
            part = self.local.gram(bool(vector[0]))
        return self.team.reduce(part)

    def serve(self):
        """Compute partial sums until rank 0 has the tron.Result; return it."""
        while int((question := self.team.broadcast())[0]) != END:
            self._do(question)
        w, *others = self.team.broadcast_json()
        return Result(np.array(w), *others)

    def finish(self, result):
        """Send the Result to all other ranks."""
        self.team.broadcast(np.array([float(END)]))
        self.team.broadcast_json([result.w.tolist(), *result[1:]])
        return result
