"""Rows of the benchmark table and their file; samples of the time of a step; checks and errors of results."""

import contextlib
import csv
import functools
import importlib
import os
import subprocess
import time
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple
from unittest import mock

import numpy as np

from gpukit._version import __version__
from gpukit.errors import DataError

QUANTILE = NormalDist().inv_cdf(0.95)  # standard deviations on either side that hold 90 % of a normal distribution
MOVIELENS, MOVIELENS_FILE = "MovieLens 1M", "ml-1m/ratings.dat"
COLUMNS = ("what", "shape", "data", "device", "versions", "commit", "p20", "p50", "p80", "unit", "samples", "note")


class MissingDataError(DataError):
    """Real data that a benchmark needs are missing."""


class Row(NamedTuple):
    """Samples of a quantity; data: 'real', 'real graph' or 'generated'."""

    what: str
    shape: str
    data: str
    samples: list
    unit: str
    note: str = ""


def versions():
    """Return the versions of gpukit, numba, numba-cuda and numpy as text."""
    others = (f"{name} {metadata.version(name)}" for name in ("numba", "numba-cuda", "numpy"))
    return " ".join([f"gpukit {__version__}", *others])


def commit():
    """Return $GPUKIT_COMMIT, or git's commit with a + if files other than the benchmark table have changed."""
    if os.environ.get("GPUKIT_COMMIT"):
        return os.environ["GPUKIT_COMMIT"]
    others = "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)docs/benchmarks.csv"
    try:
        name, changes = ask_git("describe", "--always", "--exclude=*"), ask_git("status", *others)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + "+" * bool(changes)


def ask_git(*words):
    """Return the output of git in this folder."""
    command = ["git", "-C", Path(__file__).parent, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def line(row, device):
    """Return the row as the file has it, with percentiles 20, 50 and 80 of the samples."""
    percentiles = (f"{value:.5g}" for value in np.percentile(row.samples, (20, 50, 80)))
    start = row.what, row.shape, row.data, str(device), versions(), commit()
    return *start, *percentiles, row.unit, len(row.samples), row.note


def append(path, lines):
    """Add lines to the file, after a heading if it is new."""
    is_new = not Path(path).exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerows(lines)


@functools.cache
def printed_values():
    """Return the dicts of papers.csv: a row's what (*: any text), first word of its shape (*: any), value, unit, of."""
    with open(Path(__file__).with_name("papers.csv"), newline="") as file:
        return list(csv.DictReader(file))


def find_printed(row):
    """Return the dict of papers.csv for a Row; None without one."""
    shapes = "*", row.shape.split()[0].lower()
    lines = (line for line in printed_values() if line["shape"] in shapes and fnmatchcase(row.what, line["what"]))
    return next(lines, None)


def add_printed(row):
    """Return a Row with the paper's value in its note, if papers.csv has one."""
    line = find_printed(row)
    if line is None:
        return row
    text = f"the paper: {line['value']} {line['unit']}".rstrip() + (f", {line['of']}" if line["of"] else "")
    return row._replace(note=f"{row.note}; {text}" if row.note else text)


def find_data(folder, name):
    """Return the path of real data below a folder (None: no folder), or None if it does not exist."""
    path = None if folder is None else Path(folder) / name
    return path if path and path.exists() else None


def require_data(folder, name):
    """Return the path of real data below a folder; raise MissingDataError if it does not exist."""
    path = find_data(folder, name)
    if path is None:
        raise MissingDataError(f"{name} is needed: set GPUKIT_DATA to the folder that holds it.")
    return path


def arrays_of(device):
    """Return the module of `empty` and `resident` on a device."""
    return importlib.import_module(f"gpukit.device.{'gpu' if device.is_cuda else 'cpu'}_arrays")


def relative_error(result, expected):
    """Return ||result - expected|| / ||expected||."""
    return float(np.linalg.norm(np.ravel(result - expected)) / np.linalg.norm(np.ravel(expected)))


def check_error(what, error, bound):
    """Raise DataError if an error is above a bound or not a number."""
    if not error <= bound:
        raise DataError(f"the benchmark's {what} has a relative error of {error:.3g}, more than {bound:.3g}.")


def check_near(what, result, expected, tolerance):
    """Raise DataError if a result is further from the expected one than a relative tolerance."""
    check_error(what, relative_error(result, expected), tolerance)


def seconds(run, repeat, warm_up=1, clock=time.perf_counter, limit=np.inf):
    """Return [seconds of run() by a clock] after warm-up calls; run must wait for its work to end.

    Long runs are repeated until they add up to the limit in seconds.
    """
    for _ in range(warm_up):
        run()
    samples = []
    while len(samples) < repeat and sum(samples) < limit:
        start = clock()
        run()
        samples.append(clock() - start)
    return samples


def milliseconds(run, repeat, warm_up=1):
    """Return [milliseconds of run()] after warm-up calls."""
    return [1e3 * sample for sample in seconds(run, repeat, warm_up)]


@functools.cache
def busy_step():
    """Return a function that keeps the GPU busy for about 10 ms: one segment, sorted by one block."""
    from gpukit._cuda import cuda
    from gpukit.sorting import gpu

    count = 300_000
    keys = cuda.to_device(np.random.default_rng(2).normal(size=count).astype(np.float32))
    plan, order = gpu.plan([0, count], np.float32), cuda.device_array(count, np.int32)
    return lambda: gpu.argsort(keys, plan, order)


def gpu_milliseconds(run, repeat, warm_up=5):
    """Return [milliseconds of run()] between GPU events after warm-up calls.

    The GPU is kept busy until all runs are queued, so that the launch overhead of short steps does not count.
    """
    from gpukit._cuda import cuda

    events = [cuda.event() for _ in range(repeat + 1)]
    for _ in range(warm_up):
        run()
    cuda.synchronize()
    busy_step()()
    for number, event in enumerate(events):
        event.record()
        if number < repeat:
            run()
    events[-1].synchronize()
    return [float(cuda.event_elapsed_time(begin, end)) for begin, end in zip(events, events[1:])]


def time_step(step, device, repeat, repeat_on_cpu, warm_up=5):
    """Return [milliseconds] of `repeat` runs of a step on a GPU, without launches, or of `repeat_on_cpu` runs."""
    return gpu_milliseconds(step, repeat, warm_up) if device.is_cuda else milliseconds(step, repeat_on_cpu)


class Curve(NamedTuple):
    """A training: what was measured after each epoch, seconds up to it, and {stage: seconds} before it."""

    errors: list
    times: list
    parts: dict

    def epoch_to(self, target):
        """Return the number, from 0, of the first epoch with an error of at most a target, or None."""
        return next((epoch for epoch, error in enumerate(self.errors) if error <= target), None)

    @property
    def before(self):
        """Seconds of the neighbour search and of the preparation."""
        return self.parts["neighbours"] + self.parts["prepare"]

    def text(self):
        """Return 'second error; ...', with the seconds before the training added to each."""
        points = zip(self.times, self.errors, strict=True)
        return "; ".join(f"{self.before + second:.3f} s {error:.4f}" for second, error in points)


def record_epochs(epochs, evaluate, clock=time.perf_counter, is_last=lambda values, seconds: False):
    """Return ([evaluate()] after each epoch, [seconds up to it]) of an iterable that runs an epoch when it is advanced.

    It ends with the epochs or if is_last(values, seconds). evaluate() is not timed; clock() waits for the end of all
    work.
    """
    values, times, total, start = [], [], 0.0, clock()
    for _ in epochs:
        total += clock() - start
        times.append(total)
        values.append(evaluate())
        if is_last(values, total):
            break
        start = clock()
    return values, times


def record_training(run, evaluate, **options):
    """Return `record_epochs` of a run.Run of a factorization on a warm device."""
    session, start = run.session, run.session.state()

    def train_epoch(number):
        run.training.epoch(number)
        session.finish()

    train_epoch(0)  # compiles, warms up
    evaluate()
    session.restart(start)
    return record_epochs(map(train_epoch, range(run.settings.epochs)), evaluate, **options)


def crps(residuals, deviations):
    """Return the mean CRPS of normal distributions (Gneiting and Raftery, JASA 102, 2007)."""
    from scipy import special

    z = residuals / np.maximum(deviations, 1e-12)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return float((deviations * (z * special.erf(z / np.sqrt(2)) + 2 * density - 1 / np.sqrt(np.pi))).mean())


def absolute_error(completed, truth, mask):
    """Return the mean absolute error on the hidden values."""
    return float(np.abs(completed - truth)[~mask].mean(dtype=np.float64))


@contextlib.contextmanager
def environment(**variables):
    """Set environment variables within the context, also for processes that are started in it; None removes one."""
    with mock.patch.dict(os.environ):
        for name, value in variables.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})
        yield
