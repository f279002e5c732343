"""Model selection for clicks on a held-out share of each user's.

First `ials`: regularization and weight of unobserved pairs, in coarse and then in fine steps; click weights; number of
factors. Then what is added to its scores: popularity, or a model with sampled negatives; with another draw of held-out
clicks. Candidates are compared user by user; the simpler one is taken unless the other is better by more than a
standard error. All costs at most what ten trainings on the sample cost.
"""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.lists.baselines import Popularity
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.factorization.choose.chosen import Choice
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import hold_out, mix, start
from gpukit.factorization.implicit.evaluator import Evaluator, make_trial, measure_lists, units
from gpukit.factorization.implicit.item_weights import choose_ridge
from gpukit.factorization.model.state import without_factors
from gpukit.factorization.settings import goal_of
from gpukit.factorization.solvers.ease.training import work_of
from gpukit.factorization.solvers.rates import EASE_GROWTH
from gpukit.model_selection.splits import draw_sample
from gpukit.model_selection.trial import Budget, best_of, round_digits, simplest_of
from gpukit.neighbors.item_knn import ItemKNN

MOST_SAMPLED = {False: 3_000_000, True: 1_000_000_000}  # clicks beyond which no sampled negatives are tried; on a GPU
AXES = ("regularization", "unobserved_weight")
COARSE = ("regularization", 2.0), ("regularization", 1.4), ("unobserved_weight", 3.0)  # (axis, factor of a step)
FINE = (("regularization", 1.4),)
ADDITIONS = ("popular", "ease", "ease_decay")
OPEN = ("n_factors", "n_epochs", *AXES)


class Contest(NamedTuple):
    """Candidates for an estimator, and what they are compared on.

    free: names of the settings that are open; evaluators: an Evaluator per draw, with the same Budget; patience: epochs
    without a better one that end a training, 0 for none; results: {settings.Settings: [results of Evaluator.train]}, of
    the first draws; rows: of trials_; progress: see fit.
    """

    estimator: object
    free: set
    evaluators: list
    patience: int
    results: dict
    rows: list
    progress: object

    def report(self, *measured):
        """Report a candidate's measures, arguments of make_trial, and return its Trial."""
        trial = make_trial(*measured)
        self.rows.append(trial.row)
        self.progress("choosing", len(self.rows), None, {"ndcg": trial.row["ndcg"]})
        return trial

    @property
    def budget(self):
        """The model_selection Budget."""
        return self.evaluators[0].budget

    @property
    def clicks(self):
        """The training clicks of the first draw, Ratings."""
        return self.evaluators[0].prepared.clicks

    def scaled(self, plan, clicks):
        """Return settings.Settings for other clicks than these, Ratings.

        The regularization of a row is in proportion to its clicks. With more users it falls, if it is open, as that of
        item weights grows.
        """
        if "regularization" not in self.free or plan.solver != "ials":
            return plan
        ratio = len(clicks) / len(self.clicks)
        return plan._replace(regularization=round_digits(plan.regularization * ratio**-EASE_GROWTH))

    def run(self, plan, draws=1):
        """Return the Trial of settings.Settings on the first draws; the same settings are trained once on each."""
        results = self.results.setdefault(plan, [])
        is_new = not results
        results += [evaluator.train(plan, self.patience) for evaluator in self.evaluators[len(results) : draws]]
        values, epochs, curves, _ = zip(*results[:draws])
        settings = plan._replace(epochs=max(1, round(np.mean(epochs))))
        self.results.setdefault(settings, results)
        measured = settings, np.mean(values, axis=0), curves[0], f"{plan.solver}, {plan.loss}"
        return self.report(*measured) if is_new else make_trial(*measured)

    def compare(self, best, plan):
        """Return the Trials of `best`, a Trial, and of settings.Settings.

        Further draws are used as long as the difference may be due to chance.
        """
        for draws in range(1, len(self.evaluators) + 1):
            one, other = self.run(best.candidate, draws), self.run(plan, draws)
            mean, error = other.gain(one)
            if abs(mean) > RULES.clear_errors * error:
                break
        return one, other


def choose(estimator, clicks, settings, device, progress):
    """Return the choose.chosen.Choice for an estimator and clicks.

    settings: its settings.Settings; clicks: Ratings whose values are 1.
    """
    goal = goal_of(estimator, "implicit")
    free = {name for name in OPEN if getattr(estimator, name) is None}
    if goal.solver == "ease" and estimator.regularization is not None:
        return Choice(settings._replace(patience=0, n_neighbors=0), [], "named")
    if not goal.open and not settings.patience and (goal.solver == "sampled" or not free):
        return Choice(settings, [], "named")
    sample = draw_sample(clicks, settings.seed, RULES.large_click_sample, RULES.least_users)
    large, sample = sample, draw_sample(sample, settings.seed, RULES.click_sample, RULES.least_users)
    contest = make_contest(estimator, free, sample, settings, device, progress)
    if contest is None:
        return Choice(settings, [], f"{len(clicks):,} clicks are too few to hold any out")
    larger = enlarge_contest(contest, large, settings, device)
    if larger is contest:
        sample = draw_sample(sample, settings.seed, RULES.small_click_sample, RULES.least_users)
    unseen = Evaluator(estimator, *hold_out.hold_out(sample, settings.seed, RULES.click_draws), device, larger.budget)
    last = contest._replace(evaluators=[unseen])
    contests = [larger, contest._replace(evaluators=contest.evaluators[:1]), last]
    if goal.solver == "ease":
        return choose_ease(contests, settings, len(clicks))
    has_weights = goal.open and free == set(OPEN) and is_affordable(clicks, settings)
    ridge = choose_ridge(contests, settings) if has_weights else None
    if goal.solver == "sampled":
        best = base = contest.run(settings)
    else:
        base = search_settings(contest, settings._replace(solver="ials", loss="squared", biases=False))
        start = base
        if larger is not contest:
            start = search_coarsely(larger, contest.scaled(base.candidate, larger.clicks))
        best = add_factors(larger, start)
    leader = larger.scaled(best.candidate, clicks)
    if goal.open:
        has_second = len(clicks) <= MOST_SAMPLED[device.is_cuda] and "n_factors" in free
        second, plan = len(contest.clicks) if has_second else 0, contest.scaled(base.candidate, last.clicks)
        best = choose_addition(last, plan, leader, second, ridge and ridge.at(len(last.clicks)))
        leader = with_ridge(best.candidate, ridge, len(last.clicks), len(clicks))
    rows = baseline_rows(unseen)
    final = final_settings(leader, settings, settings.patience or "n_epochs" in free)
    return Choice(final, contest.rows + rows, reason(best, unseen, rows))


def choose_ease(contests, settings, n_clicks):
    """Return the Choice of the regularization of item weights for n_clicks; contests: see choose_ridge."""
    final, evaluator = settings._replace(patience=0, n_neighbors=0), contests[-1].evaluators[0]
    ridge = choose_ridge(contests, settings)
    if ridge is None:
        return Choice(final, [], f"{contests[-1].clicks.shape[1]:,} items are too many to choose on")
    rows = baseline_rows(evaluator)
    final = final._replace(regularization=ridge.at(n_clicks))
    return Choice(final, contests[-1].rows + rows, reason(ridge.trial, evaluator, rows))


def make_contest(estimator, free, sample, settings, device, progress, draws=RULES.click_draws):
    """Return the Contest on a sample, Ratings; None if too few users have held-out clicks."""
    parts = hold_out.hold_out_draws(sample, settings.seed, draws)
    if len(np.unique(parts[0][1].users)) < RULES.least_users:
        return None
    training = settings._replace(solver="ials", n_factors=limit_factors(RULES.click_factors[0], sample.shape))
    budget = Budget.of_trainings(RULES.click_epochs[1] * units(training, len(sample), sample.shape))
    evaluators = [Evaluator(estimator, *part, device, budget) for part in parts]
    return Contest(estimator, free, evaluators, settings.patience, {}, [], progress)


def enlarge_contest(contest, large, settings, device):
    """Return the Contest of a larger sample, Ratings; without many more clicks the smaller Contest."""
    if len(large) <= 2 * RULES.click_sample:
        return contest
    larger = make_contest(contest.estimator, contest.free, large, settings, device, contest.progress, 1)
    return larger._replace(rows=contest.rows)


def final_settings(plan, settings, has_epochs):
    """Return settings.Settings of the final training. has_epochs: whether its epochs are those of `plan`."""
    has_epochs = has_epochs or plan.solver == "ease"
    plan = plan._replace(patience=0, epochs=plan.epochs if has_epochs else settings.epochs)
    return plan if plan.solver == "sampled" or plan.mixed else plan._replace(n_neighbors=0)


def search_settings(contest, settings):
    """Return the best Trial of AXES, epochs and click weights."""
    clicks = contest.clicks
    plan = settings if contest.patience else settings._replace(epochs=min(RULES.click_epochs[0], settings.epochs))
    if "n_factors" in contest.free:
        plan = plan._replace(n_factors=limit_factors(RULES.search_factors, clicks.shape))
    best = search_coarsely(contest, plan)
    for change in click_weights(clicks):
        best = simplest_of(contest.compare(best, best.candidate._replace(**change)))
    return follow_steps(contest._replace(evaluators=contest.evaluators[:1]), FINE, contest.run(best.candidate))


def search_coarsely(contest, plan):
    """Return the best Trial of coarse steps from settings.Settings, and of more epochs."""
    return add_epochs(contest, follow_steps(contest, COARSE, contest.run(plan)))


def add_epochs(contest, best):
    """Return the best Trial of more epochs.

    They are tried if epochs are open, as long as the mean score rises.
    """
    is_open = "n_epochs" in contest.free and not contest.patience
    for epochs in [epochs for epochs in RULES.click_epochs if is_open and epochs > best.candidate.epochs]:
        best, trial = contest.compare(best, best.candidate._replace(epochs=epochs))
        if trial.mean <= best.mean:
            break
        best = trial
    return best


def follow_steps(contest, steps, best):
    """Return the best Trial of a search along the free axes.

    steps: (axis, factor) of each.
    """
    for axis, factor in steps:
        if axis in contest.free:
            best = search_axis(contest, best, axis, factor)
    return best


def search_axis(contest, start_trial, axis, step):
    """Return the best Trial of steps along an axis.

    Steps go down or else up, as long as each is better.
    """
    for factor in (1.0 / step, step):
        best = start_trial
        for _ in range(RULES.most_steps):
            if contest.budget.is_spent:
                return best
            best, trial = contest.compare(best, move_along(best.candidate, axis, factor, contest.free))
            if not trial.is_better(best):
                break
            best = trial
        if best.candidate != start_trial.candidate:
            break
    return best


def move_along(plan, axis, factor, free):
    """Return settings.Settings a step further along an axis.

    Unobserved pairs regularize too. So a step of their weight changes the regularization, if it is free, by the root
    in the other direction.
    """
    steps = {axis: factor}
    if axis == "unobserved_weight" and "regularization" in free:
        steps["regularization"] = factor**-0.5
    return plan._replace(**{name: round_digits(getattr(plan, name) * step) for name, step in steps.items()})


def click_weights(clicks):
    """Yield changes of settings: weights of clicks by their counts or times, if these are known."""
    if clicks.counts is not None and np.ptp(clicks.counts) > 0:
        yield {"counted": True}
    if hold_out.times_differ(clicks):
        yield {"recency": RULES.recency}


def add_factors(contest, best):
    """Return the best Trial of more factors, within the Budget.

    It may be the one that is passed. The first of click_factors is taken unless it is worse, since more clicks are
    trained on in the end; others if better.
    """
    is_open, shape = "n_factors" in contest.free, contest.clicks.shape
    sizes = sorted({limit_factors(size, shape) for size in RULES.click_factors}) if is_open else []
    for size in sizes:
        plan = best.candidate._replace(n_factors=size)
        if trial_work(contest, plan) > contest.budget.left / 2:
            break
        if size == sizes[0]:
            best, trial = contest.run(best.candidate), contest.run(plan)
        else:
            best, trial = contest.compare(best, plan)
        if best.is_better(trial) or (size > sizes[0] and not trial.is_better(best)):
            break
        best = trial
    return best


def limit_factors(size, shape):
    """Return a number of factors within half the users or items.

    More factors fit any clicks.
    """
    return max(1, min(size, min(shape) // 2))


def trial_work(contest, plan):
    """Return the work of a trial of settings.Settings, without ranking."""
    return units(plan, len(contest.clicks), contest.clicks.shape) * plan.epochs


def is_affordable(clicks, settings):
    """Return True if all item weights of all clicks need at most the work of a training."""
    plan = settings._replace(solver="ials", n_factors=limit_factors(RULES.click_factors[0], clicks.shape))
    work = units(plan, len(clicks), clicks.shape) * RULES.click_epochs[1]
    return work_of(clicks.shape, len(clicks)) <= work


def with_ridge(plan, ridge, before, n_clicks):
    """Return settings.Settings with its item weights, if any, for n_clicks.

    The regularization grows with the number of clicks, and so does the share of item weights next to factors. ridge:
    item_weights.Ridge or None; before: clicks for which the share was chosen.
    """
    if not plan.ease:
        return plan
    if plan.solver == "ease":
        return plan._replace(regularization=ridge.at(n_clicks))
    share = round_digits(plan.ease * (n_clicks / before) ** RULES.addition_growth)
    return plan._replace(ease=share, ease_decay=ridge.at(n_clicks))


def choose_addition(contest, plan, leader, second, ridge=None):
    """Return the Trial of `leader` with the best additions to its scores.

    It may have no addition, or be popularity or item weights alone.

    Parameters
    ----------
    contest : Contest on a draw that the search has not used
    plan : settings.Settings that are trained there
    leader : settings.Settings of the final training
    second : int, clicks for which the weight of a model with sampled negatives is chosen; 0: none is added
    ridge : float, regularization of item weights for the clicks of the Contest; None: none are added
    """
    additions = Additions(contest, plan, leader)
    best = additions.add_popularity()
    if best.candidate.popular == 1.0:
        return best
    if ridge is not None:
        best = additions.add_item_weights(best, ridge)
    return additions.add_second(best, second) if second and best.candidate.solver != "ease" else best


class Additions:
    """Additions to the scores of a model that is trained on the first draw of a Contest.

    plan, leader: see choose_addition.
    """

    def __init__(self, contest, plan, leader):
        self.contest, self.plan, self.leader, self.evaluator = contest, plan, leader, contest.evaluators[0]
        *_, self.base = self.evaluator.train(plan)

    def measure(self, predictor, state, best=None, **changes):
        """Return the Trial of a State with changes of settings, and with the additions of `best`, a Trial or None."""
        before = {name: getattr(best.candidate, name) for name in ADDITIONS} if best else {}
        plan, leader = (settings._replace(**{**before, **changes}) for settings in (self.plan, self.leader))
        trial = self.contest.report(plan, self.evaluator.measure_with_additions(plan, state), [], predictor)
        return trial._replace(candidate=leader)

    def add_popularity(self):
        """Return the Trial of popularity alone, of the model, or of their sum."""
        popularity = start.deviation(np.bincount(self.contest.clicks.items))
        ratio = RULES.popularity_ratio * mix.deviation(self.base) / popularity
        popular = self.measure("ials and popularity", self.base, popular=round_digits(ratio / (1.0 + ratio)))
        alone = self.measure("popularity alone", self.base, popular=1.0)
        return simplest_of([alone, self.measure("ials", self.base), popular])

    def add_item_weights(self, best, ridge):
        """Return the best Trial of shares of item weights, or `best` if it is better.

        Item weights alone are taken if they are clearly better than the best sum. The more users, the more factors and
        their sum gain; a sample has few.
        """
        unit, trials = mix.deviation(self.base) / self.evaluator.deviation_of_weights(ridge), []
        for ratio in RULES.item_weight_ratios:
            changes = {"ease": round_digits(ratio * unit), "ease_decay": ridge}
            trials.append(self.measure("ials and ease", self.base, best, **changes))
        changes = {"solver": "ease", "n_factors": 1, "epochs": 0, "popular": 0.0, "ease": 1.0, "regularization": ridge}
        alone, weighted = self.measure("ease", without_factors(self.base), **changes), best_of(trials)
        weighted = alone if alone.is_better(weighted, RULES.clear_errors) else weighted
        return best if best.is_better(weighted) else weighted

    def add_second(self, best, second):
        """Return the Trial of a model with sampled negatives in addition, or `best` if it is better.

        The more clicks, the more it adds; a sample has few. second: clicks for which its weight is chosen.
        """
        clicks = self.contest.clicks
        partner = mix.partner(self.contest.estimator, self.plan, len(clicks), clicks.shape)
        if trial_work(self.contest, partner) > self.contest.budget.left:
            return best
        *_, other = self.evaluator.train(partner)
        ratio = RULES.second_ratio * mix.deviation(self.base) / mix.deviation(other)
        ratio *= (len(clicks) / second) ** RULES.addition_growth
        changes = {"mixed": round_digits(ratio), "popular": 0.0}
        mixed = self.measure("ials and sampled", (self.base, other), best, **changes)
        return best if best.is_better(mixed) else mixed


def baseline_rows(evaluator):
    """Return the rows of popularity and item kNN on held-out clicks."""
    clicks, users = evaluator.prepared.clicks, evaluator.users
    known, rows = clicks_of(clicks.users, clicks.items, clicks.shape), []
    n_items = clicks.shape[1]
    for plain in (Popularity(known, n_items), ItemKNN(known, n_items, device=evaluator.prepared.device)):
        lists = np.concatenate([items for _, items in plain.lists(users, min(RULES.judged_length, clicks.shape[1]))])
        rows.append(make_trial(None, measure_lists(lists, evaluator.judges), [], plain.name).row)
    return rows


def reason(best, evaluator, rows):
    """Return why settings were taken, and the baselines that are better nevertheless."""
    count = len(evaluator.judges.users)
    which = f"the latest {count:,} clicks" if evaluator.judges.latest else f"{count:,} held-out clicks"
    than = "".join(f"; {row['predictor']} had {row['ndcg']:.4f}" for row in rows if row["ndcg"] > best.mean)
    return f"chosen on {which} of {len(best.scores):,} users, NDCG@{RULES.judged_length} {best.mean:.4f}{than}"
