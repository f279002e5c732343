"""Hyperparameters of a factorization by cross-validation on the training ratings.

    from gpukit.factorization.tuning import tune
    found = tune(ratings)                  a Tuned: .best, .simplest, .table
    model = found.estimator().fit(ratings)

All settings are trained on the first fold, the best ones on the others. Settings share the order of a fold's ratings,
its history, the preparations for both major sides, and the neighbours of the largest K, which are cut to smaller ones.
Each training begins at its own start: with a warm start its number of epochs would not hold for a training from the
beginning.

Deterministic: folds and settings; RMSE if training is.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.base import check_integer, check_real
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.evaluation.splits import fold_numbers
from gpukit.factorization.choose import RatingEvaluator, is_doubtful, rms, train_candidate
from gpukit.factorization.constants import RULES, USUAL
from gpukit.factorization.estimator import LSHMF, MatrixFactorization
from gpukit.factorization.settings import MOST_FACTORS, value_or_default
from gpukit.factorization.solvers.rates import default_epochs, defaults
from gpukit.model_selection.search import Search
from gpukit.model_selection.trial import EarlyStopping, TimeBudget, Trial, finalists, round_digits, simplest_of
from gpukit.neighbors.estimator import MOST_NEIGHBORS
from gpukit.ratings.adopt import ratings_of
from gpukit.ratings.check import are_clicks, check_shape
from gpukit.runtime import thread_count
from gpukit.timing import work_clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpukit.ratings.table import By
    from gpukit.typing import Progress, RatingsLike

# (maximum number of ratings, folds, judged folds). RMSE on a tenth is close to that on all ratings.
FOLDS = ((RULES.few_ratings, 5, 5), (2_000_000, 10, 5), (20_000_000, 10, 3), (float("inf"), 10, 2))
TWICE = 2 * RULES.grid_factors[-1]  # factors to try if the largest number is best


class Setting(NamedTuple):
    """Parameters to try, by the estimators' names; learning_rate None: default of the rates."""

    n_factors: int
    n_neighbors: int
    regularization: float
    learning_rate: float | None = None


OPEN = Setting(None, None, None)  # the estimator chooses its settings (factorization.choose)
CHECKS = {
    "n_factors": lambda name, value: check_integer(name, value, 1, MOST_FACTORS),
    "n_neighbors": lambda name, value: check_integer(name, value, 0, MOST_NEIGHBORS),
    "regularization": lambda name, value: check_real(name, value, 0.0),
    "learning_rate": lambda name, value: check_real(name, value, 0.0, strict=True),
}


def estimator_of(template, setting, epochs=None):
    """Return the unfitted estimator of a Setting.

    template: an LSHMF with the other parameters.
    """
    kind = MatrixFactorization if setting.n_neighbors == 0 else LSHMF
    names = kind().get_params()
    chosen = {**template.get_params(), **setting._asdict(), "n_epochs": epochs}
    return kind(**{name: value for name, value in chosen.items() if name in names})


class Fold:
    """Training and judging ratings of one fold on a device.

    train, test: Ratings of the same rows; template: an LSHMF; most: the largest K of the settings, whose neighbours all
    settings share. Preparations exist for either major side.
    """

    def __init__(self, train, test, template, most):
        check_shape(train)
        if not len(test):
            raise DataError("a fold has no ratings to judge by: use fewer folds (cv).")
        self.train, self.test, self.template, self.most = train, test, template, most
        self.device, self.threads = devices.resolve(template.device), 1 if len(train) <= RULES.few_ratings else None
        self.evaluators = {}

    def evaluator(self, model, seed):
        """Return the choose.RatingEvaluator for the major side of an estimator."""
        if model.walk not in self.evaluators:
            most = self.most if model.walk == LSHMF.walk else 0
            self.evaluators[model.walk] = RatingEvaluator(model, self.train, self.test, seed, self.device, most)
        return self.evaluators[model.walk]

    def evaluate(self, setting, epochs, leader=None, margin=0.0):
        """Return the curve of a Setting, a list of {'epoch', 'seconds', 'rmse'}.

        epochs: the maximum. leader, margin: see EarlyStopping.
        """
        with devices.translate_memory_errors(self.device, "Training"), thread_count.limit_threads(self.threads):
            if setting == OPEN:
                return self.evaluate_open()
            model = estimator_of(self.template, setting, epochs)
            plan = model.check(len(self.train))
            stopping = EarlyStopping(RULES.tuning_patience, leader=leader, margin=margin)
            return train_candidate([self.evaluator(model, plan.seed)], plan, stopping).row["curve"]

    def evaluate_open(self):
        """Return the curve of the estimator that chooses its own settings, as one epoch."""
        model = estimator_of(self.template, OPEN).set_params(feedback="explicit")  # a fold's ratings may be equal
        start = work_clock()
        model.fit(self.train)
        return [{"epoch": 1, "rmse": model.evaluate(self.test)["rmse"], "seconds": work_clock() - start}]

    def means_rmse(self):
        """Return the RMSE of the bias-only predictor on the judging ratings."""
        evaluator = next(iter(self.evaluators.values()), None) or self.evaluator(self.template, 0)
        return rms(evaluator.biased(USUAL))


def summarize(setting, curves):
    """Return the Trial of a Setting by its curve on each fold so far, see Fold.evaluate.

    Scores are RMSE by fold, negated, at the epoch where the mean up to the shortest curve is lowest. The number of
    epochs is None for OPEN, where the estimator chooses it; spread is None for one fold, or if one diverged.
    """
    length = min(map(len, curves))
    errors = np.array([[row["rmse"] for row in curve[:length]] for curve in curves])
    means = errors.mean(axis=0)
    best = int(np.argmin(means))
    has_spread = len(errors) > 1 and np.isfinite(errors[:, best]).all()
    row = {
        **setting._asdict(),
        "n_epochs": None if setting == OPEN else best + 1,
        "rmse": float(means[best]),
        "spread": float(errors[:, best].std(ddof=1)) if has_spread else None,
        "folds": len(errors),
        "seconds": float(sum(curve[-1]["seconds"] for curve in curves)),
        "curve": means.tolist(),
    }
    return Trial(setting, -errors[:, best], row)


def rank_candidates(trials):
    """Return Trials by number of folds, then by RMSE."""
    return sorted(trials, key=lambda trial: (-trial.row["folds"], trial.row["rmse"]))


def simplest(trials, size):
    """Return the simplest Trial that the best is not better than, by more than a standard error over folds.

    Only those on the largest number of folds are compared. size: sort key of a setting.
    """
    most = max(trial.row["folds"] for trial in trials)
    compared = [trial for trial in trials if trial.row["folds"] == most and np.isfinite(trial.mean)]
    return simplest_of(sorted(compared, key=lambda trial: size(trial.candidate)))


class Tuned(NamedTuple):
    """Result of `tune`.

    best, simplest: parameters for the estimators (n_factors, n_neighbors, regularization, learning_rate, n_epochs) with
    the lowest mean RMSE, and of the simplest model within one standard error of it; all None if the estimator's own
    choice is best. table: a dict a setting, the best first: these parameters, rmse (mean over the folds at that epoch),
    spread (standard deviation, None for one fold), folds, seconds, curve (mean RMSE by epoch). means: {'rmse',
    'spread'} of user and item means on the same folds. folds: number of folds of the best; untried: settings that the
    budget did not reach; stopped: whether it ended the search. template: the LSHMF with the other parameters.
    """

    best: dict[str, Any]
    simplest: dict[str, Any]
    table: list[dict[str, Any]]
    means: dict[str, float]
    folds: int
    untried: int
    stopped: bool
    template: object

    def estimator(self, parameters: Mapping[str, Any] | None = None) -> LSHMF | MatrixFactorization:
        """Return the unfitted LSHMF or MatrixFactorization of parameters.

        parameters: best, simplest; None: best.
        """
        chosen = dict(self.best if parameters is None else parameters)
        epochs = chosen.pop("n_epochs")
        return estimator_of(self.template, Setting(**chosen), epochs)


def tune(
    ratings: RatingsLike,
    grid: Mapping[str, Sequence[float]] | None = None,
    *,
    cv: int | None = None,
    epochs: int | None = None,
    budget: float | None = RULES.tuning_seconds,
    by: By = "random",
    estimator: LSHMF | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Choose factors, neighbours, regularization and epochs by cross-validation.

    Parameters
    ----------
    ratings : as in fit
    grid : {name: values} with n_factors, n_neighbors (0: none), regularization, learning_rate; other parameters are the
        estimator's; None: default_grid
    cv : folds; None for 5, or for more than 200,000 ratings 10 folds, 5, 3 or 2 of them judged (FOLDS)
    epochs : the maximum; the number is chosen by the averaged curve
    budget : seconds after which no training begins (None: no limit)
    by : 'random' folds, or 'time' or 'user-time', where each fold is later than its training ratings
    estimator : an LSHMF with the other parameters; its random_state draws the folds
    progress : called as progress(stage, done, total, info)

    Returns Tuned. Raises ParameterError, DataError, DeviceError, DeviceMemoryError, GpukitError (every setting
    diverged).
    """
    search = Tuning(ratings, grid, estimator, progress, cv=cv, epochs=epochs, budget=budget, by=by)
    search.run_rounds()
    return search.found()


class Tuning(Search):
    """A Search over settings on folds, one fold after the other, within a time.

    `found` can be called at any time after the first training, also after an interrupt.
    """

    def __init__(
        self,
        ratings,
        grid=None,
        estimator=None,
        progress=None,
        *,
        cv=None,
        epochs=None,
        budget=RULES.tuning_seconds,
        by="random",
    ):
        """Arguments as tune."""
        self.ratings = ratings_of(ratings, repeats=False)
        check_shape(self.ratings)
        check_differences(self.ratings)
        self.template, self.progress = LSHMF() if estimator is None else estimator, progress or (lambda *news: None)
        if not isinstance(self.template, LSHMF):
            raise ParameterError(f"estimator must be an LSHMF; got {type(self.template).__name__}. Neighbours: grid.")
        n = len(self.ratings)
        self.n_folds, self.n_judged = count_folds(cv, n)
        self.epochs = check_integer("epochs", 2 * default_epochs(n) if epochs is None else epochs, 1)
        self.seconds = np.inf if budget is None else check_real("budget", budget, 0.0, strict=True)
        self.blocks = None if by == "random" else blocks_in_time(self.ratings, self.n_folds, by)
        self.seed = self.template.check(n).seed
        values = default_grid(self.ratings) if grid is None else check_grid(grid)
        self.settings = settings_of(values, self.template, self.ratings)
        if grid is None:
            self.settings[1:1] = open_settings(self.template, self.ratings)
        self.remaining, self.means, self.stopped = self.settings, [], False
        self.finer = RULES.finer_steps if grid is None else ()
        self.is_exhaustive = n <= RULES.few_ratings  # every setting on every fold
        super().__init__([functools.partial(self.evaluate, number) for number in range(self.n_judged)], summarize)

    @property
    def tried(self):
        """The Trials of all settings that were tried, on all their folds so far, the best first."""
        return rank_candidates(summarize(setting, curves) for setting, curves in self.results.items() if curves)

    def run_rounds(self):
        """Run all rounds within the budget, half of it on the first fold."""
        self.budget = TimeBudget(self.seconds / 2)
        for number, parts in enumerate(self.folds()):
            self.fold = Fold(*parts, self.template, max(setting.n_neighbors or 0 for setting in self.remaining))
            is_complete = self.run_all(self.remaining, number + 1)
            if number == 0:
                is_complete = is_complete and all(self.run_all(self.refine(step)) for step in self.finer)
                self.remaining, self.budget.limit = self.choose_finalists(), self.seconds
            self.show(number, self.tried[0].row["rmse"])
            self.stopped |= not is_complete
            self.means.append(self.fold.means_rmse())
            if number and not is_complete:
                break
        complete = max(1, min(len(self.results[setting]) for setting in self.remaining))
        for setting in self.remaining:
            del self.results[setting][complete:]  # so that all are judged on the same folds

    def show(self, number, rmse):
        """Report how many settings have been trained on a fold."""
        done = sum(len(self.results.get(setting, ())) > number for setting in self.remaining)
        self.progress(f"fold {number + 1} of {len(self.evaluators)}", done, len(self.remaining), {"rmse": rmse})

    def folds(self):
        """Yield (train, test) of every fold that judges.

        Folds by time are judged from the latest on, and trained on all earlier ones.
        """
        numbers = fold_numbers(len(self.ratings), self.n_folds, self.seed) if self.blocks is None else self.blocks
        for fold in range(self.n_judged):
            is_trained = numbers != fold if self.blocks is None else numbers > fold
            yield self.ratings.take(is_trained), self.ratings.take(numbers == fold)

    def evaluate(self, number, setting):
        """Return the curve of a setting on the current fold, whose number is given.

        On the first fold it ends when it lags behind the best one so far, unless every setting runs on every fold.
        """
        curves, leader = self.results[setting], None
        self.show(number, summarize(setting, curves).row["rmse"] if curves else None)
        if self.trials and not number and not self.is_exhaustive:
            leader = min((trial.row["curve"] for trial in self.trials), key=min)
        return self.fold.evaluate(setting, self.epochs, leader, RULES.finalist_margin)

    def refine(self, step):
        """Return new settings around the best one so far, which are added to those to try."""
        best = next(trial.candidate for trial in self.tried if trial.candidate != OPEN)
        usual = defaults(self.template.rates, len(self.ratings))["learning_rate"]
        added = [one for one in settings_around(best, step, usual, self.ratings.shape) if one not in self.settings]
        self.remaining = self.settings = self.settings + added
        return added

    def choose_finalists(self):
        """Return the settings that continue on the other folds."""
        tried = self.tried
        if not self.is_exhaustive:
            limits = 1.0 + RULES.finalist_margin, RULES.most_finalists
            tried = [tried[index] for index in finalists([trial.row["rmse"] for trial in tried], *limits)]
        return [trial.candidate for trial in tried]

    def found(self):
        """Return the Tuned so far.

        Raises DataError before the end of the first training, GpukitError if all diverged.
        """
        tried = self.tried
        if not tried:
            raise DataError("Nothing has been tried yet.")
        if np.isinf(tried[0].mean):
            raise GpukitError("Every setting that was tried diverged. Try smaller values of learning_rate.")
        chosen = tried[0], simplest(tried, lambda setting: size(setting, self.ratings))
        parameters = ({name: trial.row[name] for name in (*Setting._fields, "n_epochs")} for trial in chosen)
        spread = float(np.std(self.means, ddof=1)) if len(self.means) > 1 else None
        means = {"rmse": float(np.mean(self.means)) if self.means else None, "spread": spread}
        table, untried = [trial.row for trial in tried], len(self.settings) - len(tried)
        return Tuned(*parameters, table, means, tried[0].row["folds"], untried, self.stopped, self.template)


def check_differences(ratings):
    """Raise DataError if all ratings are equal."""
    if are_clicks(ratings):
        raise DataError(
            f"All {len(ratings):,} ratings are {ratings.values[0]:g}: every setting predicts just that, so there is "
            "nothing to tune. If they are clicks, LSHMF (gpukit train-lshmf) chooses the settings for them by itself."
        )


def blocks_in_time(ratings, n_folds, by):
    """Return (n,) int64: n_folds + 1 blocks of about equal size by time.

    Blocks are of all ratings or of each user's, from the latest, 0, to the earliest.
    """
    ranks, sizes = ratings.ranks_in_time(by)
    return n_folds - ranks * (n_folds + 1) // sizes


def count_folds(cv, n):
    """Return (number of folds, of those that are judged) for n ratings; cv: the user's number, or None.

    Raises ParameterError for an invalid number.
    """
    most_folds = 255
    folds, judged = next(numbers for most, *numbers in FOLDS if n <= most) if cv is None else (cv, cv)
    check_integer("cv", folds, 2, most_folds)
    if folds > n:
        raise ParameterError(f"{n:,} ratings cannot be dealt into {folds} folds (cv): use {n} or fewer.")
    return folds, judged


# The grid


def check_grid(grid, labels=None):
    """Return {name: [values]} of a grid, each value once.

    labels: {name: its name in messages}. Raises ParameterError for an unknown name, for no values and for one out of
    bounds.
    """
    if not isinstance(grid, dict) or not grid:
        raise ParameterError(f"grid must be a dict of {', '.join(CHECKS)}, each with a list of values; got {grid!r}.")
    result = {}
    for name, values in grid.items():
        if name not in CHECKS:
            raise ParameterError(f"grid has no {name!r}; what can be tuned is {', '.join(CHECKS)}.")
        values = list(values) if np.iterable(values) and not isinstance(values, str) else [values]
        called = (labels or {}).get(name, name)
        if not values:
            raise ParameterError(f"grid: {called} has no values. Give at least one, or leave it out.")
        result[name] = list(dict.fromkeys(CHECKS[name](called, value) for value in values))
    return result


def settings_of(grid, estimator, ratings):
    """Return the list of Settings of a checked grid.

    The first is nearest to the estimator's own parameters; the others are sorted by size. Parameters that are not in
    the grid are the estimator's. n_factors is limited by the numbers of users and items, n_neighbors by the number of
    other items, with a UserWarning. ratings: Ratings. Raises ParameterError for too many settings.
    """
    most_settings = 10_000
    default = setting_of_estimator(estimator, ratings)
    axes = {name: grid.get(name, [getattr(default, name)]) for name in Setting._fields}
    if np.prod([float(len(values)) for values in axes.values()]) > most_settings:
        raise ParameterError(f"the grid has more than {most_settings:,} settings; name fewer values.")
    axes.update({name: clamp_values(name, axes[name], ratings.shape) for name in ("n_factors", "n_neighbors")})
    settings = [Setting(*values) for values in itertools.product(*axes.values())]
    settings.sort(key=lambda setting: size(setting, ratings))
    first = min(settings, key=lambda setting: distance(setting, default))
    return [first, *(setting for setting in settings if setting is not first)]


def clamp_values(name, values, shape):
    """Return distinct values of n_factors or n_neighbors, limited by shape (M, N)."""
    most = min(shape) if name == "n_factors" else shape[1] - 1
    if max(values) > most:
        what = f"{name}={max(values)} is more than {shape[0]:,} users and {shape[1]:,} items allow"
        warnings.warn(f"{what}: {most} is tried instead.", UserWarning, stacklevel=5)
    return list(dict.fromkeys(min(value, most) for value in values))


def setting_of_estimator(estimator, ratings):
    """Return the Setting of an LSHMF with defaults.

    Factors and neighbours are limited by the ratings' shape.
    """
    usual = defaults(estimator.rates, len(ratings))["regularization"]
    factors = min(value_or_default(estimator.n_factors, RULES.usual_factors), *ratings.shape)
    neighbors = min(value_or_default(estimator.n_neighbors, RULES.usual_neighbors), ratings.shape[1] - 1)
    return Setting(factors, neighbors, value_or_default(estimator.regularization, usual), estimator.learning_rate)


def size(setting, ratings):
    """Return the sort key of a setting: its number of parameters, then its freedom.

    Simple settings come first, OPEN before all.
    """
    if setting == OPEN:
        return 0, 0.0, 0.0
    users, items = ratings.shape
    numbers = (users + items) * setting.n_factors + 2 * items * setting.n_neighbors
    return numbers, -setting.regularization, value_or_default(setting.learning_rate, 0.0)


def distance(one, other):
    """Return the distance of two settings, the sum of the log ratios.

    K is counted from 1.
    """
    pairs = zip(one[:3], other[:3], strict=True)
    return sum(abs(np.log((max(a, 1e-9) + (k == 1)) / (max(b, 1e-9) + (k == 1)))) for k, (a, b) in enumerate(pairs))


def open_settings(estimator, ratings):
    """Return [OPEN] if the estimator would choose settings itself, else [].

    It would if it sets nothing and the ratings need it.
    """
    values = (estimator.n_factors, estimator.n_neighbors, estimator.regularization, estimator.learning_rate)
    choosing = estimator.rates == "adaptive" and all(value is None for value in values)
    return [OPEN] if choosing and is_doubtful(len(ratings), ratings.shape) else []


def default_grid(ratings):
    """Return the grid that fits the density of Ratings.

    It has several numbers of factors, zero and some neighbours, and regularization around density_regularization.
    """
    steps = (0.4, 0.65, 1.0, 1.6, 2.5)  # regularization, relative to density_regularization
    users, items = ratings.shape
    middle = density_regularization(ratings)
    return {
        "n_factors": sorted({min(n, users, items) for n in RULES.grid_factors}),
        "n_neighbors": sorted({min(n, items - 1) for n in RULES.grid_neighbors}),
        "regularization": [round_digits(middle * step) for step in steps],
    }


def settings_around(best, step, usual_rate, shape):
    """Return the list of Settings around a best one.

    They have a regularization divided and multiplied by `step`, a smaller learning rate, and twice the factors if it
    has the most that were tried. usual_rate: the learning rate for None.
    """
    slower = 0.75  # factor of an additional learning rate to try
    rate = value_or_default(best.learning_rate, usual_rate)
    return [
        *(best._replace(regularization=round_digits(best.regularization * by)) for by in (1.0 / step, step)),
        best._replace(learning_rate=round_digits(slower * rate)),
        *([best._replace(n_factors=TWICE)] if 2 * best.n_factors == TWICE < min(shape) else []),
    ]


def density_regularization(ratings):
    """Return an approximate regularization by the ratings per user and item."""
    counts = [len(ratings) / max(1, np.unique(side).size) for side in (ratings.users, ratings.items)]
    mean = 2.0 / (1.0 / counts[0] + 1.0 / counts[1])  # harmonic: the side with fewer decides
    return float(np.clip(0.04 * (200.0 / mean) ** 0.4, 0.03, 1.0))
