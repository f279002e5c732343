"""Host steps of factorization on the CPU; gpu.py has the same interface."""

import sys

import numpy as np

from gpukit.device.cpu_arrays import empty, fetch, finish, owned, resident, runner, zeros
from gpukit.factorization import plan as plans
from gpukit.factorization import steps as steps_of_both
from gpukit.factorization.arrays import WeightLists
from gpukit.factorization.constants import RULES
from gpukit.factorization.model import layout as layouts
from gpukit.factorization.model import state as states
from gpukit.factorization.prepare import twins as preparing
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import twins as descent
from gpukit.factorization.solvers.sgd.twins import sgd_epoch
from gpukit.factorization.twins import (
    add_listed_weights,
    add_weights,
    fill_tables,
    predict_pairs,
    score_rows,
)
from gpukit.neighbors.cpu import find
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.runtime.thread_count import get_num_threads, limit_threads
from gpukit.selection import twins as selection

PARTS = 16  # partial sums of errors, for any number of threads
GRAIN, MOST_BLOCKS = 6000, 16  # ratings of a block, blocks of a stratum; independent of the number of threads
layout, run = layouts.cpu_layout, runner(preparing, descent)


def add_errors(*arguments):
    """Run error_sums."""
    run("error_sums", *arguments)


def most_workers(layout):
    """Return the number of workers that run in parallel: one a thread."""
    return get_num_threads()


def find_neighbors(table, settings):
    """Return a function that gives the neighbours of a gpukit.neighbors Columns.

    The function returns (neighbors (N, K) int32, number of random slots); see gpu.py.
    """
    result = find(table, settings)
    return lambda: (result.neighbors, result.random_slots)


class DeviceModel(steps_of_both.DeviceModel):
    """See steps.DeviceModel."""

    steps, smallest = sys.modules[__name__], staticmethod(selection.smallest)
    codes = steps_of_both.DeviceModel.host_codes
    pair_bytes, tile_bytes = 512 << 20, 32 << 20  # of pairs that are predicted; of keys and tables of a tile: a cache

    def start_epoch(self, rates, turn):
        """Run one epoch over all ratings; a GPU queues it and returns at once."""
        with limit_threads(max(1, len(self.batch.minor) // RULES.ratings_a_thread)):
            for table in schedule.order_tables(self.tables, turn):
                sgd_epoch(table, self.batch, self.parameters, rates, turn, self.workers)

    def predicted(self, pairs):
        """Return the predictions (n,) float32 in z for the result of `ask`, without weights between items."""
        predicted = np.empty(len(pairs.major), np.float32)
        predict_pairs(pairs, self.parameters, predicted)
        return predicted

    def add_weights(self, users, keys):
        """Add the weights of the users' items to scores, keys (b, N) uint32."""
        add = add_listed_weights if isinstance(self.item_weights, WeightLists) else add_weights
        add(users, self.history, self.item_weights, keys)

    def pairs_at_once(self):
        """Number of pairs predicted at once."""
        return max(1, self.pair_bytes // plans.pair_bytes(self.layout))

    def tile_users(self):
        """Number of users scored at once."""
        return max(1, self.tile_bytes // (5 * max(1, self.item_rows)))

    def score(self, users, tables, model, worth, hide, keys):
        """Write the scores of users as keys; tables: arrays.Tables to fill; model: see score_rows."""
        fill_tables(users, self.history, tables)
        score_rows(users, tables, *model, worth, hide, keys)

    def state(self):
        """Return the current State."""
        return states.unpack(*self.parameters[:3], self.layout, self.walk, self.neighbors)


begin = DeviceModel.begin
