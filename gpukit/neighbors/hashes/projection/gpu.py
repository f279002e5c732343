"""Host step of random projections on the GPU; cpu.py has the same function. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.upload import to_device
from gpukit.neighbors.hashes import work
from gpukit.neighbors.hashes.projection import kernels, plan
from gpukit.neighbors.plan import blocks

BLOCK = 128


def hash_codes(columns, settings, chunk=work.CHUNK):
    """See cpu.hash_codes; indptr and values of the Columns on the host, users and levels on the device."""
    weights, keys = work.level_weights(columns.values, 1), plan.direction_keys(settings.seed, settings.n_bits)
    units, joins, n_slots = work.work_units(columns.indptr, chunk)
    codes = device_array((len(columns.indptr) - 1, settings.n_words), np.uint32)
    partials = device_array((max(n_slots, 1), settings.n_bits), np.int64)
    sent, across = [to_device(array) for array in (weights, keys, units)], blocks(settings.n_bits, BLOCK)
    grid = len(units), across
    launch(kernels.project_columns, grid, BLOCK, columns.users, columns.levels, *sent, codes, partials)
    if len(joins):
        launch(kernels.join_parts, (len(joins), across), BLOCK, to_device(joins), partials, codes)
    return codes
