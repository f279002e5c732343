"""The ratings of one fold, made ready once for every setting that is tried on it."""

import math
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.errors import DataError
from gpukit.factorization.baseline import USUAL
from gpukit.factorization.choose.evaluator import ONE_THREAD, Evaluator, rms
from gpukit.factorization.estimator import LSHMF, MatrixFactorization, check_shape
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.factorization.tuning.grid import OPEN
from gpukit.runtime import thread_count
from gpukit.timing import work_clock

PATIENCE = 5  # epochs without a lower RMSE that end a training
HOPELESS = 1.5  # times the last epoch's gain, for every epoch left: more than a curve still falls


class Curve(NamedTuple):
    """errors: RMSE after each epoch, infinite once training has diverged; seconds of training and judging."""

    errors: list
    seconds: float


def estimator_of(template, setting, epochs=None):
    """The estimator of a grid.Setting, not fitted; in all else as the template, an LSHMF."""
    kind = MatrixFactorization if setting.n_neighbors == 0 else LSHMF
    names = kind().get_params()
    chosen = {**template.get_params(), **setting._asdict(), "n_epochs": epochs}
    return kind(**{name: value for name, value in chosen.items() if name in names})


class Fold:
    """Ratings to train on and to judge by, on a device: walked either way, with the neighbours of the largest K.

    train, test: Ratings of the same rows; template: an LSHMF; most: the largest K of the settings.
    """

    def __init__(self, train, test, template, most):
        check_shape(train)
        if not len(test):
            raise DataError("a fold has no ratings to judge by: use fewer folds (cv).")
        self.train, self.test, self.template, self.most = train, test, template, most
        self.device, self.threads = devices.resolve(template.device), 1 if len(train) <= ONE_THREAD else None
        self.evaluators = {}

    def evaluator(self, model, seed):
        """The choose.evaluator.Evaluator of all settings that walk the ratings as an estimator does."""
        if model.walk not in self.evaluators:
            way = PreparationOptions(model.walk, seed, model.deterministic, model.walk == LSHMF.walk)
            find = lambda orders, steps: model.find_neighbors(orders, steps, self.most)  # noqa: E731
            self.evaluators[model.walk] = Evaluator(self.train, self.test, way, self.device, find)
        return self.evaluators[model.walk]

    def curve(self, setting, epochs, goal=None):
        """The Curve of a training of a Setting: `epochs` at most, fewer where PATIENCE of them bring nothing, or where
        goal, the lowest RMSE of another setting, is out of reach (None: not asked)."""
        begun = work_clock()
        with devices.reported(self.device, "Training"), thread_count.limited(self.threads):
            errors = self.left_open() if setting == OPEN else self.errors(setting, epochs, goal)
        return Curve(errors, work_clock() - begun)

    def errors(self, setting, epochs, goal):
        """[RMSE after each epoch]; arguments as curve."""
        model, errors = estimator_of(self.template, setting, epochs), []
        plan = model.check(len(self.train))
        attempt = self.evaluator(model, plan.seed).begin(plan)
        for epoch in range(epochs):
            error = rms(attempt.epoch(epoch))
            errors.append(error if math.isfinite(error) else math.inf)
            if enough(errors) or (goal is not None and hopeless(errors, epochs, goal)):
                break
        return errors

    def left_open(self):
        """[RMSE] of the estimator that chooses for itself what no setting names."""
        return [estimator_of(self.template, OPEN).fit(self.train).evaluate(self.test)["rmse"]]

    def means_rmse(self):
        """RMSE of the bias-only predictor (baseline.py) on what judges."""
        evaluator = next(iter(self.evaluators.values()), None) or self.evaluator(self.template, 0)
        return rms(evaluator.biased(USUAL))


def enough(errors):
    """Whether a training has diverged, or PATIENCE epochs have brought nothing."""
    return math.isinf(errors[-1]) or len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE


def hopeless(errors, epochs, goal):
    """Whether a curve that is a third through would stay above the goal even if it went on falling HOPELESS times as
    fast as it does."""
    if len(errors) < 2 or 3 * len(errors) < epochs:
        return False
    fall = max(0.0, errors[-2] - errors[-1])
    return errors[-1] - HOPELESS * fall * (epochs - len(errors)) > goal
