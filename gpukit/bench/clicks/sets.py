"""NCF's MovieLens 1M: the clicks of 6,040 users, the last of each held out and put among 99 negatives."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.evaluation.lists import sampled
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.evaluation.lists.negatives import Negatives, read_negatives
from gpukit.factorization.answers.judging import Asked
from gpukit.io.ids import rows_of
from gpukit.ratings import Ratings, read_ratings

NAME, FOLDER, K = "MovieLens 1M, NCF's split", "ncf", 10


class Ncf(NamedTuple):
    """clicks: Ratings of ones; tests: Negatives (ids); found: sampled.Candidates, in the rows of clicks."""

    clicks: Ratings
    tests: Negatives
    found: sampled.Candidates

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


def read(folder):
    """The Ncf in the folder of real data; DataError without it."""
    if folder is None:
        raise DataError("NCF's files are needed: set GPUKIT_DATA to the folder that holds ncf/ml-1m.train.rating.")
    train = read_ratings(Path(folder) / FOLDER / "ml-1m.train.rating")
    ones = np.ones(len(train), np.float32)
    clicks = Ratings(train.users, train.items, ones, train.user_ids, train.item_ids)
    return of(clicks, read_negatives(Path(folder) / FOLDER / "ml-1m.test.negative"))


def of(clicks, tests):
    """The Ncf of Ratings and Negatives whose users all are known."""
    asked, n_items = Asked(tests, np.ones(len(tests.users), np.bool_)), clicks.shape[1]
    rows = rows_of(asked.ids, clicks.item_ids)[asked.codes]
    apart = np.where(rows >= 0, rows, n_items + asked.codes)
    known = clicks_of(clicks.users, clicks.items, clicks.shape)
    users = rows_of(tests.users, clicks.user_ids)
    return Ncf(clicks, tests, sampled.candidates(users, apart[:, 0], apart[:, 1:], tests.there, known, n_items)[0])
