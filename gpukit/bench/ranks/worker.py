"""What a rank of a benchmark does. Each benchmark is a function (team, folder, ..., device) that returns on rank 0 what
is told: [{"what", "samples" in milliseconds, "note"}]."""

import functools
import json
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.ranking import EXACT, SINGLE, check_near, generated, on_host
from gpukit.bench.ranks.imputation import imputation
from gpukit.bench.ratings import CLOSE, estimators, stars
from gpukit.bench.timing import milliseconds
from gpukit.errors import DataError
from gpukit.factorization import run as runs
from gpukit.parallel import ALONE
from gpukit.parallel.joined import joined
from gpukit.ranking import RankSVM
from gpukit.ratings import Ratings
from gpukit.ratings.table import DISTINCT, marked

AT_ONCE = 5  # epochs of a sample
TRAININGS = 5  # of which the one in the middle counts: on a GPU each takes other turns
FAR = 0.01  # stars of RMSE: further from one rank's a training has gone wrong


def main():
    """A rank: sys.argv has the name of a benchmark and what it is given."""
    name, folder, *given = sys.argv[1:]
    with joined() as team:
        told = BENCHES[name](team, folder, *given)
        if team.rank == 0:
            Path(folder, "told.json").write_text(json.dumps(told))


def load(folder, name):
    """Ratings that rows.save has written."""
    users, items = (np.arange(n) for n in np.load(Path(folder, "shape.npy")))
    columns = (np.load(Path(folder, f"{name}.{column}.npy")) for column in ("users", "items", "values"))
    return marked(Ratings(*columns, users, items), DISTINCT)


def factorization(team, folder, like, model, factors, device):
    """One epoch at the rates of the defaults, and the time to a test RMSE within CLOSE of the lowest of one rank; on
    other ranks than 0 nothing is told. First each rank trains by itself, all at once."""
    train, test = load(folder, "train"), load(folder, "test")
    make = dict(estimators(int(factors)))[model].set_params(device=device)
    alone, shared = (trained(make, train, test, ranks) for ranks in (ALONE, team))
    if team.rank:
        return []
    if not abs(shared.last - alone.last) <= stars(like, FAR):
        raise DataError(f"the benchmark's ranks end at RMSE {shared.last:.4f}, one at {alone.last:.4f}.")
    what = f"{model} F={factors}{' K=32' * (model == 'CULSH-MF')}"
    return rows_of(what, alone, shared, alone.lowest + stars(like, CLOSE))


class Curve(NamedTuple):
    """A training: RMSE after each epoch, milliseconds up to it."""

    errors: list
    times: np.ndarray


class Trained(NamedTuple):
    """Curves of trainings that begin alike, and samples, milliseconds, of an epoch's after the last."""

    curves: list
    samples: list

    @property
    def last(self):
        """The RMSE after the last epoch, of the training in the middle."""
        return statistics.median(curve.errors[-1] for curve in self.curves)

    @property
    def lowest(self):
        """The lowest RMSE, of the training in the middle."""
        return statistics.median(min(curve.errors) for curve in self.curves)

    def reached(self, target):
        """[milliseconds up to a target RMSE] of all trainings, None where one never comes to it."""
        found = [reached(curve.errors, curve.times, target) for curve in self.curves]
        return None if None in found else found


def rows_of(what, alone, shared, target):
    """What is told of what a rank by itself and all have Trained; target: the RMSE that they are to come to."""
    note = f"one rank {statistics.median(alone.samples):.4g} ms; RMSE {shared.last:.4f} after "
    note += f"{len(shared.curves[0].errors)} epochs, one rank {alone.last:.4f}"
    rows = [{"what": f"one epoch {what}", "samples": shared.samples, "note": note}]
    its, own = (each.reached(target) for each in (shared, alone))
    if its is None or own is None:
        return rows
    first = statistics.median(curve.times[0] for curve in shared.curves)
    note = f"to RMSE {target:.4f}, between epochs; one rank {statistics.median(own):.4g} ms; "
    note += f"the first epoch {first:.4g} ms"
    return [*rows, {"what": f"time to converge {what}", "samples": its, "note": note}]


def trained(make, train, test, team):
    """What a Team has Trained, or a rank by itself, on a warm device."""
    run = make.prepare(train, team=team)
    judge = runs.Judge(run.session, test, run.scale, 0)
    start_again = kept(getattr(run.session, "local", run.session).parameters)
    run.training.epoch(0)  # compiles, connects
    curves = []
    for _ in range(TRAININGS):
        team.barrier()
        start_again()
        if team.size > 1:
            run.training.gather()
        curves.append(curve_of(run, judge, team))
    return Trained(curves, samples_of(run, team))


def curve_of(run, judge, team):
    """The Curve of a training that is about to begin."""
    errors, times = [], []
    for epoch in range(run.settings.epochs):
        team.barrier()
        begun = time.perf_counter()
        run.training.epoch(epoch)
        team.barrier()
        times.append(1e3 * (time.perf_counter() - begun))
        errors.append(judge.rmse())
    return Curve(errors, np.cumsum(times))


def kept(parameters):
    """A function that puts an arrays.Parameters back to what it is now."""
    before = [np.array(on_host(table)) for table in parameters]

    def put_back():
        for table, its in zip(parameters, before):
            if isinstance(table, np.ndarray):
                table[...] = its
            else:
                table.copy_to_device(its)

    return put_back


def samples_of(run, team):
    """[milliseconds] of an epoch, of AT_ONCE one after the other."""

    def epochs():
        team.barrier()
        for epoch in range(AT_ONCE):
            run.training.epoch(run.settings.epochs + epoch)

    return [each / AT_ONCE for each in milliseconds(epochs, 9, 2)]


def reached(errors, times, target):
    """Milliseconds up to a target, on a line between the epochs around it; None: never."""
    there = next((epoch for epoch, error in enumerate(errors) if error <= target), None)
    if not there:
        return None if there is None else float(times[0])
    share = (errors[there - 1] - target) / (errors[there - 1] - errors[there])
    return float(times[there - 1] + share * (times[there] - times[there - 1]))


def ranking(team, folder, like, scale, device):
    """One product with the Hessian at the solution, waited for: in float32 and float64 on GPUs, else in float64."""
    documents = generated(like, float(scale))
    run = RankSVM(solver="scan", device=device).prepare(documents, team=team)
    result = run.train(1.0)
    if team.rank:
        run.session.serve()
        return None
    alone = RankSVM(solver="scan", device=device).prepare(documents)
    v = np.random.default_rng(0).normal(size=run.session.n)
    rows = []
    for session in (run.session, alone.session):
        session.move(result.w)
    right = alone.session.walk(v, 0.0)
    for exact in (False, True) if run.device.is_cuda else (True,):
        check_near(run.session.walk(v, 0.0, exact), right, EXACT if exact else SINGLE)
        walks = [functools.partial(session.walk, v, 0.0, exact) for session in (run.session, alone.session)]
        its, own = (milliseconds(walk, 61, 5) for walk in walks)
        what = f"one product with the Hessian in {'float64' if exact else 'float32'}, answer on the host"
        rows.append({"what": what, "samples": its, "note": f"one rank {statistics.median(own):.4g} ms"})
    run.session.finish(result)
    return rows


BENCHES = {"factorization": factorization, "ranking": ranking, "imputation": imputation}
