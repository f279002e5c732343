"""How good predictions and rankings are; float64 inside, plain numbers out.

Ratings:  rmse, mae, relative_error.          Ranked lists of one relevant item a user:  hit_ratio.
Graded documents by query:  ndcg (three dialects), mean_average_precision, pairwise_accuracy.
"""

import numpy as np

from gpukit.base import check_choice, check_integer
from gpukit.errors import DataError

NDCG_KINDS = ("standard", "letor", "skip-blank")


def rmse(truth, predicted):
    """Root of the mean squared error of two arrays of one shape. Raises DataError when they are empty or differ."""
    truth, predicted = _pair(truth, predicted)
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def mae(truth, predicted):
    """Mean absolute error. Raises as rmse."""
    truth, predicted = _pair(truth, predicted)
    return float(np.mean(np.abs(truth - predicted)))


def relative_error(truth, predicted):
    """||predicted - truth|| / ||truth|| in the Frobenius norm. Raises as rmse, and DataError when truth is all zero."""
    truth, predicted = _pair(truth, predicted)
    size = np.linalg.norm(truth.ravel())
    if size == 0:
        raise DataError("the relative error of an all-zero truth is not defined.")
    return float(np.linalg.norm((predicted - truth).ravel()) / size)


def hit_ratio(relevant, lists, k=10):
    """Share of users whose relevant item is among the first k of their list.

    relevant (users,) item of each user; lists (users, n) items, best first, short lists padded with no item.
    """
    relevant, lists = np.asarray(relevant), np.asarray(lists)
    if lists.ndim != 2 or relevant.shape != lists.shape[:1] or not len(relevant):
        raise DataError(f"hit_ratio needs (users,) and (users, n); got shapes {relevant.shape} and {lists.shape}.")
    return float(np.mean((lists[:, : check_integer("k", k, 1)] == relevant[:, None]).any(axis=1)))


def ndcg(grades, scores, queries=None, k=10, kind="standard"):
    """Mean over queries of the normalized discounted cumulated gain of the first k documents, gain 2**grade - 1.

    grades (n,) >= 0; scores (n,), higher is better; queries (n,) any labels, or None for one query. Equal scores keep
    the order in which they stand.

    kind  "standard"    discount 1 / log2(1 + rank); a query without a relevant document scores 0
          "skip-blank"  the same, but such queries are left out (0 when all are)
          "letor"       as the LETOR scripts: discount 1 at ranks 1 and 2, then 1 / log2(rank); a query without a
                        relevant document, or with fewer than k documents, scores 0
    """
    check_choice("kind", kind, NDCG_KINDS)
    k = check_integer("k", k, 1)
    values = [_ndcg_of_one(g, s, k, kind == "letor") for g, s in _by_query(grades, scores, queries)]
    if kind == "skip-blank":
        values = [v for v in values if v is not None]
    return float(np.mean([v or 0.0 for v in values])) if values else 0.0


def _ndcg_of_one(grades, scores, k, letor):
    """NDCG@k of one query; None when no document is relevant."""
    ideal = _dcg(np.sort(grades)[::-1], k, letor)
    if ideal == 0:
        return None
    if letor and len(grades) < k:
        return 0.0
    return _dcg(grades[np.argsort(-scores, kind="stable")], k, letor) / ideal


def _dcg(grades, k, letor):
    ranks = np.arange(1, min(k, len(grades)) + 1)
    discount = np.maximum(np.log2(ranks), 1) if letor else np.log2(1 + ranks)
    return float(np.sum((2.0 ** grades[: len(ranks)] - 1) / discount))


def mean_average_precision(grades, scores, queries=None, relevant=1):
    """Mean over queries of the average precision at the relevant documents; 0 for a query that has none.

    Arguments as ndcg; relevant: the lowest grade that counts (1 for LETOR, 2 for MSLR).
    """
    values = []
    for g, s in _by_query(grades, scores, queries):
        hits = g[np.argsort(-s, kind="stable")] >= relevant
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        values.append(precision[hits].mean() if hits.any() else 0.0)
    return float(np.mean(values))


def pairwise_accuracy(grades, scores, queries=None, ties=0.0):
    """Share of the pairs with different grades whose scores stand in the same order; a pair is of one query.

    Arguments as ndcg; ties: what a pair of equal scores counts (0, 0.5 or 1). O(n log n). DataError without a pair.
    """
    right = equal = total = 0
    for g, s in _by_query(grades, scores, queries):
        pairs = _pairs_within(len(g)) - _tied_pairs(g)
        tied = _tied_pairs(s) - _tied_pairs(np.column_stack([g, s]))
        right += pairs - tied - _discordant(g, s)
        equal, total = equal + tied, total + pairs
    if total == 0:
        raise DataError("pairwise accuracy needs a query with two different grades.")
    return (right + ties * equal) / total


def _discordant(grades, scores):
    """Pairs with grade_i < grade_j and score_i > score_j, by merge sort of the scores in order of (grade, score)."""
    order = np.lexsort((scores, grades))
    ranks = np.unique(scores, return_inverse=True)[1][order]
    count, width = 0, 1
    while width < len(ranks):
        for start in range(0, len(ranks), 2 * width):
            left, right = ranks[start : start + width], ranks[start + width : start + 2 * width]
            count += len(left) * len(right) - int(np.searchsorted(left, right, side="right").sum())
            ranks[start : start + 2 * width] = np.sort(ranks[start : start + 2 * width])
        width *= 2
    return count


def _tied_pairs(values):
    return sum(_pairs_within(int(n)) for n in np.unique(values, axis=0, return_counts=True)[1])


def _pairs_within(n):
    return n * (n - 1) // 2


def _by_query(grades, scores, queries):
    """[(grades, scores)] of each query, in the order of their labels."""
    grades, scores = _pair(grades, scores)
    if grades.ndim != 1:
        raise DataError(f"grades and scores must have one dimension; got shape {grades.shape}.")
    if queries is None:
        return [(grades, scores)]
    labels, number = np.unique(np.asarray(queries), return_inverse=True)
    if number.shape != grades.shape:
        raise DataError(f"queries has shape {number.shape}, grades {grades.shape}.")
    order = np.argsort(number, kind="stable")
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    return list(zip(np.split(grades[order], cuts), np.split(scores[order], cuts), strict=True))


def _pair(truth, predicted):
    truth, predicted = np.asarray(truth, np.float64), np.asarray(predicted, np.float64)
    if truth.shape != predicted.shape or truth.size == 0:
        raise DataError(f"two arrays of one shape are needed, not empty; got {truth.shape} and {predicted.shape}.")
    return truth, predicted
