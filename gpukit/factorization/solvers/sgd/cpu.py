"""Host steps of SGD on the CPU: chunk tables, and epochs in batches; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, fetch, resident, runner
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd import batch_twins, twins
from gpukit.primitives.group.cpu import row_starts, sort_by_bits

run = runner(batch_twins, twins)


def seen_width(layout):
    """Return the numbers stored for a rating, for a layout.Layout."""
    return layout.n_factors + EXTRA


def cut(array, position, beyond=0):
    """Return (array,): on a CPU one thread processes any row."""
    return (array,)


def walk_major(layout, chunks, *arguments):
    """Run walk_major."""
    batch_twins.walk_major(*chunks, *arguments)


def walk_minor(layout, starts, slots, rows, at_once, *arguments):
    """Run walk_minor."""
    batch_twins.walk_minor(*starts, slots, *rows, *at_once, *arguments)
