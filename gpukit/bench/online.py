"""Online learning (Li et al. 2022, section 5.3, Table 9) and a stream of MovieLens 1M (real) in 20 parts.

Updates, and parts of 1 % added to a model that stays on its device, are compared with new training.
"""

import copy
from dataclasses import replace
from functools import partial

import numpy as np

from gpukit.bench.measurement import MOVIELENS, Row
from gpukit.bench.ratings import drop_unused_ids, read_inputs, split_movielens, time_call
from gpukit.factorization import LSHMF
from gpukit.ratings import Ratings

PARTS = 20
PRINTED = {  # Table 9: users, items, ratings; the new ones; the rise of RMSE
    "netflix": ((475_388, 17_593, 98_339_095), (4_801, 177, 733_017), 0.00015),
    "ml-10m": ((69_180, 10_571, 9_789_247), (698, 106, 110_807), 0.00040),
    "yahoo": ((580_388, 12_532, 90_752_595), (5_862, 126, 1_217_617), 0.00936),
}
PARAMETERS = {"n_factors": 32, "n_neighbors": 32, "n_epochs": 12, "regularization": 0.04}  # skips the search for them


def last_rows(ratings):
    """Return (n,) bool: ratings of the last hundredth of the users, or of the items."""
    users, items = (n - max(1, round(n / 100)) for n in ratings.shape)
    return (ratings.users >= users) | (ratings.items >= items)


def paper_rows(ratings, name):
    """Return (n,) bool: ratings of a hundredth of the users and of the items, as large a fraction as in Table 9.

    Half of the ratings are new by users, half by items; the paper says neither which they are nor in what ratio.
    """
    (_, _, old), (_, _, new) = PRINTED[name][:2]
    total = len(ratings) * new / (old + new) / 2
    sides = zip((ratings.users, ratings.items), ratings.shape)
    users, items = (
        similar_rows(np.bincount(rows, minlength=n), max(1, round(n / 100)), total)[rows] for rows, n in sides
    )
    return users | items


def similar_rows(counts, number, total):
    """Return (n,) bool: `number` rows with consecutive counts whose sum is close to `total`."""
    order = np.argsort(counts, kind="stable")
    sums = np.cumsum(np.concatenate(([0], counts[order])))
    first = int(np.argmin(np.abs(sums[number:] - sums[:-number] - total)))
    chosen = np.zeros(len(counts), bool)
    chosen[order[first : first + number]] = True
    return chosen


def stream_parts(ratings, parts=PARTS, seed=0):
    """Return (n,) int: the part in which each rating arrives.

    Users arrive in random order, the same number in each part, with half of their ratings. Each other rating arrives in
    a random later part, or with its user in the last one.
    """
    random, users = np.random.default_rng(seed), ratings.shape[0]
    arrival = np.empty(users, np.int64)
    arrival[random.permutation(users)] = np.arange(users) * parts // users
    first = arrival[ratings.users]
    is_first, later = random.random(len(ratings)) < 0.5, random.random(len(ratings))
    delays = 1 + np.floor(later * (parts - 1 - first)).astype(np.int64)
    return np.where(is_first, first, np.minimum(first + delays, parts - 1))


def split_new(train, name=None):
    """Return (Ratings without the new rows, those of the new rows): the last ones, or as in Table 9 for a shape."""
    is_new = last_rows(train) if name is None else paper_rows(train, name)
    return tuple(drop_unused_ids(part) for part in train.parted(~is_new))


def compare_updates(train, test, parts, model):
    """Return {method: (test RMSE, seconds)} of new training and of updates with frozen and moving rows."""
    old, new = parts
    model.fit(old)
    retrained, seconds = time_call(partial(copy.copy(model).fit, train))
    results = {"anew": (retrained.evaluate(test)["rmse"], seconds)}
    for rows in ("frozen", "move"):
        updated, seconds = time_call(partial(copy.copy(model).partial_fit, new, rows=rows))
        results[rows] = updated.evaluate(test)["rmse"], seconds
    return results


def describe_sizes(train, old, name):
    """Return the sizes of Table 9 for these ratings, with the paper's own, as text."""
    counts = *old.shape, len(old)
    new = (all_ - old_ for all_, old_ in zip((*train.shape, len(train)), counts))
    template = "{:,} users, {:,} items, {:,} ratings; new {:,}, {:,}, {:,}"
    note = template.format(*counts, *new)
    return note if name is None else f"{note}; the paper: {template.format(*PRINTED[name][0], *PRINTED[name][1])}"


def table9(conditions):
    """Measure the rise of RMSE above new training if 1 % of users and of items are new, with all their ratings."""
    for train, test, shape, data in read_inputs(conditions):
        name = None if data == "real" else shape.split()[0]
        parts, results = split_new(train, name), []
        seeds = 10 if data == "real" else 5 if conditions.device.is_cuda else 1  # RMSE varies as much as it rises
        for seed in range(seeds):
            model = LSHMF(n_factors=32, n_neighbors=32, device=conditions.device, random_state=seed)
            results.append(compare_updates(train, test, parts, model))
        errors, seconds = zip(*(result["anew"] for result in results))
        note = f"{np.mean(seconds):.3g} s; {describe_sizes(train, parts[0], name)}"
        yield Row("online: test RMSE trained anew", shape, data, list(errors), "RMSE", note)
        for rows in ("frozen", "move"):
            rises = [result[rows][0] - result["anew"][0] for result in results]
            note = f"{np.mean([result[rows][1] for result in results]):.3g} s"
            note += f"; the paper: {PRINTED[name][2]:.5f}, of its own ratings" if name else ""
            yield Row(f"online: rise of RMSE, rows={rows}", shape, data, rises, "RMSE", note)


def stream(conditions):
    """Measure the RMSE after each part of MovieLens 1M, compared with new training on the ratings so far."""
    train, test = split_movielens(conditions.data)
    part = stream_parts(train)
    models = {rows: LSHMF(**PARAMETERS, device=conditions.device) for rows in ("move", "frozen")}
    for number in range(PARTS):
        errors, seconds = {}, {}
        new = drop_unused_ids(train.take(part == number))
        for rows, model in models.items():
            _, seconds[rows] = time_call(partial(model.partial_fit, new, rows=rows))
            errors[rows] = model.evaluate(test)["rmse"]
        arrived = drop_unused_ids(train.take(part <= number))
        retrained, retraining = time_call(partial(LSHMF(**PARAMETERS, device=conditions.device).fit, arrived))
        note = f"anew {retrained.evaluate(test)['rmse']:.4f}, {retraining:.3g} s; "
        note += f"frozen {errors['frozen']:.4f}, {seconds['frozen']:.3g} s; moving {seconds['move']:.3g} s; "
        note += f"{len(arrived):,} ratings"
        what = f"online: test RMSE after part {number + 1} of {PARTS}"
        yield Row(what, MOVIELENS, "real", [errors["move"]], "RMSE", note)


ARRIVING = {"users": 0.004, "items": 0.001, "ratings": 0.005}  # new in each part: fractions of all, or of the others
LIVE_PARTS = range(1, 7)  # the first warms up


def draw_arrivals(shape, random):
    """Return [(M,), (N,)] int8: the part, from 1, in which each user and each item arrives; 0 for known ones."""
    shares = [len(LIVE_PARTS) * ARRIVING[side] for side in ("users", "items")]
    return [
        np.where(random.random(n) < share, random.integers(1, LIVE_PARTS.stop, n), 0).astype(np.int8)
        for n, share in zip(shape, shares)
    ]


def sort_ids(ratings, arrivals):
    """Return the ratings with users and items in the order of their arrival."""
    order = [np.argsort(parts, kind="stable") for parts in arrivals]
    rows = [np.argsort(places).astype(np.int32)[side] for places, side in zip(order, (ratings.users, ratings.items))]
    ids = (side[places] for side, places in zip((ratings.user_ids, ratings.item_ids), order))
    return Ratings(*rows, ratings.values, *ids)


def count_arrivals(arrivals):
    """Return [(M, N)]: the numbers of users and items before the first part and after each."""
    counts = (np.cumsum(np.bincount(parts, minlength=LIVE_PARTS.stop)).tolist() for parts in arrivals)
    return list(zip(*counts))


def cut_parts(ratings, arrivals, random):
    """Return [Ratings]: the known ones, then each part in random order; ids of a part begin with the known ones.

    The rows of ratings and arrivals are in the order of arrival.
    """
    more, last = ARRIVING["ratings"], len(LIVE_PARTS) - 1
    users, items = (np.sort(parts) for parts in arrivals)
    part, chance = np.maximum(users[ratings.users], items[ratings.items]), random.random(len(ratings), np.float32)
    late = np.flatnonzero((part == 0) & (chance < len(LIVE_PARTS) * more))
    part[late] = 1 + np.minimum(chance[late] / more, last).astype(np.int8)
    old, new = ratings.parted(part == 0)
    part = part[part > 0]
    pieces = [old, *(new.take(random.permutation(np.flatnonzero(part == number))) for number in LIVE_PARTS)]
    shapes = zip(pieces, count_arrivals(arrivals))
    return [replace(table, user_ids=table.user_ids[:m], item_ids=table.item_ids[:n]) for table, (m, n) in shapes]


def has_new_id(ratings, shape):
    """Return (n,) bool: ratings of users or items beyond a shape."""
    return (ratings.users >= shape[0]) | (ratings.items >= shape[1])


def live(conditions):
    """Time the addition of each part, and measure the RMSE of new rows, compared with new training."""
    for train, test, shape, data in read_inputs(conditions):
        arrivals = draw_arrivals(train.shape, np.random.default_rng(0))
        train, test = (sort_ids(ratings, arrivals) for ratings in (train, test))
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
