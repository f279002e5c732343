"""Table 10 of Li et al. 2022, section 5.4: seconds of training until HR@10 is 0.65 among 99 negatives.

All models are trained in one process on the same clicks, networks on a GPU, implicit's least squares on a CPU. An HR of
0.65 is below that of item kNN, so the final HR and NDCG are measured as well. Training stops after SECONDS.
"""

import importlib.util
from functools import partial

import numpy as np

from gpukit.bench.clicks import ncf_data, networks, training
from gpukit.bench.record import Row

TARGET, SECONDS = 0.65, 120.0
PRINTED = {"GMF": 219.6, "MLP": 940.4, "NeuMF": 308.5, "CULSH-MF": 0.0343}  # seconds on a P100


def clicks(conditions):
    """Measure the time to HR 0.65 and the final quality of our models and of implicit's."""
    seeds = 5  # of our models
    ncf = ncf_data.read(conditions.data, conditions.scale)
    for name in training.MODELS:
        models = (training.make_models(conditions.device, seed)[name] for seed in range(seeds))
        yield from rows(name, [training.train_model(model, ncf, SECONDS) for model in models], ncf.name)
    if not conditions.device.is_cuda and importlib.util.find_spec("implicit"):
        suffix = f"{training.IMPLICIT_FACTORS} factors"
        yield from rows("implicit's ALS", [training.train_implicit(ncf)], ncf.name, suffix)


def network(conditions, name):
    """Measure the same of a network of networks.py on a GPU."""
    if conditions.device.is_cuda and importlib.util.find_spec("torch"):
        ncf = ncf_data.read(conditions.data, conditions.scale)
        yield from rows(name, [networks.train_network(name, ncf, conditions.device, SECONDS)], ncf.name)


gmf, mlp, neumf = (partial(network, name=name) for name in ("GMF", "MLP", "NeuMF"))


def rows(name, curves, shape, suffix=""):
    """Yield rows of the time, if all LearningCurves reach the target, and of the final HR and NDCG."""
    epochs = [curve.epoch_to(TARGET) for curve in curves]
    printed = f"the paper: {PRINTED[name]:g} s" if name in PRINTED else "not in the paper's table"
    if None not in epochs:
        times = [1e3 * curve.times[epoch] for curve, epoch in zip(curves, epochs)]
        note = make_note(curves, epochs, printed, suffix)
        yield Row(f"Table 10 time to HR {TARGET} {name}", shape, "real", times, "ms", note)
    for index, metric in enumerate(ncf_data.METRICS.values()):
        samples = [curve.final[index] for curve in curves]
        note = make_note(curves, epochs, final_means(curves), suffix)
        yield Row(f"Table 10 {metric} {name}", shape, "real", samples, metric, note)


def make_note(curves, epochs, text, suffix):
    """Return the note of a row, by the first LearningCurve."""
    curve = curves[0]
    parts = ", ".join(f"{name} {1e3 * seconds:.4g} ms" for name, seconds in curve.parts.items())
    end = f"HR {TARGET} not reached" if None in epochs else f"reached in epoch {epochs[0] + 1} of {len(curve.quality)}"
    start = f"{end}, {curve.times[-1]:.3g} s of training in all"
    return "; ".join(filter(None, (start, parts and f"before: {parts}", text, suffix)))


def final_means(curves):
    """Return the means of the final quality as text."""
    names = ("HR", "NDCG", "full HR", "full NDCG")
    values = zip(names, zip(*(curve.final for curve in curves)))
    return ", ".join(f"{name} {np.mean(samples):.4f}" for name, samples in values if None not in samples)
