"""Benchmarks of factorization and neighbours. Each is a function of Conditions that yields record.Rows."""

import functools
import gc
import importlib.util
import itertools
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpukit import device as devices
from gpukit.bench.conditions import shape_name
from gpukit.bench.process import command_seconds, read_in_processes
from gpukit.bench.record import Row
from gpukit.bench.timing import gpu_milliseconds, milliseconds, seconds
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.plan import memory_kept, memory_needed
from gpukit.neighbors.columns import columns_of
from gpukit.neighbors.plan import Settings

CLOSE = 0.001  # stars: an RMSE this near the converged one counts as there
SEEDS = range(5)
SHAPES, MORE = ("ml-10m", "netflix"), ("yahoo",)


@functools.lru_cache(maxsize=1)
def generated(like, scale):
    """(train, test) ratings generated with a shape; the test share is the paper's."""
    from gpukit.ratings import synth_ratings
    from gpukit.ratings.generated import synth

    shape = synth.SHAPES[like]
    return synth_ratings(like, scale, 0).split(shape.test / shape.ratings, 1)


def stars(like, count):
    """So many stars of a 1-5 scale on the scale of a shape."""
    from gpukit.ratings.generated import synth

    return count * synth.SHAPES[like].unit


@functools.lru_cache(maxsize=1)
def movielens(folder):
    """(train, test) of MovieLens 1M, one rating in ten for testing."""
    from gpukit.ratings import read_ratings

    if folder is None:
        raise DataError("MovieLens 1M is needed: set GPUKIT_DATA to the folder that holds ml-1m/ratings.dat.")
    return read_ratings(Path(folder) / "ml-1m" / "ratings.dat").split(0.1, 0)


def estimators(factors):
    """(name, unfitted estimator) of both models at F = factors, K = 32."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    return (("CUSGD++", MatrixFactorization(n_factors=factors)), ("CULSH-MF", LSHMF(n_factors=factors)))


def converging(estimator, train, test, device):
    """(RMSE after each epoch, seconds up to it, preparation seconds) of a training on a warm device."""
    from gpukit.factorization import run as runs

    run = estimator.set_params(device=device).prepare(train)
    start, judge = run.session.state(), runs.Judge(run.session, test, run.scale, 0)
    run.training.epoch(0)  # compiles, warms up
    judge.rmse()
    run.session.restart(start)
    errors, times = [], []
    for epoch in range(run.settings.epochs):
        begun = time.perf_counter()
        run.training.epoch(epoch)
        times.append(time.perf_counter() - begun)
        errors.append(judge.rmse())
    return errors, np.cumsum(times), run.clock.seconds


def epoch_step(run, device):
    """A function that walks the next epoch of a run.Run, on the GPU only queues it."""
    from gpukit.factorization.solvers.sgd import schedule

    step = run.session.start_epoch if device.is_cuda else run.session.epoch
    turns = itertools.count()

    def once():
        epoch = next(turns)
        step(run.settings.epoch_rates(epoch), schedule.turn_key(run.settings.seed, epoch))

    return once


def epochs(conditions):
    """One epoch at the rates of the defaults."""
    for like in conditions.among(SHAPES, MORE):
        train, _ = generated(like, conditions.scale)
        for factors in (32, 128):
            for name, estimator in estimators(factors):
                run = estimator.set_params(device=conditions.device).prepare(train)
                once = epoch_step(run, conditions.device)
                samples = gpu_milliseconds(once, 9, 2) if conditions.device.is_cuda else milliseconds(once, 5)
                check_finite(run.session)
                what = f"one epoch {name} F={factors}{' K=32' * (name == 'CULSH-MF')}"
                yield Row(what, shape_name(like, conditions.scale), "generated", samples, "ms")
                del run, once


def check_finite(session):
    """The answer of an epoch benchmark: every factor is finite and some have moved."""
    state = session.state()
    if not (np.isfinite(state.user_factors).all() and np.abs(state.user_factors).max() > 0.1):
        raise DataError("the benchmark's training diverged or did not move.")


def convergence(conditions):
    """Time to a test RMSE within CLOSE of the lowest that the defaults reach."""
    for like in conditions.among(SHAPES, MORE):
        train, test = generated(like, conditions.scale)
        for factors in (32, 128):
            for name, estimator in estimators(factors):
                if factors == 128 and name == "CULSH-MF":
                    continue
                converging(estimator, train, test, conditions.device)  # everything is compiled
                errors, times, parts = converging(estimator, train, test, conditions.device)
                there = next(i for i, error in enumerate(errors) if error <= min(errors) + stars(like, CLOSE))
                shape, note = (
                    shape_name(like, conditions.scale),
                    f"RMSE {errors[there]:.4f} after epoch {there + 1}; lowest {min(errors):.4f}",
                )
                k = " K=32" if name == "CULSH-MF" else ""
                yield Row(
                    f"time to converge {name} F={factors}{k}", shape, "generated", [1e3 * times[there]], "ms", note
                )
                if name == "CULSH-MF":
                    near, prepare = (1e3 * parts[part] for part in ("neighbours", "prepare"))
                    yield Row(
                        f"the same with neighbours and preparation {name} F={factors}{k}",
                        shape,
                        "generated",
                        [1e3 * times[there] + near + prepare],
                        "ms",
                        f"neighbours {near:.0f} ms, preparation {prepare:.0f} ms",
                    )


def hashing(conditions):
    """simLSH p=3 q=100 G=8 with the top 32, both searches, ratings on the device."""
    from gpukit.ratings.orders.order import order_ratings

    for like in conditions.among(SHAPES, MORE):
        table = columns_of(order_ratings(generated(like, conditions.scale)[0], conditions.device))
        find = engine(conditions.device, "gpukit.neighbors").find
        for search in ("hamming", "buckets"):
            samples = milliseconds(functools.partial(find, table, Settings(search=search)), 9, 2)
            yield Row(f"simLSH {search} p=3 q=100 K=32", shape_name(like, conditions.scale), "generated", samples, "ms")


def paper_step(train, device):
    """(a function that queues one epoch the paper's way, the device factors Q)."""
    from gpukit._cuda import cuda
    from gpukit.bench.kernels import make_paper_epoch
    from gpukit.factorization.prepare import gpu, training_data
    from gpukit.factorization.solvers.sgd.formulas import falling_rate
    from gpukit.ratings.orders.order import order_ratings

    orders = order_ratings(train, device)
    side = training_data.side_of(orders, "users", training_data.scale_of(orders, train.values), 0, gpu)
    rows = np.argsort(-np.diff(side.indptr), kind="stable").astype(np.int32)
    arrays = cuda.to_device(rows), cuda.to_device(side.indptr), side.minor, side.values
    noise = np.random.default_rng(0)
    P, Q = (cuda.to_device(noise.normal(0, 0.1, (n, 32)).astype(np.float32)) for n in train.shape)
    launch, turns = make_paper_epoch(32, 1)[2112, 128], itertools.count()
    return lambda: launch(*arrays, P, Q, np.float32(falling_rate(0.035, 0.3, next(turns))), np.float32(0.02)), Q


def ladder(conditions):
    """The paper's way (Eq. (7), racy stores, no biases; a warp a rating), and the defaults but for single precision."""
    from gpukit.factorization import MatrixFactorization

    if not conditions.device.is_cuda:
        return
    for like in conditions.among(SHAPES, MORE):
        train, shape = generated(like, conditions.scale)[0], shape_name(like, conditions.scale)
        once, Q = paper_step(train, conditions.device)
        samples = gpu_milliseconds(once, 9, 2)
        if not np.isfinite(Q.copy_to_host()).all():
            raise DataError("the paper's kernel diverged.")
        yield Row("one epoch the paper's way (Eq. 7, racy) F=32", shape, "generated", samples, "ms")
        for factors in (32, 128):
            run = MatrixFactorization(factors, precision="single", device=conditions.device).prepare(train)
            samples = gpu_milliseconds(epoch_step(run, conditions.device), 9, 2)
            check_finite(run.session)
            yield Row(f"one epoch in single precision CUSGD++ F={factors}", shape, "generated", samples, "ms")
            del run


def memory(conditions):
    """Device memory that a training holds before its first epoch, beside what its arrays need on paper."""
    if not conditions.device.is_cuda:
        return
    for like in conditions.among(SHAPES, MORE):
        train, _ = generated(like, conditions.scale)
        for name, estimator in estimators(32):
            before = freed_memory(conditions.device)
            run = estimator.set_params(device=conditions.device).prepare(train)
            taken = before - freed_memory(conditions.device)
            sides = major_first(estimator.walk, *train.shape)
            paper, asked = (one(len(train), sides, run.session.layout) for one in (memory_kept, memory_needed))
            note = f"{paper / 2**20:.0f} MiB on paper, {taken / paper:.2f} times that"
            note += f"; {asked / 2**20:.0f} MiB asked for, {taken / asked:.2f} times that"
            shape = shape_name(like, conditions.scale)
            yield Row(f"device memory {name} F=32", shape, "generated", [taken / 2**20], "MiB", note)
            del run


def freed_memory(device):
    """Free bytes on a GPU once everything that nobody refers to has been given back."""
    gc.collect()
    return devices.free_memory(device)


def accuracy(conditions):
    """Test RMSE of the defaults on MovieLens 1M, five seeds, and of the paper's control group."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    train, test = movielens(conditions.data)
    cases = (
        ("CUSGD++ F=32", MatrixFactorization, {}),
        ("CULSH-MF F=32 K=32", LSHMF, {}),
        ("CULSH-MF random neighbours F=32 K=32", LSHMF, {"search": "random"}),
        ("CULSH-MF buckets F=32 K=32", LSHMF, {"search": "buckets"}),
        ("CULSH-MF F=128 K=32", LSHMF, {"n_factors": 128}),
    )
    for name, kind, changed in cases:
        samples = [
            kind(device=conditions.device, random_state=seed, **changed).fit(train).evaluate(test)["rmse"]
            for seed in SEEDS
        ]
        yield Row(f"test RMSE {name}", "MovieLens 1M", "real", samples, "RMSE", "five seeds, defaults")


def updates(conditions):
    """Rating updates a second of CUSGD++ with biases, F=32, on MovieLens 1M."""
    from gpukit.factorization import MatrixFactorization
    from gpukit.factorization.solvers.sgd import schedule

    train, _ = movielens(conditions.data)
    run = MatrixFactorization(device=conditions.device).prepare(train)
    samples = seconds(lambda: run.session.epoch(run.settings.epoch_rates(3), schedule.turn_key(0, 3)), 15, 3)
    check_finite(run.session)
    yield Row(
        "rating updates CUSGD++ F=32", "MovieLens 1M", "real", [len(train) / s / 1e6 for s in samples], "million/s"
    )


def command(conditions):
    """Wall time of the whole `gpukit train-lshmf` on MovieLens 1M once compiled code is cached."""
    movielens(conditions.data)
    ratings = Path(conditions.data) / "ml-1m" / "ratings.dat"
    with tempfile.TemporaryDirectory() as folder:
        samples = command_seconds(
            ["train-lshmf", str(ratings), "--model", f"{folder}/m.gpukit", "--force"], conditions.device
        )
    yield Row(
        "the whole command train-lshmf, cached", "MovieLens 1M", "real", samples, "s", "start to saved model and table"
    )


READERS = {
    "gpukit": "from gpukit import read_ratings as read",
    "pyarrow": """
import pyarrow
from pyarrow import csv
words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
types = {"user": words, "item": words, "rating": pyarrow.float32()}
def read(path):
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types)).unify_dictionaries()
""",
    "pandas": """
import pandas
def read(path):
    found = pandas.read_csv(path, dtype={"rating": "float32"})
    return found.assign(**{name: pandas.factorize(found[name], sort=True)[0] for name in ("user", "item")})
""",
    "polars": """
import polars
def read(path):
    rows = [polars.col(name).rank("dense") for name in ("user", "item")]
    return polars.read_csv(path, schema_overrides={"rating": polars.Float32}).with_columns(*rows)
""",
}  # each to row numbers of users and items, pyarrow's in order of appearance


def reading(conditions):
    """A csv of 99 million ratings (times the scale), with ids that are numbers and with words, read in a fresh process
    whose code is compiled, by gpukit and by others."""
    from gpukit.ratings import synth_ratings, write_ratings

    ratings = synth_ratings("netflix", conditions.scale, 0)
    shape = f"{len(ratings) / 1e6:.1f} million rows"
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder) / "big.csv", Path(folder) / "small.csv"
        for kind, prefix in (("", ""), (", ids as text", "u")):
            if prefix:
                ids = [np.char.add(prefix, ids.astype(str)) for ids in (ratings.user_ids, ratings.item_ids)]
                ratings = replace(ratings, user_ids=ids[0], item_ids=ids[1])
            write_ratings(ratings, big)
            write_ratings(ratings.take(slice(100)), small)
            for name in filter(is_there, READERS):
                yield from reading_rows(name, kind, shape, ratings, big, small)


def is_there(name):
    """Whether a package is installed."""
    return importlib.util.find_spec(name) is not None


def reading_rows(name, kind, shape, ratings, big, small):
    """The time and the memory of a csv file read by one of READERS."""
    read = read_in_processes(READERS[name], "len(found)", big, small)
    if read.figures != [len(ratings)]:
        raise DataError(f"the csv file was not read whole by {name}.")
    what = f"reading a csv file{kind}{'' if name == 'gpukit' else ' by ' + name}"
    yield Row(what, shape, "generated", read.seconds, "s")
    times = [peak / ratings.nbytes for peak in read.peaks]
    yield Row(f"memory of {what}", shape, "generated", times, "times the arrays", "peak above the start")


def finished(device):
    """Wait until a GPU has done what is queued."""
    if device.is_cuda:
        from gpukit._cuda import cuda

        cuda.synchronize()


def preparation_rows(name, estimator, train, device):
    """(what, samples, note): from ratings in host memory to the first epoch, a whole fit, the errors on all ratings."""
    estimator.set_params(device=device)

    ids = train.user_ids[train.users], train.item_ids[train.items], train.values

    def ready(given):
        estimator.prepare(given)
        finished(device)

    for what, given in (("ratings", train), ("arrays of ids and ratings", ids)):
        taken = milliseconds(lambda given=given: ready(given), 7)
        yield f"{what} in host memory to the first epoch {name} F=32", taken, "second in its process"
    fits = milliseconds(lambda: estimator.fit(train), 5)
    if not np.isfinite(estimator.item_factors_).all():
        raise DataError("the benchmark's training diverged.")
    yield f"whole fit {name} F=32", fits, f"{len(estimator.history_)} epochs"
    found = estimator.evaluate(train)
    few = train.take(slice(0, 100_000))
    errors = estimator.predict(few).astype(np.float64) - few.values
    if not np.isclose(estimator.evaluate(few)["mae"], np.abs(errors).mean(), rtol=1e-6):
        raise DataError("the errors of an evaluation are not those of the predictions.")
    samples = milliseconds(lambda: estimator.evaluate(train), 5)
    yield f"RMSE and MAE on all training ratings {name} F=32", samples, f"RMSE {found['rmse']:.4f}"


def preparation(conditions):
    """What surrounds the epochs: preparing, a whole fit, evaluating, splitting."""
    for like in conditions.among(SHAPES, MORE):
        train, test = generated(like, conditions.scale)
        shape = shape_name(like, conditions.scale)
        for name, estimator in estimators(32):
            for what, samples, note in preparation_rows(name, estimator, train, conditions.device):
                yield Row(what, shape, "generated", samples, "ms", note)
        splits = milliseconds(lambda ratings=train: ratings.split(0.1, 0), 5)
        yield Row("a 90/10 split, on the host", shape, "generated", splits, "ms")


BENCHES = {
    "reading": reading,
    "preparation": preparation,
    "epochs": epochs,
    "convergence": convergence,
    "hashing": hashing,
    "ladder": ladder,
    "memory": memory,
    "accuracy": accuracy,
    "updates": updates,
    "command": command,
}
