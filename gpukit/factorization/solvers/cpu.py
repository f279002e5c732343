"""Host steps of hogwild, sampled and ease on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import empty, runner
from gpukit.factorization.solvers.ease import twins as ease_twins
from gpukit.factorization.solvers.hogwild import twins as hogwild_twins
from gpukit.factorization.solvers.sampled import twins as sampled_twins
from gpukit.runtime.thread_count import get_num_threads, limit_threads

run = runner(hogwild_twins)


def hogwild_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


def run_hogwild(layout, *arguments):
    """Run hogwild_epoch."""
    hogwild_twins.hogwild_epoch(*arguments)


sampled_workers = hogwild_workers


def sampled_workspace(workers, n_items):
    """Return None: each thread has its own workspace."""


def run_sampled(layout, workspace, *arguments):
    """Run sampled_epoch."""
    clicks_a_thread = 10_000  # of an epoch; for fewer, waiting for another thread may cost more than it saves
    with limit_threads(max(1, arguments[1].items.size // clicks_a_thread)):
        sampled_twins.sampled_epoch(*arguments)


def regress_on_neighbors(neighbors, by_item, n_users, ridge):
    """Return the weights (N, K) float32 of ease.kernels.regress_on_neighbors; neighbors: on the host."""
    weights = np.empty(neighbors.shape, np.float32)
    ease_twins.regress_on_neighbors(neighbors, by_item.starts, by_item.others, n_users, ridge, weights)
    return weights
