"""What the paper says of online learning (Li et al. 2022, section 5.3, Table 9), and a stream of MovieLens 1M (real) in
20 parts. Each is a function of Conditions that yields record.Rows; trained anew stands beside."""

import copy
import time

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.ratings import generated, movielens
from gpukit.bench.record import Row
from gpukit.factorization import LSHMF
from gpukit.factorization.update.inputs import find_occurring as among
from gpukit.ratings import Ratings

SHAPES, MORE = ("ml-10m",), ("netflix", "yahoo")
REAL = "MovieLens 1M"
SHARE = 0.01  # of users, and of items, that are new
PARTS = 20
PRINTED = {  # Table 9: users, items, ratings; the new ones; how much RMSE rose
    "netflix": ((475_388, 17_593, 98_339_095), (4_801, 177, 733_017), 0.00015),
    "ml-10m": ((69_180, 10_571, 9_789_247), (698, 106, 110_807), 0.00040),
    "yahoo": ((580_388, 12_532, 90_752_595), (5_862, 126, 1_217_617), 0.00936),
}
SEEDS, FEW = 10, 5  # of real ratings, of shapes on a GPU: by seed alone RMSE differs by as much as it rises
NAMED = {"n_factors": 32, "n_neighbors": 32, "n_epochs": 12, "regularization": 0.04}  # so that nothing is chosen anew


def occurring(ratings):
    """Ratings with those ids alone that occur in them."""
    sides = []
    for rows, ids in (ratings.users, ratings.user_ids), (ratings.items, ratings.item_ids):
        seen = among(rows, 0, len(ids))
        sides.append(((np.cumsum(seen, dtype=np.int32) - 1)[rows], ids[seen]))
    (users, user_ids), (items, item_ids) = sides
    return Ratings(users, items, ratings.values, user_ids, item_ids)


def last_rows(ratings):
    """(n,) bool: ratings of the last SHARE of the users, or of the items."""
    users, items = (n - max(1, round(SHARE * n)) for n in ratings.shape)
    return (ratings.users >= users) | (ratings.items >= items)


def paper_rows(ratings, like):
    """(n,) bool: ratings of SHARE of the users and of the items, chosen so that as large a share of ratings is new as
    in Table 9, half of it by users and half by items (the paper says neither who they are nor how it is shared)."""
    (_, _, old), (_, _, new) = PRINTED[like][:2]
    each = len(ratings) * new / (old + new) / 2
    sides = zip((ratings.users, ratings.items), ratings.shape)
    users, items = (alike(np.bincount(rows, minlength=n), max(1, round(SHARE * n)), each)[rows] for rows, n in sides)
    return users | items


def alike(counts, number, total):
    """(n,) bool: `number` rows, one after the other by their counts, that have about `total` together."""
    order = np.argsort(counts, kind="stable")
    sums = np.cumsum(np.concatenate(([0], counts[order])))
    begin = int(np.argmin(np.abs(sums[number:] - sums[:-number] - total)))
    chosen = np.zeros(len(counts), bool)
    chosen[order[begin : begin + number]] = True
    return chosen


def stream_parts(ratings, parts=PARTS, seed=0):
    """(n,) int: the part in which each rating comes. Users arrive in a seeded order, as many in each part, with half of
    their ratings; each of the others comes in some later part, or with them in the last one."""
    draw, users = np.random.default_rng(seed), ratings.shape[0]
    arrival = np.empty(users, np.int64)
    arrival[draw.permutation(users)] = np.arange(users) * parts // users
    first = arrival[ratings.users]
    at_once, later = draw.random(len(ratings)) < 0.5, draw.random(len(ratings))
    waits = 1 + np.floor(later * (parts - 1 - first)).astype(np.int64)
    return np.where(at_once, first, np.minimum(first + waits, parts - 1))


def inputs(conditions):
    """(train, test, name, 'real' or 'generated', Table 9's key or None) of the ratings to measure on."""
    if conditions.data is not None and not conditions.shapes:
        yield *movielens(conditions.data), REAL, "real", None
    for like in conditions.among(SHAPES, MORE):
        yield *generated(like, conditions.scale), shape_name(like, conditions.scale), "generated", like


def timed(work):
    """(what work gives, its seconds)."""
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def old_and_new(train, like=None):
    """(Ratings without the new rows, those of the new rows): the last ones; of a shape, as many as the paper's."""
    late = last_rows(train) if like is None else paper_rows(train, like)
    return tuple(occurring(part) for part in train.parted(~late))


def trial(train, test, parts, model):
    """{way: (test RMSE, seconds)} of the paper's trial: trained anew, and updated with frozen and with moving rows."""
    old, new = parts
    model.fit(old)
    anew, seconds = timed(lambda: copy.copy(model).fit(train))
    found = {"anew": (anew.evaluate(test)["rmse"], seconds)}
    for rows in ("frozen", "move"):
        updated, seconds = timed(lambda rows=rows: copy.copy(model).partial_fit(new, rows=rows))
        found[rows] = updated.evaluate(test)["rmse"], seconds
    return found


def sizes(train, old, like):
    """Table 9's line for these ratings, with the paper's own beside."""
    counts = (*old.shape, len(old)), tuple(a - b for a, b in zip((*train.shape, len(train)), (*old.shape, len(old))))
    told = "{:,} users, {:,} items, {:,} ratings; new {:,}, {:,}, {:,}"
    note = told.format(*counts[0], *counts[1])
    return note if like is None else f"{note}; the paper: {told.format(*PRINTED[like][0], *PRINTED[like][1])}"


def table9(conditions):
    """1 % of users and of items are new, with all their ratings: how much RMSE rises above training anew."""
    for train, test, shape, data, like in inputs(conditions):
        parts, trials = old_and_new(train, like), []
        for seed in range(SEEDS if data == "real" else FEW if conditions.device.is_cuda else 1):
            model = LSHMF(n_factors=32, n_neighbors=32, device=conditions.device, random_state=seed)
            trials.append(trial(train, test, parts, model))
        anew = [one["anew"] for one in trials]
        note = f"{np.mean([seconds for _, seconds in anew]):.3g} s; {sizes(train, parts[0], like)}"
        yield Row("online: test RMSE trained anew", shape, data, [rmse for rmse, _ in anew], "RMSE", note)
        for rows in ("frozen", "move"):
            rises = [one[rows][0] - one["anew"][0] for one in trials]
            note = f"{np.mean([one[rows][1] for one in trials]):.3g} s"
            note += f"; the paper: {PRINTED[like][2]:.5f}, of its own ratings" if like else ""
            yield Row(f"online: rise of RMSE, rows={rows}", shape, data, rises, "RMSE", note)


def stream(conditions):
    """MovieLens 1M in 20 parts: RMSE after each, beside training anew on what has come."""
    train, test = movielens(conditions.data)
    part = stream_parts(train)
    models = {rows: LSHMF(**NAMED, device=conditions.device) for rows in ("move", "frozen")}
    for number in range(PARTS):
        errors, seconds = {}, {}
        for rows, model in models.items():
            new = occurring(train.take(part == number))
            _, seconds[rows] = timed(lambda model=model, new=new, rows=rows: model.partial_fit(new, rows=rows))
            errors[rows] = model.evaluate(test)["rmse"]
        come = occurring(train.take(part <= number))
        anew, took = timed(lambda come=come: LSHMF(**NAMED, device=conditions.device).fit(come))
        beside = anew.evaluate(test)["rmse"]
        note = f"anew {beside:.4f}, {took:.3g} s; frozen {errors['frozen']:.4f}, {seconds['frozen']:.3g} s; "
        note += f"moving {seconds['move']:.3g} s; {len(come):,} ratings"
        what = f"online: test RMSE after part {number + 1} of {PARTS}"
        yield Row(what, REAL, "real", [errors["move"]], "RMSE", note)


BENCHES = {"table9": table9, "stream": stream}
