"""Clicks with something to find in them."""

import numpy as np

from gpukit.ratings import Ratings


def clicks(n_users=120, n_items=60, groups=4, each=12, seed=0):
    """(train, held out): Ratings of 1; a user of a group clicks items of the group, popular ones more often, and one
    of each user's is held out. Ids are not rows."""
    rng = np.random.default_rng(seed)
    users, items, held = [], [], []
    for user in range(n_users):
        own = np.arange(user % groups, n_items, groups)
        weight = 1.0 / (1.0 + np.arange(len(own)))
        chosen = rng.choice(own, min(each, len(own) - 2), replace=False, p=weight / weight.sum())
        users += [user] * (len(chosen) - 1)
        items += chosen[1:].tolist()
        held.append(chosen[0])
    ids = np.arange(n_users, dtype=np.int64) * 3 + 7, np.arange(n_items, dtype=np.int64)

    def table(rows, columns):
        return Ratings(np.int32(rows), np.int32(columns), np.ones(len(rows), np.float32), *ids)

    return table(users, items), table(np.arange(n_users), held)


def hits(lists, held_out):
    """Share of users whose held-out item is in their list; lists (M, n) of item ids."""
    return float(np.mean([item in row for item, row in zip(held_out.items, lists)]))
