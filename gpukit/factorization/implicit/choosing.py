"""Model selection for clicks on a held-out share of each user's, and the training that it prepares.

First `ials`: regularization and weight of unobserved pairs, in steps; weights by counts; number of factors. Then what
is added to its scores: popularity, or a model with sampled negatives; with another draw of held-out clicks. Candidates
are compared user by user; the simpler one is taken unless the other is better by more than a standard error. All costs
at most what ten trainings on the sample cost.
"""

import functools
from typing import NamedTuple

import numpy as np

from gpukit.errors import ModelError
from gpukit.evaluation.lists import Popularity, clicks_of
from gpukit.factorization import run as runs
from gpukit.factorization.arrays import UNSCALED
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.prepared import (
    Evaluator,
    PreparedClicks,
    add_item_weights,
    hold_out,
    hold_out_draws,
    make_trial,
    matrix_of,
    measure_lists,
    units,
)
from gpukit.factorization.model import saving
from gpukit.factorization.model.state import (
    combine_states,
    deviation,
    partner,
    with_popularity,
    without_factors,
)
from gpukit.factorization.settings import Choice, goal_of
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ease import solve_scores, work_of, work_of_scores
from gpukit.model_selection.search import Search
from gpukit.model_selection.splits import draw_sample
from gpukit.model_selection.trial import CLEAR, TRAININGS, Budget, best_of, round_digits, simplest_of
from gpukit.neighbors.item_knn import ItemKNN
from gpukit.timing import Clock

MOST_SAMPLED = {False: 3_000_000, True: 1_000_000_000}  # clicks beyond which no sampled negatives are tried; on a GPU
AXES = ("regularization", "unobserved_weight")
STEPS = ("regularization", 2.0), ("regularization", 1.4), ("unobserved_weight", 3.0)  # (axis, factor of a step)
ADDITIONS = ("popular", "ease", "ease_decay")
OPEN = ("n_factors", "n_epochs", *AXES)


class ClickSearch(Search):
    """Search over settings.Settings for an estimator.

    free: names of the settings that are open; draws: an Evaluator per draw of held-out clicks, with the same Budget;
    patience: epochs without a better one that end a training, 0 for none; report: function of each new Trial.
    """

    def __init__(self, estimator, free, draws, patience, report):
        evaluators = [functools.partial(draw.train, patience=patience) for draw in draws]
        super().__init__(evaluators, summarize, draws[0].budget, report)
        self.estimator, self.free, self.draws, self.patience = estimator, free, draws, patience

    @property
    def clicks(self):
        """The training clicks of the first draw, Ratings."""
        return self.draws[0].prepared.clicks

    def scaled(self, plan, clicks):
        """Return settings.Settings for other clicks than these, Ratings.

        The regularization of a row is in proportion to its clicks. With more users it falls, if it is open, as that of
        item weights grows.
        """
        if "regularization" not in self.free or plan.solver != "ials":
            return plan
        ratio = len(clicks) / len(self.clicks)
        return plan._replace(regularization=round_digits(plan.regularization * ratio**-RULES.ease_growth))


def summarize(plan, results):
    """Return the Trial of settings.Settings by results of Evaluator.train on the first draws; epochs are their mean."""
    values, epochs, curves, _ = zip(*results)
    settings = plan._replace(epochs=max(1, round(np.mean(epochs))))
    return make_trial(settings, np.mean(values, axis=0), curves[0], f"{plan.solver}, {plan.loss}")


def choose(estimator, clicks, settings, device, progress):
    """Return the settings.Choice for an estimator and clicks.

    settings: its settings.Settings; clicks: Ratings whose values are 1.
    """
    goal, rows = goal_of(estimator, "implicit"), []
    free = {name for name in OPEN if getattr(estimator, name) is None}
    if goal.solver == "ease" and estimator.regularization is not None:
        return Choice(settings._replace(patience=0, n_neighbors=0), [], "named")
    if not goal.open and not settings.patience and (goal.solver == "sampled" or not free):
        return Choice(settings, [], "named")

    def report(trial):
        rows.append(trial.row)
        progress("choosing", len(rows), None, {"ndcg": trial.row["ndcg"]})

    searches = make_searches(estimator, free, clicks, settings, device, report)
    if searches is None:
        return Choice(settings, [], f"{len(clicks):,} clicks are too few to hold any out")
    last = searches[-1]
    if goal.solver == "ease":
        ridge = choose_ridge(searches, settings)
        if ridge is None:
            why = f"{last.clicks.shape[1]:,} items are too many to choose on"
            return Choice(final_settings(settings, settings, True), [], why)
        best, leader = ridge.trial, settings._replace(regularization=ridge.at(len(clicks)))
    else:
        best, leader = choose_parts(searches, goal, settings, clicks, device)
    baselines = baseline_rows(last.draws[0])
    final = final_settings(leader, settings, settings.patience or "n_epochs" in free)
    return Choice(final, rows + baselines, reason(best, last.draws[0], baselines))


def choose_parts(searches, goal, settings, clicks, device):
    """Return (the best Trial, settings.Settings for all clicks): of factors and what is added to their scores.

    searches: see make_searches; goal: settings.Goal.
    """
    larger, search, last = searches
    has_weights = goal.open and search.free == set(OPEN) and is_affordable(clicks, settings)
    ridge = choose_ridge(searches, settings) if has_weights else None
    if goal.solver == "sampled":
        best = base = search.run(settings)
    else:
        best = base = search_settings(search, settings._replace(solver="ials", loss="squared", biases=False))
        if larger is not search:
            best = search_coarsely(larger, search.scaled(base.candidate, larger.clicks))
        best = add_factors(larger, best)
    leader = larger.scaled(best.candidate, clicks)
    if not goal.open:
        return best, leader
    has_second = len(clicks) <= MOST_SAMPLED[device.is_cuda] and "n_factors" in search.free
    second, plan = len(search.clicks) if has_second else 0, search.scaled(base.candidate, last.clicks)
    best = choose_addition(last, plan, leader, second, ridge and ridge.at(len(last.clicks)))
    return best, with_ridge(best.candidate, ridge, len(last.clicks), len(clicks))


def make_searches(estimator, free, clicks, settings, device, report):
    """Return the ClickSearch of a large sample, of a small one, and of a draw for additions; None for too few clicks.

    The first two are the same without many more clicks than in the small sample.
    """
    sizes = RULES.large_click_sample, RULES.click_sample, RULES.small_click_sample
    affordable = int(len(clicks) * RULES.sample_work / work_of_training(clicks, settings))  # with many users, or items
    large = draw_sample(clicks, settings.seed, sizes[0], RULES.least_users)
    sample = draw_sample(large, settings.seed, min(affordable, sizes[1]), RULES.least_users)
    search = larger = make_search(estimator, free, sample, settings, device, report)
    if search is None:
        return None
    if len(large) > 2 * sizes[1]:
        larger = make_search(estimator, free, large, settings, device, report, 1)
    else:
        sample = draw_sample(sample, settings.seed, sizes[2], RULES.least_users)
    parts = hold_out(sample, settings.seed, RULES.click_draws)
    unseen = Evaluator(estimator, *parts, device, larger.budget)
    return larger, search, ClickSearch(estimator, free, [unseen], settings.patience, report)


def make_search(estimator, free, sample, settings, device, report, draws=RULES.click_draws):
    """Return the ClickSearch on a sample, Ratings; None if too few users have held-out clicks."""
    parts = hold_out_draws(sample, settings.seed, draws)
    if len(np.unique(parts[0][1].users)) < RULES.least_users:
        return None
    budget = Budget.of_trainings(work_of_training(sample, settings))
    evaluators = [Evaluator(estimator, *part, device, budget) for part in parts]
    return ClickSearch(estimator, free, evaluators, settings.patience, report)


def work_of_training(clicks, settings):
    """Return the work of the training that limits what choosing costs."""
    plan = settings._replace(solver="ials", n_factors=limit_factors(RULES.click_factors[0], clicks.shape))
    return units(plan, len(clicks), clicks.shape) * RULES.click_epochs[1]


class Ridge(NamedTuple):
    """Regularization of item weights that was chosen: its Trial, and the number of training clicks of that."""

    trial: object
    count: int

    def at(self, n_clicks):
        """Return the regularization for n_clicks."""
        return round_digits(self.trial.candidate.regularization * (n_clicks / self.count) ** RULES.ease_growth)


def choose_ridge(searches, plan):
    """Return the Ridge on the first ClickSearch where it costs at most a training; None if it does on none.

    searches: the largest samples first; plan: settings.Settings.
    """
    for search in searches:
        matrix = matrix_of(search.clicks)
        work = work_of_scores(matrix.shape, matrix.nnz)
        if RULES.ridge_trials * work <= search.budget.limit / TRAININGS:
            return Ridge(search_ridge(search, plan, matrix, work), len(search.clicks))
    return None


def search_ridge(search, plan, matrix, work):
    """Return the best Trial of steps of the regularization of item weights, on the first draw of a ClickSearch.

    matrix: of its clicks; work: of a trial.
    """
    draw = search.draws[0]

    def evaluate(plan):
        search.budget.spend(work)
        measures = draw.measure_scores(solve_scores(matrix, draw.users, plan.regularization))
        return make_trial(plan, measures, [], "ease")

    def move(plan, factor):
        return plan._replace(regularization=round_digits(plan.regularization * factor))

    regularization = solver_defaults("ease", "adaptive", len(search.clicks))["regularization"]
    start = plan._replace(solver="ease", loss="squared", regularization=regularization, ease=1.0)
    ridges = Search([evaluate], budget=search.budget, report=search.report)
    return ridges.climb(ridges.run(start), move, RULES.ridge_step, certain=0.0)


def final_settings(plan, settings, has_epochs):
    """Return settings.Settings of the final training. has_epochs: whether its epochs are those of `plan`."""
    has_epochs = has_epochs or plan.solver == "ease"
    plan = plan._replace(patience=0, epochs=plan.epochs if has_epochs else settings.epochs)
    return plan if plan.solver == "sampled" or plan.mixed else plan._replace(n_neighbors=0)


def search_settings(search, settings):
    """Return the best Trial of AXES, epochs and weights by counts, if clicks have some."""
    clicks = search.clicks
    plan = settings if search.patience else settings._replace(epochs=min(RULES.click_epochs[0], settings.epochs))
    if "n_factors" in search.free:
        plan = plan._replace(n_factors=limit_factors(RULES.search_factors, clicks.shape))
    best = search_coarsely(search, plan)
    if clicks.counts is not None and np.ptp(clicks.counts) > 0:
        best = simplest_of(search.compare(best, best.candidate._replace(counted=True)))
    return best


def search_coarsely(search, plan):
    """Return the best Trial of steps along the free axes from settings.Settings, and of more epochs."""
    best = search.run(plan)
    for axis, step in STEPS:
        if axis in search.free:
            best = search.climb(best, functools.partial(move_along, axis, search.free), step)
    return add_epochs(search, best)


def add_epochs(search, best):
    """Return the best Trial of more epochs, as long as the mean score rises, if epochs are open."""
    is_open = "n_epochs" in search.free and not search.patience
    for epochs in [epochs for epochs in RULES.click_epochs if is_open and epochs > best.candidate.epochs]:
        best, trial = search.compare(best, best.candidate._replace(epochs=epochs))
        if trial.mean <= best.mean:
            break
        best = trial
    return best


def move_along(axis, free, plan, factor):
    """Return settings.Settings a step further along an axis.

    Unobserved pairs regularize too. So a step of their weight changes the regularization, if it is free, by the root
    in the other direction.
    """
    steps = {axis: factor}
    if axis == "unobserved_weight" and "regularization" in free:
        steps["regularization"] = factor**-0.5
    return plan._replace(**{name: round_digits(getattr(plan, name) * step) for name, step in steps.items()})


def add_factors(search, best):
    """Return the best Trial of more factors, within the Budget.

    It may be the one that is passed. The first of click_factors is taken unless it is worse, since more clicks are
    trained on in the end; others if better.
    """
    is_open, shape = "n_factors" in search.free, search.clicks.shape
    sizes = sorted({limit_factors(size, shape) for size in RULES.click_factors}) if is_open else []
    for size in sizes:
        plan = best.candidate._replace(n_factors=size)
        if trial_work(search, plan) > search.budget.left / 2:
            break
        if size == sizes[0]:
            best, trial = search.run(best.candidate), search.run(plan)
        else:
            best, trial = search.compare(best, plan)
        if best.is_better(trial) or (size > sizes[0] and not trial.is_better(best)):
            break
        best = trial
    return best


def limit_factors(size, shape):
    """Return a number of factors within half the users or items.

    More factors fit any clicks.
    """
    return max(1, min(size, min(shape) // 2))


def trial_work(search, plan):
    """Return the work of a trial of settings.Settings, without ranking."""
    return units(plan, len(search.clicks), search.clicks.shape) * plan.epochs


def is_affordable(clicks, settings):
    """Return True if all item weights of all clicks need at most the work of a training."""
    return work_of(clicks.shape, len(clicks)) <= work_of_training(clicks, settings)


def with_ridge(plan, ridge, before, n_clicks):
    """Return settings.Settings with its item weights, if any, for n_clicks.

    The regularization grows with the number of clicks, and so does the share of item weights next to factors. ridge:
    Ridge or None; before: clicks for which the share was chosen.
    """
    if not plan.ease:
        return plan
    if plan.solver == "ease":
        return plan._replace(regularization=ridge.at(n_clicks))
    share = round_digits(plan.ease * (n_clicks / before) ** RULES.addition_growth)
    return plan._replace(ease=share, ease_decay=ridge.at(n_clicks))


def choose_addition(search, plan, leader, second, ridge=None):
    """Return the Trial of `leader` with the best additions to its scores.

    It may have no addition, or be popularity or item weights alone.

    Parameters
    ----------
    search : ClickSearch on a draw that the search has not used
    plan : settings.Settings that are trained there
    leader : settings.Settings of the final training
    second : int, clicks for which the weight of a model with sampled negatives is chosen; 0: none is added
    ridge : float, regularization of item weights for the clicks of the ClickSearch; None: none are added
    """
    additions = Additions(search, plan, leader)
    best = additions.add_popularity()
    if best.candidate.popular == 1.0:
        return best
    if ridge is not None:
        best = additions.add_item_weights(best, ridge)
    return additions.add_second(best, second) if second and best.candidate.solver != "ease" else best


class Additions:
    """Additions to the scores of a model that is trained on the first draw of a ClickSearch.

    plan, leader: see choose_addition.
    """

    def __init__(self, search, plan, leader):
        self.search, self.plan, self.leader, self.evaluator = search, plan, leader, search.draws[0]
        *_, self.base = self.evaluator.train(plan)

    def measure(self, predictor, state, best=None, **changes):
        """Return the Trial of a State with changes of settings, and with the additions of `best`, a Trial or None."""
        before = {name: getattr(best.candidate, name) for name in ADDITIONS} if best else {}
        plan, leader = (settings._replace(**{**before, **changes}) for settings in (self.plan, self.leader))
        trial = make_trial(plan, self.evaluator.measure_with_additions(plan, state), [], predictor)
        self.search.report(trial)
        return trial._replace(candidate=leader)

    def add_popularity(self):
        """Return the Trial of popularity alone, of the model, or of their sum."""
        clicks = np.bincount(self.search.clicks.items)
        popularity = float(np.sqrt(np.mean((clicks / max(1, clicks.max())) ** 2)))
        ratio = RULES.popularity_ratio * deviation(self.base) / popularity
        popular = self.measure("ials and popularity", self.base, popular=round_digits(ratio / (1.0 + ratio)))
        alone = self.measure("popularity alone", self.base, popular=1.0)
        return simplest_of([alone, self.measure("ials", self.base), popular])

    def add_item_weights(self, best, ridge):
        """Return the best Trial of shares of item weights, or `best` if it is better.

        Item weights alone are taken if they are clearly better than the best sum. The more users, the more factors and
        their sum gain; a sample has few.
        """
        unit, trials = deviation(self.base) / self.evaluator.deviation_of_weights(ridge), []
        for ratio in RULES.item_weight_ratios:
            changes = {"ease": round_digits(ratio * unit), "ease_decay": ridge}
            trials.append(self.measure("ials and ease", self.base, best, **changes))
        changes = {"solver": "ease", "n_factors": 1, "epochs": 0, "popular": 0.0, "ease": 1.0, "regularization": ridge}
        alone, weighted = self.measure("ease", without_factors(self.base), **changes), best_of(trials)
        weighted = alone if alone.is_better(weighted, CLEAR) else weighted
        return best if best.is_better(weighted) else weighted

    def add_second(self, best, second):
        """Return the Trial of a model with sampled negatives in addition, or `best` if it is better.

        The more clicks, the more it adds; a sample has few. second: clicks for which its weight is chosen.
        """
        clicks = self.search.clicks
        second_plan = partner(self.search.estimator, self.plan, len(clicks), clicks.shape)
        if trial_work(self.search, second_plan) > self.search.budget.left:
            return best
        *_, other = self.evaluator.train(second_plan)
        ratio = RULES.second_ratio * deviation(self.base) / deviation(other)
        ratio *= (len(clicks) / second) ** RULES.addition_growth
        changes = {"mixed": round_digits(ratio), "popular": 0.0}
        mixed = self.measure("ials and sampled", (self.base, other), best, **changes)
        return best if best.is_better(mixed) else mixed


def baseline_rows(evaluator):
    """Return the rows of popularity and item kNN on held-out clicks."""
    clicks, n_items, rows = evaluator.prepared.clicks, evaluator.prepared.clicks.shape[1], []
    known = clicks_of(clicks.users, clicks.items, clicks.shape)
    for plain in (Popularity(known, n_items), ItemKNN(known, n_items, device=evaluator.prepared.device)):
        lists = [items for _, items in plain.lists(evaluator.users, min(RULES.judged_length, n_items))]
        rows.append(make_trial(None, measure_lists(np.concatenate(lists), evaluator.judges), [], plain.name).row)
    return rows


def reason(best, evaluator, rows):
    """Return why settings were taken, and the baselines that are better nevertheless."""
    count = len(evaluator.judges.users)
    which = f"the latest {count:,} clicks" if evaluator.judges.latest else f"{count:,} held-out clicks"
    than = "".join(f"; {row['predictor']} had {row['ndcg']:.4f}" for row in rows if row["ndcg"] > best.mean)
    return f"chosen on {which} of {len(best.scores):,} users, NDCG@{RULES.judged_length} {best.mean:.4f}{than}"


def train_second(prepared, plan, progress, resumed, checkpoints):
    """Return the State of the second of two mixed models, trained to its end.

    plan: settings.Settings of the first one; resumed: saving.SecondModel to continue from, or None; checkpoints:
    run.Checkpoints, which keep the first model's State. Raises ModelError if the sizes differ.
    """
    estimator = prepared.estimator
    other = partner(estimator, plan, len(prepared.clicks), prepared.clicks.shape)
    done = resumed.epochs_done if resumed else 0
    if resumed:
        result, wanted = saving.sizes_of(resumed.state), (other.n_factors, other.learned_neighbors)
        if result != wanted or done > other.epochs:
            raise ModelError(
                f"The checkpoint's second model has {result[0]} factors and {result[1]} neighbours after {done} "
                f"epochs; here it has {wanted[0]} and {wanted[1]}, {other.epochs} epochs in all. Leave --resume out to "
                "begin anew."
            )
    session, training = prepared.begin(other, resumed and resumed.state, progress)
    judge = runs.Judge(session, None, UNSCALED, 0)
    return runs.run(session, training, other, judge, checkpoints, [], done, progress)


def prepare(request):
    """Return the run.Run of a run.FitRequest that learns clicks, Ratings whose values are 1; they have no RMSE.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    estimator, clicks, device, progress = request.estimator, request.ratings, request.device, request.progress
    clock, arguments = Clock(), (estimator, clicks, request.settings, device, progress)
    resumed, choice = request.resume_or_choose(clock, lambda: choose(*arguments))
    plan, prepared = choice.settings, PreparedClicks(estimator, clicks, device, team=request.team)
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        prepared.data(plan)
    with clock("neighbours"):
        if not resumed:
            prepared.neighbors(plan, progress)
    with clock("prepare"):
        session, training = prepared.begin(plan, resumed and resumed.state)

    def complete(state, checkpoints=None):
        """Return the final State of the trained one."""
        if plan.mixed:
            checkpoints = checkpoints or runs.Checkpoints(None, estimator, None, choice)
            checkpoints.first, second = state, resumed.second if resumed else None
            with clock("training"):
                other = train_second(prepared, plan, progress, second, checkpoints)
            state = combine_states(state, other, plan.mixed)
        state = add_item_weights(state, clicks, plan, device)
        return with_popularity(state, prepared.counts[1], plan.popular)

    facts = clock, UNSCALED, resumed, choice
    return request._replace(held_out=None).run(session, training, *facts, complete=complete)
