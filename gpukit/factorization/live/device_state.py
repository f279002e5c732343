"""State of a live model on its device, in tables that grow with reserved memory, so that rows are seldom moved."""

from gpukit.factorization.arrays import History

GROWTH = 1.25  # reserved rows per needed row, when a table is moved


class GrowingTable:
    """Rows of one shape and type on a device; new rows are zero.

    all: a view of the current rows, invalid after growth.
    """

    def __init__(self, array, steps):
        """array (rows, ...): on the device, used by this table alone."""
        self._memory, self._steps, self.all = array, steps, array

    def grow(self, rows, most=0):
        """Grow to `rows` rows; reserve `most` rows, or GROWTH times the rows if memory is exceeded."""
        if max(rows, most) > self._memory.shape[0]:
            shape = max(int(GROWTH * rows), most), *self._memory.shape[1:]
            larger = self._steps.zeros(shape, self._memory.dtype)
            self._steps.copy(larger[: self.all.shape[0]], self.all)
            self._memory, self.all = larger, larger[:rows]
        elif rows != self.all.shape[0]:
            self.all = self._memory[:rows]


class DeviceState:
    """Arrays of a live model, on its device.

    users (M + 1, any), items (N + 1, any), influence (N + 1, 2 slots) and neighbors (N, K): GrowingTables; near,
    offsets: see model.state.pack_neighborhood; history: arrays.History; item_starts (N + 2,) int64: cumulative ratings
    of the items; hashes: hashing.Hashes or None; levels: ratings of the codes; scale: arrays.Scale; context:
    upload.Context.
    """

    def __init__(self, context, history, item_starts, levels, scale):
        self.context, self.levels, self.scale, self.hashes = context, levels, scale, None
        self.history, self.item_starts = history, item_starts
        self._whole, self._spare = (history.items, history.codes), None

    def _set(self, P, Q, neighbors, neighborhood):
        """Set the parameter rows of both sides, the neighbours and the packed neighborhood or None."""
        steps, (users, items) = self.context.live_steps, (P, Q) if self.context.walk == "users" else (Q, P)
        self.users, self.items, self.neighbors = (GrowingTable(array, steps) for array in (users, items, neighbors))
        self.near, influence, self.offsets = neighborhood or (None, None, None)
        self.influence = None if influence is None else GrowingTable(influence, steps)

    @property
    def shape(self):
        """Number of users and items, (M, N)."""
        return self.users.all.shape[0] - 1, self.items.all.shape[0] - 1

    def __len__(self):
        return self.history.items.shape[0]

    def _tables(self):
        """Return all GrowingTables."""
        of_model = [table for table in (self.users, self.items, self.neighbors, self.influence) if table is not None]
        return of_model + (self.hashes.tables if self.hashes else [])

    def grow(self, shape):
        """Grow all tables to (users, items)."""
        users, items = shape
        self.users.grow(users + 1)
        self.items.grow(items + 1)
        self.neighbors.grow(items)
        if self.influence is not None:
            self.influence.grow(items + 1)
        if self.hashes is not None:
            self.hashes.grow(items)

    def reserve(self):
        """Reserve memory for growth before the first new ratings."""
        self._spare_arrays(len(self))
        for table in self._tables():
            table.grow(table.all.shape[0], int(GROWTH * table.all.shape[0]))

    def _spare_arrays(self, size):
        """Return unused (items, codes) for a history of `size` ratings."""
        if self._spare is None or self._spare[0].shape[0] < size:
            steps, most = self.context.live_steps, int(GROWTH * size)
            self._spare = steps.empty(most, self.history.items.dtype), steps.empty(most, self.history.codes.dtype)
        return tuple(array[:size] for array in self._spare)

    def _set_history(self, indptr, items, codes):
        """Replace the history by one in the arrays of `_spare_arrays`; the old arrays become spare."""
        self._whole, self._spare = self._spare, self._whole
        self.history = History(indptr, items, codes, self.history.levels)

    def session(self, rows=None):
        """Return the factorization's session on this state, or on other rows (users, items, influence)."""
        context = self.context
        users, items, influence = rows or (self.users.all, self.items.all, self.influence and self.influence.all)
        sides = (users, items) if context.walk == "users" else (items, users)
        neighborhood = None if influence is None else (self.near, influence, self.offsets)
        arrays = *sides, self.neighbors.all, neighborhood
        session = context.steps.DeviceModel(None, context.layout, context.walk, self.history, arrays)
        session.spread = False  # it trains on few ratings, if any
        return session
