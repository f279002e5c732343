"""Steps of the hashes on the GPU, which launch the kernels; cpu.py has the same names. Arrays stay on the device."""

import functools
import sys

from gpukit._driver import launch, zeros  # noqa: F401
from gpukit.device.gpu_arrays import empty, resident  # noqa: F401
from gpukit.neighbors.hashes import kernels, plan
from gpukit.neighbors.plan import blocks

BLOCK = 128
SLICES = plan.SLICES  # sums have a multiple of this number of bits, for which kernels are compiled
add_columns = functools.partial(plan.add_columns, sys.modules[__name__])


def block_of(n_words):
    """Return the block size of the hashing that leaves the fewest lanes without a word, the larger one if equal."""
    return min((128, 96, 64, 32), key=lambda block: -(-n_words // block) * block)


def launch_words(make, rows, partials, arguments):
    """Launch a kernel of a maker for rows and words of sums (S, slices, W)."""
    _, slices, n_words = partials.shape
    block = block_of(n_words)
    launch(make(block, slices), (rows.shape[0], blocks(n_words, block)), block, *arguments)


def hash_columns(*arguments):
    """Queue hash_columns; see twins.hash_columns."""
    launch_words(kernels.make_hash_columns, arguments[4], arguments[7], arguments)


def join_chunks(*arguments):
    """Queue join_chunks; see twins.join_chunks."""
    launch_words(kernels.make_join_chunks, arguments[0], arguments[2], arguments)


def add_chunks(*arguments):
    """Queue add_chunks; see twins.add_chunks."""
    launch_words(kernels.make_add_chunks, arguments[0], arguments[2], arguments)


def add_totals(joins, totals, whole):
    """Queue add_totals; see twins.add_totals."""
    launch(kernels.add_totals, blocks(joins.shape[0], BLOCK), BLOCK, joins, totals, whole)


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
