"""Searches: how far every item is from every other. A folder each, with the files of a room; the name of a further one
is added to SEARCHES.

A distance is a uint32 key below worst(settings), in the folder's __init__.py: the share in which two items agree is
(worst - key) / worst. A pair with a key of `worst` or more is no pair of neighbours. READS_CODES says whether an item's
code is needed at all. A search whose worst is 0 finds nobody and has no more than that. Of others cpu.py and gpu.py
have

    stripes(items, settings) -> stripe(first, keys): write keys (B, N) uint32, the distances of the query items first,
    first + 1, ..., first + B - 1 from all items. items: gpukit.neighbors.plan.Items
    rows_together() -> how many query rows are done together; B is a multiple of it, but for the last rows
"""

import importlib

SEARCHES = ("hamming", "buckets", "exact", "random")


def card(name):
    """The search's own package: worst(settings) and READS_CODES."""
    return importlib.import_module(f"{__name__}.{name}")


def steps(name, device):
    """The host steps of a search: its cpu.py or gpu.py (device "cpu" or "gpu")."""
    return importlib.import_module(f"{__name__}.{name}.{device}")
