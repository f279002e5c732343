"""Host steps of an epoch in batches on the GPU; cpu.py has the same names. Epochs are queued."""

from gpukit._driver import launch
from gpukit.device import processors
from gpukit.device.gpu_arrays import empty, resident, runner
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd.batches.kernels import keys
from gpukit.factorization.solvers.sgd.batches.kernels.major import make_walk_major
from gpukit.factorization.solvers.sgd.batches.kernels.minor import make_walk_minor
from gpukit.primitives.group.gpu import row_starts, sort_by_bits

__all__ = ["cut", "empty", "resident", "row_starts", "run", "seen_width", "sort_by_bits", "walk_major", "walk_minor"]

BLOCK = 128
BLOCKS_A_PROCESSOR = 32
SHARED_BYTES = 32 << 10  # of a team's sums
run = runner(keys)


def seen_width(layout):
    """Return the numbers stored for a rating, for a layout.Layout."""
    return layout.lanes * layout.factors + EXTRA


def team_warps(layout):
    """Return the warps that process a long row, bounded by the memory for their sums.

    It is a function of the layout alone, since it sets the order of additions.
    """
    bytes_a_warp = 4 * layout.lanes * (layout.factors + 1 + 2 * layout.near)
    return max(1, min(BLOCK // 32, SHARED_BYTES // bytes_a_warp))


def cut(array, at, beyond=0):
    """Return (part of an array for the first `at` rows, part for the others), for teams of warps and for single warps.

    beyond: numbers of the second part that the first also has. Arrays are cut once, since a slice of a device array
    takes longer than a launch.
    """
    return array[: at + beyond], array[at:]


def walk(make, shape, warps, teams, *arguments):
    """Queue a kernel for `teams` teams of warps; the result does not depend on the number of blocks."""
    block = 32 * warps if warps > 1 else BLOCK
    grid = max(1, min(-(-teams * 32 * warps // block), BLOCKS_A_PROCESSOR * processors()))
    if teams:
        launch(make(*shape, warps), grid, block, *arguments)


def walk_major(layout, chunks, *arguments):
    """Queue walk_major for both parts of the chunks of a batch."""
    for warps, part in zip((team_warps(layout), 1), chunks):
        walk(make_walk_major, (layout.lanes, layout.factors, layout.near), warps, part.shape[0], part, *arguments)


def walk_minor(layout, starts, slots, rows, at_once, *arguments):
    """Queue walk_minor for both parts of the minor rows."""
    for warps, first, part, most in zip((team_warps(layout), 1), starts, rows, at_once):
        shape = layout.lanes, layout.factors
        walk(make_walk_minor, shape, warps, part.shape[0], first, slots, part, most, *arguments)
