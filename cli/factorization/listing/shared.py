"""Lists for all users of a model by the ranks of a parallel.Team: each makes those of some users at a time."""

import numpy as np

SPAN = 1 << 13  # users


def tiles_of(fitted, team, **asked):
    """The tiles of fitted.recommend_batches for all users, in their order, on the first rank; the others hand theirs to
    it and have none. asked: its arguments."""
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
    """Send lists to the first rank, items by their numbers, which are shorter than their ids; -1: none."""
    from gpukit.io.ids import rows_of

    there = ~np.isnan(scores)
    rows = np.full(items.shape, -1, np.int32)
    rows[there] = rows_of(items[there], fitted.item_ids_)
    team.send(0, rows)
    team.send(0, scores)


def ids_of(rows, fitted):
    """The ids of items by their numbers; of -1 any."""
    return fitted.item_ids_[rows]
