"""Host steps of grouping on the GPU; cpu.py has the same functions. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.place import processors
from gpukit.device.upload import to_device
from gpukit.primitives.group import formulas, kernels

BLOCK, GRID = 256, 2048


def sort_by_bits(keys, begin, end, payload=None, spare=None):
    """See cpu.sort_by_bits; device arrays."""
    scatter = kernels.make_scatter_digits(payload is not None)
    payload = device_array(1, np.uint32) if payload is None else payload
    if spare is None:
        spare = device_array(keys.shape, np.uint64), device_array(payload.shape, np.uint32)
    arrays, other = (keys, payload), spare
    tiles, blocks = formulas.tiles_a_block(keys.size, kernels.TILE, 4 * processors())
    counts = device_array((kernels.BINS, blocks), np.int64)
    totals = device_array(kernels.BINS, np.int64)
    digits = formulas.digits(begin, end) if keys.size else []
    counts_of = {width: counts[: 1 << width] for width in {width for _, width in digits}}
    for shift, width in digits:
        counted = counts_of[width]
        launch(kernels.count_digits, blocks, kernels.THREADS, arrays[0], shift, width, tiles, counted)
        launch(kernels.scan_digits, 1 << width, kernels.THREADS, counted, totals)
        launch(scatter, blocks, kernels.THREADS, *arrays, shift, width, tiles, counted, totals, *other)
        arrays, other = other, arrays
    return *arrays, other


def scan_parts(counts):
    """See cpu.scan_parts; device arrays."""
    parts = counts.shape[0]
    totals, whole = device_array((1, parts), np.int64), device_array(1, np.int64)
    launch(kernels.scan_digits, parts, kernels.THREADS, counts, totals.reshape(parts))
    launch(kernels.scan_digits, 1, kernels.THREADS, totals, whole)
    return totals.reshape(parts)


def row_starts(keys, shift, width, n_rows):
    """See cpu.row_starts; device arrays."""
    if not keys.size:
        return to_device(np.zeros(n_rows + 1, np.int64))
    starts = device_array(n_rows + 1, np.int64)
    launch(kernels.row_starts, GRID, BLOCK, keys, shift, width, starts)
    return starts
