"""`gpukit bench clicks`: the paper's Table 10 (Li et al. 2022, section 5.4), seconds of training until the click is
among the first ten of a hundred in 0.65 of the tests; all in one process, on the same clicks. Networks are trained on a
GPU, implicit's least squares where the CPU is measured.

An HR of 0.65 is below item kNN's: what each comes to in the end stands beside. Who takes longer stops after SECONDS.
"""

import functools
import importlib.util

import numpy as np

from gpukit.bench.clicks import ncf_data, networks, packages, training
from gpukit.bench.record import Row

TARGET, SECONDS = 0.65, 120.0
PRINTED = {"GMF": 219.6, "MLP": 940.4, "NeuMF": 308.5, "CULSH-MF": 0.0343}  # seconds on a P100
SEEDS = 5  # of ours


def clicks(conditions):
    """Time to HR 0.65 and what it comes to, of our models and of implicit's."""
    ncf = ncf_data.read(conditions.data, conditions.scale)
    for name in training.models(conditions.device):
        courses = [
            training.trained(training.models(conditions.device, seed)[name], ncf, SECONDS) for seed in range(SEEDS)
        ]
        yield from rows(name, courses, ncf.name)
    if not conditions.device.is_cuda and importlib.util.find_spec("implicit"):
        yield from rows("implicit's ALS", [packages.implicit_als(ncf)], ncf.name, f"{packages.FACTORS} factors")


def network(conditions, name):
    """The same of one of networks.NAMES, on a GPU."""
    if conditions.device.is_cuda and importlib.util.find_spec("torch"):
        ncf = ncf_data.read(conditions.data, conditions.scale)
        yield from rows(name, [networks.trained(name, ncf, conditions.device, SECONDS)], ncf.name)


def rows(name, courses, where, more=""):
    """Yield the Rows of a model's Courses, on clicks called `where`: the time, where all come to the target, the HR
    and the NDCG."""
    data, epochs = (where, "real"), [course.reached(TARGET) for course in courses]
    printed = f"the paper: {PRINTED[name]:g} s" if name in PRINTED else "not in the paper's table"
    if None not in epochs:
        times = [1e3 * course.times[epoch] for course, epoch in zip(courses, epochs)]
        yield Row(f"Table 10 time to HR {TARGET} {name}", *data, times, "ms", told(courses, epochs, printed, more))
    for place, metric in enumerate(("HR@10", "NDCG@10")):
        samples = [course.final[place] for course in courses]
        yield Row(f"Table 10 {metric} {name}", *data, samples, metric, told(courses, epochs, summary(courses), more))


def told(courses, epochs, what, more):
    """A Row's note."""
    course = courses[0]
    parts = ", ".join(f"{name} {1e3 * seconds:.4g} ms" for name, seconds in course.parts.items())
    until = f"HR {TARGET} not reached" if None in epochs else f"reached in epoch {epochs[0] + 1} of {len(course.found)}"
    whole = f"{until}, {course.times[-1]:.3g} s of training in all"
    return "; ".join(text for text in (whole, parts and f"before: {parts}", what, more) if text)


def summary(courses):
    """Means of what is kept, as text."""
    names = ("HR", "NDCG", "full HR", "full NDCG")
    values = zip(names, zip(*(course.final for course in courses)))
    return ", ".join(f"{name} {np.mean(found):.4f}" for name, found in values if None not in found)


BENCHES = {"clicks": clicks, **{name.lower(): functools.partial(network, name=name) for name in networks.NAMES}}
