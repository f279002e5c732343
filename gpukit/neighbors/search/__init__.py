"""Searches: distances between items. Each is a folder with the files of a package and a name in SEARCHES.

A distance is a uint32 key below worst(settings), in the folder's __init__.py: the fraction of agreement is (worst -
key) / worst. A pair with a key of `worst` or more is not a pair of neighbours. READS_CODES is True if a search needs
codes, IS_SPARSE if it lists pairs instead of keys of all of them. A search whose worst is 0 finds no items and needs no
more. cpu.py and gpu.py of a sparse search have

    selections(items, settings, runs) -> iterator of (first, (indices (B, K) int32, keys (B, K) uint32)): the smallest
    keys of the query items first, first + 1, ...; the keys after the last pair are `worst` or more. runs: [(first item,
    last item + 1)]

and those of other searches

    stripes(items, settings) -> stripe(first, keys): write keys (B, N) uint32, the distances of the query items first,
    first + 1, ..., first + B - 1 from all items. items: gpukit.neighbors.plan.Items
    rows_together() -> number of query rows processed together; B is a multiple of it, except for the last rows
"""

import importlib
from typing import Literal, get_args

Search = Literal["hamming", "buckets", "exact", "random"]
SEARCHES = get_args(Search)


def card(name):
    """Return the package of a search: worst(settings), READS_CODES and IS_SPARSE."""
    return importlib.import_module(f"{__name__}.{name}")


def steps(name, device):
    """Return the host steps of a search: its cpu.py or gpu.py (device "cpu" or "gpu")."""
    return importlib.import_module(f"{__name__}.{name}.{device}")
