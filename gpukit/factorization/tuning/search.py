"""`tune`: all settings on the first fold, the best ones on the others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.base import check_integer, check_real
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.evaluation.splits import fold_numbers
from gpukit.factorization.baseline import USUAL
from gpukit.factorization.choose.evaluator import ONE_THREAD, Evaluator, Outcome, Stopping, rms, train_candidate
from gpukit.factorization.estimator import LSHMF, MatrixFactorization, check_shape
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.factorization.solvers.rates import default_epochs, defaults
from gpukit.factorization.tuning import grid as grids
from gpukit.factorization.tuning.grid import OPEN
from gpukit.model_selection.search import finalists
from gpukit.model_selection.trial import Trial, simplest_of
from gpukit.ratings.clicks import are_clicks
from gpukit.ratings.pairs import ratings_of
from gpukit.runtime import thread_count
from gpukit.timing import work_clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpukit.factorization.estimator import MatrixFactorization
    from gpukit.ratings.table import By
    from gpukit.typing import Progress, RatingsLike


PATIENCE = 5  # epochs without a lower RMSE that end a training
# (maximum number of ratings, folds, judged folds). RMSE on a tenth is close to that on all ratings.
FOLDS = ((200_000, 5, 5), (2_000_000, 10, 5), (20_000_000, 10, 3), (float("inf"), 10, 2))
ALL_ON_ALL = 200_000  # ratings up to which trainings are so short that every setting runs on every fold
MARGIN, MOST = 0.01, 5  # relative RMSE margin of the settings that run on all folds; their maximum number
BUDGET = 900.0


def estimator_of(template, setting, epochs=None):
    """Return the unfitted estimator of a grid.Setting.

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
        self.device, self.threads = devices.resolve(template.device), 1 if len(train) <= ONE_THREAD else None
        self.evaluators = {}

    def evaluator(self, model, seed):
        """Return the choose.evaluator.Evaluator for the major side of an estimator."""
        if model.walk not in self.evaluators:
            way = PreparationOptions(model.walk, seed, model.deterministic, model.walk == LSHMF.walk)
            find = lambda orders, steps: model.find_neighbors(orders, steps, self.most)  # noqa: E731
            self.evaluators[model.walk] = Evaluator(self.train, self.test, way, self.device, find)
        return self.evaluators[model.walk]

    def evaluate(self, setting, epochs, leader=None, margin=0.0):
        """Return the Outcome of a Setting, without the errors of its predictions.

        epochs: the maximum. leader, margin: see Stopping.
        """
        with devices.reported(self.device, "Training"), thread_count.limited(self.threads):
            if setting == OPEN:
                return self.evaluate_open()
            model = estimator_of(self.template, setting, epochs)
            plan = model.check(len(self.train))
            evaluators = [self.evaluator(model, plan.seed)]
            return train_candidate(evaluators, plan, Stopping(PATIENCE, leader, margin))._replace(errors=None)

    def evaluate_open(self):
        """Return the Outcome of the estimator that chooses its own settings, as one epoch."""
        model = estimator_of(self.template, OPEN).set_params(feedback="explicit")  # a fold's ratings may be equal
        begun = work_clock()
        model.fit(self.train)
        row = {"epoch": 1, "rmse": model.evaluate(self.test)["rmse"], "seconds": work_clock() - begun}
        return Outcome(model.check(len(self.train))._replace(epochs=1), [row], None)

    def means_rmse(self):
        """Return the RMSE of the bias-only predictor (baseline.py) on the judging ratings."""
        evaluator = next(iter(self.evaluators.values()), None) or self.evaluator(self.template, 0)
        return rms(evaluator.biased(USUAL))


class Entry(NamedTuple):
    """A grid.Setting and its choose.evaluator.Outcome on each fold so far."""

    setting: object
    outcomes: list

    @property
    def errors(self):
        """(folds, epochs) RMSE, up to the shortest curve."""
        length = min(len(outcome.curve) for outcome in self.outcomes)
        return np.array([[row["rmse"] for row in outcome.curve[:length]] for outcome in self.outcomes])

    @property
    def epochs(self):
        """Number of epochs with the lowest mean RMSE.

        None for OPEN, where the estimator chooses it.
        """
        return None if self.setting == OPEN else int(np.argmin(self.errors.mean(axis=0))) + 1

    @property
    def rmse(self):
        """Lowest mean RMSE over the folds."""
        return float(self.errors.mean(axis=0).min())

    @property
    def spread(self):
        """Standard deviation over the folds at that epoch.

        None for one fold, or if one diverged.
        """
        column = self.errors[:, (self.epochs or 1) - 1]
        return float(column.std(ddof=1)) if len(column) > 1 and np.isfinite(column).all() else None

    def row(self):
        """Return a dict for the table."""
        return {
            **self.setting._asdict(),
            "n_epochs": self.epochs,
            "rmse": self.rmse,
            "spread": self.spread,
            "folds": len(self.outcomes),
            "seconds": float(sum(outcome.curve[-1]["seconds"] for outcome in self.outcomes)),
            "curve": [float(error) for error in self.errors.mean(axis=0)],
        }

    def trial(self):
        """Return the model_selection Trial whose scores are RMSE by fold at that epoch, negated."""
        return Trial(self, -self.errors[:, (self.epochs or 1) - 1], {})


def ranked(entries):
    """Return the tried entries, by number of folds, then by RMSE."""
    tried = [entry for entry in entries if entry.outcomes]
    return sorted(tried, key=lambda entry: (-len(entry.outcomes), entry.rmse))


def simplest(entries, size):
    """Return the simplest Entry that the best is not better than, by more than a standard error over folds.

    Only entries on the largest number of folds are compared. size: sort key of a setting.
    """
    order = ranked(entries)
    compared = [entry for entry in order if len(entry.outcomes) == len(order[0].outcomes) and np.isfinite(entry.rmse)]
    compared.sort(key=lambda entry: size(entry.setting))
    return simplest_of([entry.trial() for entry in compared]).candidate


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
        return estimator_of(self.template, grids.Setting(**chosen), epochs)


def tune(
    ratings: RatingsLike,
    grid: Mapping[str, Sequence[float]] | None = None,
    *,
    cv: int | None = None,
    repeats: int = 1,
    epochs: int | None = None,
    budget: float | None = BUDGET,
    exhaustive: bool | None = None,
    by: By = "random",
    estimator: LSHMF | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Choose factors, neighbours, regularization and epochs by cross-validation.

    Parameters
    ----------
    ratings : as in fit
    grid : {name: values} with n_factors, n_neighbors (0: none), regularization, learning_rate; other parameters are the
        estimator's; None: grid.default_grid
    cv : folds; None for 5, or for more than 200,000 ratings 10 folds, 5, 3 or 2 of them judged (FOLDS)
    repeats : repetitions with other folds
    epochs : the maximum; the number is chosen by the averaged curve
    budget : seconds after which no training begins (None: no limit)
    exhaustive : every setting on every fold; None: up to ALL_ON_ALL ratings, otherwise only settings within MARGIN of
        the best on the first fold continue
    by : 'random' folds, or 'time' or 'user-time', where each fold is later than its training ratings (fold_by_time)
    estimator : an LSHMF with the other parameters; its random_state draws the folds
    progress : called as progress(stage, done, total, info)

    Returns Tuned. Raises ParameterError, DataError, DeviceError, DeviceMemoryError, GpukitError (every setting
    diverged).
    """
    search = Search(ratings, grid, Rules(cv, repeats, epochs, budget, exhaustive, by), estimator, progress)
    search.run()
    return search.found()


class Rules(NamedTuple):
    """Rules of a search: see tune."""

    cv: int | None = None
    repeats: int = 1
    epochs: int | None = None
    budget: float | None = BUDGET
    exhaustive: bool | None = None
    by: str = "random"
    judges: int | None = None  # folds that judge in each repetition


class Search:
    """A search in progress.

    `found` can be called at any time after the first training, also after an interrupt.
    """

    def __init__(self, ratings, grid, rules, estimator, progress=None):
        self.ratings = ratings_of(ratings, repeats=False)
        check_shape(self.ratings)
        check_differences(self.ratings)
        self.template, self.progress = LSHMF() if estimator is None else estimator, progress or (lambda *news: None)
        if not isinstance(self.template, LSHMF):
            raise ParameterError(f"estimator must be an LSHMF; got {type(self.template).__name__}. Neighbours: grid.")
        self.rules = checked_rules(rules, self.ratings)
        self.blocks = None if rules.by == "random" else blocks_in_time(self.ratings, self.rules)
        self.seed = self.template.check(len(self.ratings)).seed
        given = grids.default_grid(self.ratings) if grid is None else grids.checked(grid)
        settings = grids.settings_of(given, self.template, self.ratings)
        if grid is None:
            settings[1:1] = grids.open_settings(self.template, self.ratings)
        self.entries, self.means, self.stopped = [Entry(setting, []) for setting in settings], [], False
        self.finer = grids.FINER if grid is None else ()

    def run(self):
        """Run all rounds within the budget."""
        self.begun, going = time.monotonic(), self.entries
        for number, (train, test) in enumerate(self.folds()):
            fold = Fold(train, test, self.template, max(entry.setting.n_neighbors or 0 for entry in going))
            whole = self.round(number, fold, going)
            if number == 0:
                whole = whole and all(self.round(number, fold, self.refine(step)) for step in self.finer)
                going = self.contenders()
            self.stopped |= not whole
            self.means.append(fold.means_rmse())
            if number and not whole:
                break
        complete = max(1, min(len(entry.outcomes) for entry in going))
        for entry in going:
            del entry.outcomes[complete:]  # so that all are judged on the same folds

    def folds(self):
        """Yield (train, test) of every fold of every repetition."""
        cv, by = self.rules.cv, self.rules.by  # only the first few folds judge
        for repeat in range(self.rules.repeats):
            fold = fold_numbers(len(self.ratings), cv, self.seed + repeat) if by == "random" else self.blocks
            for number in range(self.rules.judges):
                yield (
                    self.ratings.parted(fold != number) if by == "random" else fold_by_time(self.ratings, fold, number)
                )

    def round(self, number, fold, going):
        """Train each of the Entries in `going` on a Fold.

        Returns False if the time ran out.
        """
        stage = f"fold {number + 1} of {self.rules.judges * self.rules.repeats}"
        for done, entry in enumerate(going):
            self.progress(stage, done, len(going), {"rmse": entry.rmse if entry.outcomes else None})
            if self.over(number):
                return False
            entry.outcomes.append(fold.evaluate(entry.setting, self.rules.epochs, self.leader(number), MARGIN))
        self.progress(stage, len(going), len(going), {"rmse": ranked(self.entries)[0].rmse})
        return True

    def refine(self, step):
        """Add and return new Entries around the best one so far."""
        best = next(entry.setting for entry in ranked(self.entries) if entry.setting != grids.OPEN)
        usual = defaults(self.template.rates, len(self.ratings))["learning_rate"]
        there = {entry.setting for entry in self.entries}
        added = [Entry(one, []) for one in grids.around(best, step, usual, self.ratings.shape) if one not in there]
        self.entries = self.entries + added
        return added

    def over(self, number):
        """Return True if the time of this round is over.

        One training is always run.
        """
        first_share = 0.5  # share of the budget for the first fold
        if self.rules.budget is None or not any(entry.outcomes for entry in self.entries):
            return False
        share = first_share if number == 0 else 1.0
        return time.monotonic() - self.begun > share * self.rules.budget

    def leader(self, number):
        """Return the best Outcome on the first fold, which further trainings must come close to.

        None if all trainings run to their end.
        """
        if self.rules.exhaustive or number:
            return None
        return min(
            (entry.outcomes[0] for entry in self.entries if entry.outcomes), key=lambda one: one.rmse, default=None
        )

    def contenders(self):
        """Return the Entries that continue on the other folds."""
        if self.rules.exhaustive:
            return [entry for entry in self.entries if entry.outcomes]
        order = ranked(self.entries)
        return [order[at] for at in finalists([entry.rmse for entry in order], 1.0 + MARGIN, MOST)]

    def found(self):
        """Return the Tuned so far.

        Raises DataError before the end of the first training, GpukitError if all diverged.
        """
        order = ranked(self.entries)
        if not order:
            raise DataError("Nothing has been tried yet.")
        best = order[0]
        if np.isinf(best.rmse):
            raise GpukitError("Every setting that was tried diverged. Try smaller values of learning_rate.")
        picks = (best, simplest(order, lambda setting: grids.size(setting, self.ratings)))
        chosen = ({**entry.setting._asdict(), "n_epochs": entry.epochs} for entry in picks)
        spread = float(np.std(self.means, ddof=1)) if len(self.means) > 1 else None
        means = {"rmse": float(np.mean(self.means)) if self.means else None, "spread": spread}
        table = [entry.row() for entry in order]
        untried = len(self.entries) - len(order)
        return Tuned(*chosen, table, means, len(best.outcomes), untried, self.stopped, self.template)


def check_differences(ratings):
    """Raise DataError if all ratings are equal."""
    if are_clicks(ratings):
        raise DataError(
            f"All {len(ratings):,} ratings are {ratings.values[0]:g}: every setting predicts just that, so there is "
            "nothing to tune. If they are clicks, LSHMF (gpukit train-lshmf) chooses the settings for them by itself."
        )


def blocks_in_time(ratings, rules):
    """Return (n,) int64: cv + 1 blocks of about equal size by time.

    Blocks are of all ratings or of each user's, from the latest, 0, to the earliest.
    """
    if rules.repeats > 1:
        raise ParameterError(f"repeats={rules.repeats} deals anew at random, which folds by {rules.by!r} do not.")
    ranks, sizes = ratings.ranks_in_time(rules.by)
    return rules.cv - ranks * (rules.cv + 1) // sizes


def fold_by_time(ratings, blocks, number):
    """Return (train, test): a block to judge by and all earlier ones.

    number 0: the latest block.
    """
    return ratings.take(blocks > number), ratings.take(blocks == number)


def checked_rules(rules, ratings):
    """Return Rules with defaults in place of None.

    Raises ParameterError for invalid values.
    """
    most_folds = 255
    n = len(ratings)
    cv, judges = next(numbers for most, *numbers in FOLDS if n <= most) if rules.cv is None else (rules.cv, rules.cv)
    check_integer("cv", cv, 2, most_folds)
    if cv > n:
        raise ParameterError(f"{n:,} ratings cannot be dealt into {cv} folds (cv): use {n} or fewer.")
    epochs = 2 * default_epochs(n) if rules.epochs is None else rules.epochs
    return Rules(
        cv,
        check_integer("repeats", rules.repeats, 1),
        check_integer("epochs", epochs, 1),
        None if rules.budget is None else check_real("budget", rules.budget, 0.0, strict=True),
        n <= ALL_ON_ALL if rules.exhaustive is None else bool(rules.exhaustive),
        rules.by,
        judges,
    )
