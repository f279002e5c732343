"""A part of 1 % added to a model that is kept on its device: from new ratings on the host to the new model there. A
function of Conditions that yields record.Rows; training anew stands beside."""

import copy

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.reproduce.online import inputs, timed
from gpukit.factorization import LSHMF
from gpukit.ratings import Ratings

NEW_USERS, NEW_ITEMS, MORE = 0.004, 0.001, 0.005  # shares: of the users, of the items, of the ratings of the others
ROUNDS = 5


def renumbered(ratings, draw):
    """(Ratings with the new users and items behind the others, how many of either are not new)."""
    new = [draw.random(rows) < share for rows, share in zip(ratings.shape, (NEW_USERS, NEW_ITEMS))]
    order = [np.argsort(flags, kind="stable") for flags in new]
    rows = [np.argsort(places).astype(np.int32)[own] for places, own in zip(order, (ratings.users, ratings.items))]
    ids = (own[places] for own, places in zip((ratings.user_ids, ratings.item_ids), order))
    return Ratings(*rows, ratings.values, *ids), tuple(int(np.count_nonzero(~flags)) for flags in new)


def halves(ratings, shape, draw):
    """(Ratings of the first shape's users and items but for a share of MORE, the others in any order)."""
    late = of_new(ratings, shape) | (draw.random(len(ratings)) < MORE)
    old, new = ratings.take(~late), ratings.take(np.flatnonzero(late)[draw.permutation(np.count_nonzero(late))])
    return Ratings(old.users, old.items, old.values, old.user_ids[: shape[0]], old.item_ids[: shape[1]]), new


def of_new(ratings, shape):
    """(n,) bool: ratings of users or items beyond a shape."""
    return (ratings.users >= shape[0]) | (ratings.items >= shape[1])


def live(conditions):
    """Milliseconds to add the part, each time to the model as it was fitted; RMSE of what is new beside training
    anew."""
    for train, test, shape, data, _ in inputs(conditions):
        (train, known), (test, _) = (renumbered(one, np.random.default_rng(0)) for one in (train, test))
        old, new = halves(train, known, np.random.default_rng(1))
        judged = test.take(of_new(test, known))
        model = LSHMF(n_factors=32, n_neighbors=32, device=conditions.device)
        anew, seconds = timed(lambda model=model, train=train: copy.copy(model).fit(train))
        model.fit(old)
        samples = []
        for _ in range(ROUNDS):
            kept = model.live()
            _, took = timed(lambda kept=kept, new=new: kept.add(new))
            samples.append(1e3 * took)
        told = kept.updates_[-1]
        note = ", ".join(f"{stage} {1e3 * one:.3g}" for stage, one in told["seconds"].items())
        note += f"; {len(new):,} ratings to {len(old):,}; {told['users']:,} users and {told['items']:,} items are new"
        note += f"; RMSE of these {kept.evaluate(judged)['rmse']:.4f}, trained anew {anew.evaluate(judged)['rmse']:.4f}"
        yield Row("online: a part of 1 % added", shape, data, samples, "ms", f"{note} in {1e3 * seconds:.3g} ms")


BENCHES = {"live": live}
