"""Host steps of hogwild and sampled on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import launch, zeros
from gpukit.device.gpu_arrays import empty, runner
from gpukit.device.place import has_quad_additions, processors
from gpukit.factorization.solvers.hogwild import kernels as hogwild_kernels
from gpukit.factorization.solvers.hogwild.kernels import make_hogwild_epoch
from gpukit.factorization.solvers.sampled.kernels import make_sampled_epoch
from gpukit.factorization.solvers.sgd.gpu import BLOCK

run = runner(hogwild_kernels)


def hogwild_workers(layout):
    """Return the number of concurrent workers, which are groups of lanes."""
    warps_a_processor = 52  # enough to saturate its memory (Xie et al. 2017)
    return warps_a_processor * processors() * 32 // layout.lanes


def run_hogwild(layout, *arguments):
    """Queue hogwild_epoch for rows of a layout; arguments end with the workers."""
    kernel = make_hogwild_epoch(layout.lanes, layout.factors, has_quad_additions())
    launch(kernel, -(-arguments[-1] * layout.lanes // BLOCK), BLOCK, *arguments)


def sampled_workers(layout):
    """Return the number of concurrent workers, which are groups of lanes."""
    threads_a_processor = 768, 384  # bounded by its registers, without and with neighbourhoods
    return threads_a_processor[layout.slots > 0] // layout.lanes * processors()


def sampled_workspace(workers, n_items):
    """Return the bit sets of clicked items, one for each worker."""
    return zeros((workers, n_items // 32 + 1), np.uint32)


def run_sampled(layout, workspace, *arguments):
    """Queue sampled_epoch in a layout.Layout; arguments end with the workers."""
    vector = has_quad_additions()
    kernel = make_sampled_epoch(layout.lanes, layout.factors, layout.near, vector)
    launch(kernel, -(-arguments[-1] * layout.lanes // BLOCK), BLOCK, *arguments, workspace)
