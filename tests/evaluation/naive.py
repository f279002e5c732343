"""Metrics by their definitions: plain loops over pairs and documents."""

import math

import numpy as np


def by_query(grades, scores, queries):
    groups = {}
    for g, s, q in zip(grades, scores, queries):
        groups.setdefault(q, []).append((g, s))
    return groups.values()


def dcg(grades, k, kind):
    total = 0.0
    for rank, grade in enumerate(grades[:k], start=1):
        discount = (1.0 if rank <= 2 else math.log2(rank)) if kind == "letor" else math.log2(rank + 1)
        total += (grade if kind == "linear" else 2.0**grade - 1) / discount
    return total


def ndcg(grades, scores, queries, k, kind):
    values = []
    for docs in by_query(grades, scores, queries):
        ranked = [g for g, s in sorted(docs, key=lambda d: -d[1])]
        value = ndcg_of_query(ranked, sorted(ranked, reverse=True), k, kind)
        if value is not None:
            values.append(value)
    return sum(values) / len(values) if values else 0.0


def ndcg_of_query(ranked, best, k, kind):
    """NDCG@k of grades as ranked, and in the best order; None if kind leaves the query out."""
    ideal = dcg(best, k, kind)
    if ideal == 0:
        return None if kind == "skip-blank" else 0.0
    return 0.0 if kind == "letor" and len(ranked) < k else dcg(ranked, k, kind) / ideal


def mean_average_precision(grades, scores, queries, relevant):
    values = []
    for docs in by_query(grades, scores, queries):
        found, precisions = 0, []
        for rank, (g, _) in enumerate(sorted(docs, key=lambda d: -d[1]), start=1):
            if g >= relevant:
                found += 1
                precisions.append(found / rank)
        values.append(sum(precisions) / len(precisions) if precisions else 0.0)
    return sum(values) / len(values)


def top(name, grades, scores, queries, relevant):
    """p@k, err@k or mrr; equal scores in the order of the input."""
    kind, _, k = name.partition("@")
    values, highest = [], max(grades)
    for docs in by_query(grades, scores, queries):
        ranked = [g for g, s in sorted(docs, key=lambda d: -d[1])]
        hits = [rank for rank, g in enumerate(ranked, start=1) if g >= relevant]
        if kind == "mrr":
            values.append(1 / hits[0] if hits else 0.0)
        elif kind == "p":
            values.append(sum(rank <= int(k) for rank in hits) / int(k))
        else:
            value, left = 0.0, 1.0
            for rank, g in enumerate(ranked[: int(k)], start=1):
                stops = (2.0**g - 1) / 2.0**highest
                value += left * stops / rank
                left *= 1 - stops
            values.append(value)
    return sum(values) / len(values)


def pairwise_accuracy(grades, scores, queries, ties):
    right = total = 0.0
    for docs in by_query(grades, scores, queries):
        for g, s in docs:
            for h, t in docs:
                if g > h:
                    total += 1
                    right += 1.0 if s > t else ties if s == t else 0.0
    return right / total


def pairs_by_grade(grades, scores):
    """Return (correct, tied, all) pairs of different grades of one long query, counted grade by grade."""
    right = tied = total = 0
    for grade in np.unique(grades):
        below, own = np.sort(scores[grades < grade]), scores[grades == grade]
        first, last = np.searchsorted(below, own, "left"), np.searchsorted(below, own, "right")
        right, tied, total = right + int(first.sum()), tied + int((last - first).sum()), total + len(below) * len(own)
    return right, tied, total


def list_metrics(shown, relevant, k):
    """{metric: value} of one user's list (items, best first) and the set of relevant items, at k."""
    hits = [item in relevant for item in shown[:k]]
    dcg = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    precisions = [sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit]
    return {
        "hr": float(any(hits)),
        "recall": sum(hits) / len(relevant),
        "precision": sum(hits) / k,
        "ndcg": dcg / ideal,
        "map": sum(precisions) / min(k, len(relevant)),
        "mrr": next((1 / rank for rank, hit in enumerate(hits, start=1) if hit), 0.0),
    }


def shown_to_all(lists, clicks, few):
    """Return {fact: value} of everybody's lists of items and the clicks of each item."""
    slots = [item for one in lists for item in one]
    counts = [slots.count(item) for item in range(len(clicks))]
    apart = sum(abs(a - b) for a in counts for b in counts)
    return {
        "coverage": sum(count > 0 for count in counts) / len(counts),
        "gini": apart / (2 * len(counts) * sum(counts)),
        "popularity": sum(clicks[item] for item in slots) / len(slots),
        "few": sum(clicks[item] < few for item in slots) / len(slots),
    }


def sampled_metrics(click, others, k):
    """Return (hr, ndcg) of a click's score among others, the mean over all orders of the ties."""
    above, tied = sum(score > click for score in others), sum(score == click for score in others)
    ranks = [above + 1 + place for place in range(tied + 1)]
    found = [rank for rank in ranks if rank <= k]
    return len(found) / len(ranks), sum(1 / math.log2(rank + 1) for rank in found) / len(ranks)


def knn_scores(clicked, neighbors, shrinkage):
    """(M, N) scores of all users for all items: sums of the cosines of each item's nearest neighbours."""
    n_users, n_items = clicked.shape
    like = np.zeros((n_items, n_items))
    for i in range(n_items):
        for j in range(n_items):
            if i != j:
                both = sum(clicked[u, i] and clicked[u, j] for u in range(n_users))
                like[i, j] = both / (math.sqrt(clicked[:, i].sum() * clicked[:, j].sum()) + shrinkage) if both else 0.0
    scores = np.zeros(clicked.shape)
    for i in range(n_items):
        nearest = sorted(range(n_items), key=lambda j, i=i: -like[i, j])[:neighbors]
        for u in range(n_users):
            scores[u, i] = sum(like[i, j] for j in nearest if clicked[u, j])
    return scores


def flipped(change):
    """Return p of all 2^n choices of signs of paired differences."""
    observed, reached = abs(sum(change)), 0
    for code in range(2 ** len(change)):
        signs = [1 if code >> place & 1 else -1 for place in range(len(change))]
        reached += abs(sum(sign * one for sign, one in zip(signs, change))) >= observed - 1e-12
    return reached / 2 ** len(change)
