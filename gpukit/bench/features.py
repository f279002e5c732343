"""Benchmark of rankings beyond a line: RankSVM compared with LightGBM's and XGBoost's trees (extra 'bench').

All methods get the same training and validation queries. The trees have their default parameters and stop early by
NDCG@10 of the validation queries, on which RankSVM chooses its settings.
"""

import importlib.util
import warnings

import numpy as np

from gpukit.bench.checks import require_data
from gpukit.bench.letor import mq2008_folds
from gpukit.bench.process import map_in_processes
from gpukit.bench.record import Row
from gpukit.bench.recovery import QUANTILE
from gpukit.documents import Documents, read_letor, take_queries
from gpukit.evaluation.lists import significance
from gpukit.evaluation.ranking import values_by_query
from gpukit.ranking import RankSVM

SPLITS = 10
PARTS = (0.6, 0.8)  # ends of the training and of the validation queries
METRIC = "ndcg@10"
PATIENCE = 20  # trees without a gain after which the rivals stop
OURS = "features auto"


def read_demo(folder):
    """Return the Documents of LightGBM's LambdaRank example, its training and test queries together."""
    path = require_data(folder, "lambdarank-demo")
    train = read_letor(path / "rank.train")
    test = read_letor(path / "rank.test", n_features=train.X.shape[1])
    X = np.concatenate([to_array(one.X) for one in (train, test)])
    offsets = np.append(train.offsets, train.offsets[-1] + test.offsets[1:])
    return Documents(X, np.append(train.y, test.y), offsets, np.arange(len(offsets) - 1))


def to_array(X):
    """Return X dense."""
    return X.toarray() if hasattr(X, "indptr") else X


def make_planted(seed):
    """Return Documents with five grades of relevance by -x1^2 + x2 x3, of ten features."""
    random, queries, length, grades = np.random.default_rng(seed), 200, 20, (0.5, 0.75, 0.9, 0.97)
    X = random.normal(size=(queries * length, 10))
    quality = X[:, 1] * X[:, 2] - X[:, 0] ** 2
    y = np.digitize(quality, np.quantile(quality, grades)).astype(np.float64)
    return Documents(X, y, np.arange(0, len(y) + 1, length), np.arange(queries))


def split_queries(documents, seed):
    """Return [Documents] of a random split by query: training, validation, test."""
    count = len(documents.qids)
    order = np.random.default_rng(seed).permutation(count)
    ends = [round(part * count) for part in PARTS]
    return [take_queries(documents, np.sort(queries)) for queries in np.split(order, ends)]


def list_demo(folder, split):
    """Return the parts of a random split of the example."""
    return split_queries(read_demo(folder), split)


def list_planted(folder, split):
    """Return the parts of a generated set."""
    return split_queries(make_planted(split), split)


def list_mq2008(folder, split):
    """Return the parts of one of the folds, dense."""
    return [part._replace(X=to_array(part.X)) for part in mq2008_folds(folder)[split].values()]


SETS = {  # name: kind of data, function of (folder, split), number of splits
    "lambdarank-demo": ("real", list_demo, SPLITS),
    "MQ2008": ("real", list_mq2008, 5),
    "planted U-shape": ("generated", list_planted, SPLITS),
}


def fit_trees(train, validation):
    """Return the predict method of LightGBM's LGBMRanker."""
    import lightgbm

    model, groups = lightgbm.LGBMRanker(verbose=-1), [np.diff(one.offsets) for one in (train, validation)]
    sets = {"eval_set": [(validation.X, validation.y)], "eval_group": groups[1:], "eval_at": [10]}
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    return model.fit(train.X, train.y, group=groups[0], **sets, callbacks=[stop]).predict


def fit_boosted(train, validation):
    """Return the predict method of XGBoost's XGBRanker."""
    import xgboost

    queries = [np.repeat(np.arange(len(one.qids)), np.diff(one.offsets)) for one in (train, validation)]
    model = xgboost.XGBRanker(early_stopping_rounds=PATIENCE, eval_metric=METRIC)
    sets = {"eval_set": [(validation.X, validation.y)], "eval_qid": queries[1:], "verbose": False}
    return model.fit(train.X, train.y, qid=queries[0], **sets).predict


def fit_ours(features, train, validation):
    """Return the predict method of RankSVM with its defaults and a choice of features."""
    return RankSVM(features=features, device="cpu").fit(train, eval_set=[validation]).predict


METHODS = {  # functions of the training and the validation Documents
    OURS: lambda *parts: fit_ours("auto", *parts),
    "features linear (default)": lambda *parts: fit_ours("linear", *parts),
    "LightGBM": fit_trees,
    "XGBoost": fit_boosted,
}


def features(conditions):
    """Measure NDCG@10 of test queries, and the difference between RankSVM with features 'auto' and the others."""
    has_rivals = all(importlib.util.find_spec(name) for name in ("lightgbm", "xgboost"))
    if conditions.device.is_cuda or not has_rivals:
        return
    for name, (kind, list_parts, splits) in SETS.items():
        if kind == "real" and conditions.data is None:
            continue
        tasks = [(list_parts, conditions.data, split) for split in range(max(2, round(conditions.scale * splits)))]
        yield from set_rows(name, kind, list(map_in_processes(evaluate, tasks, conditions.workers)))


def evaluate(list_parts, folder, split):
    """Return (ids of the test queries, {method: NDCG@10 (queries,)}) of one split."""
    warnings.filterwarnings("ignore", module="lightgbm")  # of arguments with new names
    train, validation, test = list_parts(folder, split)
    values = {}
    for name, fit in METHODS.items():
        scores = np.asarray(fit(train, validation)(test.X), np.float64)
        values[name] = values_by_query([METRIC], test.y, scores, test.offsets, "standard")[METRIC][0]
    return test.qids, values


def set_rows(name, kind, results):
    """Yield the rows of a set: the mean of each method, and differences paired by query."""
    means = {method: [float(values[method].mean()) for _, values in results] for method in METHODS}
    winner = max(means, key=lambda method: np.mean(means[method]))
    for method, values in means.items():
        note = "by split " + " ".join(f"{value:.4f}" for value in values)
        what, unit = f"test NDCG@10, {method}", f"mean of {len(values)} splits"
        yield Row(what, name, kind, [float(np.mean(values))], unit, f"{note}; best: {winner}")
    for method in list(METHODS)[1:]:
        found = compare(results, method, is_shared=kind == "real")
        note = f"90 % interval {found.low:.4f} to {found.high:.4f}, p {found.p:.3f}, {found.users} queries"
        yield Row(f"test NDCG@10, {OURS} less {method}", name, kind, [found.mean], "mean over queries", note)


def compare(results, method, is_shared):
    """Return the significance.Difference of OURS and a method, with a 90 % interval.

    is_shared: the splits are of the same queries; a query's value is its mean over the splits that test it.
    """
    ids = [[f"{'' if is_shared else split} {query}" for query in one] for split, (one, _) in enumerate(results)]
    _, places = np.unique(np.concatenate(ids), return_inverse=True)
    ours, theirs = (np.concatenate([values[one] for _, values in results]) for one in (OURS, method))
    counts = np.bincount(places)
    return significance.compare(*(np.bincount(places, one) / counts for one in (ours, theirs)), quantile=QUANTILE)
