"""State of a model on its device: ratings, parameters in tables that grow with reserved memory; new ratings merged in.

The host steps of both devices. New ratings are sorted, compared with the stored ones and merged into them.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization import run as runs
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, LEVELS, major_first
from gpukit.factorization.online.inputs import NewRatings
from gpukit.factorization.prepare.formulas import ASIDE, KNOWN
from gpukit.neighbors import plan as searching
from gpukit.neighbors import run as work
from gpukit.neighbors.plan import Columns, columns_of
from gpukit.ratings.orders.order import Key, Levels, key_of, level_codes, order_ratings
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
        self._hashing, self._searching = engine(device, "gpukit.neighbors"), engine(device, "gpukit.neighbors")
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


MARK = int(KNOWN).bit_length() - 1  # first bit of the marks KNOWN and ASIDE


class SortedBatch(NamedTuple):
    """n new ratings by user and item.

    keys (n,) uint64 on the device; key: Key of the order; shape (M, N) of the grown model; has_repeats: a pair occurs
    twice; has_unknown: a rating is not a level.
    """

    keys: object
    key: Key
    shape: tuple
    has_repeats: bool
    has_unknown: bool


class Changes(NamedTuple):
    """Changes of the stored ratings by new ones: n_new new pairs, then n_corrected known pairs with another rating.

    keys (n,) uint64, the last ones marked, and at (n,) uint32, position in the history or insertion point, on the
    device; key: Key of the order; shape (M, N) of the grown model.
    """

    keys: object
    at: object
    n_new: int
    n_corrected: int
    key: Key
    shape: tuple

    def __len__(self):
        return self.n_new + self.n_corrected


class MergedBatch(NamedTuple):
    """What a merge changed.

    keys (n,) uint64 of the new pairs, None without any; columns: [(Columns, sign)] of the new ratings and, for
    corrected pairs, of the new and the old ones; fresh ((M,), (N,)) uint8: rows with their first ratings, None without
    new pairs; rated (N,) uint8.
    """

    keys: object
    columns: list
    fresh: tuple
    rated: object


def sort_batch(batch, ratings):
    """Return the SortedBatch of inputs.NewRatings for DeviceRatings; raise DataError if their rows exceed a key."""
    steps, ordering, key = ratings.steps, ratings.ordering, key_of(batch.shape, len(ratings.levels.values))
    if key.end > MARK:
        users, items = batch.shape
        raise DataError(f"{users:,} users x {items:,} items are too many for an update. Train again with all ratings.")
    n = len(batch)
    columns = (batch.users, np.int32), (batch.items, np.int32), (batch.values, np.float32)
    users, items, values = (
        steps.resident(*column) if isinstance(column[0], np.ndarray) else column[0] for column in columns
    )
    levels = steps.resident(ratings.levels.values, np.float32)
    codes, keys, firsts = steps.empty(n, np.uint8), steps.empty(n, np.uint64), steps.resident(np.full(3, n), np.int64)
    steps.run("find_levels", values, levels, codes, firsts[:1])
    ordering.run("pack_keys", users, items, codes, *batch.shape, key.item.shift, key.user.shift, keys, firsts[1:2])
    keys, _, _ = steps.sort_by_bits(keys, key.item.shift, key.end)
    ordering.run("first_repeat", keys, key.item.shift, firsts[2:])
    unknown, _, repeated = steps.fetch(firsts)
    return SortedBatch(keys, key, batch.shape, repeated < n, unknown < n)


def find_changes(batch, new, ratings, duplicates, keep_unchanged=False):
    """Return the Changes of DeviceRatings by inputs.NewRatings, each pair once; new: their SortedBatch.

    duplicates: rule for known pairs: 'last' takes the new rating, 'mean' the mean of both, 'error' raises DataError.
    Ratings that are known with the same value are left out unless keep_unchanged. New rating values, and means, become
    levels of the ratings.
    """
    positions, marked, n_known = look_up_pairs(new, ratings)
    if n_known and duplicates == "error":
        raise_known_pair(marked, new, batch, ratings)
    if new.has_unknown or (n_known and duplicates == "mean"):
        batch = apply_rule(batch, positions, marked, ratings, duplicates)
        new = sort_batch(NewRatings(*batch[:2], ratings.extend_levels(batch.values), *batch[3:]), ratings)
        positions, marked, n_known = look_up_pairs(new, ratings)
    return split_changes(new, (positions, marked, n_known), ratings.steps, keep_unchanged)


def look_up_pairs(new, ratings):
    """Return (positions (n,) uint32, marked (n,) uint64, number of known pairs), see kernels.find_pairs."""
    steps, (level, item, user), n = ratings.steps, new.key, new.keys.size
    positions, marked, known = steps.empty(n, np.uint32), steps.empty(n, np.uint64), steps.zeros(1, np.int64)
    fields = user.shift, item.shift, item.width, level.width
    steps.run("find_pairs", new.keys, *fields, ratings.history, positions, marked, known)
    return positions, marked, int(steps.fetch(known)[0])


def raise_known_pair(marked, new, batch, ratings):
    """Raise DataError with the first pair that is in the history already."""
    marked = ratings.steps.fetch(marked)
    user, item = rows_of_keys(marked[marked >= KNOWN][:1], new.key)
    raise DataError(
        f"User {batch.user_ids[user[0]]} has rated item {batch.item_ids[item[0]]} already, in the model's history. "
        "Take the new rating with duplicates='last' (--duplicates last), or 'mean'."
    )


def rows_of_keys(keys, key):
    """Return (users, items) int64 of keys (n,) uint64 on the host, marked or not."""
    pairs = (keys & ~(ASIDE | KNOWN)).astype(np.int64) >> key.item.shift
    return pairs >> key.item.width, pairs & ((1 << key.item.width) - 1)


def apply_rule(batch, positions, marked, ratings, duplicates):
    """Return NewRatings on the host in order of (user, item), with the values of the rule for known pairs.

    positions, marked: result of `look_up_pairs`.
    """
    fetch = ratings.steps.fetch
    columns = [column if isinstance(column, np.ndarray) else fetch(column) for column in batch[:3]]
    users, items, values = (column[np.lexsort((columns[1], columns[0]))] for column in columns)
    if duplicates == "mean":
        known = fetch(marked) >= KNOWN
        stored = ratings.levels.values[fetch(ratings.history.codes)[fetch(positions)[known]] - 1]
        values[known] = (stored + values[known]) / np.float32(2)
    return NewRatings(users, items, values, *batch[3:])


def split_changes(new, lookup, steps, keep_unchanged):
    """Return the Changes of a SortedBatch; lookup: result of `look_up_pairs`."""
    (positions, marked, n_known), n = lookup, new.keys.size
    if not n_known:
        return Changes(new.keys, positions, n, 0, new.key, new.shape)
    keys, positions, _ = steps.sort_by_bits(marked, MARK, MARK + 2, positions)
    _, n_new, changed, _ = steps.fetch(steps.row_starts(keys, MARK, 2, 3)).tolist()
    end = n if keep_unchanged else changed
    if end < n:  # a slice of a device array takes time
        keys, positions = keys[:end], positions[:end]
    return Changes(keys, positions, n_new, end - n_new, new.key, new.shape)


def merge_changes(changes, ratings):
    """Merge Changes into DeviceRatings; return the MergedBatch."""
    steps, n_new, columns, keys, positions = ratings.steps, changes.n_new, [], changes.keys, changes.at
    if changes.n_corrected:
        before = steps.empty(changes.n_corrected, np.uint64)
        known = keys[n_new:], positions[n_new:]
        steps.run("correct_codes", *known, changes.key.level.width, ratings.history.codes, before)
        columns += [(columns_by_item(keys, changes, ratings)[0], sign) for keys, sign in ((known[0], 1), (before, -1))]
    if not n_new:
        return MergedBatch(None, columns, None, None)
    fresh, rated = ([steps.empty(n, np.uint8) for n in changes.shape] for _ in range(2))
    if changes.n_corrected:
        keys, positions = keys[:n_new], positions[:n_new]
    added, starts = columns_by_item(keys, changes, ratings)
    user = changes.key.user
    user_starts = steps.row_starts(keys, user.shift, user.width, changes.shape[0] + 1)
    steps.run("flag_rows", ratings.history.indptr, user_starts, fresh[0], rated[0])
    steps.run("flag_rows", ratings.item_starts, starts, fresh[1], rated[1])
    insert_pairs(keys, positions, changes.key, (user_starts, starts), ratings)
    return MergedBatch(keys, [(added, 1), *columns], tuple(fresh), rated[1])


def insert_pairs(keys, positions, key, starts, ratings):
    """Insert keys (n,) into the history; positions (n,): ratings of the history before each.

    starts: first key of each row of either side.
    """
    steps, (level, item, _) = ratings.steps, key
    indptr, item_starts = (steps.empty(added.shape, np.int64) for added in starts)
    steps.run("add_starts", ratings.history.indptr, starts[0], indptr)
    steps.run("add_starts", ratings.item_starts, starts[1], item_starts)
    items, codes = ratings.spare_arrays(len(ratings) + keys.size)
    old = ratings.history.items, ratings.history.codes
    steps.run("insert_records", *old, keys, positions, item.shift, item.width, level.width, items, codes)
    ratings.replace(indptr, items, codes, item_starts)


def columns_by_item(keys, changes, ratings):
    """Return (Columns, first rating of each item (N + 2,) int64 on the device) of keys (n,) uint64."""
    (level, item, user), n, steps = changes.key, keys.size, ratings.steps
    ordered = steps.empty(n, np.uint64)
    steps.copy(ordered, keys)
    ordered, _, _ = steps.sort_by_bits(ordered, 0, user.shift)
    users, codes = steps.empty(n, np.int32), steps.empty(n, np.uint8)
    fields = user.shift, user.width, level.width
    ratings.ordering.run("take_fields", ordered, *fields, users, codes, steps.empty(0, np.uint32))
    starts = steps.row_starts(ordered, item.shift, item.width, changes.shape[1] + 1)
    return Columns(steps.fetch(starts)[:-1], users, codes, None), starts


def changed_rows(changes, steps):
    """Return (users, items) (n,) int64 of Changes, on the host."""
    return rows_of_keys(steps.fetch(changes.keys)[: len(changes)], changes.key)


def changed_ratings(changes, ratings, ids):
    """Return the Ratings of Changes, on the host; ids: of users, of items."""
    rows = (side.astype(np.int32) for side in changed_rows(changes, ratings.steps))
    levels = ratings.steps.fetch(changes.keys)[: len(changes)] & np.uint64((1 << changes.key.level.width) - 1)
    return Ratings(*rows, ratings.levels.values[levels.astype(np.int64)], *ids)
