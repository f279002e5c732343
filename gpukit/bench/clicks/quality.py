"""`gpukit bench quality`: how good lists of NCF's clicks become, by least squares alone and by the model of any kind
that held-out clicks choose, with the significance of the difference.

Least squares of FACTORS factors have a grid of settings, judged as `fit` judges: by where a click that is held out of
each user stands among all items (its NDCG), not among a few drawn ones, which prefers other settings. One such draw
errs by more than neighbouring settings differ, so DRAWS of them judge by their mean, each with a seed of its own. The
other model chooses for itself, as `fit` does. The test has no say in either; then each learns all clicks from SEEDS
seeds.
"""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench.clicks import sets
from gpukit.bench.record import Row
from gpukit.errors import DataError
from gpukit.evaluation.lists.significance import compare
from gpukit.factorization.answers import judging
from gpukit.factorization.implicit import hold_out
from gpukit.factorization.implicit.trial import Trial
from gpukit.factorization.settings import check as check_settings

FACTORS, EPOCHS = 192, 12
SEEDS, DRAWS = 5, 3
GRID = {"unobserved_weight": (0.2, 0.3, 0.4, 0.6), "regularization": (0.004, 0.005, 0.006, 0.007, 0.0085)}
LEAST = 0.65  # HR@10 that any least squares come to
SQUARES, CHOSEN = f"iALS F={FACTORS}", "what held-out clicks choose"
METRICS = {"hr": "HR@10", "ndcg": "NDCG@10"}


class Learned(NamedTuple):
    """What a seed came to: values {metric: (users,)} of the test among its negatives; full {metric: mean} over the full
    ranking; settings as text."""

    values: dict
    full: dict
    settings: str


def least_squares(device, seed, named):
    """iALS with named settings, none of which is left to choose."""
    named = {"n_factors": FACTORS, "n_epochs": EPOCHS, **named}
    return factorization.MatrixFactorization(
        solver="ials", feedback="implicit", device=device, random_state=seed, **named
    )


def choose(ncf, device):
    """(the best of GRID, its mean NDCG of DRAWS draws of held-out clicks)."""
    tried = [dict(zip(GRID, values)) for values in itertools.product(*GRID.values())]
    worth = np.zeros((DRAWS, len(tried)))
    for draw in range(DRAWS):
        train, judges = hold_out.held_out(ncf.clicks, draw)
        model = least_squares(device, draw, {})
        trial, plan = Trial(model, train, judges, device), check_settings(model, len(train), "implicit")
        worth[draw] = [trial.tried(plan._replace(**named))[0].gains.mean() for named in tried]
    means = worth.mean(axis=0)
    return tried[means.argmax()], float(means.max())


def learned(model, ncf):
    """The Learned of an estimator, trained on all clicks."""
    fitted = model.fit(ncf.clicks)
    values = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).judged[0].values[sets.K]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), k=sets.K, baselines=False).rows(sets.K)[0]
    return Learned(values, {metric: full[metric] for metric in METRICS}, told(fitted.chosen_))


def told(chosen):
    """What a model chose, as text."""
    beside = {name: chosen[name] for name in ("mixed", "blend") if chosen.get(name)}
    return " ".join(f"{name}={value:g}" for name, value in {"F": chosen["n_factors"], **beside}.items())


def quality(conditions):
    """HR and NDCG of both, five seeds each, and what the second has over the first."""
    ncf, device = sets.read(conditions.data, conditions.scale), conditions.device
    named, worth = choose(ncf, device)
    squares = [learned(least_squares(device, seed, named), ncf) for seed in range(SEEDS)]
    if conditions.scale == 1:
        check(squares)
    yield from rows(SQUARES, squares, ncf.name, how_chosen(named, worth))
    models = (factorization.LSHMF(feedback="implicit", device=device, random_state=seed) for seed in range(SEEDS))
    chosen = [learned(model, ncf) for model in models]
    yield from rows(CHOSEN, chosen, ncf.name, "by seed: " + "; ".join(one.settings for one in chosen))
    for metric in METRICS:
        yield more(metric, chosen, squares, ncf.name)


def how_chosen(named, worth):
    """How least squares' settings were chosen, as text."""
    settings = ", ".join(f"{name} {value:g}" for name, value in named.items())
    count = np.prod([len(values) for values in GRID.values()])
    return f"{settings}: of {count} the best on {DRAWS} draws of a held-out click a user, full NDCG {worth:.4f} there"


def check(found):
    """DataError unless all seeds have learned."""
    lowest = min(one.values["hr"].mean() for one in found)
    if lowest < LEAST:
        raise DataError(f"{SQUARES} comes to HR@10 {lowest:.3f}, below {LEAST}: it has not learned.")


def rows(name, found, where, how):
    """Yield the Rows of a model's Learneds: HR and NDCG of each seed."""
    for metric, called in METRICS.items():
        samples = [float(one.values[metric].mean()) for one in found]
        full = np.mean([one.full[metric] for one in found])
        spread = f"mean {np.mean(samples):.4f} +- {np.std(samples, ddof=1):.4f}, full ranking {full:.4f}"
        yield Row(f"{called} of {name}", where, "real", samples, called, f"{spread}; {how}")


def more(metric, chosen, squares, where):
    """The Row of a metric's difference over users, the seeds of each model averaged."""
    ours, theirs = (np.mean([one.values[metric] for one in found], axis=0) for found in (chosen, squares))
    found, called = compare(ours, theirs), METRICS[metric]
    note = f"{found.low:+.4f} to {found.high:+.4f} (95 %), p {found.p:.2g}, {found.users:,} users, seeds averaged"
    return Row(f"{called}, {CHOSEN} less {SQUARES}", where, "real", [found.mean], called, note)


BENCHES = {"quality": quality}
