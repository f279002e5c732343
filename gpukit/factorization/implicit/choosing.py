"""What the user left open of the settings for clicks: the best on a held-out click of each of many users.

First, on the clicks of some users where there are many: least squares over all pairs with few factors, whose weight of
what was not clicked and whose regularization are sought along each in turn; how clicks weigh. Then, on all but the
held-out clicks: both once more, in finer steps; more factors while they help; the loss with sampled negatives, by
itself and mixed with these; a neighbourhood's score beside that of the factors; popularity beside them and, where
nothing is better than by luck, popularity alone. What is named is obeyed.
"""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.lists.baselines import ItemKNN, Popularity
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.factorization.choose.chosen import Choice
from gpukit.factorization.implicit import hold_out
from gpukit.factorization.implicit.blend import MOST_NEIGHBORS
from gpukit.factorization.implicit.evaluator import DEPTH, PATIENCE, Evaluator, Outcome, places_in
from gpukit.factorization.implicit.mix import partner
from gpukit.factorization.objective import goal_of
from gpukit.factorization.solvers import usual

FIRST_FACTORS, FIRST_EPOCHS = 32, 5
FACTORS = (64, 128, 192, 256, 384, 512)
WORK = {False: 6.0e10, True: 2.0e13}  # multiplications of an epoch, at most, of a candidate; on a GPU
MOST_SAMPLED = {False: 3_000_000, True: 1_000_000_000}  # clicks beyond which sampled negatives are not tried; on a GPU
AXES = {"unobserved_weight": 3.0, "regularization": 2.0}  # what a step along each multiplies by
FINE_AXES = {"unobserved_weight": 1.7, "regularization": 1.4}
FINER = 0.1  # of WORK: an epoch of what is sought in finer steps
MOST_STEPS, HARDER = 4, 1.5
RECENCY = 2.0
SHARES, MIXED = (0.1, 0.3, 1.0), (0.02, 0.05, 0.1, 0.2)
LUCK = 0.5  # standard errors that the best of many is better than popularity alone by luck
OPEN = ("n_factors", "n_epochs", "regularization", "unobserved_weight")


class Contest(NamedTuple):
    """Where candidates meet: the estimator, names of what is open, the solvers that may be taken, epochs without a
    better one that end a candidate (0: none do), the trials' rows so far, progress as fit's."""

    estimator: object
    free: set
    solvers: tuple
    stops: int
    rows: list
    progress: object

    def met(self, outcome, predictor):
        """The Outcome, told."""
        self.rows.append(outcome.row(predictor))
        self.progress("choosing", len(self.rows), None, {"ndcg": self.rows[-1]["ndcg"]})
        return outcome

    def tried(self, evaluator, plan, patience=0):
        """(the Outcome, told, of settings.Settings, the State that they came to); see Evaluator.tried."""
        outcome, state = evaluator.tried(plan, patience)
        return self.met(outcome, f"{plan.solver}, {plan.loss}"), state


def choose(estimator, clicks, settings, device, progress):
    """The choose.chosen.Choice for an estimator's settings.Settings and clicks, Ratings whose values are 1."""
    goal = goal_of(estimator, "implicit")
    solvers = ("ials", "sampled") if goal.open else (goal.solver,)
    free = {name for name in OPEN if getattr(estimator, name) is None}
    if not free and not goal.open and not settings.patience:
        return Choice(settings, [], "named")
    train, judges = hold_out.held_out(clicks, settings.seed)
    if len(judges.users) < hold_out.FEW:
        return Choice(settings, [], f"{len(clicks):,} clicks are too few to hold any out")
    stops = settings.patience or (PATIENCE if "n_epochs" in free else 0)
    contest = Contest(estimator, free, solvers, stops, [], progress)
    some = hold_out.sampled(train, judges, settings.seed)
    evaluator = Evaluator(estimator, *some, device)
    best = settings
    if "ials" in solvers:
        best = least_squares(
            contest, evaluator, settings._replace(solver="ials", loss="squared", biases=False)
        ).settings
    if some[0] is not train:
        evaluator = Evaluator(estimator, train, judges, device)
    best = second_round(contest, evaluator, best, device.is_cuda)
    rows = baselines(evaluator)
    return Choice(fitting(best.settings), contest.rows + rows, why(best, judges, rows))


def fitting(plan):
    """settings.Settings with no more neighbours than the model will have; nothing is stopped early any more."""
    plan = plan._replace(patience=0)
    if plan.solver != "ials" or plan.mixed:
        return plan
    return plan._replace(n_neighbors=min(MOST_NEIGHBORS, plan.n_neighbors) if plan.blend else 0)


def worth(outcome):
    """An Outcome's mean gain."""
    return float(outcome.gains.mean())


def least_squares(contest, evaluator, settings):
    """The best Outcome of a search along AXES, and of how clicks may weigh."""
    epochs = FIRST_EPOCHS if "n_epochs" in contest.free else settings.epochs
    factors = min(FIRST_FACTORS, settings.n_factors) if "n_factors" in contest.free else settings.n_factors
    plan = settings._replace(epochs=epochs, n_factors=factors)
    best = sought(contest, AXES, contest.tried(evaluator, plan), lambda plan: contest.tried(evaluator, plan))[0]
    for change in weighings(evaluator.prepared.clicks):
        better, _ = contest.tried(evaluator, best.settings._replace(**change))
        best = max(best, better, key=worth)
    return best


def sought(contest, axes, best, tried):
    """The best (Outcome, State) of a search from one along those axes {name: step} that are open, in turn; tried: the
    function of settings.Settings that gives such a pair."""
    for axis, step in axes.items():
        if axis in contest.free:
            best = along(best, axis, step, tried)
    return best


def along(best, axis, step, tried):
    """The best (Outcome, State) along an axis, up or down from one as long as it gets better."""
    for factor in (1.0 / step, step):
        before = best
        for _ in range(MOST_STEPS):
            settings = best[0].settings
            found = tried(settings._replace(**{axis: float(f"{getattr(settings, axis) * factor:.2g}")}))
            if worth(found[0]) <= worth(best[0]):
                break
            best = found
        if best is not before:
            break
    return best


def weighings(clicks):
    """Yield changes of settings: how clicks may weigh, by what is known of them."""
    if clicks.counts is not None and np.ptp(clicks.counts) > 0:
        yield {"counted": True}
    if hold_out.tell_order(clicks):
        yield {"recency": RECENCY}


def second_round(contest, evaluator, best, on_gpu):
    """The best Outcome on all but the held-out clicks; best: settings.Settings of few factors."""
    leader, found = None, []
    if "ials" in contest.solvers:
        leader = grown(contest, evaluator, best, on_gpu)
        found.append(leader[0])
    many = len(evaluator.prepared.clicks) > MOST_SAMPLED[on_gpu]
    if "sampled" in contest.solvers and not (many and found):
        found += with_negatives(contest, evaluator, best, leader)
    if leader is None or len(contest.solvers) == 1:
        return clearest(found)
    if has_neighbors(contest.estimator):
        found += [contest.met(one, "ials and cosines") for one in evaluator.blends(*settled(leader), SHARES)]
    *some, alone = [contest.met(one, "ials and popularity") for one in evaluator.populars(*settled(leader), SHARES)]
    best = clearest([*found, *some])
    return best if gain_of(best, alone) > LUCK else alone


def settled(leader):
    """(settings.Settings, State) of a leader, (its Outcome, its State)."""
    return leader[0].settings, leader[1]


def grown(contest, evaluator, plan, on_gpu):
    """The best (Outcome, State) of least squares with more factors while they help; with the fewest, what was found on
    the clicks of some users is sought once more, in finer steps."""
    epochs = usual("ials", plan.rates, 0)["epochs"] if "n_epochs" in contest.free else plan.epochs

    def tried(plan):
        return contest.tried(evaluator, plan._replace(epochs=epochs), contest.stops)

    first, *more = sizes(contest, evaluator, plan, on_gpu)
    leader = tried(plan._replace(n_factors=first))
    if work(evaluator, first) <= FINER * WORK[on_gpu]:
        leader = sought(contest, FINE_AXES, leader, tried)
    for size in more:
        plan = leader[0].settings._replace(n_factors=size)
        larger = tried(plan)
        if worth(larger[0]) <= worth(leader[0]) and "regularization" in contest.free:
            larger = tried(harder(plan))  # more factors learn by heart what fewer did not
        if worth(larger[0]) <= worth(leader[0]):
            break
        leader = larger
    return held_harder(contest, leader, epochs, tried)


def harder(plan):
    """settings.Settings that hold parameters smaller."""
    return plan._replace(regularization=float(f"{plan.regularization * HARDER:.2g}"))


def held_harder(contest, leader, epochs, tried):
    """(Outcome, State) of a leader or, where that was best after less than half of the epochs, and so learned by heart
    what it went on to, of what is held smaller, as long as it gets better."""
    while {"regularization", "n_epochs"} <= contest.free and 2 * leader[0].settings.epochs < epochs:
        found = tried(harder(leader[0].settings))
        if worth(found[0]) <= worth(leader[0]):
            break
        leader = found
    return leader


def clearest(found):
    """The best Outcome; the first of them where it is not better by a standard error of the difference."""
    best = max(found, key=worth)
    return best if gain_of(best, found[0]) > 1.0 else found[0]


def gain_of(best, other):
    """By how many standard errors an Outcome is better than another."""
    gain = best.gains - other.gains
    return float(gain.mean() / max(gain.std() / np.sqrt(len(gain)), 1e-12))


def has_neighbors(estimator):
    """Whether an estimator may have neighbourhoods."""
    return getattr(estimator, "n_neighbors", 0) != 0


def with_negatives(contest, evaluator, plan, leader):
    """[Outcome] of the loss with sampled negatives, neighbourhoods and all, by itself and, where the number of factors
    is open, beside the leader of the others: (its Outcome, its State) or None."""
    clicks = evaluator.prepared.clicks
    alone = partner(contest.estimator, plan, len(clicks), clicks.shape)
    alone = alone._replace(n_factors=alone.n_factors if "n_factors" in contest.free else plan.n_factors)
    outcome, state = evaluator.tried(alone, 0 if leader else contest.stops)
    found = [contest.met(outcome, f"sampled, {alone.loss}")]
    if leader is not None and "n_factors" in contest.free:
        settings, factors = leader[0].settings, leader[1]
        found += [contest.met(one, "ials and sampled") for one in evaluator.mixes(settings, factors, state, MIXED)]
    return found


def sizes(contest, evaluator, plan, on_gpu):
    """The numbers of factors to try, in order."""
    shape = evaluator.prepared.clicks.shape
    if "n_factors" not in contest.free:
        return [plan.n_factors]
    fit = [size for size in FACTORS if size <= min(shape) and work(evaluator, size) <= WORK[on_gpu]]
    return fit or [min(plan.n_factors, *shape)]


def work(evaluator, size):
    """Multiplications of an epoch with so many factors."""
    return len(evaluator.prepared.clicks) * size**2 + sum(evaluator.prepared.clicks.shape) * size**3 / 6


def baselines(evaluator):
    """Rows of popularity and item kNN on the same held-out clicks."""
    clicks, judges = evaluator.prepared.clicks, evaluator.judges
    known, rows = clicks_of(clicks.users, clicks.items, clicks.shape), []
    for kind in (Popularity, ItemKNN):
        plain = kind(known, clicks.shape[1])
        lists = np.concatenate([items for _, items in plain.lists(judges.users, min(DEPTH, clicks.shape[1]))])
        rows.append(Outcome(None, places_in(lists, judges.items), []).row(plain.name))
    return rows


def why(best, judges, rows):
    """Why settings were taken, in a sentence, and what did better all the same."""
    which = "latest" if judges.latest else "held-out"
    better = [row for row in rows if row["ndcg"] > worth(best)]
    than = "".join(f"; {row['predictor']} had {row['ndcg']:.4f}" for row in better)
    return f"best of what was tried on the {which} click of {len(best.places):,} users, NDCG {worth(best):.4f}{than}"
