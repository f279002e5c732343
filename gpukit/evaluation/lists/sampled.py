"""One test click of a user against other items, drawn beforehand: the protocol of He et al., "Neural collaborative
filtering" (WWW 2017): hit ratio and NDCG at k among 100 candidates.

The rules, where theirs are silent: an item counts once among the candidates, so a negative that is the click itself is
dropped, as are repeated ones; so are negatives that were learned from, which no list would show. Of equal scores any
order is as likely: a click that ties with others is worth the mean over the places that they share, so constant scores
are worth what random ones are. An item that a predictor does not know comes behind all that it knows.
"""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.lists.clicks import contained
from gpukit.evaluation.lists.judge import Judged
from gpukit.evaluation.lists.measures import discounts


class Candidates(NamedTuple):
    """users (T,) rows; items (T, C) int32 rows, the click first, unknown ones in the row behind the last; there
    (T, C) bool: whether a place holds a candidate."""

    users: np.ndarray
    items: np.ndarray
    there: np.ndarray


class Dropped(NamedTuple):
    """Counts: tests that have the click itself among the negatives; repeated negatives; those learned from."""

    itself: int
    repeated: int
    known: int


def candidates(users, clicks, negatives, there, known, n_items):
    """(Candidates, Dropped) of tests: users (T,) rows, clicks (T,) and negatives (T, C) item rows (any number from
    n_items on for items that are not known, each its own), there (T, C) bool; known: Clicks learned from."""
    itself = there & (negatives == clicks[:, None])
    kept = there & ~itself
    repeated = kept & ~_first(np.where(kept, negatives, -1))
    kept &= ~repeated
    seen = kept & contained(known, users, np.where(negatives < n_items, negatives, -1))
    items = np.minimum(np.column_stack((clicks, negatives)), n_items).astype(np.int32)
    there = np.column_stack((np.ones(len(users), np.bool_), kept & ~seen))
    return Candidates(users, items, there), Dropped(
        int(itself.any(axis=1).sum()), int(np.count_nonzero(repeated)), int(np.count_nonzero(seen))
    )


def _first(items):
    """(T, C) bool: whether an item stands in its row for the first time."""
    order = np.argsort(items, axis=1, kind="stable")
    ordered = np.take_along_axis(items, order, axis=1)
    new = np.ones(items.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty_like(new)
    np.put_along_axis(out, order, new, axis=1)
    return out


def judge_sampled(predictor, scores, there, cuts):
    """The Judged (hr and ndcg) of scores (T, C) of Candidates, the click's first; NaN counts as the lowest."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    click, others = scores[:, :1], there[:, 1:]
    above = (others & (scores[:, 1:] > click)).sum(axis=1)
    ways = 1 + (others & (scores[:, 1:] == click)).sum(axis=1)
    values = {}
    for k in cuts:
        sums = discounts(k)
        first, last = np.minimum(above, k), np.minimum(above + ways, k)
        values[k] = {"hr": (last - first) / ways, "ndcg": (sums[last] - sums[first]) / ways}
    return Judged(predictor, values, {})
