"""Lists of the ranks of a parallel.Team, each for some users.

All ranks judge all lists.
"""

import numpy as np

SPAN = 1 << 13  # users at a time


def lists_by(team, lists, users, n):
    """Yield the tiles of lists(users, n), on every rank of a Team.

    The tiles are those of evaluation.lists.judge, in the order of users, and bit-identical to those of one rank.
    """
    if team.size == 1:
        yield from lists(users, n)
        return
    for first in range(0, len(users), SPAN * team.size):
        own = users[first + SPAN * team.rank :][:SPAN]
        made = joined(lists(own, n) if len(own) else (), n)
        for tile in zip(*(team.allgather(part) for part in made)):
            if len(tile[0]):
                yield tile


def joined(tiles, n):
    """Return (user rows (b,), item rows (b, n) int32) of concatenated tiles.

    Both are empty without tiles.
    """
    none = np.empty(0, np.int64), np.empty((0, n), np.int32)
    rows, items = zip(none, *tiles)
    return np.concatenate(rows), np.concatenate(items)
