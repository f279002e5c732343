"""Choose the open settings of an estimator on a hold-out, unless the defaults suit a sample of users.

Many ratings of a user help only if there are preferences to learn; with noise the default settings overfit. Users of
the sample have all their ratings, items only a few. So if factors improve on damped biases in the sample, they improve
more on all ratings.

When settings are chosen, which options are open, and the candidates for them.

The density is the number of ratings per user and item. A large number of ratings alone is not enough.

Damped biases, their shrinkage targets, and the shrinkage of the best candidate.

Users and items have separate dampings (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest value of the grid
leaves the mean alone. A side may be shrunk to a line in its numbers of ratings (`trend_biases`); a share of its slope
is kept (`share_of`), first of the items', then of the users'. If the mean alone predicts the judging ratings better, it
is taken.

A candidate adds f to the predictions of the biases, whose errors are e. The least-squares coefficient is a = sum(e f) /
sum(f^2), which is z standard errors above 0. The share, 0 to 1, is

    a (1 - c^2 / z^2) where z > c, else 0;    c^2 = 2 log(candidates)

This is the garrote of one coefficient (Breiman 1995) at the universal threshold (Donoho and Johnstone 1994), which the
best of that many candidates reaches by chance. A clear improvement is kept nearly whole, chance results are dropped,
and small uncertain improvements are shrunk until they are harmless.
"""

import functools
from typing import NamedTuple

import numpy as np

from gpukit.factorization.choose.chosen import Choice
from gpukit.factorization.choose.evaluator import Evaluator, folds, rms, train_candidate, work_of_epoch
from gpukit.factorization.constants import RULES, USUAL
from gpukit.factorization.settings import USUAL_FACTORS, USUAL_NEIGHBORS
from gpukit.model_selection.splits import draw_sample
from gpukit.model_selection.trial import Budget, EarlyStopping, best_of
from gpukit.runtime import thread_count

OPEN = ("n_factors", "n_neighbors", "n_epochs", "regularization")  # parameters whose None means: choose


def density(n_ratings, shape):
    """Return the ratings per user or per item, whichever is lower.

    Parameters of that side are learned from the fewest ratings.
    """
    return n_ratings / max(1, *shape)


def is_sparse(n_ratings, shape):
    """Return True if the default settings may overfit."""
    return density(n_ratings, shape) < RULES.ratings_a_row


def is_doubtful(n_ratings, shape):
    """Return True if the default settings may be unsuitable, by numbers alone."""
    return n_ratings <= RULES.few_ratings or is_sparse(n_ratings, shape)


def left_open(estimator):
    """Return the names in OPEN that are None.

    Empty for solvers and rates that have defaults of their own.
    """
    if estimator.rates != "adaptive" or estimator.solver not in ("auto", "sgd"):
        return set()
    return {name for name in OPEN if getattr(estimator, name, 0) is None}


def wants_factors(estimator):
    """Return True if the user set an option that damped biases ignore."""
    named = (*OPEN, "learning_rate")
    return any(getattr(estimator, name, None) is not None for name in named) or not getattr(estimator, "biases", True)


def decays(settings, free):
    """Yield settings with each value of regularization in RULES.decays.

    If it is not free, yield the settings alone.
    """
    for decay in RULES.decays if "regularization" in free else (settings.regularization,):
        yield settings._replace(regularization=decay)


def sizes(settings, free, shape):
    """Yield settings with other numbers of factors and neighbours."""
    factors = [min(count, *shape) for count in RULES.choice_factors] if "n_factors" in free else [settings.n_factors]
    neighbors = (settings.n_neighbors, 0) if "n_neighbors" in free else (settings.n_neighbors,)
    for pair in dict.fromkeys((f, k) for f in factors for k in neighbors):
        if pair != (settings.n_factors, settings.n_neighbors):
            yield settings._replace(n_factors=pair[0], n_neighbors=pair[1])


NOTHING_ELSE = RULES.damping_grid[-1], RULES.damping_grid[-1]
LEVEL, ITEMS = (0.0, 0.0), (0.0, 1.0)  # shares of the users' and of the items' slope


def share_of(errors, than, tried):
    """Return the share, 0.0 to 1.0.

    errors (n,) float64: truth minus predictions of the best of `tried` candidates; than (n,): of damped biases, for the
    same ratings.
    """
    sure = 1.0  # minimum of c: the number of epochs of a single candidate is chosen too
    added = than - errors
    total = added @ added
    if not total > 0:
        return 0.0
    best = (than @ added) / total
    spread = np.linalg.norm(added * (than - best * added)) / total
    luck = max(sure, 2.0 * np.log(tried)) * spread**2
    if not best > np.sqrt(luck):
        return 0.0
    return float(min(1.0, best * (1.0 - luck / best**2)))


def blended(errors, than, share):
    """Return the errors (n,) of damped biases and a candidate's shrunk addition."""
    return than + share * (errors - than)


def best_biases(evaluators):
    """Return (damping, trend, errors (n,) of the held-out ratings).

    damping: of users and items, from damping_grid; trend: shares of their slopes.
    """
    sides = 2  # number of trends that are tried
    errors_of = functools.cache(functools.partial(held_out_errors, evaluators))
    damping, trend = best_damping(errors_of, LEVEL, RULES.first_damping), LEVEL
    sloped = best_damping(errors_of, ITEMS, damping[0])
    items = share_of(errors_of(sloped, ITEMS), errors_of(damping, trend), sides)
    if items:
        damping, trend = sloped, (0.0, items)
    users = share_of(errors_of(damping, (1.0, items)), errors_of(damping, trend), sides)
    if users:
        trend = users, items
    choices = (damping, trend), (NOTHING_ELSE, LEVEL)
    best = min(choices, key=lambda choice: squared(errors_of(*choice)))
    return *best, errors_of(*best)


def best_damping(errors_of, trend, users):
    """Return the dampings of damping_grid with the lowest squared error.

    That of the items is chosen first, with the damping `users` of the users. errors_of(damping, trend): errors (n,).
    """
    items = min(RULES.damping_grid, key=lambda items: squared(errors_of((users, items), trend)))
    return min(RULES.damping_grid, key=lambda users: squared(errors_of((users, items), trend))), items


def squared(errors):
    """Return the sum of squares."""
    return errors @ errors


def held_out_errors(evaluators, damping, trend):
    """Return the errors (n,) of damped biases on all evaluators' held-out ratings."""
    return np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])


def usual_suits(estimator, ratings, settings, device):
    """Return True if the default settings.Settings suit Ratings.

    They suit if ratings are plenty and a few epochs on a sample surely improve on damped biases (`share_of`). For very
    many ratings only the number is checked.
    """
    n = len(ratings)
    if is_doubtful(n, ratings.shape):
        return False
    if n >= RULES.very_many_ratings or not settings.biases or settings.solver != "sgd":
        return True
    with thread_count.limited(1):
        train, held_out = folds(draw_sample(ratings, settings.seed, RULES.check_sample, least=2), settings.seed)[0]
        evaluator = Evaluator(estimator, train, held_out, settings.seed, device)
        candidate = settings._replace(n_neighbors=0, n_factors=min(settings.n_factors, *train.shape))
        trial = train_candidate([evaluator], candidate, EarlyStopping(RULES.choice_patience))
        return share_of(trial.errors, evaluator.biased(USUAL), settings.epochs) > 0.0


class Contest(NamedTuple):
    """Evaluators of candidates, with the rules of the comparison.

    evaluators: list of Evaluator; free: names of open parameters; patience: epochs without a better one until a
    candidate is stopped, 0 for never; progress: as in fit; budget: a model_selection Budget.
    """

    evaluators: list
    free: set
    patience: int
    progress: object
    budget: object


def choose(estimator, ratings, settings, device, judged, progress):
    """Return the Choice for an estimator's settings.Settings and Ratings.

    Settings are unchanged if ratings are plenty or all options are set. Open ones are chosen on a sample of users; the
    number of epochs is then at least the usual one. judged: whether the user's own ratings judge every epoch, by which
    early stopping then works.
    """
    free, n = left_open(estimator), len(ratings)
    doubtful = bool(free) and not usual_suits(estimator, ratings, settings, device)
    stopping = settings.patience > 0 and not judged
    if not (doubtful or stopping):
        return Choice(settings, [], _usual(estimator, ratings, settings, free))
    if n < RULES.least_ratings:
        return _of_too_few(estimator, settings, n)
    sample = draw_sample(ratings, settings.seed, RULES.choice_sample) if doubtful else ratings
    with thread_count.limited(1 if estimator.deterministic or len(sample) <= RULES.one_thread else None):
        contest = _contest(estimator, sample, settings, device, stopping, progress)
        chosen = _contested(estimator, settings, contest) if doubtful else _stopped(settings, contest)
        if len(sample) < n and chosen.settings.epochs:  # the fewer ratings of an item, the sooner it is overfitted
            epochs = max(chosen.settings.epochs, settings.epochs)
            chosen = chosen._replace(settings=chosen.settings._replace(epochs=epochs))
        if contest.budget.is_spent:
            chosen = chosen._replace(why=f"{chosen.why}; more would have taken too long")
    return chosen if judged else chosen._replace(settings=chosen.settings._replace(patience=0))


def _contest(estimator, ratings, settings, device, stopping, progress):
    """Return the Contest of an estimator on parts of its Ratings."""
    stopping_share = 0.05  # default fraction of the ratings that early stopping holds out
    progress("choosing", 0, None, {})
    share = (estimator.validation_fraction or stopping_share) if stopping else None
    options = settings.seed, device, settings.n_neighbors
    evaluators = [Evaluator(estimator, *fold, *options) for fold in folds(ratings, settings.seed, share)]
    free = left_open(estimator)
    patience = settings.patience if stopping else RULES.choice_patience if "n_epochs" in free else 0
    training = settings._replace(n_factors=USUAL_FACTORS, n_neighbors=USUAL_NEIGHBORS)
    budget = Budget.of_trainings(RULES.choice_epochs * work_of_epoch(evaluators, training))
    return Contest(evaluators, free, patience, progress, budget)


def _usual(estimator, ratings, settings, free):
    """Return the reason why nothing is tried."""
    if not free:
        own = estimator.rates == "adaptive" and settings.solver == "sgd"
        return "named" if own else "named, or usual for its rates and solver"
    level = density(len(ratings), ratings.shape)
    return f"usual for plenty of ratings ({level:.0f} or more a user and item)"


def _of_too_few(estimator, settings, n):
    """Return the Choice if there are too few ratings for a hold-out."""
    why = f"{n} ratings are too few to try anything on"
    return Choice(settings if wants_factors(estimator) else as_biases(settings), [], why)


def as_biases(settings):
    """Return the settings of a model of damped biases alone."""
    return settings._replace(n_factors=1, n_neighbors=0, epochs=0)


def _stopped(settings, contest):
    """Return the Choice of early stopping: the best number of epochs."""
    trial = _try(settings, contest._replace(budget=None))  # early stopping is requested, so it has no budget
    held_out, epochs = len(trial.errors), len(trial.curve)
    why = f"best of {epochs} epochs on {held_out:,} ratings held out, then trained on all"
    return Choice(trial.candidate, [trial.row], why)


def _contested(estimator, settings, contest):
    """Return the Choice among candidates and damped biases."""
    damping, trend, plain = settings.damping, settings.trend, None
    if settings.biases:
        damping, trend, plain = best_biases(contest.evaluators)
    most = settings.epochs if contest.patience else min(settings.epochs, RULES.most_choice_epochs)
    epochs = RULES.choice_epochs if "n_epochs" in contest.free else most
    first = settings._replace(damping=damping, trend=trend, held=True, epochs=epochs)
    trials = _try_all(decays(first, contest.free), contest, [])
    leader = best_of(trials).candidate._replace(epochs=epochs)
    trials = _try_all(sizes(leader, contest.free, contest.evaluators[0].shape), contest, trials)
    best = best_of(trials)
    if settings.biases and -best.mean < rms(plain):
        trials = _try_all([best.candidate._replace(held=False, epochs=epochs)], contest, trials)
    best, rows = best_of(trials), [trial.row for trial in trials]
    chosen = best.candidate if contest.patience else best.candidate._replace(epochs=settings.epochs)
    if plain is None or wants_factors(estimator):
        return Choice(chosen, rows, _why(rows, best.errors))
    rows.insert(0, biases_row(damping, trend, plain))
    share = share_of(best.errors, plain, len(trials))
    if share:
        why = _why(rows, blended(best.errors, plain, share), share)
        return Choice(chosen._replace(share=share), rows, why)
    why = f"of {len(rows)} candidates none predicted {len(plain):,} ratings held out surely better"
    return Choice(as_biases(first), rows, why)


def _try_all(candidates, contest, trials):
    """Return `trials` and those of further candidates, within the budget.

    Each candidate is stopped when it lags behind the best one before it.
    """
    trials = list(trials)
    for candidate in candidates:
        if trials and contest.budget.is_spent:
            break
        trials.append(_try(candidate, contest, best_of(trials).curve if trials else None))
    return trials


def _why(rows, errors, share=1.0):
    """Return the reason for a candidate and its share."""
    part = "" if share == 1.0 else f", {share:.0%} of its addition to damped biases"
    return f"best of {len(rows)} candidates on {len(errors):,} ratings held out{part}, RMSE {rms(errors):.4f}"


def _try(settings, contest, leader=None):
    """Return the RatingTrial of a candidate; leader: see EarlyStopping."""
    facts = {"F": settings.n_factors, "K": settings.n_neighbors, "lambda": settings.regularization}
    return train_candidate(
        contest.evaluators,
        settings,
        EarlyStopping(contest.patience, leader=leader, margin=-RULES.least_gain, budget=contest.budget),
        lambda epoch, rmse: contest.progress("choosing", epoch, settings.epochs, {**facts, "rmse": rmse}),
    )


def biases_row(damping, trend, errors):
    """Return damped biases as a dict like `row`."""
    nothing = {"n_factors": 0, "n_neighbors": 0, "regularization": None, "n_epochs": 0, "biases": "held"}
    return {**nothing, "damping": list(damping), "trend": list(trend), "rmse": rms(errors), "curve": []}
