"""Benchmark `implicit`: iALS compared with the package implicit's alternating least squares, on the CPU.

Both have FACTORS factors and the same number of settings, chosen by the NDCG@10 of a held-out click of each user among
random items, as in the test. Then both learn all clicks, alternating by seed. Times are CPU time of all threads, since
other processes may run.
"""

import importlib.util
import time
from typing import NamedTuple

import numpy as np

from gpukit.bench.clicks import ncf_data
from gpukit.bench.measurement import Row, check_learned

FACTORS = ncf_data.IMPLICIT_FACTORS
SEEDS = range(5)
OURS, THEIRS = f"iALS F={FACTORS}", f"implicit's ALS F={FACTORS}"
GRIDS = {
    OURS: {"unobserved_weight": (0.1, 0.2, 0.3, 0.5), "regularization": (0.003, 0.006, 0.012)},
    THEIRS: {"alpha": (2.0, 4.0, 6.0, 11.0), "regularization": (10.0, 30.0, 60.0)},
}


class Choice(NamedTuple):
    """Hyperparameters of a package, (HR@10, NDCG@10) of the held-out clicks, and the number of candidates."""

    parameters: dict
    quality: tuple
    candidates: int


def train_package(name, parameters, ncf, seed):
    """Return the training.LearningCurve of a package in seconds of CPU time."""
    if name == OURS:
        parameters = {"n_factors": FACTORS, "n_epochs": 12, **parameters}
        return ncf_data.train_ials(parameters, ncf, seed, time.process_time)
    return ncf_data.train_implicit(ncf, seed, time.process_time, **parameters)


def choose(name, ncf):
    """Return the Choice of a package by NDCG@10 on an Ncf."""
    candidates = [
        (train_package(name, parameters, ncf, 0).final[:2], parameters)
        for parameters in ncf_data.list_grid(GRIDS[name])
    ]
    quality, parameters = max(candidates, key=lambda candidate: candidate[0][1])
    return Choice(parameters, quality, len(candidates))


def implicit(conditions):
    """Measure CPU time and quality of both packages at the chosen hyperparameters."""
    if conditions.device.is_cuda or not importlib.util.find_spec("implicit"):
        return
    ncf = ncf_data.read(conditions.data, conditions.scale)
    held_out = ncf_data.hold_out(ncf)
    choices = {name: choose(name, held_out) for name in (OURS, THEIRS)}
    curves = {name: [] for name in choices}
    for seed in SEEDS:
        for name, package_curves in curves.items():
            package_curves.append(train_package(name, choices[name].parameters, ncf, seed))
    if conditions.scale == 1:
        check_curves(curves)
    for name, package_curves in curves.items():
        yield from rows(name, package_curves, ncf.name, describe_choice(choices[name]))
    yield from equal_quality_rows(curves, ncf.name)
    yield best_test_row(ncf)


def check_curves(curves):
    """Raise DataError unless all trainings of {name: [LearningCurve]} have learned."""
    for name, package_curves in curves.items():
        check_learned(name, min(curve.final[0] for curve in package_curves))


def describe_choice(choice):
    """Return a Choice as text."""
    parameters = ", ".join(f"{name} {value:g}" for name, value in choice.parameters.items())
    return (
        f"{parameters}: of {choice.candidates} the best on a held-out click a user, "
        f"NDCG@10 {choice.quality[1]:.4f} there"
    )


def rows(name, curves, shape, note):
    """Yield rows of the CPU time, HR and NDCG of a package's LearningCurves."""
    samples = [1e3 * curve.times[-1] for curve in curves]
    yield Row(f"CPU time of {name}, {len(curves[0].times)} epochs", shape, "real", samples, "ms", note)
    for index, metric in enumerate(ncf_data.METRICS.values()):
        yield Row(f"{metric} of {name}", shape, "real", [curve.final[index] for curve in curves], metric, note)


def equal_quality_rows(curves, shape):
    """Yield the row of the CPU time until our mean quality reaches their final one, if it does."""
    target = np.mean([curve.final[:2] for curve in curves[THEIRS]], axis=0)
    means = np.mean([curve.quality for curve in curves[OURS]], axis=0)
    epochs = np.flatnonzero((means >= target).all(axis=1))
    if len(epochs):
        samples = [1e3 * curve.times[epochs[0]] for curve in curves[OURS]]
        note = "HR@10 {:.4f} and NDCG@10 {:.4f}, means of {} seeds".format(*target, len(SEEDS))
        note += f", after {epochs[0] + 1} epochs"
        yield Row(f"CPU time of {OURS} to the quality of {THEIRS}", shape, "real", samples, "ms", note)


def best_test_row(ncf):
    """Return the row of their NDCG at the hyperparameters that are best on the test itself."""
    choice = choose(THEIRS, ncf)
    note = f"HR@10 {choice.quality[0]:.4f} at {choice.parameters}: of all tried, by the test itself, one seed"
    return Row(f"NDCG@10 of {THEIRS}, best of the test", ncf.name, "real", [choice.quality[1]], "NDCG@10", note)
