"""NCF's MovieLens 1M: clicks of 6,040 users; the last of each is tested among 99 negatives."""

from typing import NamedTuple

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.checks import require_data
from gpukit.bench.ratings import as_clicks
from gpukit.evaluation.lists import sampled
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.evaluation.lists.negatives import Negatives, read_negatives
from gpukit.factorization.answers.judging import Asked
from gpukit.io.ids import rows_of
from gpukit.ratings import Ratings, read_ratings

NAME, K = "MovieLens 1M, NCF's split", 10
METRICS = {"hr": "HR@10", "ndcg": "NDCG@10"}
NEGATIVES = 99  # for a held-out click


class Ncf(NamedTuple):
    """Clicks and tests.

    clicks : Ratings with values of 1
    tests : Negatives (ids)
    candidates : sampled.Candidates in the rows of clicks
    name : shape of the benchmark's rows
    """

    clicks: Ratings
    tests: Negatives
    candidates: sampled.Candidates
    name: str = NAME

    def evaluate(self, scores):
        """Return (HR@10, NDCG@10) of scores (T, 1 + C) of the candidates; unknown items rank last."""
        row = sampled.judge_sampled("", np.where(self.unknown, np.nan, scores), self.candidates.there, (K,)).row(K)
        return row["hr"], row["ndcg"]

    @property
    def unknown(self):
        """(T, 1 + C) bool: candidates without clicks."""
        return self.candidates.items >= self.clicks.shape[1]

    @property
    def pairs(self):
        """(user rows, item rows) (n,) int32 of all candidates, the last item for unknown ones."""
        items = np.minimum(self.candidates.items, self.clicks.shape[1] - 1)
        return np.repeat(self.candidates.users, items.shape[1]).astype(np.int32), items.ravel().astype(np.int32)


def read(folder, share=1.0):
    """Read the Ncf of a fraction of the users; raise DataError without the files."""
    rated, tests = read_split(folder, share)
    return make_ncf(as_clicks(rated), tests)._replace(name=shape_name(NAME, share))


def read_split(folder, share=1.0):
    """Read (Ratings to learn from, Negatives) of a fraction of the users; raise DataError without the files."""
    train = read_ratings(require_data(folder, "ncf/ml-1m.train.rating"))
    users = max(1, round(share * train.shape[0]))
    train = train.take(train.users < users)
    ids = train.user_ids[:users]
    tests = read_negatives(require_data(folder, "ncf/ml-1m.test.negative"))
    is_chosen = rows_of(tests.users, ids) >= 0
    rated = Ratings(train.users, train.items, train.values, ids, train.item_ids)
    return rated, Negatives(*(part[is_chosen] for part in tests))


def make_ncf(clicks, tests):
    """Return the Ncf of Ratings and Negatives of known users."""
    asked, n_items = Asked(tests, np.ones(len(tests.users), np.bool_)), clicks.shape[1]
    rows = rows_of(asked.ids, clicks.item_ids)[asked.codes]
    items = np.where(rows >= 0, rows, n_items + asked.codes)
    known = clicks_of(clicks.users, clicks.items, clicks.shape)
    users = rows_of(tests.users, clicks.user_ids)
    return Ncf(clicks, tests, sampled.candidates(users, items[:, 0], items[:, 1:], tests.there, known, n_items)[0])


def hold_out(ncf, seed=0):
    """Return the Ncf without a random click of each user, which is tested among NEGATIVES random items."""
    clicks, random = ncf.clicks, np.random.default_rng(seed)
    order = random.permutation(len(clicks))
    users, first = np.unique(clicks.users[order], return_index=True)
    places, known = order[first], np.zeros(clicks.shape, np.bool_)
    known[clicks.users, clicks.items] = True
    is_training = np.ones(len(clicks), np.bool_)
    is_training[places] = False
    negatives = random.integers(0, clicks.shape[1], (len(users), NEGATIVES))
    while (wrong := known[users[:, None], negatives]).any():
        negatives[wrong] = random.integers(0, clicks.shape[1], np.count_nonzero(wrong))
    ids = clicks.user_ids[users], clicks.item_ids[clicks.items[places]], clicks.item_ids[negatives]
    return make_ncf(clicks.take(is_training), Negatives(*ids, np.ones(negatives.shape, np.bool_)))
