"""Host steps of factorization on a GPU; cpu.py has the same names with the same arguments. Arrays stay on the
device."""

import numpy as np

from gpukit._cuda import cuda, repeated
from gpukit.device.upload import to_device
from gpukit.factorization.arrays import Batch, Pairs, Parameters
from gpukit.factorization.kernels.codes import neighbor_codes
from gpukit.factorization.kernels.predict import make_predict_pairs
from gpukit.factorization.kernels.scores import fill_tables, make_score_rows
from gpukit.factorization.model import layout as layouts
from gpukit.factorization.model import state as states
from gpukit.factorization.prepare import History, Query
from gpukit.factorization.solvers.sgd.kernels import make_sgd_epoch
from gpukit.neighbors import gpu as neighbors
from gpukit.selection import gpu as selection
from gpukit.selection.cpu import scores as scores_of_keys

__all__ = ["Session", "find_neighbors", "layout", "most_workers"]

BLOCK = 128
WORKERS_AN_SM = 96, 64  # without and with neighbourhoods, which take more registers; measured
TABLE_BYTES = 512 << 20  # keys and tables of a tile of users
CODE_BLOCKS = 1056
layout = layouts.gpu_layout


def most_workers(layout):
    """Workers (groups of lanes) that are at work at once."""
    return WORKERS_AN_SM[layout.slots > 0] * cuda.get_current_device().MULTIPROCESSOR_COUNT


def find_neighbors(table, settings):
    """(neighbors (N, K) int32 on the host, random slots) of a gpukit.neighbors Columns."""
    found = neighbors.find(neighbors.to_device(table), settings)
    return found.neighbors.copy_to_host(), found.random_slots


def as_words(codes):
    """(n, slots / 4) uint32 view of device codes (n, slots) uint8."""
    return codes.view(np.uint32) if codes.size else cuda.device_array((1, 1), np.uint32)


class Session:
    """A State at work: epochs over ratings, predictions, scores. See cpu.Session."""

    def __init__(self, state, layout, walk, history):
        self.layout, self.walk, self.history, self.neighbors = layout, walk, history, state.neighbors
        self.item_rows = len(state.item_factors)
        near, influence, offsets = states.pack_neighborhood(state, layout)
        if not layout.slots:  # the kernels do not read them, but an array of no bytes cannot be sent
            near, influence, offsets = np.zeros((1, 1), np.int32), *(np.zeros((1, 1), np.float32),) * 2
        sides = states.pack_sides(state, layout, walk)
        self.parameters = Parameters(*map(to_device, (*sides, influence, offsets)))
        self.near, self.levels = to_device(near), to_device(history.levels)
        capability = tuple(cuda.get_current_device().compute_capability)
        shape, half = (layout.lanes, layout.factors, layout.near), layout.minor.half
        self.sgd_epoch = make_sgd_epoch(*shape, half, capability >= (9, 0))
        self.predict_pairs, self.score_rows = make_predict_pairs(*shape, half), make_score_rows(*shape)

    def codes(self, query, count):
        """(count, slots) uint8 device lines of neighbor_codes for a training.Query."""
        if not self.layout.slots:
            return cuda.device_array((0, 0), np.uint8)
        out = cuda.device_array((count, self.layout.slots), np.uint8)
        known = self.sent_history()
        if query.indptr is self.history.indptr:
            asked = Query(known.indptr, known.items, to_device(query.places))
        else:
            asked = Query(*map(to_device, query))
        tables = to_device(np.zeros((CODE_BLOCKS, self.item_rows + 1), np.uint8))
        neighbor_codes[CODE_BLOCKS, BLOCK](known, asked, self.near, out, tables)
        cuda.synchronize()
        del known, asked, tables
        cuda.current_context().deallocations.clear()
        return out

    def train_on(self, side, query, tables, workers):
        """What epochs walk: a training.Side, the Query of its ratings (not read without neighbours), chunk tables and
        the workers for each."""
        codes = as_words(self.codes(query, len(side.minor)))
        self.batch = Batch(to_device(side.minor), to_device(side.values), codes, self.levels)
        self.tables, self.workers = [to_device(table) for table in tables], workers
        self.launch = repeated(self.sgd_epoch[-(-workers * self.layout.lanes // BLOCK), BLOCK])

    def start_epoch(self, rates, turn):
        """Queue one pass over all ratings."""
        for table in self.tables:
            self.launch(table, self.batch, self.parameters, rates, turn, self.workers)

    def epoch(self, rates, turn):
        """One pass over all ratings; returns when it is done."""
        self.start_epoch(rates, turn)
        cuda.synchronize()

    def ask(self, users, items, query):
        """Pairs of rows made ready for `predict`."""
        major, minor = layouts.major_first(self.walk, users, items)
        return Pairs(to_device(major), to_device(minor), as_words(self.codes(query, len(users))), self.levels)

    def predict(self, asked):
        """(n,) float32 predictions in z of what `ask` returned."""
        predicted = cuda.device_array(asked.major.size, np.float32)
        grid = max(1, min(-(-predicted.size * self.layout.lanes // BLOCK), 1 << 16))
        self.predict_pairs[grid, BLOCK](asked, self.parameters, predicted)
        return predicted.copy_to_host()

    def tile_users(self):
        """Users scored at once."""
        return int(max(1, min(TABLE_BYTES // (5 * max(1, self.item_rows)), 65535)))

    def best(self, users, n, hide):
        """(item rows (B, n) int32, scores (B, n) float32 in z, NaN where too few items are left) for user rows (B,).

        The layout must be of single precision, as serving's is.
        """
        if self.layout.minor.half:
            raise ValueError("scores are computed of a layout in single precision")
        others, items = layouts.major_first(self.walk, self.parameters.P, self.parameters.Q)
        by_item = self.parameters._replace(P=items, Q=others)
        on_device = to_device(users)
        tables = cuda.device_array((len(users), self.item_rows + 1), np.uint8)
        fill_tables[len(users), BLOCK](on_device, self.rated(), tables)
        keys = cuda.device_array((len(users), self.item_rows), np.uint32)
        grid = max(1, min(-(-self.item_rows * self.layout.lanes // BLOCK), 256)), len(users)
        self.score_rows[grid, BLOCK](on_device, tables, self.near, self.levels, by_item, hide, keys)
        rows, best = (array.copy_to_host() for array in selection.smallest(keys, n))
        return rows, scores_of_keys(best)

    def rated(self):
        """The History on the device, sent once."""
        if not hasattr(self, "_rated"):
            self._rated = self.sent_history()
        return self._rated

    def sent_history(self):
        """The History on the device."""
        return History(*map(to_device, self.history[:3]), self.levels)

    def state(self):
        """The State as it stands, on the host."""
        P, Q, influence = (array.copy_to_host() for array in self.parameters[:3])
        return states.unpack(P, Q, influence, self.layout, self.walk, self.neighbors)
