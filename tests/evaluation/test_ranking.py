"""All metrics at once against their definitions, by hand, and on MQ2008 against LETOR's own scripts."""

import itertools
import math

import numpy as np
import pytest
import scipy
from ranking import inputs, letor, naive
from support import data

from evaluation import naive as metrics
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.ranking import NDCG_KINDS, WHOLE, evaluate, parse_metric, values_by_query

CUTS = (1, 3, 5, 10)
TOPS = ("p@1", "p@2", "p@9", "mrr", "err@1", "err@3", "err@100", "ndcg@2")
NAMES = ["pa", "pa_ties", "tau", *(f"ndcg@{k}" for k in CUTS), "mean_ndcg", "map"]


def ranking(name):
    """(grades 0, 1, 2 ..., scores, offsets) of a case of inputs.CASES."""
    at = inputs.case(name, seed=4)
    return 2 * (at.y + 1) if at.level.max(initial=0) < 30 else np.minimum(at.level, 30).astype(float), at.s, at.offsets


def plain(y, scores, offsets, ndcg, relevant):
    """The same metrics by their definitions; tau by scipy."""
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    found = {f"ndcg@{k}": metrics.ndcg(y, scores, queries, k, ndcg) for k in CUTS}
    found["map"] = metrics.mean_average_precision(y, scores, queries, relevant)
    if naive.pair_count(y, offsets):
        found["pa"] = metrics.pairwise_accuracy(y, scores, queries, 0)
        found["pa_ties"] = metrics.pairwise_accuracy(y, scores, queries, 1)
    parts = [slice(*ends) for ends in zip(offsets[:-1], offsets[1:]) if ends[1] > ends[0]]
    taus = [scipy.stats.kendalltau(y[part], scores[part])[0] for part in parts if len(np.unique(y[part])) > 1]
    found["tau"] = np.mean(np.nan_to_num(taus)) if taus else np.nan
    means = [mean_ndcg(y[part], scores[part], ndcg) for part in parts]
    means = [m for m in means if m is not None] if ndcg == "skip-blank" else [m or 0 for m in means]
    return found | {"mean_ndcg": np.mean(means) if means else 0.0}


def mean_ndcg(y, scores, ndcg):
    """Mean of NDCG@k over k = 1 ... n of one query; None without a relevant document."""
    if not y.any():
        return None
    ranked, best = y[np.argsort(-scores, kind="stable")].tolist(), np.sort(y)[::-1].tolist()
    return np.mean([metrics.ndcg_of_query(ranked, best, k, ndcg) for k in range(1, len(y) + 1)])


@pytest.mark.parametrize("ndcg", NDCG_KINDS)
@pytest.mark.parametrize("name", [name for name in inputs.CASES if name not in ("no query", "2,000 levels")])
def test_every_metric_is_the_plain_one(name, ndcg):
    y, scores, offsets = ranking(name)
    found = evaluate(y, scores, offsets, ndcg=ndcg, relevant=2, ties="file")
    expected = plain(y, scores, offsets, ndcg, 2)
    assert list(found) == NAMES and {name for name in NAMES if math.isnan(found[name])} == set(found.reasons)
    for metric, value in expected.items():
        undefined = value == 0 and metric in found.reasons  # the value of the definition for no grades, no long query
        assert undefined or found[metric] == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), metric


@pytest.mark.parametrize("ndcg", NDCG_KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_ties_are_averaged_over_all_their_orders(ndcg, seed):
    """All orders of the rows, each ranked in the file's order."""
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, 3, 4).astype(float), rng.integers(0, 1 + seed % 3, 4).astype(float)
    y[0] = 2
    orders = [list(order) for order in itertools.permutations(range(4))]
    rules = {"ndcg": ndcg, "relevant": 2, "more": TOPS}
    every = [evaluate(y[order], scores[order], [0, 4], **rules, ties="file") for order in orders]
    naively = [metrics.ndcg(y[order], scores[order], np.zeros(4), 3, ndcg) for order in orders]
    found = evaluate(y, scores, [0, 4], **rules)
    assert set(TOPS) <= set(found)
    for name in found:
        assert found[name] == pytest.approx(np.mean([one[name] for one in every]), rel=1e-12, nan_ok=True), name
    assert found["ndcg@3"] == pytest.approx(np.mean(naively), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in inputs.CASES if name not in ("no query", "2,000 levels")])
def test_metrics_of_the_first_documents(name):
    y, scores, offsets = ranking(name)
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    found = evaluate(y, scores, offsets, relevant=2, ties="file", more=TOPS)
    assert list(found) == [*NAMES[:7], "ndcg@2", *NAMES[7:], *(one for one in TOPS if one != "ndcg@2")]
    for metric in TOPS[:-1]:
        expected = metrics.top(metric, y, scores, queries, 2)
        assert metric in found.reasons or found[metric] == pytest.approx(expected, rel=1e-12, abs=1e-15), metric


@pytest.mark.parametrize("ties, tied", [("average", 0.5), ("file", 0.0)])
@pytest.mark.parametrize("metric", [*TOPS, *WHOLE])
def test_values_of_queries_have_the_metric_as_their_mean(metric, ties, tied):
    rng = np.random.default_rng(3)
    offsets = np.array([0, 4, 4, 5, 12, 40])
    y, scores = rng.integers(0, 3, 40).astype(float), np.round(rng.normal(size=40), 1)
    rules = {"ndcg": "standard", "relevant": 2, "ties": ties}
    values, weights = values_by_query([metric, "map"], y, scores, offsets, tied=tied, **rules)[metric]
    expected = evaluate(y, scores, offsets, **rules, more=[metric])
    more = tied * (expected["pa_ties"] - expected["pa"]) if metric == "pa" else 0.0
    assert np.average(values, weights=weights) == pytest.approx(expected[metric] + more, rel=1e-12)


def test_undefined_metrics_of_the_first_documents():
    found = evaluate([0.0, 0.5, 1.0], [1.0, 2.0, 3.0], [0, 3], ndcg="linear", relevant=2, more=["p@1", "mrr", "err@2"])
    assert np.isnan([found["p@1"], found["mrr"], found["err@2"]]).all() and found["ndcg@1"] == 1.0
    assert found.reasons["mrr"] == found.reasons["p@1"] == found.reasons["map"]
    assert "label 0.5 is not a grade" in found.reasons["err@2"]
    assert "label -1 is not a grade, a number from 0 on" in evaluate([-1], [1], [0, 1], ndcg="linear").reasons["ndcg@1"]


def test_names_of_metrics():
    assert parse_metric("ndcg@20") == ("ndcg", 20) and parse_metric("mrr") == ("mrr", None)
    for name in ("ndcg", "ndcg@0", "ndcg@-1", "p@1.5", "mrr@3", "NDCG@5", "err@", None, 3):
        with pytest.raises(ParameterError, match=r"is unknown\. Use pa, .*err@K with K from 1 on"):
            parse_metric(name)


def test_metrics_do_not_depend_on_the_files_order():
    """Two constant features, a file sorted by label: NDCG@1 and MAP were 1."""
    y, flat = np.repeat([2.0, 1, 0, 0], 10), np.zeros(40)
    found, turned = (evaluate(labels, flat, [0, 40]) for labels in (y, y[::-1]))
    assert found == turned and found["ndcg@1"] == pytest.approx(1 / 3) and found["map"] < 0.6
    assert found.ties == {"pairs": 500, "queries": 1}
    assert evaluate(y, flat, [0, 40], ties="file")["map"] == 1
    assert evaluate(y, np.arange(40.0), [0, 40]).ties == {"pairs": 0, "queries": 0}


@pytest.mark.parametrize("least, found", [(0, 1), (2, 0.5), (4, None)])
def test_the_least_relevant_label_beyond_2_53(least, found):
    base = 2**53 + 2  # the next numbers of float64 are 2 apart
    y, scores, offsets = base + np.array([1, 0, 2]), np.array([3.0, 1, 2]), [0, 3]
    metrics = evaluate(y, scores, offsets, relevant=base + least)
    assert metrics["pa"] == pytest.approx(2 / 3) and ("map" in metrics.reasons) == (found is None)
    if found is not None:
        assert metrics["map"] == found
        assert values_by_query(["map"], y, scores, offsets, relevant=base + least)["map"][0].tolist() == [found]


def test_pairs_are_counted_exactly():
    """20,000 documents, 50 levels, many ties: the same quotient of the same whole numbers."""
    at = inputs.queries([20000, 3], 50, "margins")
    right, tied, pairs = np.sum(
        [metrics.pairs_by_grade(at.y[part], at.s[part]) for part in (slice(20000), slice(20000, None))], axis=0
    )
    found = evaluate(at.y, at.s, at.offsets)
    assert (found["pa"], found["pa_ties"]) == (right / pairs, (right + tied) / pairs)


def test_by_hand():
    """Grades 0, 2, 1 and a tie of the last two; then a blank query of two documents."""
    found = evaluate([0, 2, 1, 0, 0], [3, 1, 1, 1, 2], [0, 3, 5], ties="file")
    assert found["pa"] == pytest.approx(0) and found["pa_ties"] == pytest.approx(1 / 3)
    assert found["tau"] == pytest.approx(-2 / math.sqrt(3 * 2))
    at3 = (3 / 1 + 1 / math.log2(3)) / (3 / 1 + 1 / 1)
    assert found["ndcg@1"] == 0 and found["ndcg@3"] == pytest.approx(at3 / 2)
    assert math.isnan(found["ndcg@5"]) and found.reasons["ndcg@5"].startswith("no query has 5 documents")
    assert found["mean_ndcg"] == pytest.approx((0 + 3 / 4 + at3) / 3 / 2)
    assert found["map"] == pytest.approx((1 / 2 + 2 / 3) / 2 / 2)


def test_equal_scores_keep_the_files_order_if_asked():
    assert evaluate([1, 0], [0.0, 0.0], [0, 2], ties="file")["ndcg@1"] == 1
    assert evaluate([0, 1], [0.0, -0.0], [0, 2], ties="file")["ndcg@1"] == 0
    assert evaluate([0, 1], [0.0, -0.0], [0, 2])["ndcg@1"] == 0.5


def test_what_is_relevant():
    y, scores, offsets = [0, 1, 2], [3, 2, 1], [0, 3]
    assert evaluate(y, scores, offsets)["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert evaluate(y, scores, offsets, relevant=2)["map"] == pytest.approx(1 / 3)
    found = evaluate(y, scores, offsets, relevant=3)
    assert math.isnan(found["map"]) and "no label reaches 3" in found.reasons["map"]


def test_without_pairs_there_is_no_pairwise_accuracy():
    found = evaluate([1, 1, 2], [0.1, 0.2, 0.3], [0, 2, 3])
    assert all(math.isnan(found[name]) for name in ("pa", "pa_ties", "tau")) and found["map"] == 1


@pytest.mark.parametrize("label", [-1, 0.5, 31, 1831, math.inf])
def test_ndcg_is_not_defined_beyond_grades(label):
    found = evaluate([0, label, 1], [0.1, 0.3, 0.2], [0, 3])
    assert [name for name in NAMES if math.isnan(found[name])] == [name for name in NAMES if "ndcg" in name]
    assert found.reasons["ndcg@1"] == f"label {label:g} is not a grade, a whole number from 0 to 30"


@pytest.mark.parametrize("ndcg", NDCG_KINDS)
def test_ndcg_is_not_defined_without_a_grade_above_0(ndcg):
    found = evaluate([0, 0, 0], [0.1, 0.3, 0.2], [0, 3], ndcg=ndcg)
    assert set(found.reasons) == set(NAMES) and found.reasons["mean_ndcg"] == "no label is above 0"


def test_short_queries_are_counted_where_a_long_one_is():
    y, scores = np.tile([2.0, 1, 0], 4), np.arange(12.0)
    assert evaluate(y, scores, [0, 10, 12])["ndcg@10"] > 0 and evaluate(y, scores, [0, 9, 12]).reasons.keys() == {
        "ndcg@10"
    }
    assert not evaluate(y, scores, [0, 9, 12], ndcg="standard").reasons


def test_pairs_and_map_need_no_whole_numbers():
    y, scores, offsets = np.array([0.5, 0.25, 0, 1.75]), np.array([1.0, 3, 2, 0]), np.array([0, 4])
    found, expected = evaluate(y, scores, offsets, relevant=0.3), plain(y, scores, offsets, "letor", 0.3)
    assert [found[name] for name in ("pa", "tau", "map")] == pytest.approx(
        [expected[name] for name in ("pa", "tau", "map")], rel=1e-12
    )


def test_results_are_plain_numbers():
    assert all(type(value) is float for value in evaluate([0, 1], [0, 1], [0, 2]).values())


@pytest.mark.parametrize(
    "y, scores, offsets, words",
    [
        ([], [], [0], "0 labels"),
        ([0, 1], [0], [0, 2], "2 labels, 1 scores"),
        ([0, 1], [0, 1], [0, 3], "go from 0 to 3"),
        ([0, 1], [0, 1], [0, 2, 1, 2], r"must not fall"),
        ([0, math.nan], [0, 1], [0, 2], r"y\[1\] is NaN"),
        ([0, 1], [math.nan, 1], [0, 2], r"scores\[0\] is NaN"),
        ([[0, 1]], [0, 1], [0, 2], "y must have one dimension"),
        ([0, 1], [0, 1], [0, 1.5, 2], "offsets must be integers"),
        ([0, 1], [0, 1], np.array([0, 2], "M8[D]"), "offsets must be integers"),
    ],
)
def test_bad_input(y, scores, offsets, words):
    with pytest.raises(DataError, match=words):
        evaluate(y, scores, offsets)


def test_bad_parameters():
    with pytest.raises(ParameterError, match="ndcg"):
        evaluate([0, 1], [0, 1], [0, 2], ndcg="exact")
    with pytest.raises(ParameterError, match="relevant"):
        evaluate([0, 1], [0, 1], [0, 2], relevant="many")


ACCURACY = {  # train and test, per cent, ties counted as right
    1: (80.2408, 82.7171),
    2: (79.9747, 79.1401),
    3: (82.3532, 74.7612),
    4: (82.6386, 80.6814),
    5: (80.7636, 80.4902),
}


@pytest.mark.slow
def test_mq2008_by_letors_rules():
    """Trained by the oracle at C = 1 on each fold."""
    tests = []
    for fold, accuracy in ACCURACY.items():
        X, y, offsets = letor.read(data(f"MQ2008/Fold{fold}/train.txt"))
        w = naive.minimize(X, y, offsets, 1.0, 1e-7).w
        train = evaluate(y, X @ w, offsets)
        X, y, offsets = letor.read(data(f"MQ2008/Fold{fold}/test.txt"))
        tests.append(evaluate(y, X @ w, offsets))
        assert (100 * train["pa_ties"], 100 * tests[-1]["pa_ties"]) == pytest.approx(accuracy, abs=5e-5)
    for metric, value in (("map", 0.4728), ("ndcg@10", 0.2293), ("mean_ndcg", 0.4826)):
        assert np.mean([test[metric] for test in tests]) == pytest.approx(value, abs=5e-5)
