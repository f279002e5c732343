"""Benchmark `quality`: lists of NCF's clicks by iALS alone and by the selected model of any kind.

iALS with 192 factors has a grid of hyperparameters, selected by the rank of a held-out click of each user among all
items (`ranks`); the best ones are then tried with more factors. The other model is selected by `fit`. The test is used
for neither selection. Each model learns all clicks from SEEDS seeds; the difference has a significance.

The criterion is the geometric mean of the ranks of held-out clicks. Each halving of a rank has the same weight,
wherever in the list, so all clicks contribute. NDCG depends little on ranks beyond the first dozens, which decide most
comparisons of one click with a hundred items; its standard deviation over draws exceeds the difference of neighbouring
settings (docs/lists.md).

Benchmark `implicit`: iALS compared with the package implicit's alternating least squares, on the CPU.

Both have FACTORS factors and the same number of settings, chosen by the NDCG@10 of a held-out click of each user among
random items, as in the test. Then both learn all clicks, alternating by seed. Times are CPU time of all threads, since
other processes may run.
"""

import importlib.util
import time
from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench import clicks as ncf_data
from gpukit.bench.measurement import Row, check_learned
from gpukit.evaluation.significance import compare
from gpukit.factorization.answers import judging
from gpukit.factorization.implicit.prepared import Course, Judges, PreparedClicks, times_differ
from gpukit.factorization.settings import check

SIZE = {"n_factors": 192, "n_epochs": 12}
LARGER = {False: (256,), True: (256, 384, 512)}  # on a GPU or not: the time grows with the square of the factors
GRID = {"unobserved_weight": (0.2, 0.3, 0.4, 0.6), "regularization": (0.004, 0.005, 0.006, 0.007, 0.0085)}
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


def train_model(model, ncf):
    """Fit an estimator to all clicks and return its Result."""
    fitted = model.fit(ncf.clicks)
    values = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).judged[0].values[ncf_data.K]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), k=ncf_data.K, baselines=False).rows(ncf_data.K)[0]
    return Result(values, {metric: full[metric] for metric in ncf_data.METRICS}, describe_selection(fitted.chosen_))


def describe_selection(chosen):
    """Return the hyperparameters that a model selected as text."""
    others = {"mixed": chosen["mixed"]} if chosen.get("mixed") else {}
    return " ".join(f"{name}={value:g}" for name, value in {"F": chosen["n_factors"], **others}.items())


def train_ials(ncf, device):
    """Yield (name, [Result], note) of iALS with the factors of SIZE, and with more if held-out clicks rank better."""
    grid = [{"n_factors": SIZE["n_factors"], **parameters} for parameters in ncf_data.list_grid(GRID)]
    try_all = partial(choose_by_ranks, partial(ncf_data.make_ials, device, **SIZE), ncf.clicks, device)
    best, best_rank = try_all(grid)
    parameters = {name: best[name] for name in GRID}
    larger, larger_rank = try_all([{**parameters, "n_factors": factors} for factors in LARGER[device.is_cuda]])
    choices = [(best, best_rank, f"of {len(grid)} the best")]
    if larger_rank < best_rank:
        choices.append((larger, larger_rank, "by what is best of fewer factors, the best number of them"))
    for chosen, rank, how in choices:
        texts = ", ".join(f"{name} {chosen[name]:g}" for name in (*GRID, "n_epochs"))
        note = f"{texts}: {how} on {len(DRAWS)} draws of a held-out click a user, geometric mean rank {rank:.2f} there"
        models = (ncf_data.make_ials(device, seed, **{**SIZE, **chosen}) for seed in SEEDS)
        yield f"iALS F={chosen['n_factors']}", [train_model(model, ncf) for model in models], note


def quality(conditions):
    """Measure HR and NDCG of all models, and the difference between the selected model and the last iALS."""
    ncf, device = ncf_data.read(conditions.data, conditions.scale), conditions.device
    for name, ials, note in train_ials(ncf, device):
        if conditions.scale == 1:
            check_learned(name, min(result.values["hr"].mean() for result in ials), 0.65)
        yield from quality_rows(name, ials, ncf.name, note)
    models = (factorization.LSHMF(feedback="implicit", device=device, random_state=seed) for seed in SEEDS)
    chosen = [train_model(model, ncf) for model in models]
    yield from quality_rows(CHOSEN, chosen, ncf.name, "by seed: " + "; ".join(result.settings for result in chosen))
    for metric in ncf_data.METRICS:
        yield difference_row(metric, chosen, name, ials, ncf.name)


def quality_rows(name, results, shape, note):
    """Yield rows of the HR and NDCG of a model's Results."""
    for metric, label in ncf_data.METRICS.items():
        samples = [float(result.values[metric].mean()) for result in results]
        full = np.mean([result.full[metric] for result in results])
        spread = f"mean {np.mean(samples):.4f} +- {np.std(samples, ddof=1):.4f}, full ranking {full:.4f}"
        yield Row(f"{label} of {name}", shape, "real", samples, label, f"{spread}; {note}")


def difference_row(metric, chosen, name, ials, shape):
    """Return the row of a metric's difference over users; the seeds of each model are averaged."""
    ours, other_values = (np.mean([result.values[metric] for result in results], axis=0) for results in (chosen, ials))
    difference, label = compare(ours, other_values), ncf_data.METRICS[metric]
    note = f"{difference.low:+.4f} to {difference.high:+.4f} (95 %), p {difference.p:.2g}, "
    note += f"{difference.users:,} users, seeds averaged"
    return Row(f"{label}, {CHOSEN} less {name}", shape, "real", [difference.mean], label, note)


DRAWS = range(3)  # seeds, each of a held-out click a user


def choose_by_ranks(learner, clicks, device, tried):
    """Return (the best of `tried` with its n_epochs, the geometric mean of its ranks in DRAWS draws).

    learner: function of a seed that returns an estimator, whose n_epochs is the maximum; clicks: Ratings whose values
    are 1; tried: dicts of fields of settings.Settings.
    """
    logs = []
    for draw in DRAWS:
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
    """(b,) int64: the ranks, from 1, of the Judges' clicks by the factors of a State, among the items that are not
    in their users' clicks, Ratings."""
    from scipy import sparse

    tile, ones = 1024, np.ones(len(clicks), np.bool_)  # users scored at once
    known, ranks_of_clicks = sparse.csr_matrix((ones, (clicks.users, clicks.items)), clicks.shape), []
    for first in range(0, len(judges.users), tile):
        users, items = (rows[first : first + tile] for rows in (judges.users, judges.items))
        scores = state.user_factors[users] @ state.item_factors.T
        click_scores = scores[np.arange(len(users)), items][:, None]
        scores[known[users].nonzero()] = -np.inf
        ranks_of_clicks.append(1 + (~(scores <= click_scores)).sum(axis=1))  # what is no number comes last
    return np.concatenate(ranks_of_clicks)


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
    grid = ncf_data.list_grid(GRIDS[name])
    candidates = [(train_package(name, parameters, ncf, 0).final[:2], parameters) for parameters in grid]
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
        check_learned(name, min(curve.final[0] for curve in package_curves), 0.65)


def describe_choice(choice):
    """Return a Choice as text."""
    parameters = ", ".join(f"{name} {value:g}" for name, value in choice.parameters.items())
    text = f"{parameters}: of {choice.candidates} the best on a held-out click a user"
    return f"{text}, NDCG@10 {choice.quality[1]:.4f} there"


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
