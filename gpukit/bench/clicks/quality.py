"""`gpukit bench quality`: how good lists of NCF's clicks become, by least squares alone and by the model of any kind
that held-out clicks choose, with the significance of the difference.

Least squares of FACTORS factors have a grid of settings, judged by where a click that is held out of each user stands
among all items (held.py). Then more factors are tried with the best settings. The other model chooses for itself, as
`fit` does. The test has no say in either; each learns all clicks from SEEDS seeds.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench.clicks import held, ncf_data
from gpukit.bench.record import Row
from gpukit.errors import DataError
from gpukit.evaluation.lists.significance import compare
from gpukit.factorization.answers import judging

FACTORS, EPOCHS = 192, 12
LARGER = {False: (256,), True: (256, 384, 512)}  # on a GPU or not: an epoch costs as much as all its factors' products
SEEDS = 5
GRID = {"unobserved_weight": (0.2, 0.3, 0.4, 0.6), "regularization": (0.004, 0.005, 0.006, 0.007, 0.0085)}
LEAST = 0.65  # HR@10 that any least squares come to
CHOSEN = "what held-out clicks choose"
METRICS = {"hr": "HR@10", "ndcg": "NDCG@10"}


class Learned(NamedTuple):
    """What a seed came to: values {metric: (users,)} of the test among its negatives; full {metric: mean} over the full
    ranking; settings as text."""

    values: dict
    full: dict
    settings: str


def least_squares(device, seed, named=None):
    """iALS with named settings, none of which is left to choose."""
    named = {"n_factors": FACTORS, "n_epochs": EPOCHS, **(named or {})}
    return factorization.MatrixFactorization(
        solver="ials", feedback="implicit", device=device, random_state=seed, **named
    )


def learned(model, ncf):
    """The Learned of an estimator, trained on all clicks."""
    fitted = model.fit(ncf.clicks)
    values = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).judged[0].values[ncf_data.K]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), k=ncf_data.K, baselines=False).rows(ncf_data.K)[0]
    return Learned(values, {metric: full[metric] for metric in METRICS}, told(fitted.chosen_))


def told(chosen):
    """What a model chose, as text."""
    beside = {name: chosen[name] for name in ("mixed", "blend") if chosen.get(name)}
    return " ".join(f"{name}={value:g}" for name, value in {"F": chosen["n_factors"], **beside}.items())


def of_squares(ncf, device):
    """Yield (name, [Learned], how its settings were chosen) of least squares: of FACTORS factors, and of more where
    held-out clicks are better found by more."""
    grid = [{"n_factors": FACTORS, **dict(zip(GRID, values))} for values in itertools.product(*GRID.values())]
    given = functools.partial(least_squares, device), ncf.clicks, device
    named, rank = held.choose(*given, grid)
    weighed = {name: named[name] for name in GRID}
    larger, least = held.choose(*given, [{**weighed, "n_factors": size} for size in LARGER[device.is_cuda]])
    found = [(named, rank, f"of {len(grid)} the best")]
    found += [(larger, least, "by what is best of fewer factors, the best number of them")] * (least < rank)
    for settings, best, how in found:
        told = ", ".join(f"{name} {settings[name]:g}" for name in (*GRID, "n_epochs"))
        note = f"{told}: {how} on {held.DRAWS} draws of a held-out click a user, geometric mean rank {best:.2f} there"
        learners = (least_squares(device, seed, settings) for seed in range(SEEDS))
        yield f"iALS F={settings['n_factors']}", [learned(model, ncf) for model in learners], note


def quality(conditions):
    """HR and NDCG of all, five seeds each, and what the model of any kind has over least squares."""
    ncf, device = ncf_data.read(conditions.data, conditions.scale), conditions.device
    for name, squares, note in of_squares(ncf, device):
        if conditions.scale == 1:
            check(name, squares)
        yield from rows(name, squares, ncf.name, note)
    models = (factorization.LSHMF(feedback="implicit", device=device, random_state=seed) for seed in range(SEEDS))
    chosen = [learned(model, ncf) for model in models]
    yield from rows(CHOSEN, chosen, ncf.name, "by seed: " + "; ".join(one.settings for one in chosen))
    for metric in METRICS:
        yield more(metric, chosen, (name, squares), ncf.name)


def check(name, found):
    """DataError unless all seeds have learned."""
    lowest = min(one.values["hr"].mean() for one in found)
    if lowest < LEAST:
        raise DataError(f"{name} comes to HR@10 {lowest:.3f}, below {LEAST}: it has not learned.")


def rows(name, found, where, how):
    """Yield the Rows of a model's Learneds: HR and NDCG of each seed."""
    for metric, called in METRICS.items():
        samples = [float(one.values[metric].mean()) for one in found]
        full = np.mean([one.full[metric] for one in found])
        spread = f"mean {np.mean(samples):.4f} +- {np.std(samples, ddof=1):.4f}, full ranking {full:.4f}"
        yield Row(f"{called} of {name}", where, "real", samples, called, f"{spread}; {how}")


def more(metric, chosen, other, where):
    """The Row of a metric's difference over users, the seeds of each model averaged; other: (name, [Learned])."""
    name, squares = other
    ours, theirs = (np.mean([one.values[metric] for one in found], axis=0) for found in (chosen, squares))
    found, called = compare(ours, theirs), METRICS[metric]
    note = f"{found.low:+.4f} to {found.high:+.4f} (95 %), p {found.p:.2g}, {found.users:,} users, seeds averaged"
    return Row(f"{called}, {CHOSEN} less {name}", where, "real", [found.mean], called, note)


BENCHES = {"quality": quality}
