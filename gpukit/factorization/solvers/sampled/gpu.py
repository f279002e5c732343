"""Steps of learning from clicks on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import launch, zeros
from gpukit.device.place import has_quad_additions, processors
from gpukit.factorization.solvers.sampled.kernels import make_sampled_epoch

__all__ = ["most_workers", "walk", "workspace"]

BLOCK = 128
THREADS_A_PROCESSOR = 768, 384  # bounded by its registers, without and with neighbourhoods


def most_workers(layout):
    """Return the number of concurrent workers, which are groups of lanes."""
    return THREADS_A_PROCESSOR[layout.slots > 0] // layout.lanes * processors()


def workspace(workers, n_items):
    """Return the bit sets of clicked items, one for each worker."""
    return zeros((workers, n_items // 32 + 1), np.uint32)


def walk(layout, workspace, *arguments):
    """Queue sampled_epoch in a layout.Layout; arguments end with the workers."""
    vector = has_quad_additions()
    kernel = make_sampled_epoch(layout.lanes, layout.factors, layout.near, vector)
    launch(kernel, -(-arguments[-1] * layout.lanes // BLOCK), BLOCK, *arguments, workspace)
