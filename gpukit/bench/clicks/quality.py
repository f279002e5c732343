"""Benchmark `quality`: lists of NCF's clicks by iALS alone and by the selected model of any kind.

iALS with FACTORS factors has a grid of hyperparameters, selected by the rank of a held-out click of each user among all
items (`ranks`); the best ones are then tried with more factors. The other model is selected by `fit`. The test is used
for neither selection. Each model learns all clicks from SEEDS seeds; the difference has a significance.

The criterion is the geometric mean of the ranks of held-out clicks. Each halving of a rank has the same weight,
wherever in the list, so all clicks contribute. NDCG depends little on ranks beyond the first dozens, which decide most
comparisons of one click with a hundred items; its standard deviation over draws exceeds the difference of neighbouring
settings (docs/lists.md)."""

from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench.clicks import ncf_data
from gpukit.bench.clicks.ncf_data import METRICS
from gpukit.bench.measurement import Row, check_learned
from gpukit.evaluation.lists.significance import compare
from gpukit.factorization.answers import judging
from gpukit.factorization.implicit.hold_out import Judges, times_differ
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.factorization.settings import check

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
    grid = [{"n_factors": FACTORS, **parameters} for parameters in ncf_data.list_grid(GRID)]
    try_all = partial(choose, partial(make_ials, device), ncf.clicks, device)
    best, best_rank = try_all(grid)
    parameters = {name: best[name] for name in GRID}
    larger, larger_rank = try_all([{**parameters, "n_factors": factors} for factors in LARGER[device.is_cuda]])
    choices = [(best, best_rank, f"of {len(grid)} the best")]
    if larger_rank < best_rank:
        choices.append((larger, larger_rank, "by what is best of fewer factors, the best number of them"))
    for chosen, rank, how in choices:
        texts = ", ".join(f"{name} {chosen[name]:g}" for name in (*GRID, "n_epochs"))
        note = f"{texts}: {how} on {DRAWS} draws of a held-out click a user, geometric mean rank {rank:.2f} there"
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
    ours, other_values = (np.mean([result.values[metric] for result in results], axis=0) for results in (chosen, ials))
    difference, label = compare(ours, other_values), METRICS[metric]
    note = f"{difference.low:+.4f} to {difference.high:+.4f} (95 %), p {difference.p:.2g}, "
    note += f"{difference.users:,} users, seeds averaged"
    return Row(f"{label}, {CHOSEN} less {name}", shape, "real", [difference.mean], label, note)


DRAWS = 3  # of a held-out click a user, each with a seed of its own
TILE = 1024  # users scored at once


def choose(learner, clicks, device, tried):
    """Return (the best of `tried` with its n_epochs, the geometric mean of its ranks in DRAWS draws).

    learner: function of a seed that returns an estimator, whose n_epochs is the maximum; clicks: Ratings whose values
    are 1; tried: dicts of fields of settings.Settings.
    """
    logs = []
    for draw in range(DRAWS):
        train, judges = one_held_out(clicks, draw)
        model = learner(draw)
        plan, prepared = check(model, len(train), "implicit"), PreparedClicks(model, train, device)
        logs.append([curve(prepared, judges, plan._replace(**named)) for named in tried])
    means = np.exp(np.mean(logs, axis=0))
    place, point = np.unravel_index(means.argmin(), means.shape)
    return {**tried[place], "n_epochs": 2 * int(point) + 2}, float(means.min())


def one_held_out(clicks, seed):
    """Return (the other clicks, Judges) of a click of each user with two or more: the last, or one drawn at random."""
    train, test = clicks.split(seed=seed, by="user-last" if times_differ(clicks) else "user-one")
    return train, Judges(test.users, test.items, times_differ(clicks))


def curve(prepared, judges, plan):
    """Means of the logarithms of the held-out clicks' ranks after every second epoch of settings.Settings."""
    course, points = Course(prepared, plan), []
    session, training = course.begin(course.first(prepared.neighbors(plan)))
    for epoch in range(plan.epochs):
        training.epoch(epoch)
        if epoch % 2:
            points.append(float(np.log(ranks(session.state(), prepared.clicks, judges)).mean()))
    return points


def ranks(state, clicks, judges):
    """(b,) int64: the ranks, from 1, of hold_out.Judges' clicks by the factors of a State, among the items that are not
    in their users' clicks, Ratings."""
    from scipy import sparse

    ones = np.ones(len(clicks), np.bool_)
    known, ranks_of_clicks = sparse.csr_matrix((ones, (clicks.users, clicks.items)), clicks.shape), []
    for first in range(0, len(judges.users), TILE):
        users, items = (rows[first : first + TILE] for rows in (judges.users, judges.items))
        scores = state.user_factors[users] @ state.item_factors.T
        click_scores = scores[np.arange(len(users)), items][:, None]
        scores[known[users].nonzero()] = -np.inf
        ranks_of_clicks.append(1 + (~(scores <= click_scores)).sum(axis=1))  # what is no number comes last
    return np.concatenate(ranks_of_clicks)
