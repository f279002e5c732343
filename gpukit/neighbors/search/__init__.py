"""Searches: distances between items. Each is a folder with the files of a package and a name in SEARCHES.

A distance is a uint32 key below worst(settings), in the folder's __init__.py: the fraction of agreement is (worst -
key) / worst. A pair with a key of `worst` or more is not a pair of neighbours. READS_CODES is True if a search needs
codes. A search whose worst is 0 finds no items and needs no more. For others cpu.py and gpu.py have

    stripes(items, settings) -> stripe(first, keys): write keys (B, N) uint32, the distances of the query items first,
    first + 1, ..., first + B - 1 from all items. items: gpukit.neighbors.plan.Items
    rows_together() -> number of query rows processed together; B is a multiple of it, except for the last rows
"""

import importlib
from typing import Literal, get_args

Search = Literal["hamming", "buckets", "exact", "random"]
SEARCHES = get_args(Search)


def card(name):
    """Return the package of a search: worst(settings) and READS_CODES."""
    return importlib.import_module(f"{__name__}.{name}")


def steps(name, device):
    """Return the host steps of a search: its cpu.py or gpu.py (device "cpu" or "gpu")."""
    return importlib.import_module(f"{__name__}.{name}.{device}")
