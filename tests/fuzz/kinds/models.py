"""Model files of every estimator, loaded and used."""

import csv
import functools
import tempfile
from pathlib import Path

import numpy as np

from fuzz.judges import models as judges
from fuzz.kinds import ratings
from fuzz.mutate import container
from fuzz.registry import Kind, single

SMALL = {"n_factors": 4, "n_epochs": 3, "device": "cpu", "deterministic": True}
DOCUMENTS = np.random.default_rng(7).normal(size=(13, 5)).round(2)
QUERIES = np.repeat([4, 2, 9], (6, 1, 6))
GRAPH = np.eye(10, k=1) + np.eye(10, k=-1) + np.eye(10, k=4) + np.eye(10, k=-4)


def slices(seed=3):
    """(10, 3, 4) with a missing vertex and a few missing entries."""
    values = np.random.default_rng(seed).normal(size=(10, 3, 4)).round(2)
    values[4], values[0, 1, 2] = np.nan, np.nan
    return values


@functools.lru_cache(None)
def fitted(name):
    """Return a small fitted model, equal on every machine.

    Parameters are rounded, and times are removed.
    """
    import gpukit

    model = {
        "MatrixFactorization": lambda: gpukit.MatrixFactorization(**SMALL).fit(ratings.made()),
        "LSHMF": lambda: gpukit.LSHMF(**SMALL, n_neighbors=3, lsh_q=8).fit(ratings.made()).fit_lists(),
        "SimLSH": lambda: gpukit.SimLSH(n_neighbors=3, q=8, device="cpu").fit(ratings.made()),
        "RankSVM": lambda: gpukit.RankSVM(scale="minmax", device="cpu").fit(DOCUMENTS, np.arange(13) % 3, QUERIES),
        "GraphImputer": lambda: imputer(),
    }[name]()
    return without_times(model, name)


def without_times(model, name):
    """Return the model with rounded parameters and without times; name: of its class."""
    for clock in ("timings_", "stages_"):
        if hasattr(model, clock):
            setattr(model, clock, dict.fromkeys(getattr(model, clock), 0.5))
    for epoch in getattr(model, "history_", []) if name != "GraphImputer" else []:
        epoch |= {"seconds": 0.5} if "seconds" in epoch else {}
    if hasattr(model, "_state"):
        model._state = type(model._state)(*(np.round(array, 3) for array in model._state))
        model._scale = type(model._scale)(*(round(float(number), 3) for number in model._scale))
    if hasattr(model, "_head"):
        factors = (np.round(array, 3) for array in model._head[:2])
        model._head = type(model._head)(*factors, *model._head[2:])
    return model


def imputer():
    """Return a fitted GraphImputer without the time of its basis."""
    import gpukit

    model = gpukit.GraphImputer(weights="slice", center="none", iterations=4, device="cpu").fit(GRAPH, slices())
    from gpukit.graphs.basis import GraphBasis

    model._basis = GraphBasis(model.adjacency_, made=model.basis_._replace(seconds=0.5))
    return model


def samples(name):
    """A function that makes the sample of a class."""
    return lambda: [saved(fitted(name))]


def saved(model):
    """The Sample of a fitted model."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        return single("model.gpukit", (Path(folder) / "m").read_bytes())


def loaded(path):
    """Return the model of a file, on the CPU, and its facts."""
    import gpukit

    model = gpukit.load_model(path)
    shown = repr(model)
    model.set_params(device="cpu")
    facts = {
        name: getattr(model, name) for name in ("history_", "timings_", "stages_", "device_") if hasattr(model, name)
    }
    out = {"class": type(model).__name__, "shown": shown, "facts": facts, "saved_alike": is_saved_alike(model)}
    return model, out


def is_saved_alike(model):
    """Return True if a loaded model is saved unchanged."""
    import gpukit

    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "1"), Path(folder, "2")
        model.save(first)
        gpukit.load_model(first).save(second)
        return first.read_bytes() == second.read_bytes()


def exported(model):
    """Return the contents of an export.

    The arrays of an .npz, the ids and numbers of a csv.
    """
    with tempfile.TemporaryDirectory() as folder:
        arrays, table = Path(folder, "e.npz"), Path(folder, "e.csv")
        model.export(arrays)
        with np.load(arrays) as held:
            found = {name: held[name] for name in ("user_ids", "item_ids", "user_factors", "item_bias")}
        if all(text.isprintable() for text in map(str, (*model.user_ids_.tolist(), *model.item_ids_.tolist()))):
            model.export(table)
            rows = list(csv.reader(table.read_text("utf-8").splitlines()))[1:]
            found["csv_ids"] = [row[1] for row in rows]
            found["csv_bias"] = np.array([row[3] for row in rows], np.float64)
    return found


def factorization(path, use):
    """Return predictions, recommendations, also for a new user, and similar items; then update."""
    model, out = loaded(path)
    users, items = model.user_ids_, model.item_ids_
    which = np.arange(60)
    asked = (
        np.append(users[which % len(users)], users[:1]) if len(users) else np.array([1]),
        np.append(items[which * 7 % len(items)], items[:1]) if len(items) else np.array([1]),
    )
    best, scores = model.recommend(n=5)
    near, cosines = model.similar_items(items[0].item(), n=4)
    same, close = model.similar_users(users[0].item(), n=4)
    said = [
        model.explain(users[one % len(users)].item(), items[one].item(), by="rating")
        for one in range(min(9, len(items)))
    ]
    unknown = model.predict((np.array(["?", "?"]), np.array(["?", "!"])), unknown="baseline")
    arrays = ("user_factors_", "item_factors_", "user_bias_", "item_bias_", "neighbors_")
    more = ("explicit_influences_", "implicit_influences_", "user_baseline_", "item_baseline_")
    out |= {name: getattr(model, name) for name in (*arrays, *more) if hasattr(model, name)}
    out |= {"asked_users": asked[0], "asked_items": asked[1], "predicted": model.predict(asked), "unknown": unknown}
    out |= {"best": best, "scores": scores, "near": near, "cosines": cosines, "users": users, "items": items}
    out |= {"same": same, "close": close, "explained": np.array([one.prediction for one in said])}
    pairs = [np.array([getattr(one, name) for one in said]) for name in ("user", "item")]
    out["explained_by_predict"] = model.predict(tuple(pairs))
    out |= {f"rated_{name}": array for name, array in model._rated._asdict().items()}
    by, value = ("rating", model.scale_[0]) if model.feedback_ == "explicit" else ("lists", 1.0)
    given = dict.fromkeys(items[:2].tolist(), value)
    out |= dict(zip(("folded", "folded_scores"), model.recommend_for(given, n=3, by=by)[1:]))
    if by == "rating" and len(items):
        again = (np.append(users, users[:1])[:2], items[:2]), np.full(len(items[:2]), value)
        out |= {"sequential": np.array([row["rmse"] for row in model.evaluate_sequentially(*again)])}
    out |= {"exported": exported(model)}
    out |= {"mean": model.mean_, "deviation": model._scale.deviation, "scale": np.array(model.scale_)}
    if len(users) and len(items):
        model.partial_fit((users[:1], items[:1]), None if by == "lists" else np.array([model.mean_]))
    return out


def neighbors(path, use):
    """Return the results of a search."""
    model, out = loaded(path)
    return {
        **out,
        "neighbors": model.neighbors_,
        "scores": model.scores_,
        "items": model.item_ids_,
        "share": model.random_share_,
    }


def ranker(path, use):
    """Return scores and ranks of documents with the model's number of features."""
    model, out = loaded(path)
    X = np.resize(DOCUMENTS, (13, min(model.n_features_in_, 5000)))
    scaling = model.scaling_
    out |= {"kind": scaling.kind, "low": scaling.low, "factor": scaling.factor, "coef": model.coef_, "X": X}
    return {**out, "predicted": model.predict(X, QUERIES), "ranks": model.rank(X, QUERIES), "qid": QUERIES}


def imputed(path, use):
    """Return another imputed tensor on the same graph."""
    model, out = loaded(path)
    values = slices(5)
    out |= {"values": values, "filled": model.transform(values), "confidence": model.confidence_}
    return {**out, "completed": model.completed_, "ranks": model.ranks_}


def kind(name, answer, judge, share=1.0):
    """The Kind of a class's files."""
    return Kind(f"model-{name}", samples(name), container.MODEL, answer, judge, same=True, share=share)


KINDS = [
    kind("LSHMF", factorization, judges.factorization, 2),
    kind("MatrixFactorization", factorization, judges.factorization, 2),
    kind("RankSVM", ranker, judges.ranker),
    kind("SimLSH", neighbors, judges.neighbors),
    kind("GraphImputer", imputed, judges.imputed),
]
