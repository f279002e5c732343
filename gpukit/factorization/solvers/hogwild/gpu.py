"""Steps of batch-Hogwild on the GPU; cpu.py has the same names."""

from gpukit._driver import launch
from gpukit.device.gpu_arrays import empty, runner
from gpukit.device.place import has_quad_additions, processors
from gpukit.factorization.solvers.hogwild import kernels
from gpukit.factorization.solvers.hogwild.kernels import make_hogwild_epoch

__all__ = ["empty", "most_workers", "run", "walk"]

WARPS_A_PROCESSOR = 52  # enough to saturate its memory (Xie et al. 2017)
BLOCK = 128
run = runner(kernels)


def most_workers(layout):
    """Return the number of concurrent workers, which are groups of lanes."""
    return WARPS_A_PROCESSOR * processors() * 32 // layout.lanes


def walk(layout, *arguments):
    """Queue hogwild_epoch for rows of a layout; arguments end with the workers."""
    kernel = make_hogwild_epoch(layout.lanes, layout.factors, has_quad_additions())
    launch(kernel, -(-arguments[-1] * layout.lanes // BLOCK), BLOCK, *arguments)
