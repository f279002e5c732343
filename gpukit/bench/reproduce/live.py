"""Benchmark of a model that stays on its device: parts of 1 % are added, compared with new training."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.reproduce.inputs import read_inputs, time_call
from gpukit.factorization import LSHMF
from gpukit.ratings import Ratings

NEW_USERS, NEW_ITEMS, MORE = 0.004, 0.001, 0.005  # fractions of a part: of users, of items, of the other ratings
PARTS = 6  # the first warms up


def draw_arrivals(shape, random):
    """Return [(M,), (N,)] int8: the part, from 1, in which each user and each item arrives; 0 for known ones."""
    shares = zip(shape, (NEW_USERS, NEW_ITEMS))
    return [
        np.where(random.random(n) < PARTS * share, random.integers(1, PARTS + 1, n), 0).astype(np.int8)
        for n, share in shares
    ]


def sort_ids(ratings, arrivals):
    """Return the ratings with users and items in the order of their arrival."""
    order = [np.argsort(parts, kind="stable") for parts in arrivals]
    rows = [np.argsort(places).astype(np.int32)[side] for places, side in zip(order, (ratings.users, ratings.items))]
    ids = (side[places] for side, places in zip((ratings.user_ids, ratings.item_ids), order))
    return Ratings(*rows, ratings.values, *ids)


def count_arrivals(arrivals):
    """Return [(M, N)]: the numbers of users and items before the first part and after each."""
    counts = (np.cumsum(np.bincount(parts, minlength=PARTS + 1)).tolist() for parts in arrivals)
    return list(zip(*counts))


def cut_parts(ratings, arrivals, random):
    """Return [Ratings]: the known ones, then each part in random order; ids of a part begin with the known ones.

    The rows of ratings and arrivals are in the order of arrival.
    """
    users, items = (np.sort(parts) for parts in arrivals)
    part, chance = np.maximum(users[ratings.users], items[ratings.items]), random.random(len(ratings), np.float32)
    late = np.flatnonzero((part == 0) & (chance < PARTS * MORE))
    part[late] = 1 + np.minimum(chance[late] / MORE, PARTS - 1).astype(np.int8)
    old, new = ratings.parted(part == 0)
    part = part[part > 0]
    cut = [old, *(new.take(random.permutation(np.flatnonzero(part == number))) for number in range(1, PARTS + 1))]
    shapes = zip(cut, count_arrivals(arrivals))
    return [replace(one, user_ids=one.user_ids[:m], item_ids=one.item_ids[:n]) for one, (m, n) in shapes]


def has_new_id(ratings, shape):
    """Return (n,) bool: ratings of users or items beyond a shape."""
    return (ratings.users >= shape[0]) | (ratings.items >= shape[1])


def live(conditions):
    """Time the addition of each part, and measure the RMSE of new rows, compared with new training."""
    for train, test, shape, data in read_inputs(conditions):
        arrivals = draw_arrivals(train.shape, np.random.default_rng(0))
        train, test = (sort_ids(one, arrivals) for one in (train, test))
        old, *parts = cut_parts(train, arrivals, np.random.default_rng(1))
        new_test = test.take(has_new_id(test, old.shape))
        model = LSHMF(n_factors=32, n_neighbors=32, device=conditions.device).fit(old)
        retrained, seconds = time_call(partial(copy.copy(model).fit, train))
        session = model.live()
        samples = [1e3 * time_call(partial(session.add, part))[1] for part in parts][1:]
        note = f"{describe_updates(session.updates_[1:])}; {np.mean([len(part) for part in parts]):,.0f} ratings each "
        note += f"to {len(old):,}; RMSE of new rows {session.evaluate(new_test)['rmse']:.4f}, "
        note += f"trained anew {retrained.evaluate(new_test)['rmse']:.4f} in {1e3 * seconds:.3g} ms"
        yield Row("online: a part of 1 % added", shape, data, samples, "ms", note)


def describe_updates(entries):
    """Return the median milliseconds of each stage, and the numbers of new users and items, as text."""
    stages = entries[0]["seconds"]
    medians = (f"{stage} {1e3 * np.median([entry['seconds'][stage] for entry in entries]):.3g}" for stage in stages)
    users, items = (sum(entry[side] for entry in entries) for side in ("users", "items"))
    return f"{', '.join(medians)}; {users:,} users and {items:,} items are new"
