"""Host steps of the hashes on the GPU; cpu.py has the same functions. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import empty, resident  # noqa: F401  (steps of plan.py)
from gpukit.device.upload import to_device
from gpukit.neighbors.hashes import kernels, plan
from gpukit.neighbors.plan import blocks

BLOCK = 128


def block_of(n_words):
    """Return the block size of the hashing that leaves the fewest lanes without a word, the larger one if equal."""
    return min((128, 96, 64, 32), key=lambda block: -(-n_words // block) * block)


class Adder:
    """See cpu.Adder."""

    def __init__(self, columns, weights, slices, settings, codes=None):
        slices = plan.whole_slices(slices)
        self.columns, self.settings, self.block = columns, settings, block_of(settings.n_words)
        self.sent = [to_device(array) for array in (weights, plan.word_keys(settings.seed, settings.n_words))]
        self.kernels = [make(self.block, slices) for make in (kernels.make_hash_columns, kernels.make_join_chunks)]
        shape = len(columns.indptr) - 1, settings.n_words
        self.codes = device_array(shape, np.uint32) if codes is None else codes
        self.slices, self.unit_bytes = slices, 4 * slices * settings.n_words

    def add_up(self, units, slots):
        """See cpu.Adder."""
        n_bits, n_words = self.settings.n_bits, self.settings.n_words
        slots = max(slots, 1)
        partials, totals = zeros((slots, self.slices, n_words), np.uint32), zeros(slots, np.int64)
        rated = self.columns.users, self.columns.levels, *self.sent
        grid = len(units), blocks(n_words, self.block)
        launch(self.kernels[0], grid, self.block, *rated, to_device(units), n_bits, self.codes, partials, totals)
        return partials, totals

    def join(self, joins, partials, totals):
        """See cpu.Adder."""
        grid = len(joins), blocks(self.settings.n_words, self.block)
        if len(joins):
            arguments = to_device(joins), self.settings.n_bits, partials, totals, self.codes
            launch(self.kernels[1], grid, self.block, *arguments)


def add_columns(columns, weights, settings, sums, chunk=plan.CHUNK):
    """See cpu.add_columns; the arrays of the Sums on the device."""
    units, joins = plan.sum_units(columns.indptr, chunk)
    if not len(units):
        return
    adder = Adder(columns, weights, sums.sums.shape[1], settings, sums.codes)
    (partials, totals), joins = adder.add_up(units, len(units)), to_device(joins)
    added = joins, settings.n_bits, partials, totals, sums.whole, sums.sums, sums.codes
    grid = joins.shape[0], blocks(settings.n_words, adder.block)
    launch(kernels.make_add_chunks(adder.block, adder.slices), grid, adder.block, *added)
    launch(kernels.add_totals, blocks(joins.shape[0], BLOCK), BLOCK, joins, totals, sums.whole)


def hash_minwise(*arguments):
    """Queue hash_minwise; the last argument: codes."""
    launch(kernels.hash_minwise, blocks(arguments[-1].size * kernels.WARP, BLOCK), BLOCK, *arguments)


def project_columns(*arguments):
    """Queue project_columns; the last arguments: units, codes, partials."""
    grid = arguments[-3].shape[0], blocks(arguments[-1].shape[1], BLOCK)
    launch(kernels.project_columns, grid, BLOCK, *arguments)


def join_parts(joins, partials, codes):
    """Queue join_parts."""
    launch(kernels.join_parts, (joins.shape[0], blocks(partials.shape[1], BLOCK)), BLOCK, joins, partials, codes)
