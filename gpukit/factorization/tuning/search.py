"""`tune`: every setting on the first fold, those that come near the best on the others too."""

import time
from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.evaluation.splits import fold_numbers
from gpukit.factorization.estimator import LSHMF, check_shape
from gpukit.factorization.solvers.sgd.rates import default_epochs, defaults
from gpukit.factorization.tuning import grid as grids
from gpukit.factorization.tuning.entries import Entry, near_the_best, ranked, simplest
from gpukit.factorization.tuning.fold import Fold, estimator_of
from gpukit.ratings.clicks import are_clicks
from gpukit.ratings.pairs import ratings_of

# Up to so many ratings: folds, and how many of them judge. What a tenth judges is nearly what all ratings come to.
FOLDS = ((200_000, 5, 5), (2_000_000, 10, 5), (20_000_000, 10, 3), (float("inf"), 10, 2))
ALL_ON_ALL = 200_000  # ratings up to which a training takes so little that every setting sees every fold
MOST_FOLDS = 255
MARGIN, MOST = 0.01, 5  # share of the least RMSE within which others are judged on all folds, and how many of them
FIRST_SHARE = 0.5  # of the budget is for the first fold
BUDGET = 900.0


class Tuned(NamedTuple):
    """What `tune` has found.

    best, simplest: parameters for the estimators (n_factors, n_neighbors, regularization, learning_rate, n_epochs) with
    the least mean RMSE, and of the simplest model within one standard error of it; all None where none of the settings
    is better than what an estimator chooses for itself. table: a dict a setting, the best
    first: these, rmse (mean over the folds at that epoch), spread (standard deviation, None of one fold), folds,
    seconds, curve (mean RMSE by epoch). means: {'rmse', 'spread'} of user and item means on the same folds. folds: how
    many there were for the best; untried: settings that the budget did not reach; stopped: whether it ended the
    search. template: the LSHMF that all settings share the other parameters of.
    """

    best: dict
    simplest: dict
    table: list
    means: dict
    folds: int
    untried: int
    stopped: bool
    template: object

    def estimator(self, parameters=None):
        """The estimator of parameters (best, simplest; None: best), not fitted: LSHMF, or MatrixFactorization."""
        chosen = dict(self.best if parameters is None else parameters)
        epochs = chosen.pop("n_epochs")
        return estimator_of(self.template, grids.Setting(**chosen), epochs)


def tune(ratings, grid=None, *, cv=None, repeats=1, epochs=None, budget=BUDGET, exhaustive=None, by="random",
         estimator=None, progress=None):  # fmt: skip
    """Choose factors, neighbours, regularization and epochs by cross-validation: a Tuned.

    ratings: what fit takes. grid: {name: values} with n_factors, n_neighbors (0: none), regularization, learning_rate;
    what it does not name is the estimator's; None: grid.default_grid. cv: folds, None for 5, or of more than 200,000
    ratings 10 of which 5, 3 or 2 judge (FOLDS); repeats: of the whole, with other folds. epochs: the most; how many of
    them is chosen by the averaged curve. budget: seconds after which no training begins (None: no end). exhaustive:
    every setting on every fold; None: up to ALL_ON_ALL ratings, else those within MARGIN of the best on the first fold
    alone go on. by: 'random' folds, or by 'time' or 'user-time', where each is later than what is trained on
    (fold_by_time). estimator: an LSHMF with the other parameters, its random_state draws the folds. progress: called as
    progress(stage, done, total, info). Raises ParameterError, DataError, DeviceError, DeviceMemoryError, GpukitError
    (every setting diverged).
    """
    search = Search(ratings, grid, Rules(cv, repeats, epochs, budget, exhaustive, by), estimator, progress)
    search.run()
    return search.found()


class Rules(NamedTuple):
    """How a search goes: see tune."""

    cv: int | None = None
    repeats: int = 1
    epochs: int | None = None
    budget: float | None = BUDGET
    exhaustive: bool | None = None
    by: str = "random"
    judges: int | None = None  # folds that judge in each repetition


class Search:
    """A search under way; `found` may be asked at any time after the first training, an interrupt included."""

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
        """All rounds, or as many as the budget allows."""
        self.begun, going = time.monotonic(), self.entries
        for number, (train, test) in enumerate(self.folds()):
            fold = Fold(train, test, self.template, max(entry.setting.n_neighbors or 0 for entry in going))
            whole = self.round(number, fold, going)
            if number == 0:
                whole = whole and all(self.round(number, fold, self.beside(step)) for step in self.finer)
                going = self.contenders()
            self.stopped |= not whole
            self.means.append(fold.means_rmse())
            if number and not whole:
                break
        complete = max(1, min(len(entry.curves) for entry in going))
        for entry in going:
            del entry.curves[complete:]  # all are judged on the same folds

    def folds(self):
        """Yield (train, test) of every fold of every repetition."""
        cv, by = self.rules.cv, self.rules.by  # of which the first few judge
        for repeat in range(self.rules.repeats):
            fold = fold_numbers(len(self.ratings), cv, self.seed + repeat) if by == "random" else self.blocks
            for number in range(self.rules.judges):
                yield (
                    self.ratings.parted(fold != number) if by == "random" else fold_by_time(self.ratings, fold, number)
                )

    def round(self, number, fold, going):
        """A training on a Fold for each of the Entries that are going on; whether the time sufficed."""
        stage = f"fold {number + 1} of {self.rules.judges * self.rules.repeats}"
        for done, entry in enumerate(going):
            self.progress(stage, done, len(going), {"rmse": entry.rmse if entry.curves else None})
            if self.over(number):
                return False
            entry.curves.append(fold.curve(entry.setting, self.rules.epochs, self.goal(number)))
        self.progress(stage, len(going), len(going), {"rmse": ranked(self.entries)[0].rmse})
        return True

    def beside(self, step):
        """New Entries around the best one so far."""
        best = next(entry.setting for entry in ranked(self.entries) if entry.setting != grids.OPEN)
        usual = defaults(self.template.rates, len(self.ratings))["learning_rate"]
        there = {entry.setting for entry in self.entries}
        added = [Entry(one, []) for one in grids.around(best, step, usual, self.ratings.shape) if one not in there]
        self.entries = self.entries + added
        return added

    def over(self, number):
        """Whether the time for this round is over; one training there always is."""
        if self.rules.budget is None or not any(entry.curves for entry in self.entries):
            return False
        share = FIRST_SHARE if number == 0 else 1.0
        return time.monotonic() - self.begun > share * self.rules.budget

    def goal(self, number):
        """The RMSE that a training on the first fold must be able to come near; None where all are wanted whole."""
        if self.rules.exhaustive or number:
            return None
        return min((entry.rmse for entry in self.entries if entry.curves), default=np.inf) * (1.0 + MARGIN)

    def contenders(self):
        """The Entries that go on to the other folds."""
        if self.rules.exhaustive:
            return [entry for entry in self.entries if entry.curves]
        return near_the_best(self.entries, MARGIN, MOST)

    def found(self):
        """The Tuned so far; DataError before the first training has ended, GpukitError where all diverged."""
        order = ranked(self.entries)
        if not order:
            raise DataError("Nothing has been tried yet.")
        best = order[0]
        if np.isinf(best.rmse):
            raise GpukitError("Every setting that was tried diverged. Try smaller values of learning_rate.")
        picks = (best, simplest(order, best, lambda setting: grids.size(setting, self.ratings)))
        chosen = ({**entry.setting._asdict(), "n_epochs": entry.epochs} for entry in picks)
        spread = float(np.std(self.means, ddof=1)) if len(self.means) > 1 else None
        means = {"rmse": float(np.mean(self.means)) if self.means else None, "spread": spread}
        table = [entry.row() for entry in order]
        untried = len(self.entries) - len(order)
        return Tuned(*chosen, table, means, len(best.curves), untried, self.stopped, self.template)


def check_differences(ratings):
    """DataError where all ratings are the same."""
    if are_clicks(ratings):
        raise DataError(
            f"All {len(ratings):,} ratings are {ratings.values[0]:g}: every setting predicts just that, so there is "
            "nothing to tune. If they are clicks, LSHMF (gpukit train-lshmf) chooses the settings for them by itself."
        )


def blocks_in_time(ratings, rules):
    """(n,) int64: cv + 1 blocks of about equal size, of all ratings or of each user's, from the latest, 0, to the
    earliest."""
    if rules.repeats > 1:
        raise ParameterError(f"repeats={rules.repeats} deals anew at random, which folds by {rules.by!r} do not.")
    ranks, sizes = ratings.ranks_in_time(rules.by)
    return rules.cv - ranks * (rules.cv + 1) // sizes


def fold_by_time(ratings, blocks, number):
    """(train, test): a block of ratings to judge by and all earlier ones to train on; number 0 judges by the latest."""
    return ratings.take(blocks > number), ratings.take(blocks == number)


def checked_rules(rules, ratings):
    """Rules with what fits the ratings in place of None; ParameterError for one out of bounds."""
    n = len(ratings)
    cv, judges = next(numbers for most, *numbers in FOLDS if n <= most) if rules.cv is None else (rules.cv, rules.cv)
    check_integer("cv", cv, 2, MOST_FOLDS)
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
