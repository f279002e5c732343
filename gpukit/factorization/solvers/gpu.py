"""Host steps of hogwild, sampled, ease, als and ials on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import empty, resident, runner
from gpukit.device.memory import spare_memory
from gpukit.device.place import has_quad_additions, processors
from gpukit.device.upload import to_device
from gpukit.factorization.solvers import hogwild_kernels, ials_kernels, squares_kernels
from gpukit.factorization.solvers.ease_kernels import regress_on_neighbors as regression_kernel
from gpukit.factorization.solvers.hogwild_kernels import make_hogwild_epoch
from gpukit.factorization.solvers.ials import rows_of_block
from gpukit.factorization.solvers.sampled_kernels import make_sampled_epoch
from gpukit.factorization.solvers.sgd.schedule import BLOCK
from gpukit.factorization.solvers.squares import shape_of

LONGEST = 1024  # ratings of a piece, which a block processes
SCRATCH = 256 << 20  # bytes of concurrent Gram matrices
MOMENT_PIECES = 256  # partial sums over all rows of a side: about two blocks per multiprocessor
run = runner(hogwild_kernels, squares_kernels)


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


def regress_on_neighbors(neighbors, by_item, n_users, ridge):
    """Return the weights (N, K) float32 of ease.kernels.regress_on_neighbors; neighbors: on the host."""
    blocks_a_processor, threads = 4, 256
    slots = neighbors.shape[1]
    shapes = (n_users, slots // 32 + 1), (slots, slots + 1)
    bytes_a_block = sum(4 * rows * columns for rows, columns in shapes)
    blocks = max(1, min(blocks_a_processor * processors(), len(neighbors), spare_memory() // (2 * bytes_a_block)))
    scratch = zeros((blocks, *shapes[0]), np.uint32), device_array((blocks, *shapes[1]), np.float32)
    weights, lists = device_array(neighbors.shape, np.float32), to_device(neighbors)
    launch(regression_kernel, blocks, threads, lists, by_item.starts, by_item.others, n_users, ridge, weights, *scratch)
    return weights.copy_to_host()


def gram_shape(n_factors):
    """Return the shape of a Gram matrix for F factors: numbers of a tile, tiles."""
    return squares_kernels.SQUARE, shape_of(n_factors).tiles


def gram_of_pieces(n_factors, pieces, *arguments):
    """Queue gram_of_pieces."""
    shape = shape_of(n_factors)
    kernel, grid = squares_kernels.make_gram_of_pieces(*shape), (pieces.shape[0], shape.groups)
    launch(kernel, grid, shape.threads, pieces, *arguments)


def solve_by_cholesky(n_factors, owners, *arguments):
    """Queue solve_by_cholesky."""
    shape = shape_of(n_factors)
    kernel = squares_kernels.make_solve_by_cholesky(*shape[:3], shape.whole)
    launch(kernel, owners.shape[0], shape.whole, owners, *arguments)


def products_of_pieces(layout, pieces, *arguments):
    """Queue products_of_pieces."""
    kernel = ials_kernels.make_products_of_pieces(layout.lanes, layout.factors)
    launch(kernel, pieces.shape[0], ials_kernels.PRODUCT_THREADS, pieces, *arguments)


def begin_descent(layout, *arguments):
    """Queue begin_descent."""
    launch_descent(0, layout, *arguments)


def descend(layout, *arguments):
    """Queue descend."""
    launch_descent(1, layout, *arguments)


def launch_descent(number, layout, owners, *arguments):
    """Queue a kernel of make_descent."""
    width = layout.lanes * layout.factors
    grid = -(-owners.shape[0] // rows_of_block(width))
    launch(ials_kernels.make_descent(width)[number], grid, ials_kernels.THREADS, owners, *arguments)


def invert_panel(shared, decay, step, *arguments):
    """Queue invert_panel."""
    blocks = -(-shared.shape[0] // ials_kernels.PANEL)
    launch(ials_kernels.invert_panel, (blocks, blocks), ials_kernels.THREADS, shared, decay, step, *arguments)
