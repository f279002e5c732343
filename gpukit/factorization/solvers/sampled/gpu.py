"""Steps of learning from clicks on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import launch, zeros
from gpukit.device.place import has_quad_additions, processors
from gpukit.factorization.solvers.sampled.kernels import make_sampled_epoch

__all__ = ["most_workers", "walk", "workspace"]

BLOCK = 128
THREADS_A_PROCESSOR = 768, 384  # that fit its registers, without and with neighbourhoods


def most_workers(layout):
    """Workers, groups of lanes, that are at work at once."""
    return THREADS_A_PROCESSOR[layout.slots > 0] // layout.lanes * processors()


def workspace(workers, n_items):
    """Where each worker notes, a bit an item, what a user clicked."""
    return zeros((workers, n_items // 32 + 1), np.uint32)


def walk(layout, workspace, *arguments):
    """sampled_epoch in a layout.Layout; arguments end with the workers. Queued, not waited for."""
    vector = has_quad_additions()
    kernel = make_sampled_epoch(layout.lanes, layout.factors, layout.near, vector)
    launch(kernel, -(-arguments[-1] * layout.lanes // BLOCK), BLOCK, *arguments, workspace)
