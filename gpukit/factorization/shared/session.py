"""What all ranks' sessions answer together. Every rank asks the same, at the same time."""

import numpy as np

from gpukit.factorization.arrays import History


class SharedSession:
    """The Session (factorization/steps.py) of a whole team, as far as a training needs one; local: this rank's."""

    def __init__(self, local, training, parts, team):
        self.local, self.training, self.parts, self.team = local, training, parts, team

    def ask(self, users, items):
        """See steps.Session; every rank is asked for its users, perhaps none, rank 0 also for unknown ones; `truth` is
        of the same pairs."""
        self.own = np.append(self.parts.owner, 0)[users] == self.team.rank
        return (self.local.ask(users[self.own], items[self.own]) if self.own.any() else None,)

    def truth(self, values):
        """See steps.Session."""
        return self.local.truth(values[self.own]) if self.own.any() else None

    def errors(self, asked, truth, scale):
        """See steps.Session; summed over ranks."""
        self.training.gather()
        own = (0.0, 0.0) if truth is None else self.local.errors(*asked, truth, scale)
        return tuple(map(float, self.team.allreduce(np.array(own))))

    def state(self):
        """The State as it stands, whole on every rank."""
        self.training.gather()
        state = self.local.state()
        sides = state.user_factors, state.user_extras
        mine = self.parts.users_of(self.team.rank)
        gathered = [self.team.allgather(side[mine]) for side in sides]
        for side, parts in zip(sides, gathered):
            for rank, part in enumerate(parts):
                side[self.parts.users_of(rank)] = part
        return state

    @property
    def history(self):
        """The arrays.History of all users, on the host of every rank, gathered each time."""
        own = History(*(fetched(array) for array in self.local.history))
        counts, size = self.parts.counts[0], int(own.indptr[-1])
        indptr = np.zeros(len(counts) + 2, np.int64)
        indptr[1:-1] = np.cumsum(counts)
        indptr[-1] = indptr[-2]
        items, codes = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.uint8)
        for column, whole in ((own.items, items), (own.codes, codes)):
            for rank, part in enumerate(self.team.allgather(column[:size])):
                whole[places_of(self.parts.users_of(rank), indptr)] = part
        return History(indptr, items, codes, own.levels)


def fetched(array):
    """An array on the host."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def places_of(rows, indptr):
    """Where the ratings of rows, one row after the other, stand in the order that indptr tells."""
    counts = np.diff(indptr)[rows]
    before = np.cumsum(counts) - counts
    return np.repeat(indptr[rows] - before, counts) + np.arange(int(counts.sum()))
