"""Neighbours on the CPU: a hash, a search, the selection and the supplement. gpu.py has the same functions."""

import numpy as np

from gpukit.device.cpu_arrays import fetch, resident  # noqa: F401  (of plan.Steps)
from gpukit.neighbors import plan
from gpukit.neighbors.hashes import cpu as hashes
from gpukit.neighbors.search import CARDS
from gpukit.neighbors.search import cpu as searches
from gpukit.selection import twins as selection
from gpukit.timing import work_clock

STRIPE_BYTES = 16 << 20  # keys of a stripe: about the cache's size


def search(items, settings):
    """Return the plan.Lists of a plan.Items: for each stripe of query rows distances, selection and searches."""
    n_items = len(items.rated)
    if not CARDS[settings.search].worst(settings):
        return searches.random_lists(n_items, settings.n_neighbors, settings.seed)
    lists = searches.empty_lists(n_items, settings.n_neighbors)
    search_rows(items, settings, [(0, n_items)], lists)
    return lists


def search_rows(items, settings, runs, lists):
    """Fill the plan.Lists of all items for the query rows first to last (exclusive) of each run; see search."""
    card, steps = CARDS[settings.search], searches.STEPS[settings.search]
    select = steps.selections if card.is_sparse else select_keys
    for first, selected in select(items, settings, runs):
        searches.fill_slots(selected, first, card.worst(settings), settings.seed, lists)


def select_keys(items, settings, runs):
    """Yield selections as a sparse search does, from the keys of stripes of query rows."""
    n_items, worst = len(items.rated), CARDS[settings.search].worst(settings)
    steps = searches.STEPS[settings.search]
    stripe, rows = steps.stripes(items, settings), plan.stripe_rows(n_items, STRIPE_BYTES, steps.rows_together())
    buffer = np.empty((min(rows, max(last - first for first, last in runs)), n_items), np.uint32)
    for first, last in plan.cut_runs(runs, rows):
        keys = buffer[: last - first]
        stripe(first, keys)
        yield first, selection.smallest(keys, settings.n_neighbors, worst)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns (Algorithm 1); ParameterError if K is too large."""
    plan.check_items(settings, len(columns.indptr) - 1)
    begun, codes = work_clock(), None
    if CARDS[settings.search].reads_codes:
        codes = hashes.hash_codes(columns, settings)
    hashed = work_clock()
    lists = search(plan.Items(columns, codes, np.diff(columns.indptr) > 0), settings)
    seconds = {"hashing": hashed - begun, "search": work_clock() - hashed}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.sum()), seconds)
