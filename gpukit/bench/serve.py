"""Benchmark of answers of a fitted model: one at a time, in batches, from several threads; loading its file.

The models are trained for one epoch, and the factors that rank lists are random: neither changes the time of an answer.
"""

import functools
import itertools
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, check_near, milliseconds
from gpukit.factorization import LSHMF, Filters, MatrixFactorization
from gpukit.factorization.implicit.start import start_state
from gpukit.factorization.lists.head import Head
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
    shape = shape_name("netflix", conditions.scale)
    model = fit_model(MatrixFactorization(**options), usual)
    check_lists(model)
    note = f"{usual.items:,} items, {len(model._rated.items):,} ratings"
    yield from call_rows(model, "F=64", shape, note)
    yield from load_rows(model, shape)
    del model
    model = fit_model(LSHMF(n_neighbors=32, search="random", **options), usual)
    yield call_row(Asker(model), "recommend a user by rating", "F=64 K=32", shape, note)
    yield call_row(Asker(model), "predict a pair", "F=64 K=32", shape, note)
    del model
    model = fit_model(MatrixFactorization(**options), many)
    check_lists(model)
    yield from many_rows(model, shape_name(f"{MANY['items']:,} items", conditions.scale))


def call_row(asker, name, size, shape, note, repeat=100):
    """Return the Row of one of Asker.calls."""
    return Row(f"{name}, {size}", shape, "generated", milliseconds(asker.calls()[name], repeat, 3), "ms", note)


def call_rows(model, size, shape, note):
    """Yield the rows of single calls, batches and threads."""
    asker = Asker(model)
    for name in asker.calls():
        yield call_row(asker, name, size, shape, note)
    samples = milliseconds(lambda: model.similar_items(*asker.draw("item")), 9)
    yield Row(f"similar items by evidence, {size}", shape, "generated", samples, "ms", note)
    batch, calls, threads = 1000, 100, len(THREADS)  # users; calls of each thread
    samples = [sample / batch for sample in milliseconds(lambda: model.recommend(asker.draw(n=batch)), 9)]
    what = f"recommend of {batch:,} users, a user"
    yield Row(f"{what}, {size}", shape, "generated", samples, "ms", note)
    samples, total = time_threads(model, lambda asker: model.recommend(asker.draw()), calls)
    rate = f"{note}; {threads * calls / total:,.0f} calls a second in all"
    yield Row(f"recommend a user from {threads} threads, {size}", shape, "generated", samples, "ms", rate)
    totals = [time_threads(model, lambda asker: model.recommend(asker.draw(n=batch)), 1)[1] for _ in range(3)]
    samples = [1e3 * total / (threads * batch) for total in totals]
    yield Row(f"{what}, from {threads} threads, {size}", shape, "generated", samples, "ms", note)


def load_rows(model, shape):
    """Yield the row of loading the model's file, which is in the file cache."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        samples, size = milliseconds(lambda: load_model(path), 9), path.stat().st_size
    yield Row("loading a model file", shape, "generated", samples, "ms", f"{size / 1e6:,.0f} MB, checksums checked")


def many_rows(model, shape):
    """Yield the rows of a model with many items, and of a pass over their factors."""
    note = f"{len(model.item_ids_):,} items"
    yield call_row(Asker(model), "recommend a user", "F=64", shape, note, 27)
    samples = milliseconds(model._head.item_factors.sum, 27, 3)
    yield Row("numpy's sum of the item factors, F=64", shape, "generated", samples, "ms", note)
