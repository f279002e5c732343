"""Metrics of rankings of graded documents, all at once or by name.

A query's labels, in order of decreasing score, are merge sorted. The inversions are the wrongly ordered pairs, so
pairwise accuracy costs O(n log n), and the sorted labels are the ideal ranking of NDCG.

Equal scores have no order. NDCG and average precision are their means over all orders of the ties, in closed form: a
tied document has the mean gain of its ties (McSherry and Najork, "Computing information retrieval performance measures
efficiently in the presence of tied scores", ECIR 2008).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.base import check_choice, check_real
from gpukit.base.arrays import as_array, to_ordered_floats
from gpukit.errors import DataError, ParameterError
from gpukit.scheduler import by_block
from gpukit.sorting import segmented_argsort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.typing import ArrayLike

NdcgKind = Literal["standard", "letor", "skip-blank", "linear"]
Ties = Literal["average", "file"]
NDCG_KINDS, TIES = get_args(NdcgKind), get_args(Ties)
CUTS = (1, 3, 5, 10)
TOPS = ("p", "err", "mrr")  # kinds of metrics of the first documents
WHOLE = ("pa", "pa_ties", "tau", "mean_ndcg", "map", "mrr")  # metrics without a cut
AT_CUT = re.compile(r"(ndcg|p|err)@([1-9]\d{0,8})")


class Ranked(NamedTuple):
    """Documents of queries: y, scores (l,) float64, offsets (m + 1,) int64; order (l,): of falling scores."""

    y: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray
    order: np.ndarray


class Grading(NamedTuple):
    """Rules of the metrics: lowest relevant label; NDCG by LETOR's rules; labels as gains; ties are averaged."""

    relevant: float
    letor: bool
    linear: bool
    average: bool


class Metrics(dict):
    """{name: float}, NaN for undefined metrics.

    reasons: {name: text}, why a metric is NaN. ties: {"pairs", "queries"}: number of pairs of different labels with
    equal scores, and of queries that contain them.
    """

    def __init__(self, values, reasons, ties):
        super().__init__(values)
        self.reasons, self.ties = reasons, ties


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    offsets: ArrayLike,
    *,
    ndcg: NdcgKind = "letor",
    relevant: float = 1,
    cuts: Sequence[int] = CUTS,
    ties: Ties = "average",
    more: Sequence[str] = (),
) -> Metrics:
    """Return metrics of a ranking.

    - pa, pa_ties: fraction of the preference pairs of all queries whose scores are in the order of their labels
      (Eq. 16). pa_ties: equal scores count as correct. NaN if no query has two labels.
    - tau: mean of Kendall's tau-b over the queries with pairs, 0 for one whose scores are all equal. NaN as pa.
    - ndcg@k: for every k of `cuts`, in the variant `ndcg`.
    - mean_ndcg: in the same variant, the mean of a query's NDCG@k over k = 1 ... n, as in LETOR's scripts. This and
      ndcg@k are NaN if no label is above 0, or if a label is not a whole number from 0 to 30: gains 2^y - 1 are for
      grades, not for positions in a total order (pa and tau are for both). ndcg@k of 'letor' is also NaN if no query
      has k documents.
    - map: mean average precision, where labels >= `relevant` count; 0 for a query without one. NaN if no label reaches
      `relevant`.
    - p@k: mean share of documents with labels >= `relevant` among the first k, of k also in shorter queries.
    - mrr: mean of 1 / rank of the first document with a label >= `relevant`, 0 without one. NaN as map.
    - err@k: expected reciprocal rank of the first k documents. A user stops at a document of label y with probability
      (2^y - 1) / 2^g, where g is the largest label of all queries (Chapelle et al., CIKM 2009). NaN if a label is not a
      grade.

    Parameters
    ----------
    y : (l,)
        Labels.
    scores : (l,)
        Higher is better, no NaN.
    offsets : (m + 1,) int
        Query t is the documents offsets[t]:offsets[t + 1]. Empty queries are ignored.
    ndcg : {'letor', 'standard', 'skip-blank', 'linear'}
        'letor': gains 2^y - 1, discount 1 at ranks 1 and 2, then 1 / log2(rank); a query without a relevant document,
        or with fewer than k documents, scores 0. 'standard': discount 1 / log2(1 + rank), 0 for a query without a
        relevant document. 'skip-blank': the same without such queries. 'linear': as standard, with y as the gain.
    relevant : float
        Labels from here on are relevant, default 1.
    cuts : list of int
        k of ndcg@k.
    ties : {'average', 'file'}
        The mean over all orders of documents with equal scores, or their order in the input, as in LETOR's scripts.
    more : list of str
        Further metrics: ndcg@k, p@k, err@k of any k, mrr.

    Returns
    -------
    Metrics
        {name: float}; its `reasons` say why a metric is NaN, its `ties` count pairs with equal scores.

    Raises
    ------
    DataError
        Arrays do not fit together, are empty or hold NaN.
    ParameterError
        A variant or a metric is unknown.

    Examples
    --------
    >>> from gpukit.evaluation.ranking import evaluate
    >>> evaluate([2, 0, 1], [0.9, 0.1, 0.5], [0, 3])["pa"]
    1.0
    """
    check_choice("ndcg", ndcg, NDCG_KINDS)
    check_choice("ties", ties, TIES)
    wanted = dict.fromkeys(parse_metric(name) for name in more)
    cuts = [*cuts, *(k for kind, k in wanted if kind == "ndcg" and k not in cuts)]
    names = ["pa", "pa_ties", "tau", *(f"ndcg@{k}" for k in cuts), "mean_ndcg", "map"]
    names += [name for name in dict.fromkeys(more) if name not in names]
    relevant = check_real("relevant", relevant, -np.inf)
    y, scores = _column("y", y), to_ordered_floats(_column("scores", scores))
    if not y.size or y.size != scores.size:
        raise DataError(f"evaluation needs a label and a score a document; got {y.size} labels, {scores.size} scores.")
    ranked = rank(y, scores, offsets)
    parts, pairs = _sums_of(names, ranked, ndcg, least_relevant(y, ranked.y, relevant), ties)
    reasons = undefined_reasons(y, ranked.offsets, ndcg, relevant, cuts, int(pairs[:, 0].sum()), more)
    values = {name: np.nan if name in reasons else float(np.divide(*map(np.sum, parts[name]))) for name in names}
    return Metrics(values, reasons, {"pairs": int(pairs[:, 2].sum()), "queries": int((pairs[:, 2] > 0).sum())})


def undefined_reasons(y, offsets, ndcg, relevant, cuts, n_pairs, more=()):
    """Return {metric: why it is undefined for these labels}; more: names of p@k, err@k and mrr."""
    reasons = {} if n_pairs else dict.fromkeys(("pa", "pa_ties", "tau"), "no query has two different labels")
    if not (y >= (math.ceil(relevant) if y.dtype.kind in "iu" else relevant)).any():
        reasons["map"] = f"no label reaches {relevant:g}, from which on documents are relevant"
    blank = no_gain(y, ndcg)
    longest = int(np.diff(offsets).max())
    for name, least in [*((f"ndcg@{k}", k) for k in cuts), ("mean_ndcg", 0)]:
        if blank:
            reasons[name] = blank
        elif ndcg == "letor" and longest < least:
            reasons[name] = f"no query has {least} documents, and LETOR's rules give 0 to shorter ones"
    causes = {"p": reasons.get("map"), "mrr": reasons.get("map"), "err": no_gain(y, "standard")}
    return reasons | {name: cause for name in more if (cause := causes.get(parse_metric(name)[0]))}


def no_gain(y, ndcg):
    """Return why labels have no gains in a variant of NDCG, or None."""
    last_grade = 30  # larger gains 2**y - 1 overflow, or only the first document counts
    wrong, grade = y < 0, "a number from 0 on"
    if ndcg != "linear":
        wrong, grade = ~((y >= 0) & (y <= last_grade) & (y == np.floor(y))), f"a whole number from 0 to {last_grade}"
    if wrong.any():
        return f"label {y[np.argmax(wrong)]:g} is not a grade, {grade}"
    return "no label is above 0" if y.max() <= 0 else None


def parse_metric(name):
    """Return (kind, k) of a metric's name, k None for one without; raises ParameterError for an unknown one."""
    if name in WHOLE:
        return name, None
    if match := AT_CUT.fullmatch(str(name)):
        return match[1], int(match[2])
    raise ParameterError(
        f"metric {name!r} is unknown. Use {', '.join(WHOLE)}, or ndcg@K, p@K or err@K with K from 1 on."
    )


def values_by_query(names, y, scores, offsets, ndcg="letor", relevant=1.0, ties="average", tied=0.5):
    """Return {metric: (values (m,), weights (m,))} of metrics of `evaluate`.

    A metric is the weighted mean of its values over the queries. y, scores, offsets: as in evaluate, already checked.
    tied: value of a pair of equal scores in pa.
    """
    ranked = rank(y, scores, offsets)
    parts, _ = _sums_of(names, ranked, ndcg, least_relevant(y, ranked.y, relevant), ties, tied)
    return {
        name: (np.divide(sums, weights, out=np.zeros(len(sums)), where=weights > 0), weights)
        for name, (sums, weights) in parts.items()
    }


def _sums_of(names, ranked, ndcg, relevant, ties, tied=0.0):
    """Return ({metric: (sums (m,), weights (m,))}, pairs (m, 3) of `_queries`) of a Ranked.

    A metric is the sum of its sums over that of its weights. Other arguments: see `values_by_query`.
    """
    parsed, sizes = {name: parse_metric(name) for name in names}, np.diff(ranked.offsets)
    grading = Grading(float(relevant), ndcg == "letor", ndcg == "linear", ties == "average")
    cuts = list(dict.fromkeys(k for kind, k in parsed.values() if kind == "ndcg"))
    table, pairs = np.empty((sizes.size, len(cuts) + 3)), np.empty((sizes.size, 3), np.int64)
    discounts = _discounts(int(sizes.max()), grading.letor)
    _queries(ranked, discounts, np.array(cuts, np.int64), grading, table, pairs)
    values = dict(zip([*(f"ndcg@{k}" for k in cuts), "mean_ndcg", "map", "tau"], table.T))
    total, right, equal = pairs.T.astype(np.float64)
    parts = {"pa": (right + tied * equal, total), "pa_ties": (right + equal, total)}
    for name, (kind, k) in parsed.items():
        if kind in TOPS:
            values[name] = np.empty(sizes.size)
            _top(ranked, TOPS.index(kind), k or 0, grading, ranked.y.max(), values[name])
        if name not in parts:
            counted = (total if name == "tau" else sizes) > 0
            counted &= ~np.isnan(values[name]) | (ndcg != "skip-blank")
            parts[name] = np.where(counted, np.nan_to_num(values[name]), 0.0), counted.astype(np.float64)
    return {name: parts[name] for name in names}, pairs


def rank(y, scores, offsets):
    """Return the Ranked of labels and scores that are already checked; labels as of to_ordered_floats."""
    order = segmented_argsort(-scores, offsets, device="cpu")
    return Ranked(to_ordered_floats(y), scores, np.asarray(offsets, np.int64), order)


def least_relevant(y, ordered, relevant):
    """Return the number that `ordered`, to_ordered_floats(y), has from the label `relevant` on."""
    if y.dtype.kind not in "iu":
        return float(relevant)
    return float(ordered[y >= math.ceil(relevant)].min(initial=np.inf))


def _column(name, values):
    """Return values as numbers (l,), or raise DataError; booleans become float64."""
    values = as_array(values, name)
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name} must be numbers; got {values.dtype}.")
    values = np.ascontiguousarray(values if values.dtype.kind in "iu" else values.astype(np.float64))
    if values.ndim != 1:
        raise DataError(f"{name} must have one dimension; its shape is {values.shape}.")
    if np.isnan(values).any():
        raise DataError(f"{name}[{np.argmax(np.isnan(values))}] is NaN, which has no place in a ranking: leave it out.")
    return values


def _discounts(longest, letor):
    """Return the discount of each rank, (longest,)."""
    ranks = np.arange(1, longest + 1)
    return 1.0 / (np.maximum(np.log2(ranks), 1) if letor else np.log2(1 + ranks))


@by_block(lambda ranked: ranked.offsets.size - 1)
def _queries(start, stop, ranked, discounts, cuts, grading, table, pairs):
    """Fill table (m, cuts + 3) and pairs (m, 3) of each query.

    table: NDCG at each of cuts, its mean over all k, AP, tau. pairs: total, correct, tied.
    """
    offsets, linear = ranked.offsets, grading.linear
    for t in range(start, stop):
        rows = offsets[t] + ranked.order[offsets[t] : offsets[t + 1]]
        labels, scores = ranked.y[rows], ranked.scores[rows]
        ends = _tie_ends(scores, grading.average)
        gained = _cumulative_gains(labels, ends, discounts, linear)
        table[t, cuts.size + 1] = _average_precision(labels, ends, grading.relevant)
        spare = np.empty_like(labels)
        equal, tied = _sort_ties(scores, labels, spare)
        wrong = _sort(labels, spare)
        all_pairs = rows.size * (rows.size - 1) // 2
        ordered = all_pairs - _equal_pairs(labels)
        right = ordered - tied - wrong
        pairs[t, 0], pairs[t, 1], pairs[t, 2] = ordered, right, tied
        size = np.sqrt(float(ordered) * float(all_pairs - equal))
        table[t, cuts.size + 2] = (right - wrong) / size if size > 0.0 else 0.0
        ideal = _cumulative_gains(labels, _tie_ends(labels, False), discounts, linear)
        _gains(gained, ideal, cuts, grading.letor, table[t])


@by_block(lambda ranked: ranked.offsets.size - 1)
def _top(start, stop, ranked, kind, k, grading, highest, values):
    """Fill values (m,) with precision at k (kind 0), expected reciprocal rank at k (1) or the reciprocal rank (2)."""
    offsets = ranked.offsets
    for t in range(start, stop):
        rows = offsets[t] + ranked.order[offsets[t] : offsets[t + 1]]
        labels, ends = ranked.y[rows], _tie_ends(ranked.scores[rows], grading.average)
        if kind == 0:
            values[t] = _precision(labels, ends, grading.relevant, k)
        elif kind == 1:
            values[t] = _expected_reciprocal_rank(labels, ends, highest, k)
        else:
            values[t] = _reciprocal_rank(labels, ends, grading.relevant)


@njit
def _precision(labels, ends, relevant, k):
    """Return the share of relevant documents among the first k, its mean over the orders of tied documents."""
    total, begin = 0.0, 0
    while begin < min(k, labels.size):
        end, hits = ends[begin], 0
        for r in range(begin, end):
            hits += labels[r] >= relevant
        total += hits / (end - begin) * (min(k, end) - begin)
        begin = end
    return total / k


@njit
def _reciprocal_rank(labels, ends, relevant):
    """Return 1 / rank of the first relevant document, its mean over the orders of tied documents.

    In a run of n documents, h of them relevant, the next rank holds a relevant one with probability h / n, and h / (n -
    1) if it does not, and so on.
    """
    begin = 0
    while begin < labels.size:
        end, hits = ends[begin], 0
        for r in range(begin, end):
            hits += labels[r] >= relevant
        if hits:
            total, none_before = 0.0, 1.0
            for r in range(begin, end - hits + 1):
                total += none_before * hits / (end - r) / (r + 1)
                none_before *= 1.0 - hits / (end - r)
            return total
        begin = end
    return 0.0


@njit
def _expected_reciprocal_rank(labels, ends, highest, k):
    """Return the expected 1 / rank at which a user stops, within k ranks; its mean over the orders of tied documents.

    passed[j] is the mean, over all choices of j documents of a run, of the probability that none of them stops the
    user.
    """
    total, reached, begin, size = 0.0, 1.0, 0, min(k, labels.size)
    passed = np.empty(size + 1)
    while begin < size:
        end = ends[begin]
        most = min(end, size) - begin
        passed[0], passed[1 : most + 1] = 1.0, 0.0
        for n in range(1, end - begin + 1):
            on = 1.0 - (2.0 ** labels[begin + n - 1] - 1.0) / 2.0**highest
            for j in range(min(n, most), 0, -1):
                passed[j] = ((n - j) * passed[j] + j * on * passed[j - 1]) / n
        for j in range(1, most + 1):
            total += reached * (passed[j - 1] - passed[j]) / (begin + j)
        reached *= passed[most]
        begin = end
    return total


@njit
def _tie_ends(ranked, average):
    """Return the end of the run of equal scores at each rank.

    Without averaging, each rank is its own run.
    """
    ends = np.arange(1, ranked.size + 1)
    if average:
        for r in range(ranked.size - 2, -1, -1):
            if ranked[r] == ranked[r + 1]:
                ends[r] = ends[r + 1]
    return ends


@njit
def _cumulative_gains(labels, ends, discounts, linear):
    """Return DCG@k for k = 1 ... n, with the labels as gains (linear) or 2**label - 1.

    Tied documents have the mean gain of their run.
    """
    gained, total, begin = np.empty_like(labels), 0.0, 0
    while begin < labels.size:
        gain, end = 0.0, ends[begin]
        for r in range(begin, end):
            gain += labels[r] if linear else 2.0 ** labels[r] - 1.0
        for r in range(begin, end):
            total += gain / (end - begin) * discounts[r]
            gained[r] = total
        begin = end
    return gained


@njit
def _average_precision(labels, ends, relevant):
    """Return average precision, its mean over the orders of tied documents.

    In a run of n documents, h of them relevant, any rank holds a relevant one with probability h / n, and each rank of
    the run above it then holds another with probability (h - 1) / (n - 1).
    """
    hits, total, begin = 0, 0.0, 0
    while begin < labels.size:
        end, relevant_ties = ends[begin], 0
        for r in range(begin, end):
            relevant_ties += labels[r] >= relevant
        others = (relevant_ties - 1) / max(end - begin - 1, 1)
        if relevant_ties:
            for r in range(begin, end):
                total += relevant_ties / (end - begin) * (hits + 1 + (r - begin) * others) / (r + 1)
        hits += relevant_ties
        begin = end
    return total / hits if hits else 0.0


@njit
def _gains(gained, ideal, cuts, letor, row):
    """Fill row with NDCG at the cuts and over all k.

    NaN for a query without gain.
    """
    size = gained.size
    if size == 0 or ideal[-1] == 0.0:
        row[: cuts.size + 1] = np.nan
        return
    total = 0.0
    for r in range(size):
        total += gained[r] / ideal[r]
    row[cuts.size] = total / size
    for c, k in enumerate(cuts):
        last = min(k, size) - 1
        row[c] = 0.0 if letor and size < k else gained[last] / ideal[last]


@njit
def _sort_ties(ranked, labels, spare):
    """Sort labels in descending order within runs of equal scores.

    Returns (pairs of equal scores, those of them with different labels).
    """
    equal, tied, begin = 0, 0, 0
    while begin < labels.size:
        end = begin + 1
        while end < labels.size and ranked[end] == ranked[begin]:
            end += 1
        if end > begin + 1:
            query_labels = labels[begin:end]
            _sort(query_labels, spare)
            pairs = query_labels.size * (query_labels.size - 1) // 2
            equal, tied = equal + pairs, tied + pairs - _equal_pairs(query_labels)
        begin = end
    return equal, tied


@njit
def _equal_pairs(values):
    """Return the number of equal pairs in sorted values."""
    count, run = 0, 0
    for r in range(1, values.size):
        run = run + 1 if values[r] == values[r - 1] else 0
        count += run
    return count


@njit
def _sort(values, spare):
    """Merge sort in descending order; return the number of ascending pairs."""
    count, width = 0, 1
    while width < values.size:
        for begin in range(0, values.size - width, 2 * width):
            count += _merge(values[begin : begin + 2 * width], width, spare)
        width *= 2
    return count


@njit
def _merge(values, middle, spare):
    """Merge values[:middle] and values[middle:]; return ascending pairs across them."""
    if values[middle - 1] >= values[middle]:
        return 0
    copy_row(values[:middle], spare)
    left, right, count = 0, middle, 0
    for place in range(values.size):
        if left == middle:
            break
        if right < values.size and values[right] > spare[left]:
            values[place] = values[right]
            right, count = right + 1, count + middle - left
        else:
            values[place] = spare[left]
            left += 1
    return count
