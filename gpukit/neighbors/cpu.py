"""Neighbours on the CPU: a hash and a search. gpu.py has the same functions."""

import functools

import numpy as np

from gpukit.device.cpu_arrays import fetch, resident  # noqa: F401  (steps)
from gpukit.neighbors import plan
from gpukit.neighbors.hashes import cpu as hashes
from gpukit.neighbors.hashes import plan as work
from gpukit.neighbors.search import CARDS
from gpukit.neighbors.search import cpu as searches
from gpukit.neighbors.search import plan as search_plan
from gpukit.timing import work_clock

search = functools.partial(search_plan.search, searches)
search_rows = functools.partial(search_plan.search_rows, searches)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns (Algorithm 1); ParameterError if K is too large."""
    plan.check_items(settings, len(columns.indptr) - 1)
    start, codes = work_clock(), None
    if CARDS[settings.search].reads_codes:
        codes = work.hash_codes(hashes, columns, settings)
    hashed = work_clock()
    lists = search(plan.Items(columns, codes, np.diff(columns.indptr) > 0), settings)
    seconds = {"hashing": hashed - start, "search": work_clock() - hashed}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.sum()), seconds)
