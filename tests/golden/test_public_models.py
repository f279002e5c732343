"""Estimators of the public API on small data: what fit, predict and the like return, and how they refuse."""

import functools
from pathlib import Path

import numpy as np
import pytest

from golden.command import Case, errors_of

USERS, ITEMS = 9, 7
PAIRS = np.array(
    [(u, i) for u in range(USERS) for i in range(ITEMS) if (u**3 + 3 * i * i + u * i + u) % 7 % 3], np.int64
)
VALUES = np.array([1 + (u * i + u + i) % 5 for u, i in PAIRS], np.float32)
SMALL = {"n_epochs": 3, "deterministic": True, "device": "cpu"}
X = np.array([[0.5, 1, 0], [0.1, 0, 2], [0.7, 0, 1], [0, 3, 1], [0.2, 1, 1], [0.9, 0.5, 0]])
Y, QID = np.array([2, 0, 1, 0, 1, 2]), np.array([1, 1, 2, 2, 2, 2])
RING = np.roll(np.eye(6), 1, 0) + np.roll(np.eye(6), -1, 0)
SERIES = np.add.outer(np.arange(6) / 2, np.tile([12, 15.5, 18.25, 20, 19.5, 16, 13.75, 11.5], 3) + np.arange(24) / 16)


def series():
    """Series of six vertices (6, 24) with values missing."""
    missing = np.add.outer(3 * np.arange(6), np.arange(24)) % 7 == 0
    return np.where(missing, np.nan, SERIES)


def lshmf():
    import gpukit

    model = gpukit.LSHMF(n_factors=3, n_neighbors=2, lsh_q=4, **SMALL).fit(PAIRS, VALUES)
    return {
        "predict": model.predict(PAIRS[:6]),
        "unknown": model.predict([(0, 99), (99, 0)]),
        "recommend": model.recommend([0, 3], n=2, by="rating"),
        "recommend_for": model.recommend_for(([50, 50], [0, 1], [5.0, 1.0]), n=2, by="rating"),
        "similar": model.similar_items(2, n=3),
        "evidence": model.evidence([0, 1], [2, 3]),
        "evaluate": model.evaluate(PAIRS, VALUES),
        "score": model.score(PAIRS, VALUES),
        "shapes": [model.user_factors_.shape, model.item_factors_.shape, model.explicit_influences_.shape],
        "rating_counts": model.rating_counts(),
    }


def lshmf_lists():
    import gpukit

    model = gpukit.LSHMF(n_factors=3, n_neighbors=2, lsh_q=4, **SMALL).fit(PAIRS, VALUES)
    before = model.has_lists
    model.fit_lists()
    return {"lists": model.recommend([0, 3], n=2), "pair_scores": model.pair_scores(PAIRS[:4]), "before": bool(before)}


def lshmf_updated():
    import gpukit

    model = gpukit.LSHMF(n_factors=3, n_neighbors=2, lsh_q=4, **SMALL).fit(PAIRS, VALUES)
    model.partial_fit([(0, 0), (50, 1)], np.array([5, 4], np.float32), rows="frozen")
    return {"predict": model.predict([(0, 0), (50, 1), (50, 2), (1, 1)]), "users": len(model.rating_counts()[0])}


def lshmf_saved():
    import gpukit

    model = gpukit.LSHMF(n_factors=3, n_neighbors=2, lsh_q=4, **SMALL).fit(PAIRS, VALUES)
    model.mark_seen([(0, 0)])
    model.save("m.gpukit")
    again, generic = gpukit.LSHMF.load("m.gpukit"), gpukit.load_model("m.gpukit")
    same = [np.array_equal(one.predict(PAIRS), model.predict(PAIRS)) for one in (again, generic)]
    return {"same": same, "params": again.get_params(), "kind": type(generic).__name__, "seen": model.seen_pairs()}


def lshmf_refused():
    import gpukit

    model = gpukit.LSHMF(device="cpu")
    return errors_of(
        lambda: model.predict([(0, 0)]),
        lambda: gpukit.LSHMF(n_factors=0, device="cpu").fit(PAIRS, VALUES),
        lambda: gpukit.LSHMF(search="nearest", device="cpu").fit(PAIRS, VALUES),
        lambda: gpukit.LSHMF(device="tpu").fit(PAIRS, VALUES),
        lambda: model.fit(PAIRS, VALUES[:-1]),
        lambda: model.fit(PAIRS, np.where(VALUES > 4, np.nan, VALUES)),
        lambda: model.fit(np.vstack([PAIRS, PAIRS[:1]]), np.append(VALUES, 1)),
        lambda: model.fit(PAIRS[:0], VALUES[:0]),
        lambda: model.fit("ratings.csv"),
        lambda: model.set_params(factors=3),
        lambda: gpukit.LSHMF.load("nothing.gpukit"),
        lambda: gpukit.LSHMF(n_factors=3, **SMALL).fit(PAIRS, VALUES).recommend([99]),
    )


def matrix_factorization():
    import gpukit

    answers = {}
    for solver in ("sgd", "als"):
        model = gpukit.MatrixFactorization(n_factors=3, solver=solver, **SMALL).fit(PAIRS, VALUES)
        answers[solver] = [model.predict(PAIRS[:6]), model.recommend([0], n=2, by="rating")]
    model = gpukit.MatrixFactorization(n_factors=2, biases=False, **SMALL).fit(PAIRS, VALUES, sample_weight=VALUES)
    return {**answers, "weighted": model.predict(PAIRS[:6]), "refit": model.refit(PAIRS, VALUES).predict(PAIRS[:6])}


def matrix_factorization_of_clicks():
    import gpukit

    answers = {}
    for solver, loss in (("ials", "auto"), ("sampled", "cross-entropy"), ("sampled", "bpr")):
        model = gpukit.MatrixFactorization(n_factors=3, solver=solver, loss=loss, **SMALL).fit(tuple(PAIRS.T))
        answers[f"{solver}, {loss}"] = [model.recommend([0, 3], n=2), model.similar_items(2, n=2)]
    return answers


def matrix_factorization_of_liked():
    import gpukit

    model = gpukit.MatrixFactorization(n_factors=3, positive_from=4, solver="ials", **SMALL).fit(PAIRS, VALUES)
    return [model.recommend([0, 3], n=3), model.rating_counts()]


def filters():
    import gpukit
    from gpukit.factorization import Filters

    model = gpukit.MatrixFactorization(n_factors=3, **SMALL).fit(PAIRS, VALUES)
    ways = ({"only": [0, 1, 2]}, {"without": [0, 1]}, {"min_support": 7}, {"popularity": 1.0}, {"diversity": 0.5})
    seen = {"n": 3, "by": "rating", "exclude_seen": False}
    return {str(way): model.recommend([0, 3], filters=Filters(**way), **seen) for way in ways}


def sim_lsh():
    import gpukit

    answers = {}
    for search in ("hamming", "buckets", "exact", "random"):
        model = gpukit.SimLSH(n_neighbors=3, q=8, search=search, device="cpu").fit(PAIRS, VALUES)
        answers[search] = [getattr(model, name) for name in ("neighbors_", "scores_") if hasattr(model, name)]
    answers["refused"] = errors_of(lambda: gpukit.SimLSH(n_neighbors=0, device="cpu").fit(PAIRS, VALUES))
    return answers


def rank_svm():
    import gpukit

    answers = {}
    for solver in ("p-swx", "scan", "dcm", "ost"):
        model = gpukit.RankSVM(C=1.0, solver=solver, device="cpu").fit(X, Y, QID)
        answers[solver] = [model.predict(X), model.rank(X, QID), model.score(X, Y, QID)]
    model.save("m.gpukit")
    model.save_text("m.txt")
    answers["loaded"] = gpukit.load_model("m.gpukit").predict(X)
    answers["text"] = Path("m.txt").read_text(encoding="utf-8")
    answers["group"] = gpukit.RankSVM(C=1.0, device="cpu", scale="minmax").fit(X, Y, group=[2, 4]).predict(X)
    return answers


def rank_svm_of_a_path():
    import gpukit

    data = gpukit.documents.as_documents(X, Y, QID)
    model = gpukit.RankSVM(device="cpu")
    model.fit_path(data, data, grid="2^-3:2^3", metric="ndcg@3")
    return {"C": model.C_, "predict": model.predict(X)}


def rank_svm_refused():
    import gpukit

    model = gpukit.RankSVM(C=1.0, device="cpu")
    return errors_of(
        lambda: model.predict(X),
        lambda: gpukit.RankSVM(C=-1, device="cpu").fit(X, Y, QID),
        lambda: gpukit.RankSVM(solver="fast", device="cpu").fit(X, Y, QID),
        lambda: model.fit(X, Y, [1, 2, 1, 2, 1, 2]),
        lambda: model.fit(X, Y, QID[:-1]),
        lambda: model.fit(X, Y),
        lambda: model.fit(np.where(X > 2, np.inf, X), Y, QID),
        lambda: model.fit(X, np.zeros(6), QID),
        lambda: model.fit(X, Y, QID).predict(X[:, :2]),
    )


def graph_imputer(method):
    import gpukit

    model = gpukit.GraphImputer(method=method, iterations=3, device="cpu").fit(RING, series())
    answer = {"completed": model.completed_[:, ::5], "again": model.transform(series())[:, ::5]}
    if method != "spectral":
        answer["extended"] = model.extend(np.where(np.eye(6)[:, :3] > 0, np.nan, SERIES[:, :3]))
    return answer


def graph_imputer_of_a_tensor():
    import gpukit

    tensor = np.cos(np.arange(6) * np.pi / 3)[:, None, None] * np.arange(1.0, 13).reshape(3, 4)
    tensor[[1, 4]] = np.nan
    model = gpukit.GraphImputer(method="spectral", iterations=5, weights="slice", center="none", device="cpu")
    return {"completed": model.fit_transform(RING, tensor)[[0, 1]], "confidence": model.confidence_}


def graph_imputer_saved():
    import gpukit

    model = gpukit.GraphImputer(method="interpolation", device="cpu", minimum=0).fit(RING, series())
    model.save("m.gpukit")
    again = gpukit.load_model("m.gpukit")
    return {"same": np.array_equal(again.completed_, model.completed_), "params": again.get_params()}


def graph_imputer_refused():
    import gpukit

    model = gpukit.GraphImputer(method="interpolation", device="cpu")
    return errors_of(
        lambda: model.transform(SERIES),
        lambda: gpukit.GraphImputer(method="magic", device="cpu").fit(RING, series()),
        lambda: gpukit.GraphImputer(decay=2, method="spectral", device="cpu").fit(RING, series()),
        lambda: model.fit(RING[:5], series()),
        lambda: model.fit(-RING, series()),
        lambda: model.fit(np.triu(RING), series()),
        lambda: model.fit(RING, np.full((6, 24), np.nan)),
        lambda: model.fit(RING, np.where(SERIES > 20, np.inf, SERIES)),
        lambda: model.fit(RING, series()[:5]),
        lambda: model.fit(RING, series(), mask=np.ones((6, 5), bool)),
    )


METHODS = ("two-way-mean", "seasonal", "kriging", "regularized-em")
CASES = (
    *(Case("LSHMF", lshmf), Case("LSHMF, lists", lshmf_lists), Case("LSHMF, updated", lshmf_updated)),
    *(Case("LSHMF, saved", lshmf_saved), Case("LSHMF, refused", lshmf_refused)),
    Case("MatrixFactorization", matrix_factorization),
    Case("MatrixFactorization, clicks", matrix_factorization_of_clicks),
    Case("MatrixFactorization, liked items", matrix_factorization_of_liked),
    *(Case("Filters", filters), Case("SimLSH", sim_lsh)),
    *(Case("RankSVM", rank_svm), Case("RankSVM, a path", rank_svm_of_a_path)),
    Case("RankSVM, refused", rank_svm_refused),
    *(
        Case(f"GraphImputer, {method}", functools.partial(graph_imputer, method))
        for method in (*METHODS, "smoothness", "local", "spectral")
    ),
    Case("GraphImputer, a tensor", graph_imputer_of_a_tensor),
    Case("GraphImputer, saved", graph_imputer_saved),
    Case("GraphImputer, refused", graph_imputer_refused),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_public_models(check, case):
    check(case)
