"""`choose`: what is open of an estimator's settings, decided on a hold-out."""

from typing import NamedTuple

from gpukit.factorization.choose import candidates, rule
from gpukit.factorization.choose.budget import budget_of
from gpukit.factorization.choose.chosen import Choice
from gpukit.factorization.choose.damping import best_biases
from gpukit.factorization.choose.evaluator import ONE_THREAD, Evaluator, curve, rms
from gpukit.factorization.choose.folds import folds
from gpukit.factorization.choose.sample import usual_suits
from gpukit.factorization.choose.share import blended, share_of
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.runtime import thread_count

STOPPING_SHARE = 0.05  # of the ratings, by which early stopping judges unless told otherwise


class Contest(NamedTuple):
    """What candidates are tried on: Evaluators; names of open parameters; epochs without a better one until a candidate
    is given up, 0 for never; whether ratings are candidates.MANY, where trials are cut short; progress as fit's; the
    budget.Budget."""

    evaluators: list
    free: set
    patience: int
    many: bool
    progress: object
    budget: object


def choose(estimator, ratings, settings, device, judged, progress):
    """The Choice for an estimator's settings.Settings and Ratings: settings as they are where ratings are plenty or all
    is named. judged: whether ratings of the user's own judge every epoch, which early stopping then goes by."""
    free, n = rule.left_open(estimator), len(ratings)
    doubtful = bool(free) and not usual_suits(estimator, ratings, settings, device)
    stopping = settings.patience > 0 and not judged
    if not (doubtful or stopping):
        return Choice(settings, [], _usual(estimator, ratings, settings, free))
    if n < rule.LEAST:
        return _of_too_few(estimator, settings, n)
    with thread_count.limited(1 if estimator.deterministic or n <= ONE_THREAD else None):
        contest = _contest(estimator, ratings, settings, device, stopping, progress)
        chosen = _contested(estimator, settings, contest) if doubtful else _stopped(settings, contest)
        if contest.budget.is_spent:
            chosen = chosen._replace(why=f"{chosen.why}; more would have taken too long")
    return chosen if judged else chosen._replace(settings=chosen.settings._replace(patience=0))


def _contest(estimator, ratings, settings, device, stopping, progress):
    """The Contest of an estimator on parts of its Ratings."""
    progress("choosing", 0, None, {})
    way = PreparationOptions(estimator.walk, settings.seed, estimator.deterministic, settings.n_neighbors > 0)
    share = (estimator.validation_fraction or STOPPING_SHARE) if stopping else None

    def find(orders, steps):
        return estimator.find_neighbors(orders, steps, settings.n_neighbors)

    evaluators = [Evaluator(*fold, way, device, find) for fold in folds(ratings, settings.seed, share)]
    free = rule.left_open(estimator)
    patience = settings.patience if stopping else candidates.PATIENCE if "n_epochs" in free else 0
    many = len(ratings) >= candidates.MANY
    return Contest(evaluators, free, patience, many, progress, budget_of(len(ratings), many))


def _usual(estimator, ratings, settings, free):
    """Why nothing is tried."""
    if not free:
        own = estimator.rates == "adaptive" and settings.solver == "sgd"
        return "named" if own else "named, or usual for its rates and solver"
    density = rule.density(len(ratings), ratings.shape)
    return f"usual for plenty of ratings ({density:.0f} or more a user and item)"


def _of_too_few(estimator, settings, n):
    """The Choice where nothing can be held out."""
    why = f"{n} ratings are too few to try anything on"
    return Choice(settings if rule.wants_factors(estimator) else as_biases(settings), [], why)


def as_biases(settings):
    """The settings of a model that is damped biases and no more."""
    return settings._replace(n_factors=1, n_neighbors=0, epochs=0)


def _stopped(settings, contest):
    """The Choice that early stopping makes: the epochs that were best."""
    found = _tried(settings, contest._replace(budget=None))  # what is asked for, not what is tried
    held_out = len(found.errors)
    why = f"best of {len(found.curve)} epochs on {held_out:,} ratings held out, then trained on all"
    return Choice(found.settings, [row(found)], why)


def _contested(estimator, settings, contest):
    """The Choice among candidates and damped biases."""
    damping, trend, plain = settings.damping, settings.trend, None
    if settings.biases:
        damping, trend, plain = best_biases(contest.evaluators)
    most = settings.epochs if contest.patience else min(settings.epochs, candidates.LONGEST)
    epochs = candidates.EPOCHS if "n_epochs" in contest.free else most
    first = settings._replace(damping=damping, trend=trend, held=True, epochs=epochs)
    outcomes = _in_turn(candidates.decays(first, contest.free), contest, [])
    leader = min(outcomes, key=_rmse).settings._replace(epochs=epochs)
    outcomes = _in_turn(candidates.sizes(leader, contest.free, contest.evaluators[0].shape), contest, outcomes)
    leader = min(outcomes, key=_rmse)
    if settings.biases and (plain is None or leader.rmse < rms(plain)):
        outcomes = _in_turn([leader.settings._replace(held=False, epochs=epochs)], contest, outcomes)
    best, rows = min(outcomes, key=_rmse), [row(outcome) for outcome in outcomes]
    if not contest.patience:
        best = best._replace(settings=best.settings._replace(epochs=settings.epochs))
    if plain is None or rule.wants_factors(estimator):
        return Choice(best.settings, rows, _why(rows, best.errors))
    rows.insert(0, biases_row(damping, trend, plain))
    share = share_of(best.errors, plain, len(outcomes))
    if share:
        why = _why(rows, blended(best.errors, plain, share), share)
        return Choice(best.settings._replace(share=share), rows, why)
    why = f"of {len(rows)} candidates none predicted {len(plain):,} ratings held out surely better"
    return Choice(as_biases(first), rows, why)


def _in_turn(settings, contest, before):
    """The Outcomes before and those of further settings, until the budget is spent; of many ratings each is up against
    the best before it."""
    outcomes = list(before)
    for candidate in settings:
        if outcomes and contest.budget.is_spent:
            break
        outcomes.append(_tried(candidate, contest, min(outcomes, key=_rmse) if contest.many and outcomes else None))
    return outcomes


def _rmse(outcome):
    return outcome.rmse


def _why(rows, errors, share=1.0):
    """Why a candidate was chosen, and a share of it."""
    part = "" if share == 1.0 else f", {share:.0%} of what it adds to damped biases"
    return f"best of {len(rows)} candidates on {len(errors):,} ratings held out{part}, RMSE {rms(errors):.4f}"


def _tried(settings, contest, leader=None):
    """The Outcome of a candidate, which may be given up for that of a leader."""
    facts = {"F": settings.n_factors, "K": settings.n_neighbors, "lambda": settings.regularization}
    return curve(
        contest.evaluators,
        settings,
        contest.patience,
        lambda epoch, rmse: contest.progress("choosing", epoch, settings.epochs, {**facts, "rmse": rmse}),
        leader,
        contest.budget,
    )


def row(outcome):
    """A candidate as a dict for people."""
    settings = outcome.settings
    return {
        "n_factors": settings.n_factors,
        "n_neighbors": settings.n_neighbors,
        "regularization": settings.regularization,
        "n_epochs": settings.epochs,
        "biases": "none" if not settings.biases else "held" if settings.held else "learned",
        "rmse": outcome.rmse,
        "curve": outcome.curve,
    }


def biases_row(damping, trend, errors):
    """Damped biases as a dict like `row`."""
    nothing = {"n_factors": 0, "n_neighbors": 0, "regularization": None, "n_epochs": 0, "biases": "held"}
    return {**nothing, "damping": list(damping), "trend": list(trend), "rmse": rms(errors), "curve": []}
