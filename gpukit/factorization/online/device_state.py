"""State of a model on its device: its ratings, and its parameters in tables that grow with reserved memory."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, LEVELS, major_first
from gpukit.neighbors import plan as searching
from gpukit.neighbors.hashes import plan as work
from gpukit.neighbors.plan import columns_of
from gpukit.ratings.orders.order import Levels, level_codes, order_ratings
from gpukit.ratings.table import DISTINCT, Ratings, set_state

SEARCHES = ("hamming", "buckets")  # by comparing codes; only new items have to be searched


def restore_values(levels, scale):
    """Return the ratings of the levels of a History, (256,) float32.

    They are exact for ratings with up to four decimals or eight binary digits.
    """
    places = 4  # decimals of ratings that are restored exactly, as are multiples of 1 / BINARY
    binary = 256
    units = levels.astype(np.float64) * scale.deviation + scale.mean
    values = units.astype(np.float32)
    for rounded in (np.round(units, places), np.round(units * binary) / binary):
        rounded = rounded.astype(np.float32)
        same = (rounded - np.float32(scale.mean)) / np.float32(scale.deviation) == levels
        values = np.where(same, rounded, values)
    return values


class DeviceRatings:
    """The ratings that a model has learned, on a device.

    history: arrays.History; item_starts (N + 2,) int64: cumulative ratings of the items; levels: Levels of the codes,
    in units of the ratings; scale: arrays.Scale; steps: of this package; ordering: steps of ratings.orders.
    """

    def __init__(self, history, scale, n_items, device):
        """history: arrays.History on the host, which is copied."""
        self.device, self.scale = device, scale
        self.steps, self.ordering = steps, _ = engine(device, __package__), engine(device, "gpukit.ratings.orders")
        values = restore_values(history.levels, scale)[1 : 1 + int(history.codes.max(initial=0))]
        self.levels = Levels(values, True, np.empty(0, np.int64))
        starts = np.concatenate(([0], np.cumsum(np.bincount(history.items, minlength=n_items + 1))))
        self.item_starts = steps.resident(starts, np.int64)
        columns = (history.items, np.int32), (history.codes, np.uint8)
        columns = (steps.owned(steps.resident(*column)) for column in columns)
        self.history = History(
            steps.resident(history.indptr, np.int64), *columns, steps.resident(history.levels, np.float32)
        )
        self._whole, self._spare = self.history[1:3], None

    def __len__(self):
        return self.history.items.shape[0]

    def counts(self, shape):
        """Return (ratings of each user (M,), of each item (N,)) int64 on the host, 0 beyond the known rows."""
        counts = [np.zeros(rows, np.int64) for rows in shape]
        for side, starts in zip(counts, (self.history.indptr, self.item_starts)):
            known = np.diff(self.steps.fetch(starts))[:-1]
            side[: len(known)] = known
        return tuple(counts)

    def stored_values(self):
        """Return all ratings (n,) float32 on the host, in order of (user, item)."""
        return np.concatenate((np.zeros(1, np.float32), self.levels.values))[self.steps.fetch(self.history.codes)]

    def to_ratings(self, user_ids, item_ids):
        """Return the Ratings on the host, in order of (user, item)."""
        indptr, items = (self.steps.fetch(array) for array in self.history[:2])
        users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        return set_state(Ratings(users, items, self.stored_values(), user_ids, item_ids), DISTINCT)

    def download(self):
        """Return the arrays.History on the host, as copies."""
        return History(*(np.array(self.steps.fetch(array)) for array in self.history))

    def spare_arrays(self, size):
        """Return unused (items, codes) for a history of `size` ratings."""
        if self._spare is None or self._spare[0].shape[0] < size:
            most, (items, codes) = int(RULES.reserved_growth * size), self.history[1:3]
            self._spare = self.steps.empty(most, items.dtype), self.steps.empty(most, codes.dtype)
        return tuple(array[:size] for array in self._spare)

    def replace(self, indptr, items, codes, item_starts):
        """Replace the history by one in the arrays of `spare_arrays`; the old arrays become spare."""
        self._whole, self._spare = self._spare, self._whole
        self.history, self.item_starts = History(indptr, items, codes, self.history.levels), item_starts

    def extend_levels(self, values):
        """Add rating values (n,) float32 to the levels; return the nearest level of each.

        Too many values become a uniform grid, as in ratings.orders. The bounds of the scale include the values; mean
        and deviation stay, so that z keeps its meaning.
        """
        low, high = min(self.scale.low, float(values.min())), max(self.scale.high, float(values.max()))
        self.scale = self.scale._replace(low=low, high=high)
        n, empty = len(self), np.empty(0, np.int32)
        all_ratings = Ratings(empty, empty, np.concatenate((self.stored_values(), values)), empty, empty)
        self.levels, codes, _ = level_codes(all_ratings, self.ordering)
        codes, z = self.ordering.fetch(codes), np.zeros(LEVELS, np.float32)
        z[1 : 1 + len(self.levels.values)] = (self.levels.values - self.scale.mean) / self.scale.deviation
        self.steps.copy(self.history.codes, self.steps.resident(codes[:n] + np.uint8(1), np.uint8))
        self.history = self.history._replace(levels=self.steps.resident(z, np.float32))
        return self.levels.values[codes[n:]]


class DeviceState:
    """Arrays of a model, on its device.

    ratings: DeviceRatings; users (M + 1, any), items (N + 1, any), influence (N + 1, 2 slots) and neighbors (N, K):
    GrowingTables; near, offsets: see model.state.pack_neighborhood; hashes: Hashes or None; steps: of the
    factorization; walk: major side; layout: layout.Layout; deterministic.
    """

    def __init__(self, model, device, ratings=None):
        """Upload a fitted model to a Device; ratings: its DeviceRatings, if created. Raises DeviceMemoryError."""
        state, self.device = model._state, device
        self.walk, self.deterministic = model.walk, model.deterministic
        self.steps = engine(device, "gpukit.factorization")
        self.layout = self.steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
        shape = len(state.user_factors), len(state.item_factors)
        runs.check_memory(device, len(model._rated.items), major_first(self.walk, *shape), self.layout)
        self.ratings = ratings or DeviceRatings(model._rated, model._scale, shape[1], device)
        self.hashes = None
        self.set_parameters(state)

    def set_parameters(self, state):
        """Replace all parameters by those of a State."""
        steps, layout = self.ratings.steps, self.layout
        P, Q = (steps.resident(table, np.float32) for table in states.pack_sides(state, layout, self.walk))
        neighbors = steps.resident(state.neighbors.copy(), np.int32) if layout.slots else state.neighbors
        tables = (*major_first(self.walk, P, Q), neighbors)
        self.users, self.items, self.neighbors = (GrowingTable(table, steps) for table in tables)
        self.near = self.influence = self.offsets = None
        if layout.slots:
            base = state.item_extras[:, BASE]
            arrays = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
            self.near, influence, self.offsets = (steps.resident(array, array.dtype) for array in arrays)
            self.influence = GrowingTable(influence, steps)

    def set_neighbors(self, neighbors):
        """Replace the neighbours by (N, K) int32 on the host."""
        steps = self.ratings.steps
        self.neighbors = GrowingTable(steps.resident(neighbors, np.int32), steps)

    def keep_hashes(self, settings):
        """Compute the sums of simLSH by neighbors.plan.Settings; updates add to them with new ratings."""
        ids = (np.arange(rows) for rows in self.shape)
        orders = order_ratings(self.ratings.to_ratings(*ids), self.device)
        self.hashes = Hashes(self.shape[1], settings, self.ratings.levels.values, self.device)
        self.hashes.add(columns_of(orders), orders.levels.values)

    @property
    def shape(self):
        """Number of users and items, (M, N)."""
        return self.users.all.shape[0] - 1, self.items.all.shape[0] - 1

    def _tables(self):
        """Return [(GrowingTable, rows beyond those of its side)] of the users, and of the items."""
        of_items = [(self.items, 1), (self.neighbors, 0)]
        of_items += [(self.influence, 1)] if self.influence is not None else []
        of_items += [(table, 0) for table in self.hashes.tables] if self.hashes else []
        return [(self.users, 1)], of_items

    def grow(self, shape):
        """Grow all tables to (users, items)."""
        for rows, tables in zip(shape, self._tables()):
            for table, more in tables:
                table.grow(rows + more)
        if self.hashes is not None:
            self.hashes.grow(shape[1])

    def reserve(self):
        """Reserve memory for growth before the first new ratings."""
        self.ratings.spare_arrays(len(self.ratings))
        for tables in self._tables():
            for table, _ in tables:
                table.grow(table.all.shape[0], int(RULES.reserved_growth * table.all.shape[0]))

    def session(self, rows=None):
        """Return the factorization's session on this state, or on other rows (users, items, influence)."""
        users, items, influence = rows or (self.users.all, self.items.all, self.influence and self.influence.all)
        sides = major_first(self.walk, users, items)
        neighborhood = None if influence is None else (self.near, influence, self.offsets)
        arrays = *sides, self.neighbors.all, neighborhood
        session = self.steps.DeviceModel(None, self.layout, self.walk, self.ratings.history, arrays)
        session.spread = False  # it trains on few ratings, if any
        return session

    def parameters(self):
        """Return the State on the host, as copies."""
        return states.State(*(np.array(array) for array in self.session().state()))


class GrowingTable:
    """Rows of one shape and type on a device; new rows are zero.

    all: a view of the current rows, invalid after growth.
    """

    def __init__(self, array, steps):
        """array (rows, ...): on the device, used by this table alone."""
        self._memory, self._steps, self.all = array, steps, array

    def grow(self, rows, most=0):
        """Grow to `rows` rows; reserve `most` rows, or RULES.reserved_growth times the rows if memory is exceeded."""
        if max(rows, most) > self._memory.shape[0]:
            shape = max(int(RULES.reserved_growth * rows), most), *self._memory.shape[1:]
            larger = self._steps.zeros(shape, self._memory.dtype)
            self._steps.copy(larger[: self.all.shape[0]], self.all)
            self._memory, self.all = larger, larger[:rows]
        elif rows != self.all.shape[0]:
            self.all = self._memory[:rows]


class Hashes:
    """Sums and codes of N items, for neighbors.plan.Settings and all values (L,) float32 of ratings, ascending."""

    def __init__(self, n_items, settings, values, device):
        self.settings, self._steps = settings, engine(device, __package__)
        self._values, self._weights = values, work.level_weights(values, settings.psi)
        self._hashing, self._searching = engine(device, "gpukit.neighbors.hashes"), engine(device, "gpukit.neighbors")
        self._most = np.zeros(n_items, np.int64)  # bounds of the sums of |weight|
        self.tables = None

    def grow(self, n_items):
        """Grow to n_items items; the tables grow with the others."""
        self._most = np.concatenate((self._most, np.zeros(n_items - len(self._most), np.int64)))

    def add(self, columns, values, sign=1):
        """Add the ratings of a neighbors.columns.Columns, or subtract them (sign -1); values: ratings of its levels."""
        weights = self._weights[np.searchsorted(self._values, values)]
        self._most += np.diff(columns.indptr) * int(np.abs(weights).max(initial=0))
        self._widen(work.whole_slices(int(self._most.max(initial=0)).bit_length() + 1))
        sums = work.Sums(*(table.all for table in self.tables))
        self._hashing.add_columns(columns, sign * weights, self.settings, sums)

    def find(self, runs, rated, neighbors):
        """Write the neighbours (N, K) of the items of each run (first, last + 1); rated (N,) uint8."""
        scores = self._steps.empty(neighbors.shape, np.float32)
        random_slots = self._steps.empty(rated.size, np.int32)
        items = searching.Items(None, self.tables[2].all, rated)
        self._searching.search_rows(items, self.settings, runs, searching.Lists(neighbors, scores, random_slots))

    def _widen(self, slices):
        """Widen the sums to at least `slices` bits."""
        n_items, n_words, steps = len(self._most), self.settings.n_words, self._steps
        if self.tables is None:
            shapes = ((n_items, slices, n_words), np.uint32), (n_items, np.int64), ((n_items, n_words), np.uint32)
            self.tables = [GrowingTable(steps.zeros(*shape), steps) for shape in shapes]
        before = self.tables[0].all
        if slices > before.shape[1]:
            wider = np.zeros((n_items, slices, n_words), np.uint32)
            wider[:, : before.shape[1]] = steps.fetch(before)
            self.tables[0] = GrowingTable(steps.resident(wider, np.uint32), steps)
