"""Neighbours on the GPU: a hash, a search, the selection and the supplement, one after the other. cpu.py has the same
functions with the same arguments. Arrays stay on the device."""

import time

import numpy as np

from gpukit._cuda import cuda
from gpukit.neighbors import hashes, plan
from gpukit.neighbors import search as searches
from gpukit.neighbors.supplement import gpu as supplement
from gpukit.selection import gpu as selection

STRIPE_BYTES = 256 << 20  # keys of a stripe of query rows


def search(items, settings):
    """As cpu.search."""
    n_items, worst = items.rated.size, searches.card(settings.search).worst(settings)
    steps = searches.steps(settings.search, "gpu")
    stripe, lists = steps.stripes(items, settings), supplement.empty_lists(n_items, settings.n_neighbors)
    rows = plan.stripe_rows(n_items, STRIPE_BYTES, steps.rows_together())
    buffer = cuda.device_array((rows, n_items), np.uint32)
    for first in range(0, n_items, rows):
        keys = buffer[: n_items - first]
        stripe(first, keys)
        selected = selection.smallest(keys, settings.n_neighbors, worst)
        supplement.fill_slots(selected, first, worst, settings.seed, lists)
    return lists


def find(columns, settings):
    """Algorithm 1: the plan.Found of all items of a Columns whose users and levels are on the device.

    Raises ParameterError when K does not fit the items.
    """
    plan.check_items(settings, len(columns.indptr) - 1)
    begun, codes = time.perf_counter(), None
    if searches.card(settings.search).READS_CODES:
        codes = hashes.steps(settings.hash, "gpu").hash_codes(columns, settings)
    rated = cuda.to_device((np.diff(columns.indptr) > 0).astype(np.uint8))
    cuda.synchronize()
    hashed = time.perf_counter()
    lists = search(plan.Items(columns, codes, rated), settings)
    n_random = int(lists.random_slots.copy_to_host().sum())
    seconds = {"hashing": hashed - begun, "search": time.perf_counter() - hashed}
    return plan.Found(lists.neighbors, lists.scores, n_random, seconds)
