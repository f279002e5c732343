"""Host steps of the search by Hamming distance on the GPU; cpu.py has the same functions."""

from gpukit._driver import launch
from gpukit.neighbors.plan import blocks
from gpukit.neighbors.search.hamming import kernels


def rows_together():
    """Return the number of query rows processed together."""
    return kernels.TILE


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""

    def stripe(first, keys):
        grid = blocks(keys.shape[1], kernels.TILE), blocks(keys.shape[0], kernels.TILE)
        launch(kernels.hamming_distances, grid, kernels.SIDE**2, items.codes, items.rated, first, keys)

    return stripe
