"""The five folds of MQ2008 at C = 1: known objective, pairwise accuracy and LETOR's scores."""

import functools

import numpy as np
import pytest
from support import SLOW, data

from gpukit.evaluation.ranking import evaluate
from gpukit.ranking import RankSVM
from ranking import letor
from ranking.data import relative

# f(w) exactly as in Eq. (1); pairwise accuracy in percent on train and test, equal scores counted as correct
KNOWN = {
    1: (29566.522846, 80.2408, 82.7171),
    2: (26650.339392, 79.9747, 79.1401),
    3: (22576.419192, 82.3532, 74.7612),
    4: (24334.240528, 82.6386, 80.6814),
    5: (28285.101148, 80.7636, 80.4902),
}
MEANS = {"map": 0.4728, "ndcg@10": 0.2293, "mean_ndcg": 0.4826}


@functools.cache
def part(fold, name):
    return letor.read(data(f"MQ2008/Fold{fold}/{name}.txt"))


def fit(documents, **parameters):
    X, y, offsets = documents
    return RankSVM(**{"C": 1.0, "device": "cpu", **parameters}).fit(X, y, group=np.diff(offsets))


def measures(model, documents):
    X, y, offsets = documents
    return evaluate(y, model.predict(X), offsets)


@functools.cache
def trained(fold):
    return fit(part(fold, "train"))


@pytest.mark.parametrize("fold", [1, *(pytest.param(fold, marks=SLOW) for fold in (2, 3, 4, 5))])
def test_the_minimum_and_the_accuracies(fold):
    train, test, model = part(fold, "train"), part(fold, "test"), trained(fold)
    f, train_accuracy, test_accuracy = KNOWN[fold]
    assert model.objective_ == pytest.approx(f, rel=1e-8)
    assert 100 * measures(model, train)["pa_ties"] == pytest.approx(train_accuracy, abs=0.01)
    assert 100 * measures(model, test)["pa_ties"] == pytest.approx(test_accuracy, abs=0.01)
    assert model.n_iter_ <= 8 and model.n_cg_ <= 16


@pytest.mark.slow
def test_letors_scores():
    found = [measures(trained(fold), part(fold, "test")) for fold in KNOWN]
    for name, mean in MEANS.items():
        assert np.mean([one[name] for one in found]) == pytest.approx(mean, abs=5e-5)


def test_every_solver_finds_the_same():
    models = [
        fit(part(1, "train"), solver=solver, eps=1e-9, precondition=p)
        for solver, p in [("scan", True), ("p-swx", True), ("dcm", True), ("ost", True), ("scan", False)]
    ]
    for model in models:
        assert model.objective_ == pytest.approx(KNOWN[1][0], rel=1e-10)
        assert relative(model.coef_, models[0].coef_) < (1e-6 if model.precondition else 1e-4)  # rounding ends plain CG


def test_plain_conjugate_gradients_take_the_rivals_steps():
    model = fit(part(1, "train"), precondition=False)
    assert 150 < model.n_cg_ < 350 and model.objective_ == pytest.approx(KNOWN[1][0], rel=1e-6)


def test_queries_and_documents_in_any_order():
    X, y, offsets = part(1, "train")
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = np.random.default_rng(0).permutation(len(y))
    model, plain = RankSVM(1.0, device="cpu").fit(X[rows], y[rows], qid[rows]), trained(1)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-10) and relative(model.coef_, plain.coef_) < 1e-6


def test_c_chosen_on_validation():
    (X, y, offsets), train, test = (part(1, name) for name in ("vali", "train", "test"))
    sets = [(A, b, np.repeat(np.arange(len(o) - 1), np.diff(o))) for A, b, o in (train, (X, y, offsets))]
    model = RankSVM(device="cpu").fit_path(*sets, grid="2^-10:2^6:2^2", metric="ndcg@10")
    best = max(row["validation"]["ndcg@10"] for row in model.path_)
    assert measures(model, (X, y, offsets))["ndcg@10"] == pytest.approx(best, rel=1e-12)
    assert measures(model, test)["ndcg@10"] > 0.2
