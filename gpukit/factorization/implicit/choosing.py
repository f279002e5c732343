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
from gpukit.factorization.implicit import hold_out, mix, start
from gpukit.factorization.implicit.evaluator import DEPTH, Evaluator, make_trial, measure_lists, units
from gpukit.factorization.objective import goal_of
from gpukit.model_selection.budget import Budget
from gpukit.model_selection.splits import draw_sample
from gpukit.model_selection.trial import simplest_of
from gpukit.neighbors.item_knn import ItemKNN

SEARCHED, FACTORS = 64, (128, 256, 512)  # factors during the search of AXES, and after it
EPOCHS = 4, 8, 12  # of a trial: at first, and as long as more are better
MOST_SAMPLED = {False: 3_000_000, True: 1_000_000_000}  # clicks beyond which no sampled negatives are tried; on a GPU
AXES = ("regularization", "unobserved_weight")
COARSE = ("regularization", 2.0), ("regularization", 1.4), ("unobserved_weight", 3.0)  # (axis, factor of a step)
FINE = (("regularization", 1.4),)
MOST_STEPS = 4
DRAWS, DECIDED = (
    2,
    2.0,
)  # draws of held-out clicks for the search; standard errors of a difference that one draw decides
RECENCY = 2.0
POPULAR, MIXED = 0.1, 0.5  # root mean square of an addition, relative to that of the scores
GROWTH = 0.3  # of the scores of the second model with the number of clicks, as a power: of 25,000 to 80,000 clicks
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
            if abs(mean) > DECIDED * error:
                break
        return one, other


def choose(estimator, clicks, settings, device, progress):
    """Return the choose.chosen.Choice for an estimator and clicks.

    settings: its settings.Settings; clicks: Ratings whose values are 1.
    """
    goal = goal_of(estimator, "implicit")
    free = {name for name in OPEN if getattr(estimator, name) is None}
    if not goal.open and not settings.patience and (goal.solver == "sampled" or not free):
        return Choice(settings, [], "named")
    sample = draw_sample(clicks, settings.seed, hold_out.LARGE, hold_out.FEW)
    large, sample = sample, draw_sample(sample, settings.seed, hold_out.SAMPLE, hold_out.FEW)
    contest = make_contest(estimator, free, sample, settings, device, progress)
    if contest is None:
        return Choice(settings, [], f"{len(clicks):,} clicks are too few to hold any out")
    small = draw_sample(sample, settings.seed, hold_out.SMALL, hold_out.FEW)
    unseen = Evaluator(estimator, *hold_out.hold_out(small, settings.seed, DRAWS), device, contest.budget)
    if goal.solver == "sampled":
        best = contest.run(settings)
    else:
        base = search_settings(contest, settings._replace(solver="ials", loss="squared", biases=False))
        best = add_factors(*enlarge_sample(contest, large, base, settings, device))
    if goal.open:
        has_second = len(clicks) <= MOST_SAMPLED[device.is_cuda] and "n_factors" in free
        second = len(contest.clicks) if has_second else 0
        best = choose_addition(contest._replace(evaluators=[unseen]), base.candidate, best.candidate, second)
    rows = baseline_rows(unseen)
    final = final_settings(best.candidate, settings, settings.patience or "n_epochs" in free)
    return Choice(final, contest.rows + rows, reason(best, unseen, rows))


def make_contest(estimator, free, sample, settings, device, progress, draws=DRAWS):
    """Return the Contest on a sample, Ratings; None if too few users have held-out clicks."""
    parts = hold_out.hold_out_draws(sample, settings.seed, draws)
    if len(np.unique(parts[0][1].users)) < hold_out.FEW:
        return None
    training = settings._replace(solver="ials", n_factors=limit_factors(FACTORS[0], sample.shape))
    budget = Budget.of_trainings(EPOCHS[1] * units(training, len(sample), sample.shape))
    evaluators = [Evaluator(estimator, *part, device, budget) for part in parts]
    return Contest(estimator, free, evaluators, settings.patience, {}, [], progress)


def enlarge_sample(contest, large, best, settings, device):
    """Return (Contest, its best Trial) on a larger sample.

    Without many more clicks those of the smaller sample are returned. The more users, the less regularization; with
    twice the number it changes by less than a step.
    """
    if len(large) <= 2 * hold_out.SAMPLE:
        return contest, best
    larger = make_contest(contest.estimator, contest.free, large, settings, device, contest.progress, 1)
    larger = larger._replace(rows=contest.rows)
    return larger, add_epochs(larger, follow_steps(larger, COARSE, larger.run(best.candidate)))


def final_settings(plan, settings, has_epochs):
    """Return settings.Settings of the final training. has_epochs: whether its epochs are those of `plan`."""
    plan = plan._replace(patience=0, epochs=plan.epochs if has_epochs else settings.epochs)
    return plan if plan.solver != "ials" or plan.mixed else plan._replace(n_neighbors=0)


def search_settings(contest, settings):
    """Return the best Trial of AXES, epochs and click weights."""
    clicks = contest.clicks
    plan = settings if contest.patience else settings._replace(epochs=min(EPOCHS[0], settings.epochs))
    if "n_factors" in contest.free:
        plan = plan._replace(n_factors=limit_factors(SEARCHED, clicks.shape))
    best = add_epochs(contest, follow_steps(contest, COARSE, contest.run(plan)))
    for change in click_weights(clicks):
        best = simplest_of(contest.compare(best, best.candidate._replace(**change)))
    return follow_steps(contest._replace(evaluators=contest.evaluators[:1]), FINE, contest.run(best.candidate))


def add_epochs(contest, best):
    """Return the best Trial of the larger EPOCHS.

    They are tried if epochs are open, as long as the mean score rises.
    """
    is_open = "n_epochs" in contest.free and not contest.patience
    for epochs in [epochs for epochs in EPOCHS if is_open and epochs > best.candidate.epochs]:
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
        for _ in range(MOST_STEPS):
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


def round_digits(value):
    """Return a number with two significant digits."""
    return float(f"{value:.2g}")


def click_weights(clicks):
    """Yield changes of settings: weights of clicks by their counts or times, if these are known."""
    if clicks.counts is not None and np.ptp(clicks.counts) > 0:
        yield {"counted": True}
    if hold_out.tell_order(clicks):
        yield {"recency": RECENCY}


def add_factors(contest, best):
    """Return the best Trial of more factors, within the Budget.

    It may be the one that is passed. The first of FACTORS is taken unless it is worse, since more clicks are trained on
    in the end; others if better.
    """
    sizes = factor_counts(contest)
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


def factor_counts(contest):
    """Return FACTORS within the limit of a sample; none if the number of factors is not open."""
    shape = contest.clicks.shape
    return sorted({limit_factors(size, shape) for size in FACTORS}) if "n_factors" in contest.free else []


def limit_factors(size, shape):
    """Return a number of factors within half the users or items.

    More factors fit any clicks.
    """
    return max(1, min(size, min(shape) // 2))


def trial_work(contest, plan):
    """Return the work of a trial of settings.Settings, without ranking."""
    return units(plan, len(contest.clicks), contest.clicks.shape) * plan.epochs


def choose_addition(contest, plan, leader, second):
    """Return the Trial of `leader` with the best addition to its scores.

    It may have no addition, or be popularity alone.

    Parameters
    ----------
    contest : Contest on a draw that the search has not used
    plan : settings.Settings that are trained there
    leader : settings.Settings of the final training
    second : int, clicks for which the weight of a model with sampled negatives is chosen; 0: none is added
    """
    evaluator, clicks = contest.evaluators[0], contest.clicks
    *_, base = evaluator.train(plan)

    def try_addition(predictor, states=base, **changes):
        values = evaluator.measure_with_additions(plan._replace(**changes), states)
        trial = contest.report(plan._replace(**changes), values, [], predictor)
        return trial._replace(candidate=leader._replace(**changes))

    ratio = POPULAR * mix.deviation(base) / start.deviation(np.bincount(clicks.items))
    popular = try_addition("ials and popularity", popular=round_digits(ratio / (1.0 + ratio)))
    best = simplest_of([try_addition("popularity alone", popular=1.0), try_addition("ials"), popular])
    partner = mix.partner(contest.estimator, plan, len(clicks), clicks.shape)
    if not second or best.candidate.popular == 1.0 or trial_work(contest, partner) > contest.budget.left:
        return best
    *_, other = evaluator.train(partner)
    ratio = MIXED * mix.deviation(base) / mix.deviation(other) * (len(clicks) / second) ** GROWTH
    mixed = try_addition("ials and sampled", (base, other), mixed=round_digits(ratio))
    return best if best.is_better(mixed) else mixed  # the more clicks, the more it adds; a sample has few


def baseline_rows(evaluator):
    """Return the rows of popularity and item kNN on held-out clicks."""
    clicks, users = evaluator.prepared.clicks, evaluator.users
    known, rows = clicks_of(clicks.users, clicks.items, clicks.shape), []
    n_items = clicks.shape[1]
    for plain in (Popularity(known, n_items), ItemKNN(known, n_items, device=evaluator.prepared.device)):
        lists = np.concatenate([items for _, items in plain.lists(users, min(DEPTH, clicks.shape[1]))])
        rows.append(make_trial(None, measure_lists(lists, evaluator.judges), [], plain.name).row)
    return rows


def reason(best, evaluator, rows):
    """Return why settings were taken, and the baselines that are better nevertheless."""
    count = len(evaluator.judges.users)
    which = f"the latest {count:,} clicks" if evaluator.judges.latest else f"{count:,} held-out clicks"
    than = "".join(f"; {row['predictor']} had {row['ndcg']:.4f}" for row in rows if row["ndcg"] > best.mean)
    return f"chosen on {which} of {len(best.scores):,} users, NDCG@{DEPTH} {best.mean:.4f}{than}"
