"""Benchmarks of recommendations: single answers, lists and their quality.

`serve`: answers one at a time, in batches and from several threads; loading a model file. The models are trained for
one epoch, and the factors that rank lists are random: neither changes the time of an answer.

`lists`: their cost for all users, and their quality. The ranking of lists of models of ratings depends on the ratings
alone, so a small model suffices for the quality.
"""

import functools
import itertools
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gpukit.bench import clicks as ncf_data
from gpukit.bench import shape_name
from gpukit.bench.measurement import MOVIELENS, QUANTILE, Row, check_near, milliseconds, seconds
from gpukit.bench.ratings import drop_unused_ids, generate_split, read_movielens
from gpukit.evaluation import splits
from gpukit.evaluation.lists import clicks_of, judge
from gpukit.evaluation.significance import compare
from gpukit.factorization import LSHMF, Filters, MatrixFactorization
from gpukit.factorization.lists.head import Head
from gpukit.factorization.model.state import start_state
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ease import Ease, solve_lists, solve_weights
from gpukit.persist import load_model
from gpukit.ratings import synth

OPTIONS = {"n_factors": 64, "n_epochs": 1, "regularization": 0.05}
MANY = {"users": 20_000, "items": 1_000_000, "ratings": 10_000_000}  # at scale 1
THREADS = range(8)  # seeds


class Asker:
    """A fitted model and the next user and item to ask about."""

    def __init__(self, model, seed=0):
        self.model, self.random = model, np.random.default_rng(seed)

    def draw(self, what="user", n=1):
        """Return n random ids of users or items."""
        ids = getattr(self.model, f"{what}_ids_")
        return ids[self.random.integers(len(ids), size=n)].tolist()

    def calls(self):
        """Return {name: call} of short calls."""
        model, draw = self.model, self.draw
        filters = Filters(without=draw("item", 100), min_support=2)
        ratings = dict.fromkeys(draw("item", 40), model.scale_[1])
        return {
            "recommend a user": lambda: model.recommend(draw()),
            "recommend a user by rating": lambda: model.recommend(draw(), by="rating"),
            "recommend a user with filters": lambda: model.recommend(draw(), filters=filters),
            "recommend_for of 40 ratings": lambda: model.recommend_for(ratings),
            "predict a pair": lambda: model.predict(draw(), draw("item")),
            "explain a pair": lambda: model.explain(*draw(), *draw("item")),
            "similar items by factors": lambda: model.similar_items(*draw("item"), by="factors"),
        }


def fit_model(estimator, shape):
    """Return an estimator fitted on ratings generated with a synth.Shape, with random factors for lists."""
    ratings, _ = synth.generate(shape)
    model = estimator.fit(ratings)
    counts = model.rating_counts()
    first = start_state(counts, OPTIONS["n_factors"], np.zeros((len(counts[1]), 0), np.int32), 0)
    model._head = Head(first.user_factors, first.item_factors, counts[1], np.array([0.005, 0.3, 1.0]))
    return model


def make_shapes(scale):
    """Return (Netflix's shape with a share of the ratings, the shape with many items), both scaled."""
    share = 0.5  # of Netflix's ratings, for a file of 500 MB
    shape = synth.scale_shape("netflix", scale)
    usual = synth.resize_shape(shape, ratings=max(shape.users, round(share * shape.ratings)))
    sizes = {name: max(OPTIONS["n_factors"], round(size * scale)) for name, size in MANY.items()}
    return usual, synth.resize_shape(shape, **sizes)


def check_lists(model):
    """Raise DataError unless lists of some users have the best scores of numpy among the items not rated."""
    checked = 5  # users whose lists are compared with numpy's
    for row in range(checked):
        scores = model._head.item_factors.astype(np.float64) @ model._head.user_factors[row].astype(np.float64)
        scores += 1e-4 * model._head.clicks / model._head.clicks.max()
        scores[model._rated.items[slice(*model._rated.indptr[row : row + 2])]] = -np.inf
        items, list_scores = model.recommend([model.user_ids_[row]])
        check_near("list of a user", list_scores[0], np.sort(scores)[::-1][: list_scores.size], 1e-4)
        check_near("item of a list", scores[model._rows_of(items[0], "item")], list_scores[0], 1e-4)


def time_threads(model, ask, calls):
    """Return [milliseconds of ask(asker)] of calls from threads at once, and the seconds of all."""
    askers, start = [Asker(model, seed) for seed in THREADS], time.perf_counter()
    with ThreadPoolExecutor(len(askers)) as pool:
        samples = pool.map(lambda asker: milliseconds(functools.partial(ask, asker), calls, warm_up=0), askers)
        return list(itertools.chain(*samples)), time.perf_counter() - start


def serve(conditions):
    """Time calls of models of ratings with and without neighbours and of one with many items, and load a file."""
    usual, many = make_shapes(conditions.scale)
    options = {**OPTIONS, "device": conditions.device}
    near = LSHMF(n_neighbors=32, search="random", **options)
    cases = (  # estimator, shape, its name, function that yields (what, milliseconds, note)
        (MatrixFactorization(**options), usual, "netflix", time_calls),
        (near, usual, "netflix", time_neighbours),
        (MatrixFactorization(**options), many, f"{MANY['items']:,} items", time_many),
    )
    for estimator, shape, name, time_model in cases:
        model = fit_model(estimator, shape)
        check_lists(model)
        text = f"{shape.items:,} items, {len(model._rated.items):,} ratings"
        for what, samples, *note in time_model(model):
            yield Row(what, shape_name(name, conditions.scale), "generated", samples, "ms", "; ".join([text, *note]))
        del model  # before the next one is fitted


def time_calls(model):
    """Yield single calls, batches and threads, and the loading of the model's file, which is in the file cache."""
    asker, batch, calls, threads = Asker(model), 1000, 100, len(THREADS)  # users; calls of each thread
    for name, call in asker.calls().items():
        yield f"{name}, F=64", milliseconds(call, 100, 3)
    yield "similar items by evidence, F=64", milliseconds(lambda: model.similar_items(*asker.draw("item")), 9)
    what = f"recommend of {batch:,} users, a user"
    yield f"{what}, F=64", [x / batch for x in milliseconds(lambda: model.recommend(asker.draw(n=batch)), 9)]
    samples, total = time_threads(model, lambda asker: model.recommend(asker.draw()), calls)
    rate = f"{threads * calls / total:,.0f} calls a second in all"
    yield f"recommend a user from {threads} threads, F=64", samples, rate
    totals = [time_threads(model, lambda asker: model.recommend(asker.draw(n=batch)), 1)[1] for _ in range(3)]
    yield f"{what}, from {threads} threads, F=64", [1e3 * total / (threads * batch) for total in totals]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        samples, size = milliseconds(lambda: load_model(path), 9), path.stat().st_size
    yield "loading a model file", samples, f"{size / 1e6:,.0f} MB, checksums checked"


def time_neighbours(model):
    """Yield the calls that read neighbours."""
    calls = Asker(model).calls()
    for name in ("recommend a user by rating", "predict a pair"):
        yield f"{name}, F=64 K=32", milliseconds(calls[name], 100, 3)


def time_many(model):
    """Yield a list of a user, and a pass over the factors of all items."""
    yield "recommend a user, F=64", milliseconds(Asker(model).calls()["recommend a user"], 27, 3)
    yield "numpy's sum of the item factors, F=64", milliseconds(model._head.item_factors.sum, 27, 3)


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


def rank_by_weights(conditions):
    """Measure full rankings of NCF's MovieLens 1M by item weights: all weights, and those of some neighbours."""
    ncf = ncf_data.read(conditions.data, conditions.scale)
    table, (_, n_items), is_known = ncf.clicks, ncf.clicks.shape, ~ncf.unknown[:, 0]
    users, items = ncf.users[is_known], ncf.items[is_known, 0]
    ease, whole = Ease(clicks_of(table.users, table.items, table.shape), n_items), None
    ridge, k = solver_defaults("ease", "adaptive", len(table))["regularization"], ncf_data.K
    relevant = clicks_of(users, items, table.shape)
    for size in (None, *(size for size in SIZES if size < n_items)):
        if size:
            ease.weights = solve_lists(table, ridge, size, conditions.device).toarray()
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
        ours = model.evaluate_lists(test, k, baselines=False).rows(k)[0]["ndcg"]
        results.append((ours, best_of_ease(train, test, k)))
    for name, values in zip(("the defaults", "EASE, the best of four regularizations"), zip(*results)):
        yield Row(f"NDCG@{k} of {users} users, {name}", MOVIELENS, "real", list(values), f"NDCG@{k}")
    ratios = [ours / other for ours, other in results]
    yield Row(f"NDCG@{k} of {users} users, the defaults over EASE", MOVIELENS, "real", ratios, "times")


def best_of_ease(train, test, k):
    """Return the NDCG of lists of k items of EASE at the best of four regularizations."""
    learned, relevant = (clicks_of(part.users, part.items, part.shape) for part in (train, test))
    ease, values = Ease(learned, train.shape[1]), []
    for ridge in (100.0, 200.0, 400.0, 800.0):
        ease.weights = solve_weights(ease.clicked, ridge)
        judged = judge(ease.name, ease.lists(np.unique(test.users), k), relevant, ease.counts, (k,))
        values.append(float(np.mean(judged.values[k]["ndcg"])))
    return max(values)
