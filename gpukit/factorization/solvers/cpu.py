"""Host steps of hogwild, sampled, ease, als and ials on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import empty, resident, runner, zeros
from gpukit.factorization.solvers import ease_twins, hogwild_twins, ials_twins, sampled_twins, squares_twins
from gpukit.factorization.solvers.ials_twins import invert_panel
from gpukit.runtime.thread_count import get_num_threads, limit_threads

LONGEST = 8192  # ratings of a piece
SCRATCH = 32 << 20  # bytes of concurrent Gram matrices
MOMENT_PIECES = 16  # partial sums over all rows of a side, for any number of threads
run = runner(hogwild_twins, squares_twins)


def any_shape(twin):
    """Return a twin that ignores its first argument, from which gpu.py has the shape of a kernel."""
    return lambda shape, *arguments: twin(*arguments)


run_hogwild = any_shape(hogwild_twins.hogwild_epoch)
gram_of_pieces, solve_by_cholesky = map(any_shape, (squares_twins.gram_of_pieces, squares_twins.solve_by_cholesky))
products_of_pieces, begin_descent, descend = map(
    any_shape, (ials_twins.products_of_pieces, ials_twins.begin_descent, ials_twins.descend)
)


def hogwild_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


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


def gram_shape(n_factors):
    """Return the shape of a Gram matrix for F factors."""
    return n_factors + 2, n_factors + 2
