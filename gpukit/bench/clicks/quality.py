"""Benchmark `quality`: lists of NCF's clicks by iALS alone and by the selected model of any kind.

iALS with FACTORS factors has a grid of hyperparameters, selected by the rank of a held-out click of each user among all
items (held.py); the best ones are then tried with more factors. The other model is selected by `fit`. The test is used
for neither selection. Each model learns all clicks from SEEDS seeds; the difference has a significance.
"""

import itertools
from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench.checks import check_learned
from gpukit.bench.clicks import held, ncf_data
from gpukit.bench.clicks.ncf_data import METRICS
from gpukit.bench.record import Row
from gpukit.evaluation.lists.significance import compare
from gpukit.factorization.answers import judging

FACTORS, EPOCHS = 192, 12
LARGER = {False: (256,), True: (256, 384, 512)}  # on a GPU or not: the time grows with the square of the factors
SEEDS = 5
GRID = {"unobserved_weight": (0.2, 0.3, 0.4, 0.6), "regularization": (0.004, 0.005, 0.006, 0.007, 0.0085)}
LEAST = 0.65  # HR@10 of any least squares
CHOSEN = "what held-out clicks choose"


class Result(NamedTuple):
    """Quality of a seed.

    values : {metric: (users,)} of the test among its negatives
    full : {metric: mean} over the full ranking
    settings : selected hyperparameters as text
    """

    values: dict
    full: dict
    settings: str


def make_ials(device, seed, parameters=None):
    """Return iALS with all hyperparameters fixed."""
    parameters = {"n_factors": FACTORS, "n_epochs": EPOCHS, **(parameters or {})}
    return factorization.MatrixFactorization(
        solver="ials", feedback="implicit", device=device, random_state=seed, **parameters
    )


def train_model(model, ncf):
    """Fit an estimator to all clicks and return its Result."""
    fitted = model.fit(ncf.clicks)
    values = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).judged[0].values[ncf_data.K]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), k=ncf_data.K, baselines=False).rows(ncf_data.K)[0]
    return Result(values, {metric: full[metric] for metric in METRICS}, describe_choice(fitted.chosen_))


def describe_choice(chosen):
    """Return the hyperparameters that a model selected as text."""
    others = {"mixed": chosen["mixed"]} if chosen.get("mixed") else {}
    return " ".join(f"{name}={value:g}" for name, value in {"F": chosen["n_factors"], **others}.items())


def train_ials(ncf, device):
    """Yield (name, [Result], note) of iALS with FACTORS factors, and with more if held-out clicks rank better."""
    grid = [{"n_factors": FACTORS, **dict(zip(GRID, values))} for values in itertools.product(*GRID.values())]
    choose = partial(held.choose, partial(make_ials, device), ncf.clicks, device)
    best, best_rank = choose(grid)
    parameters = {name: best[name] for name in GRID}
    larger, larger_rank = choose([{**parameters, "n_factors": factors} for factors in LARGER[device.is_cuda]])
    choices = [(best, best_rank, f"of {len(grid)} the best")]
    if larger_rank < best_rank:
        choices.append((larger, larger_rank, "by what is best of fewer factors, the best number of them"))
    for chosen, rank, how in choices:
        texts = ", ".join(f"{name} {chosen[name]:g}" for name in (*GRID, "n_epochs"))
        note = f"{texts}: {how} on {held.DRAWS} draws of a held-out click a user, geometric mean rank {rank:.2f} there"
        models = (make_ials(device, seed, chosen) for seed in range(SEEDS))
        yield f"iALS F={chosen['n_factors']}", [train_model(model, ncf) for model in models], note


def quality(conditions):
    """Measure HR and NDCG of all models, and the difference between the selected model and the last iALS."""
    ncf, device = ncf_data.read(conditions.data, conditions.scale), conditions.device
    for name, ials, note in train_ials(ncf, device):
        if conditions.scale == 1:
            check_learned(name, min(result.values["hr"].mean() for result in ials), LEAST)
        yield from rows(name, ials, ncf.name, note)
    models = (factorization.LSHMF(feedback="implicit", device=device, random_state=seed) for seed in range(SEEDS))
    chosen = [train_model(model, ncf) for model in models]
    yield from rows(CHOSEN, chosen, ncf.name, "by seed: " + "; ".join(result.settings for result in chosen))
    for metric in METRICS:
        yield difference_row(metric, chosen, name, ials, ncf.name)


def rows(name, results, shape, note):
    """Yield rows of the HR and NDCG of a model's Results."""
    for metric, label in METRICS.items():
        samples = [float(result.values[metric].mean()) for result in results]
        full = np.mean([result.full[metric] for result in results])
        spread = f"mean {np.mean(samples):.4f} +- {np.std(samples, ddof=1):.4f}, full ranking {full:.4f}"
        yield Row(f"{label} of {name}", shape, "real", samples, label, f"{spread}; {note}")


def difference_row(metric, chosen, name, ials, shape):
    """Return the row of a metric's difference over users; the seeds of each model are averaged."""
    ours, theirs = (np.mean([result.values[metric] for result in results], axis=0) for results in (chosen, ials))
    difference, label = compare(ours, theirs), METRICS[metric]
    note = f"{difference.low:+.4f} to {difference.high:+.4f} (95 %), p {difference.p:.2g}, "
    note += f"{difference.users:,} users, seeds averaged"
    return Row(f"{label}, {CHOSEN} less {name}", shape, "real", [difference.mean], label, note)
