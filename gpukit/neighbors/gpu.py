"""Neighbours on the GPU: a hash and a search. cpu.py has the same functions. Arrays stay on the device."""

import functools

import numpy as np

from gpukit._driver import Mark
from gpukit.device.gpu_arrays import fetch, resident  # noqa: F401  (steps)
from gpukit.device.upload import to_device
from gpukit.neighbors import plan
from gpukit.neighbors.hashes import gpu as hashes
from gpukit.neighbors.hashes import plan as work
from gpukit.neighbors.search import CARDS
from gpukit.neighbors.search import gpu as searches
from gpukit.neighbors.search import plan as search_plan

search = functools.partial(search_plan.search, searches)
search_rows = functools.partial(search_plan.search_rows, searches)


def start(columns, settings):
    """Queue Algorithm 1; return (plan.Lists on the device, events before, between and after its two steps).

    columns: users and levels on the device. Raises ParameterError if K is too large.
    """
    plan.check_items(settings, len(columns.indptr) - 1)
    first_mark, hashed, ended = (Mark() for _ in range(3))
    first_mark.record()
    codes = None
    if CARDS[settings.search].reads_codes:
        codes = work.hash_codes(hashes, columns, settings)
    rated = to_device((np.diff(columns.indptr) > 0).astype(np.uint8))
    hashed.record()
    lists = search(plan.Items(columns, codes, rated), settings)
    ended.record()
    return lists, (first_mark, hashed, ended)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns, with lists on the device; see `start`."""
    return wait_for_lists(*start(columns, settings))


def wait_for_lists(lists, events):
    """Wait for the operations that `start` queued; return their plan.Found."""
    first_mark, hashed, ended = events
    seconds = {"hashing": first_mark.seconds_to(hashed), "search": hashed.seconds_to(ended)}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.copy_to_host().sum()), seconds)
