"""The benchmark of features next to trees: splits, pairs of queries and rows."""

import numpy as np
import pytest

from gpukit import device
from gpukit.bench import Conditions, ranking
from gpukit.bench.measurement import QUANTILE


def test_parts_have_each_query_once():
    whole = ranking.make_planted(0)
    parts = ranking.split_queries(whole, 1)
    assert [len(part.qids) for part in parts] == [120, 40, 40]
    assert sorted(np.concatenate([part.qids for part in parts]).tolist()) == list(range(200))
    assert np.bincount(whole.y.astype(int)).tolist() == [2000, 1000, 600, 280, 120]
    other = ranking.split_queries(whole, 2)
    assert parts[2].qids.tolist() != other[2].qids.tolist()


def test_queries_that_several_splits_share_count_once():
    results = [([1, 2], {ranking.OURS: np.array([1.0, 0.5]), "b": np.array([0.0, 0.5])})]
    results.append(([2, 3], {ranking.OURS: np.array([0.3, 0.0]), "b": np.array([0.1, 0.6])}))
    found = ranking.compare(results, "b", is_shared=True)
    changes = np.array([1.0, 0.1, -0.6])
    assert found.users == 3 and found.mean == pytest.approx(changes.mean())
    assert found.high - found.mean == pytest.approx(QUANTILE * changes.std(ddof=1) / 3**0.5)
    assert ranking.compare(results, "b", is_shared=False).users == 4


def test_rows_name_the_best(monkeypatch):
    methods = {ranking.OURS: 0, "b": 1}
    fit = {
        name: lambda train, validation, column=column: lambda X: -(X[:, column] ** 2)
        for name, column in methods.items()
    }
    monkeypatch.setattr(ranking, "METHODS", fit)
    monkeypatch.setattr(ranking.importlib.util, "find_spec", lambda name: True)
    rows = {row.what: row for row in ranking.features(Conditions(device.cpu(), scale=0.2))}
    assert len(rows) == 3 and all(row.shape == "planted U-shape" for row in rows.values())
    values = [rows[f"test NDCG@10, {name}"].samples[0] for name in methods]
    assert values[0] > values[1] and f"best: {ranking.OURS}" in rows["test NDCG@10, b"].note
    difference = rows[f"test NDCG@10, {ranking.OURS} less b"]
    assert difference.samples == pytest.approx([values[0] - values[1]]) and "80 queries" in difference.note


def test_without_the_packages_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(ranking.importlib.util, "find_spec", lambda name: None)
    assert not list(ranking.features(Conditions(device.cpu())))
