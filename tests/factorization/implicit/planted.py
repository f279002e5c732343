"""Clicks with planted structure."""

import numpy as np

from gpukit.ratings import Ratings


def clicks(n_users=120, n_items=60, groups=4, each=12, seed=0):
    """Return (train, held out) as Ratings of 1.

    Users of a group click items of the group, popular ones more often. One click per user is held out. Ids differ from
    rows.
    """
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
    """Return the share of users with their held-out item in their list.

    lists (M, n): item ids.
    """
    return float(np.mean([item in row for item, row in zip(held_out.items, lists)]))
