"""What a live model has on its device."""

from gpukit.factorization.arrays import History
from gpukit.factorization.live.tables import ROOM, GrowingTable


class Held:
    """Parameter rows users (M + 1, any), items (N + 1, any) and influence (N + 1, 2 slots), neighbors (N, K): Tables;
    near, offsets: what model.state.pack_neighborhood gives; history: arrays.History; item_starts (N + 2,) int64: how
    many ratings the items before each have; hashes: hashing.Hashes or None; levels, what codes stand for, and
    arrays.Scale.

    All of it on the device. work: upload.Work.
    """

    def __init__(self, work, history, item_starts, levels, scale):
        self.work, self.levels, self.scale, self.hashes = work, levels, scale, None
        self.history, self.item_starts = history, item_starts
        self._whole, self._spare = (history.items, history.codes), None

    def keep(self, P, Q, neighbors, neighborhood):
        """Take over parameter rows of both sides, neighbors and the packed neighborhood, or None."""
        steps, (users, items) = self.work.own, (P, Q) if self.work.walk == "users" else (Q, P)
        self.users, self.items, self.neighbors = (GrowingTable(array, steps) for array in (users, items, neighbors))
        self.near, influence, self.offsets = neighborhood or (None, None, None)
        self.influence = None if influence is None else GrowingTable(influence, steps)

    @property
    def shape(self):
        """(M, N)."""
        return self.users.all.shape[0] - 1, self.items.all.shape[0] - 1

    def __len__(self):
        return self.history.items.shape[0]

    def _tables(self):
        """All Tables."""
        of_model = [table for table in (self.users, self.items, self.neighbors, self.influence) if table is not None]
        return of_model + (self.hashes.tables if self.hashes else [])

    def grow(self, shape):
        """Have rows for so many users and items."""
        users, items = shape
        self.users.grow(users + 1)
        self.items.grow(items + 1)
        self.neighbors.grow(items)
        if self.influence is not None:
            self.influence.grow(items + 1)
        if self.hashes is not None:
            self.hashes.grow(items)

    def reserve(self):
        """Have room for more of everything before there is more."""
        self.room(len(self))
        for table in self._tables():
            table.grow(table.all.shape[0], int(ROOM * table.all.shape[0]))

    def room(self, size):
        """(items, codes) for a history of so many ratings, to be written from the one there is."""
        if self._spare is None or self._spare[0].shape[0] < size:
            steps, most = self.work.own, int(ROOM * size)
            self._spare = steps.empty(most, self.history.items.dtype), steps.empty(most, self.history.codes.dtype)
        return tuple(array[:size] for array in self._spare)

    def turn(self, indptr, items, codes):
        """What `room` gave is the history now, and the arrays of the one before are spare."""
        self._whole, self._spare = self._spare, self._whole
        self.history = History(indptr, items, codes, self.history.levels)

    def session(self, rows=None):
        """The session of the factorization's steps on what is held, or on other (users, items, influence)."""
        work = self.work
        users, items, influence = rows or (self.users.all, self.items.all, self.influence and self.influence.all)
        sides = (users, items) if work.walk == "users" else (items, users)
        neighborhood = None if influence is None else (self.near, influence, self.offsets)
        made = *sides, self.neighbors.all, neighborhood
        session = work.steps.Session(None, work.layout, work.walk, self.history, made)
        session.spread = False  # few ratings are walked on it, if any
        return session
