"""Samples of documents and their folds: limits, parts, and independence of the order."""

import numpy as np
import pytest
import scipy.sparse

from gpukit.ranking import inputs, selection
from ranking.data import exchange_documents, make_graded


def draw(X, y, qid, weights=None):
    """Return the hold_out.Sample of arrays."""
    return selection.draw_sample(inputs.read(X, y, qid, query_weight=weights))


def content(sample):
    """Return a sample as comparable arrays."""
    X = sample.X.toarray() if hasattr(sample.X, "toarray") else sample.X
    return [X.tolist(), sample.y.tolist(), sample.query.tolist(), sample.weight.tolist()]


@pytest.mark.parametrize(("queries", "expected"), [(80, 60), (4, 4)])
def test_a_large_set_is_sampled(queries, expected, monkeypatch):
    X, y, qid = make_graded(queries=queries, size=240 // queries * 4)
    monkeypatch.setattr(selection, "MOST", X.size * 3 // 4)
    sample = draw(X, y, qid)
    assert len(np.unique(sample.query)) == expected and len(sample.y) == len(X) * 3 // 4
    assert set(map(tuple, sample.X)) <= set(map(tuple, X))


@pytest.mark.parametrize("n_queries", [49, 50, 51])
def test_documents_are_sampled_if_whole_queries_are_too_few(n_queries, monkeypatch):
    """Of 60 queries of 12 documents, at least 50 whole ones are enough."""
    X, y, qid = make_graded()
    monkeypatch.setattr(selection, "MOST", n_queries * 12 * X.shape[1])
    sample = draw(X, y, qid)
    lengths = np.bincount(sample.query)
    assert len(sample.y) == 12 * n_queries and (len(lengths) == 60) == (n_queries < 50)
    assert (set(lengths) == {12}) == (n_queries >= 50)


def test_one_query_is_sampled_too(monkeypatch):
    X, y, qid = make_graded(queries=1, size=400)
    monkeypatch.setattr(selection, "MOST", 100 * X.shape[1])
    assert len(draw(X, y, qid).y) == 100
    monkeypatch.setattr(selection, "MOST", 1)
    assert draw(X, y, qid) is None


@pytest.mark.parametrize("queries", [30, 6])
@pytest.mark.parametrize("limit", [1.0, 0.7])
def test_the_sample_does_not_depend_on_the_order(queries, limit, monkeypatch):
    """With equal documents and equal queries, one of them with another weight."""
    X, y, qid = make_graded(queries=queries)
    X[12:24], y[12:24] = X[:12], y[:12]
    X[30], y[30] = X[31], y[31]
    X[40:43], y[40:43] = X[40], [0, 1, 2]
    weights = np.where(np.arange(queries) == 1, 2.0, 1.0)
    monkeypatch.setattr(selection, "MOST", int(limit * X.size))
    plain = draw(X, y, qid, weights[qid])
    assert (len(plain.y) < len(y)) == (limit < 1)
    assert sorted(np.unique(plain.query)) == list(range(plain.query[-1] + 1)) and (np.diff(plain.query) >= 0).all()
    for seed in range(5):
        other = exchange_documents(X, y, qid, weights[qid], seed)
        assert content(draw(*other)) == content(plain)
    assert content(draw(scipy.sparse.csr_array(X), y, qid, weights[qid])) == content(plain)


def test_queries_are_in_a_random_order():
    X, y, qid = make_graded()
    sample = draw(X, y, qid)
    first = {tuple(row): query for row, query in zip(X, qid)}
    order = [first[tuple(row)] for row in sample.X[sample.starts]]
    assert sorted(order) == list(range(60)) and abs(np.corrcoef(order, np.arange(60))[0, 1]) < 0.4
    assert sample.X.shape == X.shape


def test_queries_without_pairs_or_weight_are_left_out():
    X, y, qid = make_graded(queries=20)
    y[:24] = 1.0
    sample = draw(X, y, qid, np.where(np.arange(20) < 5, 0.0, 3.0))
    assert len(sample.starts) == 15 and set(sample.weight) == {3.0}
    assert not set(map(tuple, sample.X)) & set(map(tuple, X[:60]))
    assert draw(X, np.ones(len(y)), qid) is None


@pytest.mark.parametrize(("queries", "unit"), [(9, "documents"), (10, "queries"), (23, "queries")])
def test_each_part_is_held_out_once(queries, unit):
    sample = draw(*make_graded(queries=queries))
    folds = selection.split_folds(sample)
    assert sample.unit == unit and len(folds) == selection.FOLDS
    assert sorted(row for _, held_out in folds for row in held_out.X.tolist()) == sorted(sample.X.tolist())
    for train, held_out in folds:
        assert len(train.y) + len(held_out.y) == len(sample.y)
        shared = set(train.query) & set(held_out.query)
        assert bool(shared) == (unit == "documents")
        parts = len(held_out.starts) if unit == "queries" else len(held_out.y)
        assert parts in (n := (queries if unit == "queries" else len(sample.y)) // 5, n + 1)


def test_folds_have_pairs_on_both_sides():
    X = np.random.default_rng(0).random((12, 2))
    sample = draw(X, [0, 1] * 6, np.repeat(np.arange(6), 2))
    for train, held_out in selection.split_folds(sample):
        for part in (train, held_out):
            assert any(len(set(part.y[part.query == query])) == 2 for query in part.query)
