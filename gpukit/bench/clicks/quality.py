"""`gpukit bench quality`: how good lists of NCF's clicks become, by least squares alone and by the model of any kind
that held-out clicks choose, with the significance of the difference.

Least squares of FACTORS factors have a grid of settings, judged by the sum of HR@10 and NDCG@10 of a click
that is held out of each user among items drawn as those of the test are. One such draw errs by more than neighbouring
settings differ, so DRAWS of them judge by their mean, each with a seed of its own. The other model chooses for itself,
as `fit` does. The test has no say in either; then each learns all clicks from SEEDS seeds.
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

FACTORS, EPOCHS = 192, 12
SEEDS, DRAWS = 5, 3
GRID = {"unobserved_weight": (0.1, 0.15, 0.2, 0.3, 0.4), "regularization": (0.005, 0.006, 0.007, 0.0085, 0.01, 0.012)}
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
    """(the best of GRID, its mean (HR@10, NDCG@10) of DRAWS draws of held-out clicks)."""
    tried = [dict(zip(GRID, values)) for values in itertools.product(*GRID.values())]
    found = np.zeros((DRAWS, len(tried), len(METRICS)))
    for draw in range(DRAWS):
        held = sets.held_out(ncf, draw)
        for place, named in enumerate(tried):
            fitted = least_squares(device, draw, named).fit(held.clicks)
            found[draw, place] = held.judged(scores_of(fitted, held))
    means = found.mean(axis=0)
    best = means.sum(axis=1).argmax()
    return tried[best], tuple(means[best])


def scores_of(fitted, ncf):
    """(T, 1 + C) scores of a sets.Ncf's candidates."""
    users, items = ncf.pairs
    pairs = ncf.clicks.user_ids[users], ncf.clicks.item_ids[items]
    return fitted.pair_scores(pairs).reshape(ncf.found.items.shape)


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
    named, there = choose(ncf, device)
    squares = [learned(least_squares(device, seed, named), ncf) for seed in range(SEEDS)]
    if conditions.scale == 1:
        check(squares)
    yield from rows(SQUARES, squares, ncf.name, how_chosen(named, there))
    models = (factorization.LSHMF(feedback="implicit", device=device, random_state=seed) for seed in range(SEEDS))
    chosen = [learned(model, ncf) for model in models]
    yield from rows(CHOSEN, chosen, ncf.name, "by seed: " + "; ".join(one.settings for one in chosen))
    for metric in METRICS:
        yield more(metric, chosen, squares, ncf.name)


def how_chosen(named, there):
    """How least squares' settings were chosen, as text."""
    settings = ", ".join(f"{name} {value:g}" for name, value in named.items())
    count, judged = np.prod([len(values) for values in GRID.values()]), "HR@10 {:.4f}, NDCG@10 {:.4f} there"
    return f"{settings}: of {count} the best on {DRAWS} draws of a held-out click a user, {judged.format(*there)}"


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
