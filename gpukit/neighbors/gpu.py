"""Neighbours on the GPU: a hash, a search, the selection and the supplement. cpu.py has the same functions.

Arrays stay on the device.
"""

import numpy as np

from gpukit._driver import Mark, device_array
from gpukit.device.gpu_arrays import fetch, resident  # noqa: F401  (of plan.Steps)
from gpukit.device.upload import to_device
from gpukit.neighbors import plan
from gpukit.neighbors.hashes import gpu as hashes
from gpukit.neighbors.search import CARDS
from gpukit.neighbors.search import gpu as searches
from gpukit.selection import kernels as selection

STRIPE_BYTES = plan.STRIPE_BYTES


def search(items, settings):
    """See cpu.search."""
    n_items = items.rated.size
    if not CARDS[settings.search].worst(settings):
        return searches.random_lists(n_items, settings.n_neighbors, settings.seed)
    lists = searches.empty_lists(n_items, settings.n_neighbors)
    search_rows(items, settings, [(0, n_items)], lists)
    return lists


def search_rows(items, settings, runs, lists):
    """See cpu.search_rows."""
    card, steps = CARDS[settings.search], searches.STEPS[settings.search]
    select = steps.selections if card.is_sparse else select_keys
    for first, selected in select(items, settings, runs):
        searches.fill_slots(selected, first, card.worst(settings), settings.seed, lists)


def select_keys(items, settings, runs):
    """See cpu.select_keys."""
    n_items, worst = items.rated.size, CARDS[settings.search].worst(settings)
    steps = searches.STEPS[settings.search]
    stripe, rows = steps.stripes(items, settings), plan.stripe_rows(n_items, STRIPE_BYTES, steps.rows_together())
    buffer = device_array((min(rows, max(last - first for first, last in runs)), n_items), np.uint32)
    for first, last in plan.cut_runs(runs, rows):
        keys = buffer[: last - first]
        stripe(first, keys)
        yield first, selection.smallest(keys, settings.n_neighbors, worst)


def start(columns, settings):
    """Queue Algorithm 1; return (plan.Lists on the device, events before, between and after its two steps).

    columns: users and levels on the device. Raises ParameterError if K is too large.
    """
    plan.check_items(settings, len(columns.indptr) - 1)
    begun, hashed, ended = (Mark() for _ in range(3))
    begun.record()
    codes = None
    if CARDS[settings.search].reads_codes:
        codes = hashes.hash_codes(columns, settings)
    rated = to_device((np.diff(columns.indptr) > 0).astype(np.uint8))
    hashed.record()
    lists = search(plan.Items(columns, codes, rated), settings)
    ended.record()
    return lists, (begun, hashed, ended)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns, with lists on the device; see `start`."""
    return found(*start(columns, settings))


def found(lists, events):
    """Wait for the operations that `start` queued; return their plan.Found."""
    begun, hashed, ended = events
    seconds = {"hashing": begun.seconds_to(hashed), "search": hashed.seconds_to(ended)}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.copy_to_host().sum()), seconds)
