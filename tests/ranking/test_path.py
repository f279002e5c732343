"""The regularization path: every C's own minimum, the best by the metric, forms of grids."""

import warnings

import numpy as np
import pytest

from gpukit.documents import Documents
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.ranking import evaluate
from gpukit.ranking import RankSVM
from gpukit.ranking.path import parse_grid
from ranking import naive
from ranking.data import Set, make, relative

GRID = [2.0**k for k in range(-12, 5, 2)]


def noisy(seed):
    """Return documents whose labels a linear model predicts in part, as (X, y, qid)."""
    rng, lengths = np.random.default_rng(seed), [20] * 12
    X = rng.normal(size=(240, 8))
    y = np.digitize(X @ [3, 2, 1, 0.5, 0, 0, 0, 0] + 2 * rng.normal(size=240), [-3, 0, 3])
    offsets = np.append(0, np.cumsum(lengths))
    return Set(X, y.astype(float), offsets, np.repeat(np.arange(12), lengths))


def three(at):
    return at.X, at.y, at.qid


@pytest.mark.parametrize("precondition", [True, False])
def test_every_point_of_the_path_is_a_minimum(precondition):
    train, validation = noisy(0), noisy(1)
    model = RankSVM(eps=1e-7, device="cpu", precondition=precondition)
    assert model.fit_path(three(train), three(validation), grid=GRID[::-1] + GRID[:2], metric="pa") is model
    assert [row["C"] for row in model.path_] == GRID
    for row in model.path_:
        best = naive.minimize(train.X, train.y, train.offsets, row["C"], 1e-9)
        start = np.linalg.norm(naive.objective(np.zeros(8), train.X, train.y, train.offsets, row["C"]).gradient)
        assert row["objective"] == pytest.approx(best.f, rel=1e-10) and row["gradient_norm"] <= 1e-7 * start
        assert row["converged"] and row["seconds"] > 0


@pytest.mark.parametrize("metric", ["pa", "ndcg@10", "map", "mean_ndcg", "tau"])
def test_the_best_by_the_metric_is_kept(metric):
    train, validation = noisy(2), noisy(3)
    model = RankSVM(eps=1e-8, device="cpu").fit_path(three(train), three(validation), grid=GRID, metric=metric)
    alone = [RankSVM(C, eps=1e-8, device="cpu").fit(*three(train)) for C in GRID]
    values = [evaluate(validation.y, one.predict(validation.X), validation.offsets)[metric] for one in alone]
    assert [row["validation"][metric] for row in model.path_] == pytest.approx(values, rel=1e-12)
    best = int(np.argmax(values))
    assert (model.C_, model.metric_, model.C) == (GRID[best], metric, "auto")
    assert relative(model.coef_, alone[best].coef_) < 1e-6
    assert model.objective_ == model.path_[best]["objective"] and model.n_cg_ == model.path_[best]["cg"]
    assert len(model.history_) == model.n_iter_ == model.path_[best]["newton"]
    assert not hasattr(model, "chosen_") and model.scaling_.kind == "none"
    assert not hasattr(model.set_params(C=1.0).fit(*three(train)), "path_") and model.C_ == 1.0


def test_the_smaller_of_equal_ones():
    train = noisy(4)
    perfect = Set(train.X[:2], np.array([0.0, 1.0]), np.array([0, 2]), np.zeros(2))
    model = RankSVM(device="cpu").fit_path(three(train), three(perfect), grid=[4.0, 2.0, 1.0], metric="pa")
    assert len({row["validation"]["pa"] for row in model.path_}) == 1 and model.C_ == 1.0


def test_warm_starts_save_steps():
    train = noisy(5)
    warm = RankSVM(device="cpu", precondition=False).fit_path(three(train), three(train), grid=GRID, metric="pa")
    cold = [RankSVM(C, device="cpu", precondition=False).fit(*three(train)) for C in GRID]
    assert sum(row["newton"] for row in warm.path_) < sum(one.n_iter_ for one in cold)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, 3.0])
def test_precision_is_relative_to_the_gradient_at_0(weights):
    train = noisy(9)
    given = None if weights is None else np.full(12, weights)
    run = RankSVM(device="cpu").prepare(*three(train), query_weight=given)
    norm = np.linalg.norm(naive.objective(np.zeros(8), train.X, train.y, train.offsets, 1.0, given).gradient)
    first = run.train(0.25)
    warm = run.train(4.0, first.w)
    assert (run.unit_norm, first.start_norm, warm.start_norm) == pytest.approx((norm, norm / 4, norm * 4), rel=1e-12)
    again = RankSVM(device="cpu").prepare(*three(train), query_weight=given)
    assert again.train(4.0, first.w).start_norm == pytest.approx(4 * norm, rel=1e-12)


def test_a_sparse_validation_set():
    import scipy.sparse

    train, validation = noisy(10), noisy(11)
    model = RankSVM(scale="minmax", device="cpu")
    sets = [(X, validation.y, validation.qid) for X in (validation.X, scipy.sparse.csr_array(validation.X))]
    dense, sparse = (model.fit_path(three(train), one, grid=GRID, metric="pa").path_ for one in sets)
    assert [row["validation"] for row in dense] == [pytest.approx(row["validation"], rel=1e-12) for row in sparse]


def test_dialects_pass_through():
    train, validation = make(levels=4), make([4, 20, 11], 4, seed=5)
    graded = [Set(at.X, 2 * (at.y + 1), at.offsets, at.qid) for at in (train, validation)]
    found = {}
    for ndcg, relevant in [("letor", 1), ("standard", 1), ("skip-blank", 1), ("letor", 3)]:
        model = RankSVM(device="cpu").fit_path(*map(three, graded), grid="1", ndcg=ndcg, relevant=relevant)
        validation = graded[1]
        expected = evaluate(validation.y, model.predict(validation.X), validation.offsets, ndcg=ndcg, relevant=relevant)
        assert model.path_[0]["validation"] == pytest.approx(expected, rel=1e-12)
        found[ndcg, relevant] = expected
    assert found["letor", 1]["ndcg@10"] != found["standard", 1]["ndcg@10"]
    assert found["letor", 1]["map"] != found["letor", 3]["map"]


@pytest.mark.parametrize("scale", ["minmax", "deviation"])
def test_scaling_reaches_the_validation_set(scale):
    train, validation = noisy(6), noisy(7)
    rows = np.random.default_rng(0).permutation(240)
    model = RankSVM(scale=scale, device="cpu")
    model.fit_path(three(train), validation.taken(rows), grid=[0.01, 0.1], metric="pa")
    best = max(row["validation"]["pa"] for row in model.path_)
    assert model.score(*three(validation)) == pytest.approx(best, rel=1e-12)


def test_documents_progress_and_weights():
    train, validation = make(levels=4), make(seed=2)
    documents = [Documents(at.X, at.y, at.offsets, at.qid[at.offsets[:-1]]) for at in (train, validation)]
    news = []
    model = RankSVM(device="cpu").fit_path(
        *documents, grid="0.1,1", metric="pa", query_weight=[2.0] * 6, progress=lambda *n: news.append(n)
    )
    assert [n[1:3] for n in news if n[0] == "path"] == [(1, 2), (2, 2)] and news[-1][3] == model.path_[1]
    double = RankSVM(2 * model.C_, device="cpu").fit(*three(train))
    assert relative(model.coef_, double.coef_) < 1e-4


def test_a_path_that_cannot_be():
    train, validation = make(), make(seed=1)
    model = RankSVM(device="cpu")
    with pytest.raises(ParameterError, match="metric 'ndcg@x' is unknown"):
        model.fit_path(three(train), three(validation), metric="ndcg@x")
    with pytest.raises(DataError, match="no ndcg@10: its 85 documents have labels from -1"):
        model.fit_path(three(train), three(validation), grid="1")
    flat = Set(validation.X, np.ones(85), validation.offsets, validation.qid)
    with pytest.raises(DataError, match="validation set has no pa"):
        model.fit_path(three(train), three(flat), grid="1", metric="pa")
    with pytest.raises(DataError, match="fewer|have 4"):
        model.fit_path(three(train), (validation.X[:, :4], validation.y, validation.qid), grid="1", metric="pa")
    with pytest.raises(DataError, match="Documents, or .X, y, qid.; got ndarray"):
        model.fit_path(train.X, three(validation), grid="1", metric="pa")
    for grid in ([], [0.0], [-1.0], [np.nan]):
        with pytest.raises(ParameterError, match="grid"):
            model.fit_path(three(train), three(validation), grid=grid, metric="pa")


def test_unfinished_trainings_are_marked():
    train = noisy(8)
    model = RankSVM(device="cpu", max_iter=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit_path(three(train), three(train), grid="0.01,10", metric="pa")
    assert not model.path_[1]["converged"] and len(caught) == (not model.converged_)


@pytest.mark.parametrize(
    "text, values",
    [
        ("2^-2:2^2", [0.25, 0.5, 1, 2, 4]),
        ("2^-3:2^4:2^3", [0.125, 1, 8]),
        ("1:10", [1, 2, 4, 8]),
        ("1", [1]),
        ("2^3", [8]),
        ("0.1,1,10", [0.1, 1, 10]),
        ("10, 2^-1,10", [0.5, 10]),
        ("0.01:100:10", [0.01, 0.1, 1, 10, 100]),
        ("2^5:2^5", [32]),
        ("1:1000:10", [1, 10, 100, 1000]),
        ("1e-3", [0.001]),
        ("2**-1:2**1", [0.5, 1, 2]),
        ("1e-300:1e300:1e100", [1e-300, 1e-200, 1e-100, 1, 1e100, 1e200, 1e300]),
    ],
)
def test_grids(text, values):
    assert parse_grid(text).tolist() == pytest.approx(values, rel=1e-14)


def test_the_usual_grid_is_exact():
    assert parse_grid("2^-15:2^8").tolist() == [2.0**k for k in range(-15, 9)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "0",
        "-1",
        "nan",
        "inf",
        "2^8:2^-15",
        "1:2:1",
        "1:2:3:4",
        "1,,2",
        "2^",
        "2^2000",
        "1:1e300:1.0001",
        "1;2",
        "2^-15:",
        "3^2",
        "1:10:0.5",
        "2^1.5",
        "2^-1074:2^1023",
    ],
)
def test_grids_that_cannot_be(text):
    with pytest.raises(ParameterError, match="grid of C"):
        parse_grid(text)
