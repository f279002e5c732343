"""Benchmarks of recommendation lists: their cost for all users, and their quality.

The ranking of lists of models of ratings depends on the ratings alone, so a small model suffices for the quality.
"""

import time

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.clicks import ncf_data
from gpukit.bench.measurement import QUANTILE, Row, check_learned, seconds
from gpukit.bench.ratings import MOVIELENS, drop_unused_ids, generate_split, read_movielens
from gpukit.evaluation import splits
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.evaluation.lists.judge import FEW, judge
from gpukit.evaluation.lists.significance import compare
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.answers import judging
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ease import training
from gpukit.factorization.solvers.ease.baseline import Ease
from gpukit.factorization.solvers.ease.lists import solve_weights

SHAPES, MORE = ("netflix",), ("ml-10m",)
LEARNING = "learning what ranks lists"
SIZES = [50, 100, 200, 400]  # neighbours of item weights


def recommend_all(model, by):
    """Compute lists for all users of a fitted model."""
    for _ in model.recommend_batches(n=10, by=by):
        pass


def learn_lists(model):
    """Learn the ranking of lists again."""
    vars(model).pop("_head", None)
    model.fit_lists()


def lists(conditions):
    """Rank by item weights, with real data; time lists for all users, from a model in memory to ids and scores."""
    if conditions.data is not None:
        yield from rank_by_weights(conditions)
        yield from rank_for_few_users(conditions)
    for _, shape, (train, _) in conditions.generate(generate_split, SHAPES, MORE):
        model = LSHMF(n_factors=32, n_neighbors=32, n_epochs=2, device=conditions.device).fit(train)
        yield Row(LEARNING, shape, "generated", seconds(lambda model=model: learn_lists(model), 5), "s")
        for by in ("rating", "lists"):
            samples = seconds(lambda model=model, by=by: recommend_all(model, by), 5)
            what = f"10 items for each user, by {by}, CULSH-MF F=32 K=32"
            yield Row(what, shape, "generated", samples, "s")


def head(conditions):
    """Measure lists on NCF's MovieLens 1M with its ratings; on a CPU, the time is CPU time."""
    ratings, tests = ncf_data.read_split(conditions.data, conditions.scale)
    model = MatrixFactorization(n_factors=4, n_epochs=2, device=conditions.device).fit(ratings)
    data = shape_name(ncf_data.NAME, conditions.scale), "real"
    is_cuda = conditions.device.is_cuda
    what, clock = (LEARNING, time.perf_counter) if is_cuda else (f"CPU time of {LEARNING}", time.process_time)
    samples = seconds(lambda: learn_lists(model), 5, clock=clock)
    yield Row(what, *data, samples, "s", f"{len(ratings):,} ratings")
    for by in ("lists", "rating"):
        yield from quality_rows(model, tests, by, data)


def quality_rows(model, tests, by, data):
    """Yield HR and NDCG among the negatives, and the percentage of items with few ratings in lists."""
    values = judging.judge_sampled({"": model}, tests, ncf_data.K, False, by).judged[0].values[ncf_data.K]
    if by == "lists":
        check_learned("the lists' head", np.mean(values["hr"]), least=0.5)
    for metric, label in ncf_data.METRICS.items():
        yield Row(f"{label} of lists of ratings, by {by}", *data, [float(np.mean(values[metric]))], label)
    pairs = tests.users, tests.clicks
    few = judging.judge_lists({"": model}, pairs, ncf_data.K, False, by=by).rows(ncf_data.K)[0]["few"]
    note = f"slots of items with fewer than {FEW} ratings"
    yield Row(f"little known items in lists of ratings, by {by}", *data, [100 * few], "percent", note)


def rank_by_weights(conditions):
    """Measure full rankings of NCF's MovieLens 1M by item weights: all weights, and those of some neighbours."""
    ncf = ncf_data.read(conditions.data, conditions.scale)
    table, (_, n_items), is_known = ncf.clicks, ncf.clicks.shape, ~ncf.unknown[:, 0]
    users, items = ncf.candidates.users[is_known], ncf.candidates.items[is_known, 0]
    ease, whole = Ease(clicks_of(table.users, table.items, table.shape), n_items), None
    ridge, k = solver_defaults("ease", "adaptive", len(table))["regularization"], ncf_data.K
    relevant = clicks_of(users, items, table.shape)
    for size in (None, *(size for size in SIZES if size < n_items)):
        if size:
            ease.weights = solve_weights(table, ridge, size, conditions.device).toarray()
        values = judge(ease.name, ease.lists(users, k), relevant, ease.counts, (k,)).values[k]
        what = f"EASE, {size} neighbours" if size else "EASE, all weights"
        whole = values if whole is None else whole
        for metric, label in ncf_data.METRICS.items():
            difference = compare(values[metric], whole[metric], quantile=QUANTILE)
            note = f"less all weights: {difference.low:+.4f} to {difference.high:+.4f} (90 %)" if size else ""
            yield Row(f"full ranking {label} of {what}", ncf.name, "real", [np.mean(values[metric])], label, note)


def rank_for_few_users(conditions):
    """Compare lists of the defaults with those of EASE at its best regularization, known with the truth.

    Several draws of few users of MovieLens 1M; a fifth of the clicks of each is held out.
    """
    draws, users, k = 8, 600, 20
    ratings = read_movielens(conditions.data)
    results = []
    for seed in range(draws):
        chosen = np.random.default_rng(seed).permutation(ratings.shape[0])[:users]
        sample = drop_unused_ids(ratings.take(np.isin(ratings.users, chosen)))
        train, test = sample.parted(splits.mask_before_last(*sample.ranks_by_chance(seed), 0.2))
        model = MatrixFactorization(feedback="implicit", random_state=seed, device=conditions.device).fit(train)
        results.append(
            (model.evaluate_lists(test, k, baselines=False).rows(k)[0]["ndcg"], best_of_ease(train, test, k))
        )
    for name, values in zip(("the defaults", "EASE, the best of four regularizations"), zip(*results)):
        yield Row(f"NDCG@{k} of {users} users, {name}", MOVIELENS, "real", list(values), f"NDCG@{k}")
    ratios = [ours / other for ours, other in results]
    yield Row(f"NDCG@{k} of {users} users, the defaults over EASE", MOVIELENS, "real", ratios, "times")


def best_of_ease(train, test, k):
    """Return the NDCG of lists of k items of EASE at the best of four regularizations."""
    learned, relevant = (clicks_of(part.users, part.items, part.shape) for part in (train, test))
    ease, values = Ease(learned, train.shape[1]), []
    for ridge in (100.0, 200.0, 400.0, 800.0):
        ease.weights = training.solve_weights(ease.clicked, ridge)
        judged = judge(ease.name, ease.lists(np.unique(test.users), k), relevant, ease.counts, (k,))
        values.append(float(np.mean(judged.values[k]["ndcg"])))
    return max(values)
