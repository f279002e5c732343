"""Imputation on a rank of `gpukit bench ranks`: rank 0 measures, the others serve it."""

import time

import numpy as np

from gpukit import device as devices
from gpukit.bench import Conditions
from gpukit.bench import imputation as single
from gpukit.bench.checks import check_error, relative_error
from gpukit.device.workspace import Workspace
from gpukit.imputation.distributed.completion import END, DistributedCompletion, serve
from gpukit.imputation.distributed.worker import Worker
from gpukit.imputation.spectral.path import fit_path

CLOSE = 1e-4  # relative: both in float32


def imputation(team, folder, name, scale, device):
    """Measure a step of the paper's 20 by one rank, then by all."""
    device = devices.resolve(device)
    with Workspace() as workspace:
        if team.rank:
            return serve(Worker(team, device, workspace))
        return compare(single.make_case(name, Conditions(device, (), float(scale))), team)


def compare(case, team):
    """Return the entries of an imputation.Case; raise DataError if one rank and all differ by more than CLOSE."""
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
    check_error(f"estimate of {team.size} ranks", error, CLOSE)
    texts = ", ".join(f"{name} {value:.3g}" for name, value in parts.items())
    note = f"one rank {np.median(single_samples):.4g} ms; rank 0's parts, ms: {texts}; {type(worker.lines).__name__}; "
    return [{"what": "a step of the imputation", "samples": samples, "note": f"{note}answers {error:.1g} apart"}]


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
