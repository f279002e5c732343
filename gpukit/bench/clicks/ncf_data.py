"""NCF's MovieLens 1M: the clicks of 6,040 users, the last of each held out and put among 99 negatives."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.errors import DataError
from gpukit.evaluation.lists import sampled
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.evaluation.lists.negatives import Negatives, read_negatives
from gpukit.factorization.answers.judging import Asked
from gpukit.io.ids import rows_of
from gpukit.ratings import Ratings, read_ratings

NAME, FOLDER, K = "MovieLens 1M, NCF's split", "ncf", 10
OTHERS = 99  # items beside a held-out click


class Ncf(NamedTuple):
    """clicks: Ratings of ones; tests: Negatives (ids); found: sampled.Candidates, in the rows of clicks; name: how its
    rows call it."""

    clicks: Ratings
    tests: Negatives
    found: sampled.Candidates
    name: str = NAME

    def judged(self, scores):
        """(HR@10, NDCG@10) of scores (T, 1 + C) of the candidates, those of unknown items NaN."""
        row = sampled.judge_sampled("", np.where(self.unknown, np.nan, scores), self.found.there, (K,)).row(K)
        return row["hr"], row["ndcg"]

    @property
    def unknown(self):
        """(T, 1 + C) bool: candidates that are in nobody's clicks."""
        return self.found.items >= self.clicks.shape[1]

    @property
    def pairs(self):
        """(user rows, item rows) (n,) int32 of all candidates, the last item for unknown ones."""
        items = np.minimum(self.found.items, self.clicks.shape[1] - 1)
        return np.repeat(self.found.users, items.shape[1]).astype(np.int32), items.ravel().astype(np.int32)


def read(folder, share=1.0):
    """The Ncf in the folder of real data, of a share of its users; DataError without it."""
    clicks, tests = ratings(folder, share)
    ones = clicks.with_columns(users=clicks.users, items=clicks.items, values=np.ones(len(clicks), np.float32))
    return of(ones, tests)._replace(name=shape_name(NAME, share))


def ratings(folder, share=1.0):
    """(Ratings to learn from, Negatives) of a share of the users, in the folder of real data; DataError without it."""
    if folder is None:
        raise DataError("NCF's files are needed: set GPUKIT_DATA to the folder that holds ncf/ml-1m.train.rating.")
    train = read_ratings(Path(folder) / FOLDER / "ml-1m.train.rating")
    users = max(1, round(share * train.shape[0]))
    train = train.take(train.users < users)
    ids = train.user_ids[:users]
    tests = read_negatives(Path(folder) / FOLDER / "ml-1m.test.negative")
    mine = rows_of(tests.users, ids) >= 0
    rated = Ratings(train.users, train.items, train.values, ids, train.item_ids)
    return rated, Negatives(*(part[mine] for part in tests))


def of(clicks, tests):
    """The Ncf of Ratings and Negatives whose users all are known."""
    asked, n_items = Asked(tests, np.ones(len(tests.users), np.bool_)), clicks.shape[1]
    rows = rows_of(asked.ids, clicks.item_ids)[asked.codes]
    apart = np.where(rows >= 0, rows, n_items + asked.codes)
    known = clicks_of(clicks.users, clicks.items, clicks.shape)
    users = rows_of(tests.users, clicks.user_ids)
    return Ncf(clicks, tests, sampled.candidates(users, apart[:, 0], apart[:, 1:], tests.there, known, n_items)[0])


def held_out(ncf, seed=0):
    """The Ncf of all clicks but one of each user, drawn at random, which is put among OTHERS items that the user did
    not click."""
    clicks, random = ncf.clicks, np.random.default_rng(seed)
    order = random.permutation(len(clicks))
    users, first = np.unique(clicks.users[order], return_index=True)
    places, known = order[first], np.zeros(clicks.shape, np.bool_)
    known[clicks.users, clicks.items] = True
    kept = np.ones(len(clicks), np.bool_)
    kept[places] = False
    others = random.integers(0, clicks.shape[1], (len(users), OTHERS))
    while (wrong := known[users[:, None], others]).any():
        others[wrong] = random.integers(0, clicks.shape[1], np.count_nonzero(wrong))
    ids = clicks.user_ids[users], clicks.item_ids[clicks.items[places]], clicks.item_ids[others]
    return of(clicks.take(kept), Negatives(*ids, np.ones(others.shape, np.bool_)))
