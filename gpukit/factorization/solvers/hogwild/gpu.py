"""Steps of batch-Hogwild on the GPU; cpu.py has the same names."""

from gpukit._driver import launch
from gpukit.device.gpu_arrays import empty, runner
from gpukit.device.place import processors
from gpukit.factorization.solvers.hogwild import kernels
from gpukit.factorization.solvers.hogwild.kernels import WARP, make_hogwild_epoch

__all__ = ["empty", "most_workers", "run", "stored_width", "walk"]

WARPS_A_PROCESSOR = 52  # Xie et al. 2017: as many as keep its memory busy
BLOCK = 128
run = runner(kernels)


def most_workers():
    """Workers, warps each, that are at work at once."""
    return WARPS_A_PROCESSOR * processors()


def stored_width(n_factors):
    """Factors of a row that is stored apart: as many for every lane."""
    return WARP * -(-n_factors // WARP)


def walk(n_factors, *arguments):
    """hogwild_epoch for F factors; arguments end with the workers. Queued, not waited for."""
    grid = -(-arguments[-1] * WARP // BLOCK)
    launch(make_hogwild_epoch(stored_width(n_factors) // WARP), grid, BLOCK, *arguments)
