"""Host steps of factorization on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit.factorization import plan as plans
from gpukit.factorization import steps
from gpukit.factorization.arrays import USERS, Pairs, Parameters, Tables, WeightLists, batch_of
from gpukit.factorization.model import layout as layouts
from gpukit.factorization.model import state as states
from gpukit.factorization.prepare import cpu as preparing
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.sgd import cpu as chunking
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.twins import sgd_epoch
from gpukit.factorization.twins import (
    add_listed_weights,
    add_weights,
    fill_tables,
    neighbor_codes,
    predict_pairs,
    score_rows,
)
from gpukit.neighbors.cpu import find
from gpukit.runtime.thread_count import get_num_threads, limit_threads
from gpukit.selection import twins as selection

RATINGS_A_THREAD = 50_000  # of an epoch, 1 to 5 ms: for fewer, synchronization may cost more than a thread saves
TABLE_BYTES = 32 << 20  # keys and tables of a tile of users: about the size of a cache
PAIR_BYTES = 512 << 20  # of main memory for pairs that are predicted
layout = layouts.cpu_layout


def most_workers(layout):
    """Return the number of workers that run in parallel: one a thread."""
    return get_num_threads()


def find_neighbors(table, settings):
    """Return a function that gives the neighbours of a gpukit.neighbors Columns.

    The function returns (neighbors (N, K) int32, number of random slots); see gpu.py.
    """
    result = find(table, settings)
    return lambda: (result.neighbors, result.random_slots)


class DeviceModel(steps.DeviceModel):
    """A State on the CPU: epochs over ratings, predictions, scores.

    layout: layout.Layout; walk 'users' or 'items', the major side; history: arrays.History; made: (P, Q, neighbors,
    packed neighborhood or None) in place of a State; spread: whether `train_on` may move the minor side's rows on a
    GPU, which takes one pass over them.
    """

    preparing = preparing

    def __init__(self, state, layout, walk, history, made=None):
        if made is None:
            base = state.item_extras[:, layouts.BASE]
            neighborhood = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
            made = *states.pack_sides(state, layout, walk), state.neighbors, neighborhood
        *sides, self.neighbors, neighborhood = made
        if neighborhood is None:
            neighborhood = states.pack_neighborhood(self.neighbors, None, np.empty(0), layout)
        self.layout, self.walk, self.history, self.spread = layout, walk, history, True
        self.near, *others = neighborhood
        self.parameters = Parameters(*sides, *others)
        self.item_weights = None if state is None else states.weights_between(state)

    def codes(self, query, count):
        """Return (count, K) uint8 lines of neighbor_codes for an arrays.Query."""
        out = np.empty((count, self.layout.slots), np.uint8)
        if self.layout.slots:
            neighbor_codes(self.history, query, self.near, out, np.zeros((get_num_threads(), len(self.near)), np.uint8))
        return out

    def train_on(self, side, query, tables, workers, order=None):
        """Set the data of the epochs.

        side: arrays.Side; query: the Query of its ratings (not read without neighbours); tables: chunk tables; workers:
        number of workers for each.
        """
        self.tables, self.workers = tables, workers
        self.batch = self.batch_of(side, query)

    def batch_of(self, side, query):
        """Return the Batch of an arrays.Side; query as in `train_on`."""
        return batch_of(side, self.codes(query, len(side.minor)), self.history.levels)

    def start_epoch(self, rates, turn):
        """Run one epoch over all ratings; a GPU queues it and returns at once."""
        with limit_threads(max(1, len(self.batch.minor) // RATINGS_A_THREAD)):
            for table in schedule.order_tables(self.tables, turn):
                sgd_epoch(table, self.batch, self.parameters, rates, turn, self.workers)

    def finish(self):
        """Return at once: nothing is queued on the CPU."""

    def ask(self, users, items):
        """Return the Pairs of rows (n,) int32 for `predict` and `errors`."""
        major, minor = layouts.major_first(self.walk, users, items)
        query = None
        if self.layout.slots:
            query = training_data.query_of(users, items, len(self.history.indptr) - 2, preparing)
        return Pairs(major, minor, self.codes(query, len(major)), self.history.levels)

    def predicted(self, pairs):
        """Return the predictions (n,) float32 in z for the result of `ask`, without weights between items."""
        predicted = np.empty(len(pairs.major), np.float32)
        predict_pairs(pairs, self.parameters, predicted)
        return predicted

    def weighted(self, users, keys):
        """Add the weights of the users' items to scores, keys (b, N) uint32; return the keys on the host."""
        add = add_listed_weights if isinstance(self.item_weights, WeightLists) else add_weights
        add(users, self.history, self.item_weights, keys)
        return keys

    def pairs_at_once(self):
        """Number of pairs predicted at once."""
        return max(1, PAIR_BYTES // plans.pair_bytes(self.layout))

    def tile_users(self):
        """Number of users scored at once."""
        return max(1, TABLE_BYTES // (5 * max(1, self.item_rows)))

    def best(self, users, n, worth, hide):
        """Return the n best items of user rows (B,).

        worth (N,) float32: added to each item's scores, NaN excludes the item; hide: exclude rated items. Returns (item
        rows (B, n) int32, scores (B, n) float32 in z); scores are NaN where too few items are left.
        """
        others, items = layouts.major_first(self.walk, self.parameters.P, self.parameters.Q)
        by_item = self.parameters._replace(P=items, Q=others)
        shape = -(-len(users) // USERS), self.item_rows + 1
        codes = np.empty((*shape, USERS) if self.layout.slots else (shape[0], 0, USERS), np.uint8)
        tables = Tables(np.empty(shape, np.uint32), codes, self.history.levels)
        fill_tables(users, self.history, tables)
        keys = np.empty((len(users), self.item_rows), np.uint32)
        score_rows(users, tables, self.near, by_item, self.layout.n_factors, worth, hide, keys)
        if self.item_weights is not None:
            self.weighted(users, keys)
        rows, best = selection.smallest(keys, n)
        return rows, selection.scores(best)

    def state(self):
        """Return the current State."""
        return states.unpack(*self.parameters[:3], self.layout, self.walk, self.neighbors)


begin = DeviceModel.begin
