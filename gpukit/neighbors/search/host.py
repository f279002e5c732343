"""Host steps of the searches and the selection, for both devices."""

import numpy as np

from gpukit.neighbors.plan import Lists, cut_runs, stripe_rows
from gpukit.neighbors.search import CARDS, exact_plan


def search(steps, items, settings, rows=None):
    """Return the Lists of Items, those of `rows` (first, last + 1) or all; steps: search.cpu or search.gpu."""
    n_items = items.rated.size
    lists = empty_lists(steps, n_items, settings.n_neighbors)
    if CARDS[settings.search].worst(settings):
        search_rows(steps, items, settings, [rows or (0, n_items)], lists)
    else:
        nothing = tuple(steps.zeros((n_items, settings.n_neighbors), dtype) for dtype in (np.int32, np.uint32))
        steps.fill_slots(nothing, 0, 0, settings.seed, lists)
    return lists


def empty_lists(steps, n_items, n_neighbors):
    """Return uninitialized Lists; steps: see search."""
    lists = (steps.empty((n_items, n_neighbors), dtype) for dtype in (np.int32, np.float32))
    return Lists(*lists, steps.empty(n_items, np.int32))


def search_rows(steps, items, settings, runs, lists):
    """Fill the Lists of all items for the query rows first to last (exclusive) of each run; steps: see search."""
    card = CARDS[settings.search]
    if card.is_sparse:
        numbers = exact_plan.whole_numbers(items.columns.values, int(np.diff(items.columns.indptr).max()))
        selections = steps.select_pairs(items.columns, numbers, settings.n_neighbors, runs)
    else:
        selections = select_keys(steps, items, settings, runs)
    for first, selected in selections:
        steps.fill_slots(selected, first, card.worst(settings), settings.seed, lists)


def select_keys(steps, items, settings, runs):
    """Yield selections as select_pairs does, from the keys of stripes of query rows."""
    n_items, worst = items.rated.size, CARDS[settings.search].worst(settings)
    stripes, rows_together = steps.STRIPES[settings.search]
    stripe, rows = stripes(items, settings), stripe_rows(n_items, steps.stripe_bytes(n_items), rows_together())
    buffer = steps.empty((min(rows, max(last - first for first, last in runs)), n_items), np.uint32)
    for first, last in cut_runs(runs, rows):
        keys = buffer[: last - first]
        stripe(first, keys)
        yield first, steps.smallest(keys, settings.n_neighbors, worst)
