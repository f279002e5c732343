"""Host steps of the search by Hamming distance on the CPU; gpu.py has the same functions."""

from gpukit.neighbors.search.hamming import twins


def rows_together():
    """Query rows that are done together."""
    return 1


def stripes(items, settings):
    """stripe(first, keys) of gpukit.neighbors.search."""
    return lambda first, keys: twins.hamming_distances(items.codes, items.rated, first, keys)
