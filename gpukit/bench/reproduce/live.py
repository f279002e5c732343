"""Parts of 1 % added to a model that is kept on its device: from new ratings on the host to the new model there. A
function of Conditions that yields record.Rows; training anew stands beside."""

import copy
from dataclasses import replace

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.reproduce.online import inputs, timed
from gpukit.factorization import LSHMF
from gpukit.ratings import Ratings

NEW_USERS, NEW_ITEMS, MORE = 0.004, 0.001, 0.005  # shares of a part: of the users, of the items, of all other ratings
PARTS = 6  # the first warms up


def arrivals(shape, draw):
    """[(M,), (N,)] int8: the part in which each user, each item comes, from 1 on; 0: it is known before."""
    shares = zip(shape, (NEW_USERS, NEW_ITEMS))
    return [
        np.where(draw.random(n) < PARTS * share, draw.integers(1, PARTS + 1, n), 0).astype(np.int8)
        for n, share in shares
    ]


def renumbered(ratings, arrival):
    """Ratings with users and items in the order in which they come."""
    order = [np.argsort(own, kind="stable") for own in arrival]
    rows = [np.argsort(places).astype(np.int32)[own] for places, own in zip(order, (ratings.users, ratings.items))]
    ids = (own[places] for own, places in zip((ratings.user_ids, ratings.item_ids), order))
    return Ratings(*rows, ratings.values, *ids)


def shapes_of(arrival):
    """[(M, N)]: the users and items that there are before the first part, and after each."""
    counts = (np.cumsum(np.bincount(own, minlength=PARTS + 1)).tolist() for own in arrival)
    return list(zip(*counts))


def parts_of(ratings, arrival, draw):
    """[Ratings]: those that are there before, and of each part, in any order; ratings and arrival in the order in which
    rows come. Ids of a part begin with those known before it."""
    users, items = (np.sort(own) for own in arrival)
    part, chance = np.maximum(users[ratings.users], items[ratings.items]), draw.random(len(ratings), np.float32)
    late = np.flatnonzero((part == 0) & (chance < PARTS * MORE))
    part[late] = 1 + np.minimum(chance[late] / MORE, PARTS - 1).astype(np.int8)
    old, new = ratings.parted(part == 0)
    part = part[part > 0]
    cut = [old, *(new.take(draw.permutation(np.flatnonzero(part == number))) for number in range(1, PARTS + 1))]
    ends = zip(cut, shapes_of(arrival))
    return [replace(one, user_ids=one.user_ids[:m], item_ids=one.item_ids[:n]) for one, (m, n) in ends]


def of_new(ratings, shape):
    """(n,) bool: ratings of users or items beyond a shape."""
    return (ratings.users >= shape[0]) | (ratings.items >= shape[1])


def live(conditions):
    """Milliseconds to add each part, after the first; RMSE of all that is new beside training anew."""
    for train, test, shape, data, _ in inputs(conditions):
        arrival = arrivals(train.shape, np.random.default_rng(0))
        train, test = (renumbered(one, arrival) for one in (train, test))
        old, *parts = parts_of(train, arrival, np.random.default_rng(1))
        judged = test.take(of_new(test, old.shape))
        model = LSHMF(n_factors=32, n_neighbors=32, device=conditions.device).fit(old)
        anew, seconds = timed(lambda model=model, train=train: copy.copy(model).fit(train))
        kept = model.live()
        samples = [1e3 * timed(lambda kept=kept, part=part: kept.add(part))[1] for part in parts][1:]
        note = f"{told(kept.updates_[1:])}; {np.mean([len(part) for part in parts]):,.0f} ratings each to {len(old):,}"
        note += (
            f"; RMSE of new rows {kept.evaluate(judged)['rmse']:.4f}, trained anew {anew.evaluate(judged)['rmse']:.4f}"
        )
        yield Row("online: a part of 1 % added", shape, data, samples, "ms", f"{note} in {1e3 * seconds:.3g} ms")


def told(entries):
    """What parts took, stage by stage, and how many users and items were new."""
    stages = entries[0]["seconds"]
    medians = (f"{stage} {1e3 * np.median([one['seconds'][stage] for one in entries]):.3g}" for stage in stages)
    users, items = (sum(one[what] for one in entries) for what in ("users", "items"))
    return f"{', '.join(medians)}; {users:,} users and {items:,} items are new"


BENCHES = {"live": live}
