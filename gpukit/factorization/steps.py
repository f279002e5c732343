"""What the device models of cpu.py and gpu.py have in common."""

import numpy as np

from gpukit.device.memory import empty
from gpukit.factorization.arrays import USERS, Pairs, Parameters, Tables, WeightLists, batch_of
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.ease import pair_sums
from gpukit.factorization.twins import neighbor_codes
from gpukit.random import key
from gpukit.runtime.thread_count import get_num_threads
from gpukit.selection.twins import scores as scores_of_keys
from gpukit.streams import Keyed


class DeviceModel:
    """A State on a device: epochs over ratings, predictions, scores.

    layout: layout.Layout; walk 'users' or 'items', the major side; history: arrays.History; made: (P, Q, neighbors,
    packed neighborhood or None) in place of a State, P and Q on the device; spread: whether `train_on` may move the
    minor side's rows on a GPU, which takes one pass over them.

    A subclass has steps (its module, cpu.py or gpu.py), smallest (selection), codes, predicted, score, add_weights,
    start_epoch, state, pairs_at_once and tile_users.
    """

    fills_codes = False  # whether tables of codes are filled for models without neighbours

    def __init__(self, state, layout, walk, history, made=None):
        self.layout, self.walk, self.history, self.spread = layout, walk, history, True
        if made is None:
            base = state.item_extras[:, BASE]
            neighborhood = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
            made = *map(self.held, states.pack_sides(state, layout, walk)), state.neighbors, neighborhood
        *sides, self.neighbors, neighborhood = made
        if not layout.slots:  # not read, but an empty array cannot be uploaded
            neighborhood = (self.steps.zeros((1, 1), dtype) for dtype in (np.int32, np.float32, np.float32))
        self.near, *others = map(self.held, neighborhood)
        self.parameters, self.levels = Parameters(*sides, *others), self.held(history.levels)
        weights = None if state is None else states.weights_between(state)
        if isinstance(weights, WeightLists):
            weights = WeightLists(*map(self.held, weights))
        self.item_weights = weights if weights is None or isinstance(weights, WeightLists) else self.held(weights)

    def held(self, array):
        """Return an array on the device; copy it if necessary."""
        return np.ascontiguousarray(array)

    @classmethod
    def begin(cls, plan, data, layout, walk, neighbors, numbers=None):
        """Return the model at the start of a training: small random factors, biases at the baseline or 0, no
        influences.

        plan: settings.Settings; data: TrainingData; neighbors (N, K) int32, on host or device; numbers (M or more,)
        uint32 on the host: number of each user among those of all ranks, None: its row.
        """
        steps, sides = cls.steps, []
        base = [steps.resident(side, np.float64) for side in data.baseline]
        for side_base, side_numbers, stream in zip(base, (numbers, None), Keyed.FIRST_FACTORS):
            rows, kind = side_base.size, states.rows_of_side(layout, walk, stream == Keyed.FIRST_FACTORS[0])
            is_whole = side_numbers is None
            of_rows = training_data.device_range(rows, steps) if is_whole else steps.resident(side_numbers, np.uint32)
            table = steps.empty((rows + 1, kind.stride), np.float32)
            factors = table.view(np.float16) if kind.half else table
            seed_key = np.uint32(key(plan.seed, stream))
            steps.run("start_rows", seed_key, of_rows, side_base, plan.biases, kind.n_factors, factors, table)
            sides.append(table)
        neighborhood, shape = None, (base[1].size + 1, layout.slots)
        if layout.slots:
            near, offsets = steps.empty(shape, np.int32), steps.empty(shape, np.float32)
            steps.run("pack_near", steps.resident(neighbors, np.int32), base[1], near, offsets)
            neighborhood = near, steps.zeros((shape[0], 2 * shape[1]), np.float32), offsets
        arrays = *major_first(walk, *sides), neighbors, neighborhood
        return cls(None, layout, walk, data.history, arrays)

    def restart(self, state):
        """Continue from a state.State of the same layout."""
        self.parameters = type(self)(state, self.layout, self.walk, self.history).parameters

    def host_codes(self, query, count):
        """Return (count, slots) uint8 lines of neighbor_codes on the host; query and history are there."""
        out = empty((count, self.layout.slots), np.uint8)
        if out.size:
            near = self.steps.fetch(self.near)
            neighbor_codes(self.history, query, near, out, np.zeros((get_num_threads(), len(near)), np.uint8))
        return out

    def batch_of(self, side, query):
        """Return the Batch of an arrays.Side; query as in `train_on`."""
        return batch_of(side, self.codes(query, len(side.minor)), self.levels)

    def train_on(self, side, query, tables, workers, order=None):
        """Set the data of the epochs.

        side: arrays.Side; query: the Query of its ratings (not read without neighbours); tables: chunk tables; workers:
        number of workers for each; order (rows,) uint32: storage order of rows of the minor side on a GPU, None: by
        popularity.
        """
        self.batch = self.batch_of(side, query)
        self.tables, self.workers = [self.held(table) for table in tables], workers
        if self.spread:
            self.spread_minor(side, order)

    def spread_minor(self, side, order=None):
        """Keep the rows of the minor side in row order."""

    def finish(self):
        """Wait for queued work."""
        self.steps.finish()

    def ask(self, users, items):
        """Return the Pairs of rows (n,) int32 on the host for `predict` and `errors`.

        The result of a call before `train_on` is not valid after it.
        """
        users, items, query = self.held(users), self.held(items), None
        if self.layout.slots and users.size:
            query = training_data.query_of(users, items, self.history.indptr.shape[0] - 2, self.steps)
        codes = self.codes_of_pairs(query, users.size)
        return Pairs(*self.stored_rows(*major_first(self.walk, users, items)), codes, self.levels)

    def codes_of_pairs(self, query, count):
        """Return `codes` of pairs that are asked for."""
        return self.codes(query, count)

    def stored_rows(self, major, minor):
        """Return the positions of rows."""
        return major, minor

    def best(self, users, n, worth, hide):
        """Return the n best items of user rows (B,).

        worth (N,) float32: added to each item's scores, NaN excludes the item; hide: exclude rated items. The layout
        must be of single precision, as in serving. Returns (item rows (B, n) int32, scores (B, n) float32 in z); scores
        are NaN where too few items are left.
        """
        empty, n_items, groups = self.steps.empty, self.item_rows, -(-len(users) // USERS)
        others, items = major_first(self.walk, self.parameters.P, self.minor())
        by_item = self.parameters._replace(P=items, Q=others)
        n_coded = n_items + 1 if self.layout.slots or self.fills_codes else 0
        codes, rated = empty((groups, n_coded, USERS), np.uint8), empty((groups, n_items + 1), np.uint32)
        users, keys = self.held(users), empty((len(users), n_items), np.uint32)
        model = self.near, by_item, self.layout.n_factors
        self.score(users, Tables(rated, codes, self.levels), model, self.held(worth), hide, keys)
        if self.item_weights is not None:
            self.add_weights(users, keys)
        rows, best = map(self.steps.fetch, self.smallest(keys, n))
        return rows, scores_of_keys(best)

    def weighted(self, users, keys):
        """Add the weights of the users' items to scores, keys (b, N) uint32; return the keys on the host."""
        keys = self.held(keys)
        self.add_weights(self.held(users), keys)
        return self.steps.fetch(keys)

    def predict(self, pairs):
        """Return predictions (n,) float32 on the host, in the units of training.

        pairs: result of `ask`.
        """
        fetch = self.steps.fetch
        predicted = fetch(self.predicted(pairs))
        if self.item_weights is not None:
            predicted += pair_sums(self, *major_first(self.walk, fetch(pairs.major), fetch(pairs.minor)))
        return predicted

    def truth(self, values):
        """Return ratings (n,) float32 in the form that `errors` takes, on the device."""
        return self.held(np.ascontiguousarray(values, np.float32))

    def errors(self, pairs, truth, scale):
        """Return (sum of squared errors, of absolute errors) in the ratings' units.

        pairs, truth: results of `ask` and `truth`.
        """
        return training_data.errors(self.predicted(pairs), truth, scale, self.steps)

    @property
    def item_rows(self):
        """N."""
        return self.neighbors.shape[0]

    def learned(self):
        """Return (user rows, item rows, packed influences) on the device.

        Parameter rows are in row order.
        """
        return *major_first(self.walk, self.parameters.P, self.minor()), self.parameters.influence

    def minor(self):
        """Return the rows of the minor side in row order."""
        return self.parameters.Q
