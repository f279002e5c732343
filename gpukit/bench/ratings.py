"""Benchmarks of factorization and neighbours on ratings, and the ratings that other benchmarks use."""

import contextlib
import functools
import importlib.util
import io
import itertools
import time
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit.bench.measurement import (
    MOVIELENS,
    MOVIELENS_FILE,
    Row,
    environment,
    require_data,
    time_step,
)
from gpukit.errors import DataError
from gpukit.evaluation.metrics import rmse
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import plan as plans
from gpukit.factorization import run as runs
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd import schedule
from gpukit.ratings import Ratings, read_ratings, synth, synth_ratings

ESTIMATORS = {"CUSGD++": MatrixFactorization, "CULSH-MF": LSHMF}  # functions of F; K = 32
CLOSE = 0.001  # stars: an RMSE this close to the lowest one counts as converged
SEEDS = range(5)
SHAPES, MORE = ("ml-10m", "netflix"), ("yahoo",)


@functools.lru_cache(maxsize=1)
def generate_split(name, scale):
    """Return (train, test) ratings generated with a shape and the paper's test fraction."""
    shape = synth.SHAPES[name]
    return synth_ratings(name, scale, 0).split(shape.test / shape.ratings, 1)


def convert_stars(name, stars):
    """Convert stars of a 1-5 scale to the scale of a shape."""
    return stars * synth.SHAPES[name].unit


def read_movielens(folder):
    """Return the Ratings of MovieLens 1M; raise DataError if the folder lacks it."""
    return read_ratings(require_data(folder, MOVIELENS_FILE))


@functools.lru_cache(maxsize=1)
def split_movielens(folder):
    """Return (train, test) of MovieLens 1M, 90 to 10 percent."""
    return read_movielens(folder).split(0.1, 0)


def drop_unused_ids(ratings):
    """Return the ratings with the ids of users and items that have ratings."""
    sides = []
    for rows, ids in (ratings.users, ratings.user_ids), (ratings.items, ratings.item_ids):
        is_used = np.bincount(rows, minlength=len(ids)) > 0
        sides.append(((np.cumsum(is_used, dtype=np.int32) - 1)[rows], ids[is_used]))
    (users, user_ids), (items, item_ids) = sides
    return Ratings(users, items, ratings.values, user_ids, item_ids)


def model_label(name, factors):
    """Return 'CUSGD++ F=32' or 'CULSH-MF F=32 K=32'."""
    return f"{name} F={factors}{' K=32' * name.startswith('CULSH-MF')}"


def epochs(conditions):
    """Time an epoch at the default rates."""
    for _, shape, (train, _) in conditions.generate(generate_split, SHAPES, MORE):
        for factors, name in itertools.product((32, 128), ESTIMATORS):
            samples = epoch_samples(ESTIMATORS[name](factors, device=conditions.device).prepare(train))
            yield Row(f"one epoch {model_label(name, factors)}", shape, "generated", samples, "ms")


def epoch_samples(run):
    """Return [milliseconds] of epochs of a run.Run, on a GPU without launches, before a check of the factors."""
    numbers = itertools.count()
    samples = time_step(lambda: start_epoch(run, next(numbers)), run.device, 9, 5, warm_up=2)
    check_finite(run.session)
    return samples


def start_epoch(run, number):
    """Queue an epoch of a run.Run."""
    run.training.start(run.settings.epoch_rates(number), schedule.turn_key(run.settings.seed, number))


def check_finite(session):
    """Raise DataError unless all user factors are finite and some have moved."""
    factors = session.state().user_factors
    if not (np.isfinite(factors).all() and np.abs(factors).max() > 0.1):
        raise DataError("the benchmark's training diverged or did not move.")


def accuracy(conditions):
    """Measure the test RMSE of the defaults and of the paper's control group on MovieLens 1M, five seeds."""
    train, test = split_movielens(conditions.data)
    cases = (
        ("CUSGD++ F=32", MatrixFactorization, {}),
        ("CULSH-MF F=32 K=32", LSHMF, {}),
        ("CULSH-MF random neighbours F=32 K=32", LSHMF, {"search": "random"}),
        ("CULSH-MF buckets F=32 K=32", LSHMF, {"search": "buckets"}),
        ("CULSH-MF F=128 K=32", LSHMF, {"n_factors": 128}),
    )
    for name, kind, parameters in cases:
        models = (kind(device=conditions.device, random_state=seed, **parameters) for seed in SEEDS)
        samples = [model.fit(train).evaluate(test)["rmse"] for model in models]
        yield Row(f"test RMSE {name}", MOVIELENS, "real", samples, "RMSE", "five seeds, defaults")


def read_inputs(conditions, shapes=("ml-10m",), more=("netflix", "yahoo")):
    """Yield (train, test, name, 'real' or 'generated') of MovieLens 1M and of the usual or named shapes."""
    if conditions.data is not None and not conditions.shapes:
        yield *split_movielens(conditions.data), MOVIELENS, "real"
    for _, name, (train, test) in conditions.generate(generate_split, shapes, more):
        yield train, test, name, "generated"


CASES = ("CUSGD++", 32), ("CUSGD++", 128), ("CULSH-MF", 32)
SHARES = {"a third": 3, "a seventh": 7}  # of the memory that a training needs


class StreamedEpochs(NamedTuple):
    """Milliseconds of epochs, test RMSE after the last epoch, and bytes that the training needs on the GPU."""

    samples: list
    rmse: float
    needed: int
    training: object


def measure(estimator, train, test, device, limit=None, repeat=9):
    """Return the StreamedEpochs of a training with a limit of GPU memory in bytes; None: no limit."""
    with environment(GPUKIT_GPU_MEMORY=None if limit is None else str(limit)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ratings are streamed
        run = estimator.set_params(device=device).prepare(train)
        judge = runs.Judge(run.session, test, run.scale, 0)
        for epoch in range(run.settings.epochs):
            run.training.epoch(epoch)
        rmse, samples, queued = judge.rmse(), [], 4  # some blocks of an epoch are sent during the epoch before
        for _ in range(repeat):
            start = time.perf_counter()
            for epoch in range(queued):
                start_epoch(run, epoch)
            run.session.finish()
            samples.append(1e3 * (time.perf_counter() - start) / queued)
        check_finite(run.session)
    sides = major_first(estimator.walk, *train.shape)
    return StreamedEpochs(samples, rmse, plans.memory_needed(len(train), sides, run.session.layout), run.training)


def out_of_core(conditions):
    """Time an epoch with a third and with a seventh of the GPU memory that the training needs."""
    if not conditions.device.is_cuda:
        return
    for _, shape, (train, test) in conditions.generate(generate_split, ("netflix",), ("ml-10m", "yahoo")):
        for model, factors in CASES:
            estimator, label = ESTIMATORS[model](factors), model_label(model, factors)
            whole = measure(estimator, train, test, conditions.device)
            whole = whole._replace(training=None)  # frees its memory
            for name, share in SHARES.items():
                limit = whole.needed // share
                result = measure(estimator, train, test, conditions.device, limit)
                note = describe(result, whole, limit)
                yield Row(f"one epoch {label}, {name} of the memory", shape, "generated", result.samples, "ms", note)
                del result


def describe(result, whole, limit):
    """Return the note of a row: the resident epoch, what travels, and both errors."""
    middle, before = (sorted(row.samples)[len(row.samples) // 2] for row in (result, whole))
    blocks, sent = result.training.blocks, result.training.bytes_sent / 1e9
    n_kept = sum(block.kept for block in blocks)
    return (
        f"{limit / 2**20:.0f} MiB; {middle / before:.2f} times the {before:.2f} ms in enough memory; {sent:.2f} GB an "
        f"epoch at {1e3 * sent / middle:.1f} GB/s; {result.training.packing.packed} bytes a rating; {n_kept} of "
        f"{len(blocks)} blocks stay on the GPU; RMSE {result.rmse:.4f}, in enough memory {whole.rmse:.4f}"
    )


def defaults(conditions):
    """Measure the test RMSE of each predictor on 90/10 splits of each set of ratings."""
    for name, ratings, seeds in read_sets(conditions.data, conditions.scale):
        splits = [ratings.split(0.1, seed) for seed in range(seeds)]
        for label, predictor in make_predictors(conditions.device).items():
            samples = [lowest_rmse(predictor, *split) for split in splits]
            note = f"{seeds} splits; mean {np.mean(samples):.4f}"
            yield Row(f"test RMSE {label}", name, "real", samples, "RMSE", note)


def lowest_rmse(predictor, train, test):
    """Return the lowest RMSE of a predictor's settings; predictions are clipped to the range of train."""
    return min(rmse(test.values, np.clip(predicted, *train.scale)) for predicted in predictor(train, test))


def read_sets(folder, scale=1.0):
    """Yield (name, Ratings, number of seeds); scale: fraction of their ratings, for tests of the benchmark."""
    n_users = 500
    yield "FilmTrust", thin(read_ratings(require_data(folder, "filmtrust/ratings.txt")), scale), 5
    ratings = read_movielens(folder)
    for share in (0.01, 0.05, 0.2):
        yield f"{MOVIELENS}, {share:.0%} of the ratings", thin(ratings, share * scale), 2
    users = np.random.default_rng(0).choice(ratings.shape[0], n_users, replace=False)
    yield f"{MOVIELENS}, {n_users} of the users", thin(ratings.take(np.isin(ratings.users, users)), scale), 2


def thin(ratings, share):
    """Return a random fraction of the ratings, without unused ids."""
    if share < 1.0:
        ratings = ratings.take(np.random.default_rng(0).random(len(ratings)) < share)
    return drop_unused_ids(ratings)


SURPRISE = {  # the package's defaults, and settings for sparser and denser ratings
    "SVD": (
        {},
        {"n_epochs": 30, "reg_all": 0.1},
        {"n_factors": 32, "n_epochs": 40, "reg_all": 0.08},
        {"n_epochs": 60, "lr_all": 0.01, "reg_all": 0.1},
    ),
    "SVDpp": ({}, {"n_epochs": 25, "lr_all": 0.005, "reg_all": 0.1}),
}


def global_mean(train, test):
    """Predict the mean rating."""
    yield np.full(len(test), train.values.mean(dtype=np.float64))


def damped_biases(train, test):
    """Predict mean + b_user + b_item for each damping of both sides."""
    dampings, sweeps = (1.0, 3.0, 5.0, 10.0, 25.0), 10
    mean = train.values.mean(dtype=np.float64)
    values = train.values - mean
    for damping in dampings:
        user_bias, item_bias = np.zeros(train.shape[0]), np.zeros(train.shape[1])
        for _ in range(sweeps):
            item_bias = _damped_means(train.items, values - user_bias[train.users], train.shape[1], damping)
            user_bias = _damped_means(train.users, values - item_bias[train.items], train.shape[0], damping)
        yield mean + user_bias[test.users] + item_bias[test.items]


def _damped_means(rows, residuals, count, damping):
    return np.bincount(rows, residuals, count) / (np.bincount(rows, minlength=count) + damping)


def libmf(n_factors, train, test):
    """Predict by LIBMF's matrix factorization on one thread."""
    with contextlib.redirect_stdout(io.StringIO()):  # it prints when it is imported
        from libmf import mf

    triples = np.stack([train.users, train.items, train.values], axis=1)
    for decay in (0.03, 0.06, 0.1, 0.15):
        decays = {"lambda_p1": 0.0, "lambda_q1": 0.0, "lambda_p2": decay, "lambda_q2": decay}  # 1: of L1 norms
        model = mf.MF(k=n_factors, nr_threads=1, nr_iters=20, quiet=True, **decays)
        model.fit(triples)
        users, items = model.p_factors(), model.q_factors()  # its own predict confuses rows
        known = (test.users < len(users)) & (test.items < len(items))
        predicted = np.full(len(test), np.nan)
        predicted[known] = (users[test.users[known]] * items[test.items[known]]).sum(axis=1)
        yield np.where(np.isnan(predicted), train.values.mean(dtype=np.float64), predicted)  # NaN: never rated


def surprise(name, train, test):
    """Predict by an algorithm of Surprise."""
    import pandas
    import surprise as package

    frame = pandas.DataFrame({"user": train.users, "item": train.items, "rating": train.values})
    reader = package.Reader(rating_scale=train.scale)
    ratings = package.Dataset.load_from_df(frame, reader).build_full_trainset()
    for setting in SURPRISE[name]:
        model = getattr(package, name)(random_state=0, **setting).fit(ratings)
        yield np.array([model.predict(*pair).est for pair in zip(test.users.tolist(), test.items.tolist())])


def by_default(model, train, test):
    """Predict by an unfitted estimator of gpukit."""
    yield model.fit(train).predict(test, unknown="baseline")


def make_predictors(device):
    """Return {name: function of (train, test) that yields predictions} of gpukit and the installed packages."""
    predictors = {"global mean": global_mean, "damped biases (1 to 25)": damped_biases}
    if importlib.util.find_spec("libmf"):
        predictors |= {f"LIBMF k={count}": partial(libmf, count) for count in (32, 128)}
    if importlib.util.find_spec("surprise"):
        names = {"Surprise SVD": "SVD", "Surprise SVD++": "SVDpp"}
        predictors |= {label: partial(surprise, name) for label, name in names.items()}
    models = ("MatrixFactorization", MatrixFactorization), ("LSHMF", LSHMF)
    return predictors | {f"{name}, defaults": partial(by_default, kind(device=device)) for name, kind in models}
