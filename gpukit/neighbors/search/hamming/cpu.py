"""Host steps of the search by Hamming distance on the CPU; gpu.py has the same functions."""

from gpukit.neighbors.search.hamming import twins


def rows_together():
    """Return the number of query rows processed together."""
    return 1


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""
    return lambda first, keys: twins.hamming_distances(items.codes, items.rated, first, keys)
