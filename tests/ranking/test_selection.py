"""Automatic C and scale: trials, their evaluation, the choice, and explicit values."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from gpukit.documents import Documents
from gpukit.errors import DataError
from gpukit.evaluation.ranking import evaluate
from gpukit.model_selection.trial import Budget, Trial
from gpukit.parallel import ALONE
from gpukit.persist import load_model
from gpukit.ranking import RankSVM, feature_map, inputs, path, selection
from ranking import data
from ranking.data import exchange_documents, make_graded


def choose(model, X, y, qid, weights=None):
    return selection.choose_settings(inputs.read(X, y, qid, query_weight=weights), model.check(), ALONE)


def test_wild_scales_are_brought_together():
    wild = 10.0 ** np.linspace(-5, 5, 10)
    X, y, qid = make_graded(scales=wild, seed=1)
    Z, labels, others = make_graded(scales=wild, seed=2)
    found = RankSVM().fit(X, y, qid)
    assert found.scaling_.kind == found.chosen_["scale"] == "deviation" and found.C_ == found.chosen_["C"]
    assert found.score(Z, labels, others) > RankSVM(1.0).fit(X, y, qid).score(Z, labels, others) + 0.02


@pytest.mark.slow
def test_few_queries_of_many_features_are_held_smaller():
    X, y, qid = make_graded(queries=14, features=60, noise=1.5, seed=4)
    Z, labels, others = make_graded(queries=60, features=60, noise=1.5, seed=5)
    found = RankSVM().fit(X, y, qid)
    assert found.C_ < 0.1
    assert found.score(Z, labels, others) > RankSVM(1.0).fit(X, y, qid).score(Z, labels, others) + 0.01


def test_what_is_no_better_for_certain_is_not_taken():
    X, y, qid = make_graded(queries=40, features=2, noise=0.5)
    found = RankSVM().fit(X, y, qid)
    assert (found.C_, found.scaling_.kind) == (1.0, "none")
    gain = max(trial["pa"] for trial in found.trials_) - found.chosen_["usual_pa"]
    assert 0 < found.chosen_["gain"] <= found.chosen_["error"] and found.chosen_["gain"] == pytest.approx(gain)
    assert found.chosen_["pa"] == found.chosen_["usual_pa"]
    np.testing.assert_array_equal(found.coef_, RankSVM(1.0).fit(X, y, qid).coef_)


@pytest.mark.parametrize(
    ("features", "precondition", "expected"), [(20, True, True), (130, True, False), (20, False, False)]
)
def test_more_features_than_documents_are_not_preconditioned(features, precondition, expected, monkeypatch):
    kinds, plain = set(), selection.run.Run
    record = lambda inputs, settings, *more: kinds.add(settings.precondition) or plain(inputs, settings, *more)  # noqa: E731
    monkeypatch.setattr(selection.run, "Run", record)
    chosen = choose(RankSVM(precondition=precondition), *make_graded(queries=10, features=features))
    assert kinds == {expected} and chosen.precondition == precondition and chosen.chosen.seconds > 0


def test_what_is_named_is_obeyed():
    X, y, qid = make_graded(scales=10.0 ** np.linspace(-5, 5, 10))
    assert choose(RankSVM(0.5), X, y, qid)[:5] == (0.5, "auto", 1e-5, 200, "none")
    assert choose(RankSVM(0.5, scale="deviation"), X, y, qid).scale == "deviation"
    only = choose(RankSVM(scale="minmax"), X, y, qid)
    assert only.scale == "minmax" and {trial["scale"] for trial in only.chosen.trials} == {"minmax"}
    run = RankSVM().prepare(X, y, qid, choose=False)
    assert (run.settings.C, run.settings.scale, run.settings.chosen) == (1.0, "none", None)


@pytest.mark.parametrize("few", [False, True])
def test_trials_are_judged_on_what_they_have_not_seen(few):
    """Each trial's accuracy equals that of the estimator on folds made by hand."""
    X, y, qid = make_graded(queries=6 if few else 23, size=9, features=4, seed=5)
    weights = np.random.default_rng(0).integers(1, 4, qid[-1] + 1).astype(float)
    sample = selection.draw_sample(inputs.read(X, y, qid, query_weight=weights))
    folds = selection.split_folds(sample)
    assert len(folds) == selection.FOLDS
    judged = np.concatenate([held.X for _, held in folds])
    assert sorted(map(tuple, judged)) == sorted(map(tuple, sample.X))
    trials = choose(RankSVM(), X, y, qid, weights).chosen.trials
    for trial in (trials[0], trials[4], trials[-1]):
        right = pairs = 0.0
        for train, held in folds:
            shared = set(train.query) & set(held.query)
            assert bool(shared) == few and not set(map(tuple, train.X)) & set(map(tuple, held.X))
            model = RankSVM(trial["C"], scale=trial["scale"], eps=1e-3).fit(
                train.X, train.y, train.query, query_weight=dict(zip(train.query.tolist(), train.weight))
            )
            one = in_order(held, model.predict(held.X))
            right, pairs = right + one[0], pairs + one[1]
        assert trial["pa"] == pytest.approx(right / pairs, abs=2e-3)


def in_order(held, scores):
    """Return (weight of the correct pairs, equal ones half; weight of all pairs), pair by pair."""
    right = pairs = 0.0
    for i in range(len(held.y)):
        for j in range(len(held.y)):
            if held.query[i] == held.query[j] and held.y[i] > held.y[j]:
                pairs += held.weight[i]
                right += held.weight[i] * (0.5 + 0.5 * np.sign(scores[i] - scores[j]))
    return right, pairs


@pytest.mark.parametrize(
    ("X", "y", "qid"),
    [
        ([[1.0], [2.0]], [0, 1], [0, 0]),
        (np.random.default_rng(0).random((3, 2)), [0, 1, 2], [0, 0, 0]),
        (np.ones((20, 3)), np.arange(20) % 3, np.arange(20) // 5),
        (np.random.default_rng(0).random((30, 2)), [0, 1, 0, 1] + [0] * 26, [0, 0, 1, 1, *range(5, 31)]),
    ],
    ids=["one pair", "three documents", "constant features", "queries of one document"],
)
def test_where_nothing_can_be_held_out_C_is_1(X, y, qid):
    found = RankSVM().fit(np.asarray(X), np.asarray(y, float), np.asarray(qid))
    assert (found.C_, found.scaling_.kind) == (1.0, "none") and not hasattr(found, "chosen_")


def test_one_held_out_unit_has_no_standard_error():
    X = np.random.default_rng(0).normal(size=(6, 2))
    found = RankSVM().fit(X, np.arange(6), np.zeros(6, int))  # of five parts one has two documents
    assert found.chosen_["queries"] == 1 and found.chosen_["error"] is None


def test_features_too_large_for_products_are_scaled():
    X, y, qid = make_graded(scales=1e300)
    found = RankSVM().fit(X, y, qid)
    assert found.scaling_.kind == "deviation" and found.score(X, y, qid) > 0.7


@pytest.mark.slow
def test_weights_of_nothing_do_not_judge():
    X, y, qid = make_graded(queries=20)
    weights = np.where(np.arange(20) < 12, 1.0, 0.0)
    alone = choose(RankSVM(), X[:144], y[:144], qid[:144])
    assert choose(RankSVM(), X, y, qid, weights).chosen.facts["queries"] == alone.chosen.facts["queries"] == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "limit", "work"),
    [(30, 1, 2e7), (6, 1, 2e7), (30, 0.8, 2e7), (70, 0.8, 2e7), (30, 1, 1e5)],
    ids=["queries", "documents", "some documents", "some queries", "finalists"],
)
def test_the_choice_does_not_depend_on_the_order(queries, limit, work, monkeypatch):
    X, y, qid = make_graded(queries=queries, scales=10.0 ** np.linspace(-2, 2, 10), seed=6)
    X[12:24], y[12:24] = X[:12], y[:12]
    weights = np.random.default_rng(0).integers(1, 4, queries)[qid].astype(float)
    monkeypatch.setattr(selection, "MOST", int(limit * X.size))
    monkeypatch.setattr(selection, "WORK", work)
    plain = choose(RankSVM(), X, y, qid, weights).chosen
    for seed in range(4):
        X_, y_, qid_, weights_ = exchange_documents(X, y, qid, weights, seed)
        other = choose(RankSVM(), X_, y_, qid_, weights_).chosen
        assert other.facts == plain.facts and other.trials == plain.trials


@pytest.mark.slow
def test_sparsity_changes_nothing():
    X, y, qid = make_graded(queries=30, seed=6)
    plain, sparse = (choose(RankSVM(), kind(X), y, qid).chosen for kind in (np.asarray, scipy.sparse.csr_array))
    assert sparse.facts["pa"] == pytest.approx(plain.facts["pa"], abs=2e-3)


@pytest.mark.parametrize(
    ("peak", "expected"), [(-1, [0, -3, -2, -1, 0, 1]), (9, [0, *range(-3, 5)]), (-9, [0, -3, -2, -1])]
)
def test_a_path_ends_after_its_best(peak, expected, monkeypatch):
    """The score of 10**k falls with the distance of k from the peak; C = 1 is tried in any case."""
    values = [1.0, *(10.0 ** np.arange(-3, 5)).tolist()]
    monkeypatch.setattr(selection, "make_path", lambda session: values)
    starts = []
    train = lambda C, w: starts.append(w) or SimpleNamespace(w=C)  # noqa: E731
    steps = lambda result: {"newton": 2, "cg": 5}  # noqa: E731
    run = SimpleNamespace(
        session=None, settings=SimpleNamespace(features="linear", scale="none"), train=train, steps=steps, map=None
    )
    run.problem, budget = SimpleNamespace(X=np.zeros((3, 2))), Budget(1e6)
    held_out = SimpleNamespace(evaluate_queries=lambda w: (np.full(20, -abs(np.log10(w) - peak)), np.ones(20)))
    tried = [trial.candidate.C for trial in selection.try_path(run, None, held_out, budget)]
    assert np.log10(tried).round().tolist() == expected and starts == [None, *tried[:-1]]
    assert budget.limit - budget.left == 6 * 7 * len(tried)
    assert [trial.candidate.C for trial in selection.try_path(run, values, held_out, budget)] == values


def test_a_file_keeps_the_choice(tmp_path):
    X, y, qid = make_graded(scales=10.0 ** np.linspace(-5, 5, 10))
    model = RankSVM().fit(X, y, qid)
    model.save(tmp_path / "m.gpukit")
    again = load_model(tmp_path / "m.gpukit")
    assert again.chosen_ == model.chosen_ and again.trials_ == model.trials_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(model.set_params(C=1.0).fit(X, y, qid), "chosen_")


# --- a validation set, another metric, the cost


@pytest.mark.parametrize("metric", ["pa", "map", "ndcg@10", "mean_ndcg", "tau"])
def test_the_best_on_the_validation_set_is_taken(metric):
    X, y, qid = make_graded(queries=30, scales=10.0 ** np.linspace(-3, 3, 10))
    held = make_graded(queries=20, scales=10.0 ** np.linspace(-3, 3, 10), seed=9)
    sets = {"eval_set": [(X, np.abs(y)), (held[0], np.abs(held[1]))], "eval_qid": [qid, held[2]]}
    model = RankSVM(device="cpu").fit(X, np.abs(y), qid, **sets, metric=metric)
    assert model.chosen_["held_out"] == "validation" and len(model.trials_) == 18
    assert model.chosen_[metric] == max(trial[metric] for trial in model.trials_)
    offsets = np.append(np.flatnonzero(np.diff(held[2], prepend=-1)), len(held[2]))
    again = evaluate(np.abs(held[1]), model.predict(held[0]), offsets)[metric]
    assert again == pytest.approx(model.chosen_[metric], abs=0.01)
    assert model.evals_result_["validation_1"][metric] == again


def test_an_eval_set_without_the_metric_is_reported_alone():
    X, y, qid = make_graded(queries=30)
    with pytest.warns(
        UserWarning, match="parts of the training set, not on the last eval set. The validation set has no"
    ):
        model = RankSVM(device="cpu").fit(X, y, qid, eval_set=[(X, np.ones(len(y)))], eval_qid=[qid])
    assert model.chosen_["held_out"] == "queries" and "validation_0" in model.evals_result_


def test_a_named_c_is_not_chosen_on_an_eval_set():
    X, y, qid = make_graded(queries=30)
    model = RankSVM(0.5, device="cpu").fit(X, y, qid, eval_set=[(X, y)], eval_qid=[qid])
    assert model.C_ == 0.5 and not hasattr(model, "chosen_") and "validation_0" in model.evals_result_


@pytest.mark.parametrize(
    ("lengths", "features"), [([20_000], 5), ([4000], 5), ([20] * 200, 8)], ids=["a long query", "a query", "queries"]
)
@pytest.mark.parametrize("validated", [False, True])
def test_choosing_costs_at_most_ten_trainings(lengths, features, validated, monkeypatch):
    """In passes over the documents, which are the cost of training; for a set that spends the budget at once."""
    from gpukit.ranking.pair_sums import LevelTreeSums

    rng, passes = np.random.default_rng(0), [0]
    plain = LevelTreeSums.walk

    def walk(self, v, margin, exact=True):
        passes[0] += self.size
        return plain(self, v, margin, exact)

    X = rng.normal(size=(sum(lengths), features))
    y = np.digitize(X.sum(axis=1) + 3 * rng.normal(size=len(X)), [-2, 0, 2]).astype(float)
    monkeypatch.setattr(LevelTreeSums, "walk", walk)
    monkeypatch.setattr(selection, "WORK", 1.0)
    RankSVM(1.0, device="cpu").fit(X, y, group=lengths)
    once, passes[0] = passes[0], 0
    held = {"eval_set": [(X, y)], "eval_group": [lengths]} if validated else {}
    RankSVM(device="cpu").fit(X, y, group=lengths, **held)
    assert passes[0] <= 11 * once


def test_all_candidates_are_evaluated_while_the_budget_lasts(monkeypatch):
    """A candidate costs more than a pass over the training documents."""
    counts, plain = [], selection.try_paths

    def record(*given):
        counts.append(sum(9 if values is None else len(values) for values in given[2].values()))
        before = given[-1].left
        results = plain(*given)
        assert before - given[-1].left > len(results) * given[0].X.size
        return results

    X, y, qid = make_graded(queries=30)
    monkeypatch.setattr(selection, "try_paths", record)
    choose(RankSVM(), X, y, qid)
    assert len(counts) == 5 and min(counts) > 2
    monkeypatch.setattr(selection, "WORK", 1.0)
    counts.clear()
    choose(RankSVM(), X, y, qid)
    assert counts[0] == 18 and max(counts[1:]) <= 2 and len(counts) == 5


def test_a_metric_that_held_out_documents_do_not_define():
    """A fifth of a query of 10 documents has no NDCG@10 of LETOR's, which is 0 for every C."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 4)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    with pytest.raises(DataError, match="by ndcg@10 on held-out documents: no query has 10 .* give a validation set"):
        RankSVM(device="cpu").fit(X, y, qid, metric="ndcg@10")
    assert RankSVM(device="cpu").fit(X, y, qid, metric="map").chosen_["map"] > 0


def test_a_metric_that_labels_do_not_define():
    X, y, qid = make_graded(queries=30)
    with pytest.raises(DataError, match="C cannot be chosen by ndcg@10: label -1 is not a grade"):
        RankSVM(device="cpu").fit(X, np.where(np.arange(len(y)) == 0, -1.0, y), qid, metric="ndcg@10")


# --- features


def make_bent(queries=20, size=10, seed=0):
    """Return (X, y, qid) whose relevance is highest in the middle of the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * size, 3))
    return X, np.digitize(-np.abs(X[:, 0]), [-1.0, -0.5, -0.2]).astype(float), np.repeat(np.arange(queries), size)


def test_a_map_is_chosen_where_it_is_better(monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 50)
    X, y, qid = make_bent()
    Z, labels, others = make_bent(seed=1)
    found, linear = RankSVM(features="auto").fit(X, y, qid), RankSVM().fit(X, y, qid)
    assert found.chosen_["features"] == found.feature_map_.kind != "linear"
    assert {trial["features"] for trial in found.trials_} == {"linear", "thresholds", "fourier"}
    assert found.score(Z, labels, others) > linear.score(Z, labels, others) + 0.3
    assert linear.feature_map_ is None and {trial["features"] for trial in linear.trials_} == {"linear"}
    np.testing.assert_array_equal(found.coef_, RankSVM(found.C_, features=found.feature_map_.kind).fit(X, y, qid).coef_)


@pytest.mark.slow
def test_a_map_is_chosen_on_the_validation_set(monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 50)
    X, y, qid = make_bent()
    Z, labels, others = make_bent(seed=1)
    found = RankSVM(features="auto").fit(X, y, qid, eval_set=[(Z, labels)], eval_qid=[others])
    assert found.chosen_["held_out"] == "validation" and found.feature_map_ is not None
    assert found.chosen_["pa"] == pytest.approx(found.score(Z, labels, others), abs=0.01)


@pytest.mark.parametrize("on_validation", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_linear_relevance_keeps_the_linear_model(on_validation, monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 50)
    X, y, qid = make_graded(queries=40, features=4, seed=3)
    Z, labels, others = make_graded(queries=40, features=4, seed=4)
    sets = {"eval_set": [(Z, labels)], "eval_qid": [others]} if on_validation else {}
    found, linear = RankSVM(features="auto").fit(X, y, qid, **sets), RankSVM().fit(X, y, qid, **sets)
    assert found.feature_map_ is None and found.C_ == linear.C_
    np.testing.assert_array_equal(found.coef_, linear.coef_)


def test_features_stay_linear_with_an_explicit_C_or_on_a_gpu_without_cupy(monkeypatch):
    X, y, qid = make_bent()
    assert RankSVM(0.1, features="auto").fit(X, y, qid).feature_map_ is None
    settings = RankSVM(features="auto", device="cuda").check()
    for has_cupy in (False, True):
        monkeypatch.setattr(selection.choose, "has_cupy", lambda has_cupy=has_cupy: has_cupy)
        assert selection.list_features(settings) == (selection.FEATURES if has_cupy else ("linear",))
    assert selection.list_features(settings._replace(device="auto")) == selection.FEATURES


def trial_of(kind, *scores):
    return Trial(selection.Candidate(kind, "none", 1.0), np.array(scores), {}, np.ones(len(scores)))


@pytest.mark.parametrize(
    ("held_out", "scores", "chosen"),
    [
        ("queries", (1.0, 1.0, 1.0, 3.0), "linear"),
        ("queries", (1.5, 1.4, 1.6, 1.5), "fourier"),
        ("queries", (0.0, 1.0, 1.0, 1.0), "linear"),
        ("validation", (1.0, 1.0, 1.0, 3.0), "fourier"),
        ("validation", (1.0, 1.0, 1.0, 1.0), "linear"),
        ("validation", (0.0, 1.0, 1.0, 1.0), "linear"),
    ],
)
def test_on_held_out_queries_a_map_must_be_better_for_certain(held_out, scores, chosen):
    linear, other = ([trial_of("linear", 1.0, 1.0, 1.0, 1.0)], [trial_of("fourier", *scores)])
    found = [selection.Search(trials, trials) for trials in (linear, other)]
    assert selection.choose_trial([*found, selection.Search([], linear)], held_out).candidate.features == chosen


def test_a_search_ends_where_it_is_behind():
    rival = trial_of("linear", 1.0, 0.0, 5.0)
    assert selection.is_behind(trial_of("fourier", 0.5, 0.5), rival)
    assert not selection.is_behind(trial_of("fourier", 0.6, 0.5), rival)


def test_a_costly_path_ends_where_it_is_flat():
    """Budget(0) is spent after the first value; the third is not better than the second."""
    values, steps = {0: 1.0, 1: 2.0, 2: 2.0, 3: 3.0}, lambda result: {"newton": 1, "cg": cg[result.w]}
    run = SimpleNamespace(
        session=None, settings=SimpleNamespace(features="fourier", scale="none"), steps=steps, map=True
    )
    run.problem, run.train = SimpleNamespace(X=np.zeros((3, 2))), lambda C, w: SimpleNamespace(w=C)
    held_out = SimpleNamespace(evaluate_queries=lambda w: (np.full(9, values[w]), np.ones(9)))
    for limit, cg, expected in (  # noqa: B007
        (0, [1, 1, 1, 1], [0, 1, 2]),
        (1e6, [1, 1, 1, 1], [0, 1, 2, 3]),
        (1e6, [1, 100, 1, 1], [0, 1]),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selection, "make_path", lambda session: [1.0, 0, 1, 2, 3])
            tried = selection.try_path(run, None, held_out, Budget(limit))
        assert [trial.candidate.C for trial in tried] == expected


@pytest.mark.parametrize("metric", ["pa", "ndcg@10"])
def test_a_query_counts_by_the_mean_weight_of_its_documents(metric):
    at = data.make((12, 30, 7), n=4)
    query, own = np.repeat(np.arange(3), (12, 30, 7)), np.random.default_rng(1).integers(0, 4, 49).astype(float)
    documents = Documents(at.X, at.y, at.offsets, np.arange(3), weights=own)
    w, found = np.random.default_rng(2).normal(size=4), {}
    by_query = documents._replace(weights=np.array([1.0, 0.5, 3.0]))
    for name, one in (("own", documents), ("query", by_query), ("plain", documents._replace(weights=None))):
        held_out = path.ValidationSet(path.read(one), path.RankingMetric(metric))
        held_out.X = at.X
        found[name] = held_out.evaluate_queries(w)
    np.testing.assert_array_equal(found["own"][0], found["plain"][0])
    np.testing.assert_allclose(found["own"][1], found["plain"][1] * np.bincount(query, own) / np.bincount(query))
    np.testing.assert_array_equal(found["query"][1], found["plain"][1] * by_query.weights)


def test_documents_without_weight_do_not_judge():
    """A fold of such documents is left out: its metrics have no weight."""
    at = data.make((20,) * 30, n=4, seed=3)
    query = np.repeat(np.arange(30), 20)
    sample = selection.Sample(at.X, at.y, query, np.ones(600), np.where(query % 5 == 2, 0.0, 1.0))
    assert [set(held_out.query % 5) for _, held_out in selection.split_folds(sample)] == [{0}, {1}, {3}, {4}]


def test_weights_of_1_choose_as_none():
    """They changed the folds."""
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(300, 5)), np.repeat(np.arange(30), 10)
    y = np.digitize(X @ [1, 2, -1, 0.5, 0] + X[:, 0] ** 2 + rng.normal(size=300), [0, 2, 4])
    model = RankSVM().fit(X, y, qid)
    assert model.C_ != 1.0
    assert RankSVM().fit(X, y, qid, sample_weight=np.ones(300)).C_ == pytest.approx(model.C_)


def test_labels_in_the_same_order_choose_alike():
    X, y, qid = make_graded(queries=30, noise=1.5, seed=2)
    alike = y, 3 * y - 7, y.astype(int) + 2**60
    first, *others = (choose(RankSVM(), X, labels, qid).chosen.facts for labels in alike)
    assert others == [first, first] and first["pa"] < 1
