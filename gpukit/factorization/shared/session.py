"""DeviceModel of all ranks; every rank calls the same methods at the same time."""

import sys

import numpy as np

from gpukit.factorization.arrays import History


class SharedModel:
    """The DeviceModel (factorization/steps.py) of a team, as far as training needs it; local: that of this rank."""

    def __init__(self, local, training, parts, team):
        self.local, self.training, self.parts, self.team = local, training, parts, team

    def pairs_at_once(self):
        """See steps.DeviceModel; the same on all ranks."""
        return sys.maxsize

    def ask(self, users, items):
        """See steps.DeviceModel; each rank asks for its users, rank 0 also for unknown ones."""
        self.mask = np.append(self.parts.owner, 0)[users] == self.team.rank
        return (self.local.ask(users[self.mask], items[self.mask]) if self.mask.any() else None,)

    def truth(self, values):
        """See steps.DeviceModel; of the pairs of the last `ask`."""
        return self.local.truth(values[self.mask]) if self.mask.any() else None

    def errors(self, asked, truth, scale):
        """See steps.DeviceModel; summed over ranks."""
        self.training.gather()
        sums = (0.0, 0.0) if truth is None else self.local.errors(*asked, truth, scale)
        return tuple(map(float, self.team.allreduce(np.array(sums))))

    def state(self):
        """Return the current State, complete on every rank."""
        self.training.gather()
        state = self.local.state()
        sides = state.user_factors, state.user_extras
        users = self.parts.users_of(self.team.rank)
        gathered = [self.team.allgather(side[users]) for side in sides]
        for side, parts in zip(sides, gathered):
            for rank, part in enumerate(parts):
                side[self.parts.users_of(rank)] = part
        return state

    @property
    def history(self):
        """Return the arrays.History of all users on the host of every rank, gathered on each access."""
        local = History(*(fetch_array(array) for array in self.local.history))
        counts, size = self.parts.counts[0], int(local.indptr[-1])
        indptr = np.zeros(len(counts) + 2, np.int64)
        indptr[1:-1] = np.cumsum(counts)
        indptr[-1] = indptr[-2]
        items, codes = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.uint8)
        for column, whole in ((local.items, items), (local.codes, codes)):
            for rank, part in enumerate(self.team.allgather(column[:size])):
                whole[row_positions(self.parts.users_of(rank), indptr)] = part
        return History(indptr, items, codes, local.levels)


def fetch_array(array):
    """Return an array on the host."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def row_positions(rows, indptr):
    """Return the positions of the ratings of rows, row by row, in the order given by indptr."""
    counts = np.diff(indptr)[rows]
    before = np.cumsum(counts) - counts
    return np.repeat(indptr[rows] - before, counts) + np.arange(int(counts.sum()))
