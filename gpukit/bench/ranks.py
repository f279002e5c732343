"""Benchmark `ranks`: two, four and eight ranks compared with one, GPUs of a host or processes that share the CPU.

A rank runs a function (team, folder, ..., device), which returns its entries on rank 0: [(what, samples in
milliseconds, note)]. In the imputation rank 0 measures, and the others serve it.
"""

import functools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import ensure_host
from gpukit.bench import Conditions, shape_name
from gpukit.bench import imputation as single
from gpukit.bench.measurement import (
    Curve,
    Row,
    check_error,
    check_near,
    milliseconds,
    record_epochs,
    relative_error,
)
from gpukit.bench.ranking import TOLERANCES, generate_documents
from gpukit.bench.ratings import CASES, CLOSE, ESTIMATORS, convert_stars, generate_split, model_label
from gpukit.device.place import gpu_count
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError, GpukitError
from gpukit.factorization import run as runs
from gpukit.imputation.distributed.completion import END, DistributedCompletion, Worker, serve
from gpukit.imputation.spectral.path import fit_path
from gpukit.parallel import ALONE
from gpukit.parallel.current_team import join_team
from gpukit.parallel.launch import launch, make_rank_settings
from gpukit.ranking import RankSVM
from gpukit.ratings import read_ratings, write_ratings

TENSORS = {True: ("512x512x2600", "64x64x2100"), False: ("64x64x2100", "512x512x2600")}  # on GPUs, the usual first
COMMAND = "from gpukit.bench.ranks import main; main()"


def ranks(conditions):
    """Time epochs, convergence, products with the Hessian and imputation steps over two ranks and more."""
    for name in conditions.select(("netflix",), ("yahoo", "ml-10m")):
        with tempfile.TemporaryDirectory() as folder:
            for part, ratings in zip(("train", "test"), generate_split(name, conditions.scale)):
                write_ratings(ratings, Path(folder, f"{part}.gkr"))
            for model, factors in CASES:  # new ranks for each, so that rows appear as they are measured
                yield from run_ranks(conditions, "factorization", folder, name, model, factors)
    usual, more = TENSORS[conditions.device.is_cuda]
    tasks = [("ranking", name) for name in conditions.select(("mslr-web30k",))]
    tasks += [("imputation", name) for name in conditions.select((usual,), (more,))]
    for benchmark, name in tasks:
        with tempfile.TemporaryDirectory() as folder:
            yield from run_ranks(conditions, benchmark, folder, name, conditions.scale)


def list_sizes(device):
    """Return the numbers of ranks: two, and each power of two up to the number of GPUs."""
    most = max(2, gpu_count()) if device.is_cuda else 2
    return [2**n for n in range(1, most.bit_length())]


def run_ranks(conditions, benchmark, folder, name, *arguments):
    """Yield rows of a benchmark of TASKS on a shape by each number of ranks, which share a folder."""
    is_cuda = conditions.device.is_cuda
    words = [*map(str, (benchmark, folder, name, *arguments)), "cuda" if is_cuda else "cpu"]
    for size in list_sizes(conditions.device):
        if launch(words, size, make_rank_settings(size, is_cuda), COMMAND):
            raise GpukitError(f"the benchmark's ranks failed in {benchmark}; their messages are above.")
        for what, samples, note in json.loads(Path(folder, "entries.json").read_text()):
            shape = shape_name(name, conditions.scale)
            yield Row(f"{what}, {size} ranks", shape, "generated", samples, "ms", note)


def main():
    """Run a benchmark: sys.argv has its name and its arguments."""
    name, folder, *arguments = sys.argv[1:]
    with join_team() as team:
        entries = TASKS[name](team, folder, *arguments)
        if team.rank == 0:
            Path(folder, "entries.json").write_text(json.dumps(entries))


def factorization(team, folder, name, model, factors, device):
    """Time an epoch, and the training until the test RMSE is within CLOSE of one rank's lowest.

    All ranks first train by themselves at the same time. Ranks other than 0 return no entries.
    """
    far = 0.01  # stars of RMSE between one rank and all that mean a failed training
    train, test = (read_ratings(Path(folder, f"{part}.gkr")) for part in ("train", "test"))
    estimator = ESTIMATORS[model](int(factors), device=device)
    single, shared = (train_team(estimator, train, test, ranks) for ranks in (ALONE, team))
    if team.rank:
        return []
    if not abs(shared.last - single.last) <= convert_stars(name, far):
        raise DataError(f"the benchmark's ranks end at RMSE {shared.last:.4f}, one at {single.last:.4f}.")
    target = single.lowest + convert_stars(name, CLOSE)
    return make_entries(model_label(model, int(factors)), single, shared, target)


class Trainings(NamedTuple):
    """Curves of trainings from the same start, and milliseconds of epochs after the last one."""

    curves: list
    samples: list

    @property
    def last(self):
        """The median RMSE after the last epoch."""
        return statistics.median(curve.errors[-1] for curve in self.curves)

    @property
    def lowest(self):
        """The median of the lowest RMSE."""
        return statistics.median(min(curve.errors) for curve in self.curves)

    def times_to(self, target):
        """Return [milliseconds to a target RMSE], or None if a training does not reach it."""
        times = [time_to(curve, target) for curve in self.curves]
        return None if None in times else times


def make_entries(label, single, shared, target):
    """Return the entries of the Trainings of one rank and of all; target: RMSE to reach."""
    note = f"one rank {statistics.median(single.samples):.4g} ms; RMSE {shared.last:.4f} after "
    note += f"{len(shared.curves[0].errors)} epochs, one rank {single.last:.4f}"
    entries = [(f"one epoch {label}", shared.samples, note)]
    samples, single_times = (trainings.times_to(target) for trainings in (shared, single))
    if samples is None or single_times is None:
        return entries
    first = 1e3 * statistics.median(curve.times[0] for curve in shared.curves)
    note = f"to RMSE {target:.4f}, between epochs; one rank {statistics.median(single_times):.4g} ms; "
    note += f"the first epoch {first:.4g} ms"
    return [*entries, (f"time to converge {label}", samples, note)]


def train_team(estimator, train, test, team):
    """Return the Trainings of a Team on a warm device."""
    trainings = 5  # the median counts: the order of updates on a GPU differs
    run = estimator.prepare(train, team=team)
    judge = runs.Judge(run.session, test, run.scale, 0)
    restore = save_parameters(getattr(run.session, "local", run.session).parameters)
    run.training.epoch(0)  # compiles, connects
    curves = []
    for _ in range(trainings):
        team.barrier()
        restore()
        if team.size > 1:
            run.training.gather()
        epochs = map(run.training.epoch, range(run.settings.epochs))
        curves.append(Curve(*record_epochs(epochs, judge.rmse, lambda: team.barrier() or time.perf_counter()), {}))
    return Trainings(curves, epoch_samples(run, team))


def save_parameters(parameters):
    """Copy arrays.Parameters, and return a function that restores them."""
    copies = [np.array(ensure_host(table)) for table in parameters]

    def restore():
        for table, copy in zip(parameters, copies):
            if isinstance(table, np.ndarray):
                table[...] = copy
            else:
                table.copy_to_device(copy)

    return restore


def epoch_samples(run, team):
    """Return [milliseconds] of an epoch, the mean of a few without a barrier."""
    together = 5

    def epochs():
        team.barrier()
        for epoch in range(together):
            run.training.epoch(run.settings.epochs + epoch)

    return [sample / together for sample in milliseconds(epochs, 9, 2)]


def time_to(curve, target):
    """Return the milliseconds of a Curve to a target, interpolated between epochs; None if it is not reached."""
    epoch = curve.epoch_to(target)
    if epoch is None:
        return None
    first = max(0, epoch - 1)
    errors, times = np.flip(curve.errors[first : epoch + 1]), np.flip(curve.times[first : epoch + 1])
    return 1e3 * float(np.interp(target, errors, times))


def ranking(team, folder, name, scale, device):
    """Time a product with the Hessian at the solution: in float32 and float64 on GPUs, else in float64."""
    documents = generate_documents(name, float(scale))
    run = RankSVM(solver="scan", device=device).prepare(documents, team=team)
    result = run.train(1.0)
    if team.rank:
        run.session.serve()
        return None
    single = RankSVM(solver="scan", device=device).prepare(documents)
    v = np.random.default_rng(0).normal(size=run.session.n)
    entries, sessions = [], (run.session, single.session)
    for session in sessions:
        session.move(result.w)
    expected = single.session.walk(v, 0.0)
    for exact in (False, True) if run.device.is_cuda else (True,):
        check_near("product with the Hessian", run.session.walk(v, 0.0, exact), expected, TOLERANCES[exact])
        samples, single_samples = (
            milliseconds(functools.partial(session.walk, v, 0.0, exact), 61, 5) for session in sessions
        )
        what = f"one product with the Hessian in {'float64' if exact else 'float32'}, answer on the host"
        note = f"one rank {statistics.median(single_samples):.4g} ms"
        entries.append((what, samples, note))
    run.session.finish(result)
    return entries


def imputation(team, folder, name, scale, device):
    """Measure a step of the paper's 20 by one rank, then by all."""
    device = devices.resolve(device)
    with Workspace() as workspace:
        if team.rank:
            return serve(Worker(team, device, workspace))
        return compare(single.make_case(name, Conditions(device, (), float(scale))), team)


def compare(case, team):
    """Return the entries of an imputation.Case; raise DataError if one rank and all differ."""
    close = 1e-4  # relative: both in float32
    for _ in range(2):  # the first run compiles
        session = single.make_session(case)
        single_samples, _ = step_milliseconds(session, case.options)
    expected = session.missing()
    del session
    single.release(case.device)
    worker = Worker(team, case.device, case.workspace)
    for _ in range(2):
        session = DistributedCompletion(worker, case.basis, case.graph.tensor, case.graph.mask, np.dtype(np.float32))
        samples, parts = step_milliseconds(session, case.options)
    error = relative_error(session.missing(), expected)
    worker.ask(END)
    check_error(f"estimate of {team.size} ranks", error, close)
    texts = ", ".join(f"{name} {value:.3g}" for name, value in parts.items())
    note = f"one rank {np.median(single_samples):.4g} ms; rank 0's parts, ms: {texts}; {type(worker.lines).__name__}; "
    return [("a step of the imputation", samples, f"{note}answers {error:.1g} apart")]


def step_milliseconds(session, options):
    """Return ([milliseconds] of the steps after warm-up, {part: mean milliseconds of a step on this rank})."""
    warm_up_steps = 6  # subspaces are cold and load balancing moves parts
    first, times, seconds = session.largest(), [time.perf_counter()], [dict(session.seconds)]

    def progress(*_):
        times.append(time.perf_counter())
        seconds.append(dict(session.seconds))

    fit_path(session, first, options, progress=progress)
    samples = 1e3 * np.diff(times[warm_up_steps:])
    parts = {name: 1e3 * (seconds[-1][name] - seconds[warm_up_steps][name]) / len(samples) for name in seconds[-1]}
    return samples.tolist(), parts


TASKS = {"factorization": factorization, "ranking": ranking, "imputation": imputation}
