"""Scores of single pairs by weights between items, for either device."""

import numpy as np

from gpukit.selection.twins import scores as scores_of_keys

ZERO = np.uint32(0x7FFFFFFF)  # key of the score 0


def pair_sums(session, users, items):
    """Return the sums of weights (n,) float32 of pairs of rows; 0 for unknown users and items.

    session: DeviceModel whose `weighted` adds the sums to keys (b, N) on the host. Each user's row is computed once.
    """
    out, n_items = np.zeros(len(users), np.float32), session.item_rows
    known = np.flatnonzero(items < n_items)
    rows, places = np.unique(users[known], return_inverse=True)
    order = np.argsort(places, kind="stable")
    step = session.tile_users()
    for first in range(0, len(rows), step):
        tile = rows[first : first + step]
        sums = scores_of_keys(session.weighted(tile, np.full((len(tile), n_items), ZERO, np.uint32)))
        pairs = order[slice(*np.searchsorted(places, (first, first + len(tile)), sorter=order))]
        out[known[pairs]] = sums[places[pairs] - first, items[known[pairs]]]
    return out
