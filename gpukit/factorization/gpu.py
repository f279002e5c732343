"""Host steps of factorization on a GPU; cpu.py has the same interface.

Arrays stay on the device.
"""

import functools
import sys

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import device_array, launch
from gpukit.device import gpu_arrays
from gpukit.device.gpu_arrays import empty, fetch, finish, owned, resident, runner, zeros
from gpukit.device.memory import spare_memory
from gpukit.device.place import has_quad_additions, processors
from gpukit.device.upload import download, to_device
from gpukit.factorization import plan as plans
from gpukit.factorization import steps as steps_of_both
from gpukit.factorization.arrays import USERS, History, Query, WeightLists
from gpukit.factorization.constants import RULES
from gpukit.factorization.kernels import (
    ITEMS,
    LANES,
    WARPS,
    add_listed_weights,
    add_weights,
    fill_tables,
    look_up_codes,
    make_predict_pairs,
    neighbor_codes,
    score_rows,
)
from gpukit.factorization.model import layout as layouts
from gpukit.factorization.model import state as states
from gpukit.factorization.plan import CODE_BLOCKS
from gpukit.factorization.prepare import kernels as preparing
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.sgd import kernels as descent
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.kernels import make_grow_rows, make_sgd_epoch
from gpukit.factorization.solvers.sgd.schedule import BLOCK
from gpukit.neighbors import gpu as neighbors
from gpukit.primitives.group.gpu import row_starts, sort_by_bits
from gpukit.selection import kernels as selection

MOST_LINES = 65535  # limit of the second dimension of a grid
SCRATCH = 512 << 20  # bytes of keys and tables of a tile of users, and of pairs that are predicted
LEAST_PAIRS = 1 << 16  # predicted at once, within the memory that spare_memory keeps for small arrays
READ_BYTES = 1 << 20  # of parameters that are read from the device at a time
PARTS = 1024  # partial sums of errors
GRAIN, MOST_BLOCKS = 32, 1024  # see cpu.py; a stratum is one launch, whose longest block sets its time
PLACES, APART = 32, 33280  # number of places and bytes between them: over half a page of 2 MiB, all different
ROUNDS = (1 << 20, 4), (1 << 21, 1)  # ratings of an attempt, number of places kept after the round
TIMED_BLOCKS, TIMED_THREADS = 16, 128  # blocks per processor, threads of a block
layout, run = layouts.gpu_layout, runner(preparing, descent)


def add_errors(*arguments):
    """Launch error_sums with one block for each line of sums, the last argument."""
    launch(preparing.error_sums, arguments[-1].shape[0], gpu_arrays.BLOCK, *arguments)


def allocate_table(shape, minor, layout, vector, n_ratings=None):
    """Return an uninitialized float32 device array of a shape (rows, stride) for parameter rows.

    minor (n,) int32 on the device: row of each rating; vector: see make_grow_rows; n_ratings: of an epoch, n by
    default.
    """
    if (n_ratings or minor.size) < RULES.timed_from:
        return device_array(shape, np.float32)
    places = places_in(zeros(shape[0] * shape[1] + (PLACES - 1) * APART // 4, np.float32), shape)
    kernel = make_grow_rows(layout.lanes, layout.factors, layout.minor.half, vector)
    launch(kernel, 1, TIMED_THREADS, minor[:1], 1, np.float32(0), places[0])  # compile or load
    for sample, left in ROUNDS:
        times = attempts(kernel, minor, max(1, minor.size // sample), places)
        places = [places[number] for number in np.argsort(times, kind="stable")[:left]]
    return places[0]


def places_in(memory, shape):
    """Return views of a shape on a float32 device array, APART bytes apart."""
    size = shape[0] * shape[1]
    return [memory[first : first + size].reshape(*shape) for first in range(0, memory.size - size + 1, APART // 4)]


def attempts(kernel, minor, every, places):
    """Return the milliseconds of adding zeros at each place, (places,), for one rating in `every`; the places hold
    zeros."""
    events = [cuda.event() for _ in range(len(places) + 2)]
    for place, event in zip([places[-1], *places], events[:-1]):  # the first attempt has a cold cache
        event.record()
        launch(kernel, TIMED_BLOCKS * processors(), TIMED_THREADS, minor, every, np.float32(0), place)
    events[-1].record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(events[1:], events[2:])]


def most_workers(layout):
    """Return the number of workers (groups of lanes) that run in parallel."""
    workers_an_sm = 96, 64  # without and with neighbourhoods, which take more registers; measured
    return workers_an_sm[layout.slots > 0] * processors()


def find_neighbors(table, settings):
    """Queue the search for neighbours; return the function that waits for them.

    table: gpukit.neighbors Columns on the device. The function returns (neighbors (N, K) int32 on the device, number of
    random slots).
    """
    queued = neighbors.start(table, settings)

    def wait():
        result = neighbors.wait_for_lists(*queued)
        return result.neighbors, result.random_slots

    return wait


class DeviceModel(steps_of_both.DeviceModel):
    """See steps.DeviceModel. Epochs are queued."""

    steps, smallest, fills_codes = sys.modules[__name__], staticmethod(selection.smallest), True

    def __init__(self, state, layout, walk, history, made=None):
        super().__init__(state, layout, walk, history, made)
        layout, self.vector = self.layout, has_quad_additions()
        self.places = self.room = None  # positions of the rows of Q, and their table; None: in row order
        self.looks_up_on_host = False  # history and codes stay on the host, because the device is too small
        shape, half = (layout.lanes, layout.factors, layout.near), layout.minor.half
        self.sgd_epoch = make_sgd_epoch(*shape, half, self.vector)
        self.predict_pairs = make_predict_pairs(*shape, half)

    def held(self, array):
        """Return an array on the device; copy it if necessary."""
        return to_device(array) if isinstance(array, np.ndarray) else array

    def codes(self, query, count, has_tables=True):
        """Return (count, slots / 4) uint32 device lines of neighbor_codes for an arrays.Query.

        The Query is on the device. has_tables: whether the tables of all blocks fit, as `plan` makes sure for training.
        """
        few = 64  # ratings of the history per requested pair, from which on pairs are looked up one by one
        few_blocks = 1 << 14
        if not (self.layout.slots and count):
            return device_array((1, 1), np.uint32)
        if self.looks_up_on_host:
            return to_device(self.host_codes(Query(*map(fetch, query)), count).view(np.uint32))
        out = device_array((count, self.layout.slots // 4), np.uint32)
        if few * count <= self.history.items.size or not has_tables:
            grid = min(-(-count * LANES // BLOCK), few_blocks)
            launch(look_up_codes, grid, BLOCK, self.rated(), query, self.near, out)
        else:
            tables = zeros((CODE_BLOCKS, self.item_rows + 1), np.uint8)
            launch(neighbor_codes, CODE_BLOCKS, BLOCK, self.rated(), query, self.near, out, tables)
        return out

    def spread_minor(self, side, order=None):
        """Move the rows of the minor side to the positions of training_data.minor_places.

        side: arrays.Side, whose minor rows are renamed.
        """
        self.place_minor(side, order)
        run("follow", self.places, side.minor, side.minor)
        self.move_minor(side.minor)

    def place_minor(self, side, order=None):
        """Choose the positions of the minor rows; arguments of `spread_minor`."""
        rows, row_bytes = self.parameters.Q.shape[0] - 1, 4 * self.layout.minor.stride
        self.places = training_data.minor_places(side, rows, row_bytes, self.steps, order)

    def move_minor(self, minor, n_ratings=None):
        """Move the minor rows to their positions; arguments of allocate_table."""
        self.room = allocate_table(self.parameters.Q.shape, minor, self.layout, self.vector, n_ratings)
        self.take_minor(self.parameters.Q)

    def take_minor(self, table):
        """Store rows of the minor side, in row order, at their positions."""
        run("move_rows", table, self.places, self.room)
        self.parameters = self.parameters._replace(Q=self.room)

    def minor(self):
        """Return the rows of the minor side in row order."""
        if self.places is None:
            return self.parameters.Q
        table = device_array(self.parameters.Q.shape, np.float32)
        run("take_rows", self.parameters.Q, self.places, table)
        return table

    def restart(self, state):
        """Continue from a State of the same layout."""
        super().restart(state)
        if self.places is not None:
            self.take_minor(self.parameters.Q)

    def start_epoch(self, rates, turn):
        """Queue one epoch over all ratings."""
        grid = -(-self.workers * self.layout.lanes // BLOCK)
        for table in schedule.order_tables(self.tables, turn):
            launch(self.sgd_epoch, grid, BLOCK, table, self.batch, self.parameters, rates, turn, self.workers)

    def codes_of_pairs(self, query, count):
        """Return `codes` of pairs that are asked for, within the memory left."""
        if query:
            self.looks_up_on_host |= isinstance(self.history.items, np.ndarray) and not self.holds_history()
        return self.codes(query, count, not query or self.holds_history(CODE_BLOCKS * (self.item_rows + 1)))

    def stored_rows(self, major, minor):
        """Return the positions of rows."""
        if self.places is not None and minor.size:
            run("follow", self.places, minor, minor)
        return major, minor

    def add_weights(self, users, keys):
        """Add the weights of the users' items to scores in keys (b, N), on the device."""
        if isinstance(self.item_weights, WeightLists):
            launch(add_listed_weights, users.size, BLOCK, users, self.rated(), self.item_weights, keys)
            return
        grid = -(-self.item_rows // BLOCK), min(users.size, MOST_LINES)
        launch(add_weights, grid, BLOCK, users, self.rated(), self.item_weights, keys)

    def predicted(self, pairs):
        """Return the predictions (n,) float32 in z for the result of `ask`, without weights between items."""
        predicted = device_array(pairs.major.size, np.float32)
        grid = max(1, min(-(-predicted.size * self.layout.lanes // BLOCK), 1 << 16))
        launch(self.predict_pairs, grid, BLOCK, pairs, self.parameters, predicted)
        return predicted

    def holds_history(self, more=0):
        """Return True if the device has room for the history and `more` bytes, next to the pairs or users asked for."""
        return sum(part.nbytes for part in self.history) + more <= self.spare // 2

    @functools.cached_property
    def spare(self):
        """Bytes that are free when the session is first asked; to find out, unused memory goes back to the driver."""
        return spare_memory()

    @property
    def scratch(self):
        """Bytes for what is predicted at once."""
        return min(SCRATCH, self.spare // 2)

    def pairs_at_once(self):
        """Number of pairs predicted at once."""
        return max(LEAST_PAIRS, self.scratch // plans.pair_bytes(self.layout))

    def tile_users(self):
        """Number of users scored at once."""
        return int(max(1, min(self.scratch // (5 * max(1, self.item_rows)), 65535 - 65535 % USERS)))

    def score(self, users, tables, model, worth, hide, keys):
        """Write the scores of users as keys; tables: arrays.Tables to fill; model: see score_rows."""
        score_blocks = 48  # for 32 users; measured
        if self.layout.minor.half:
            raise ValueError("scores are computed of a layout in single precision")
        groups = tables.rated.shape[0]
        launch(fill_tables, groups, BLOCK, users, self.rated(), tables)
        grid = max(1, min(-(-self.item_rows // (ITEMS * WARPS)), score_blocks)), groups
        launch(score_rows, grid, 32 * WARPS, users, tables, *model, worth, hide, keys)

    def rated(self):
        """Return the History on the device; it is uploaded when first needed."""
        self.history = History(*map(self.held, self.history))
        return self.history

    def state(self):
        """Return the current State on the host."""
        tables, kinds = (self.parameters.P, self.minor()), (self.layout.major, self.layout.minor)
        users, items = layouts.major_first(self.walk, *map(self.side, tables, kinds))
        influence = self.parameters.influence.copy_to_host() if self.layout.slots else None
        if not isinstance(self.neighbors, np.ndarray):
            self.neighbors = self.neighbors.copy_to_host()
        return states.state_of(users, items, influence, self.layout, self.neighbors)

    def side(self, table, rows):
        """Return (factors, extras) of parameter rows on the host; halves become float32.

        Rows are read in parts, because a training may leave little memory.
        """
        count, step = table.shape[0] - 1, max(1, READ_BYTES // table[:1].nbytes)
        whole = np.empty((count, rows.n_factors), np.float32), np.empty((count, states.KEPT), np.float32)
        for start in range(0, count, step):
            part, (factors, extras) = table[start : start + step + 1], (own[start : start + step] for own in whole)
            device = [device_array(own.shape, np.float32) for own in (factors, extras)]
            run("read_rows", part.view(np.float16) if rows.half else part, part, *device)
            for own, values in zip((factors, extras), device):
                download(values, own)
        return whole


begin = DeviceModel.begin
