"""Rank one test click of a user among sampled negatives.

Protocol of He et al., "Neural collaborative filtering" (WWW 2017): hit ratio and NDCG at k among 100 candidates.

Additional rules: each item counts once among the candidates, so the click itself and repeated items are dropped from
the negatives. Negatives from training are dropped too, because no list shows them. A click with tied scores gets the
mean over the tied positions, so constant scores have the expected value of random ones. An item unknown to a
predictor ranks after all known ones.
"""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.lists.clicks import click_mask
from gpukit.evaluation.lists.judge import Judged, discounts


class Candidates(NamedTuple):
    """Candidates of tests, the click first.

    users (T,) rows; items (T, C) int32 rows, unknown items in the row behind the last; there (T, C) bool: mask of valid
    candidates.
    """

    users: np.ndarray
    items: np.ndarray
    there: np.ndarray


class Dropped(NamedTuple):
    """Counts of dropped negatives.

    itself: tests with the click among the negatives; repeated: repeated negatives; known: negatives from training.
    """

    itself: int
    repeated: int
    known: int


def candidates(users, clicks, negatives, is_present, known, n_items):
    """Return (Candidates, Dropped) of tests.

    users (T,) rows, clicks (T,) and negatives (T, C) item rows (unknown items: distinct numbers from n_items on), there
    (T, C) bool; known: training Clicks.
    """
    itself = is_present & (negatives == clicks[:, None])
    is_candidate = is_present & ~itself
    repeated = is_candidate & ~_first_occurrences(np.where(is_candidate, negatives, -1))
    is_candidate &= ~repeated
    seen = is_candidate & click_mask(known, users, np.where(negatives < n_items, negatives, -1))
    items = np.minimum(np.column_stack((clicks, negatives)), n_items).astype(np.int32)
    is_present = np.column_stack((np.ones(len(users), np.bool_), is_candidate & ~seen))
    return Candidates(users, items, is_present), Dropped(
        int(itself.any(axis=1).sum()), int(np.count_nonzero(repeated)), int(np.count_nonzero(seen))
    )


def _first_occurrences(items):
    """Return a mask (T, C) of first occurrences of items in their row."""
    order = np.argsort(items, axis=1, kind="stable")
    ordered = np.take_along_axis(items, order, axis=1)
    new = np.ones(items.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty_like(new)
    np.put_along_axis(out, order, new, axis=1)
    return out


def judge_sampled(predictor, scores, is_present, cuts):
    """Return Judged (hr and ndcg) of scores (T, C) of Candidates.

    The click's score is first; NaN counts as the lowest.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    click, others = scores[:, :1], is_present[:, 1:]
    above = (others & (scores[:, 1:] > click)).sum(axis=1)
    ways = 1 + (others & (scores[:, 1:] == click)).sum(axis=1)
    values = {}
    for k in cuts:
        sums = discounts(k)
        first, last = np.minimum(above, k), np.minimum(above + ways, k)
        values[k] = {"hr": (last - first) / ways, "ndcg": (sums[last] - sums[first]) / ways}
    return Judged(predictor, values, {})
