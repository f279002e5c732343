"""The five folds of MQ2008 at C = 1: known objective, pairwise accuracy and LETOR's scores."""

import numpy as np
import pytest

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


def part(data, fold, name):
    return letor.read(data(f"MQ2008/Fold{fold}/{name}.txt"))


def fit(documents, **parameters):
    X, y, offsets = documents
    return RankSVM(**{"C": 1.0, "device": "cpu", **parameters}).fit(X, y, group=np.diff(offsets))


def measures(model, documents):
    X, y, offsets = documents
    return evaluate(y, model.predict(X), offsets)


@pytest.fixture(scope="module")
def folds():
    from support import data

    return {k: (part(data, k, "train"), part(data, k, "test")) for k in KNOWN}


@pytest.mark.parametrize("fold", KNOWN)
def test_the_minimum_and_the_accuracies(fold, folds):
    train, test = folds[fold]
    f, train_accuracy, test_accuracy = KNOWN[fold]
    model = fit(train)
    assert model.objective_ == pytest.approx(f, rel=1e-8)
    assert 100 * measures(model, train)["pa_ties"] == pytest.approx(train_accuracy, abs=0.01)
    assert 100 * measures(model, test)["pa_ties"] == pytest.approx(test_accuracy, abs=0.01)
    assert model.n_iter_ <= 8 and model.n_cg_ <= 16


def test_letors_scores(folds):
    found = [measures(fit(train), test) for train, test in folds.values()]
    for name, mean in MEANS.items():
        assert np.mean([one[name] for one in found]) == pytest.approx(mean, abs=5e-5)


def test_every_solver_finds_the_same(folds):
    train = folds[1][0]
    models = [
        fit(train, solver=solver, eps=1e-9, precondition=p)
        for solver in ("scan", "p-swx", "dcm", "ost")
        for p in (True, False)
    ]
    for model in models:
        assert model.objective_ == pytest.approx(KNOWN[1][0], rel=1e-10)
        assert relative(model.coef_, models[0].coef_) < (1e-6 if model.precondition else 1e-4)  # rounding ends plain CG


def test_plain_conjugate_gradients_take_the_rivals_steps(folds):
    model = fit(folds[1][0], precondition=False)
    assert 150 < model.n_cg_ < 350 and model.objective_ == pytest.approx(KNOWN[1][0], rel=1e-6)


def test_queries_and_documents_in_any_order(folds):
    X, y, offsets = folds[1][0]
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = np.random.default_rng(0).permutation(len(y))
    model, plain = RankSVM(1.0, device="cpu").fit(X[rows], y[rows], qid[rows]), fit(folds[1][0])
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-10) and relative(model.coef_, plain.coef_) < 1e-6


def test_c_chosen_on_validation(folds, data):
    X, y, offsets = part(data, 1, "vali")
    train, test = folds[1]
    sets = [(A, b, np.repeat(np.arange(len(o) - 1), np.diff(o))) for A, b, o in (train, (X, y, offsets))]
    model = RankSVM(device="cpu").fit_path(*sets, grid="2^-10:2^6:2^2", metric="ndcg@10")
    best = max(row["validation"]["ndcg@10"] for row in model.path_)
    assert measures(model, (X, y, offsets))["ndcg@10"] == pytest.approx(best, rel=1e-12)
    assert measures(model, test)["ndcg@10"] > 0.2
