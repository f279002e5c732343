"""Lists for all users over ranks: each computes some users at a time."""

import numpy as np

from gpukit.io.ids import rows_of

SPAN = 1 << 13  # users


def tiles_of(fitted, team, **asked):
    """Yield the tiles of fitted.recommend_batches for all users, in order, on the first rank.

    The other ranks send theirs and yield none. asked: arguments of recommend_batches.
    """
    users = fitted.user_ids_
    for number, first in enumerate(range(0, len(users), SPAN)):
        its, rank = users[first : first + SPAN], number % team.size
        if rank == team.rank:
            made = fitted.recommend(its, **asked)
            if rank == 0:
                yield its, *made
            else:
                hand_over(*made, fitted, team)
        elif team.rank == 0:
            items, scores = team.receive(rank), team.receive(rank)
            yield its, ids_of(items, fitted), scores


def hand_over(items, scores, fitted, team):
    """Send lists to the first rank as item numbers, shorter than ids; -1: none."""
    there = ~np.isnan(scores)
    rows = np.full(items.shape, -1, np.int32)
    rows[there] = rows_of(items[there], fitted.item_ids_)
    team.send(0, rows)
    team.send(0, scores)


def ids_of(rows, fitted):
    """Return the ids of item numbers; an arbitrary id for -1."""
    return fitted.item_ids_[rows]
