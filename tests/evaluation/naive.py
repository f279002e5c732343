"""Metrics as their definitions read: plain loops over pairs and documents."""

import math

import numpy as np


def by_query(grades, scores, queries):
    groups = {}
    for g, s, q in zip(grades, scores, queries):
        groups.setdefault(q, []).append((g, s))
    return groups.values()


def dcg(grades, k, letor):
    total = 0.0
    for rank, grade in enumerate(grades[:k], start=1):
        discount = (1.0 if rank <= 2 else math.log2(rank)) if letor else math.log2(rank + 1)
        total += (2.0**grade - 1) / discount
    return total


def ndcg(grades, scores, queries, k, kind):
    values = []
    for docs in by_query(grades, scores, queries):
        ranked = [g for g, s in sorted(docs, key=lambda d: -d[1])]
        ideal = dcg(sorted(ranked, reverse=True), k, kind == "letor")
        if ideal == 0:
            if kind != "skip-blank":
                values.append(0.0)
        elif kind == "letor" and len(docs) < k:
            values.append(0.0)
        else:
            values.append(dcg(ranked, k, kind == "letor") / ideal)
    return sum(values) / len(values) if values else 0.0


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
    """(in order, of equal scores, all) pairs of different grades of one long query, counted grade by grade."""
    right = tied = total = 0
    for grade in np.unique(grades):
        below, own = np.sort(scores[grades < grade]), scores[grades == grade]
        first, last = np.searchsorted(below, own, "left"), np.searchsorted(below, own, "right")
        right, tied, total = right + int(first.sum()), tied + int((last - first).sum()), total + len(below) * len(own)
    return right, tied, total
