"""Ratings of one fold, prepared once for every setting."""

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
HOPELESS = 1.5  # times the last epoch's gain, for every epoch left: an upper bound of the remaining fall


class Curve(NamedTuple):
    """Result of one training.

    errors: RMSE after each epoch, infinite once training has diverged; seconds: of training and judging.
    """

    errors: list
    seconds: float


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

    def curve(self, setting, epochs, goal=None):
        """Return the Curve of a training of a Setting.

        epochs: the maximum. Training stops after PATIENCE epochs without improvement, or if goal, the lowest RMSE of
        another setting, is out of reach (None: not checked).
        """
        begun = work_clock()
        with devices.reported(self.device, "Training"), thread_count.limited(self.threads):
            errors = self.left_open() if setting == OPEN else self.errors(setting, epochs, goal)
        return Curve(errors, work_clock() - begun)

    def errors(self, setting, epochs, goal):
        """Return the list of RMSE after each epoch; arguments as curve."""
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
        """Return [RMSE] of the estimator that chooses its own settings."""
        return [estimator_of(self.template, OPEN).fit(self.train).evaluate(self.test)["rmse"]]

    def means_rmse(self):
        """Return the RMSE of the bias-only predictor (baseline.py) on the judging ratings."""
        evaluator = next(iter(self.evaluators.values()), None) or self.evaluator(self.template, 0)
        return rms(evaluator.biased(USUAL))


def enough(errors):
    """Return True if training has diverged, or PATIENCE epochs brought no improvement."""
    return math.isinf(errors[-1]) or len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE


def hopeless(errors, epochs, goal):
    """Return True if a curve cannot reach the goal.

    It is extrapolated at HOPELESS times its last slope. Only curves after a third of the epochs are checked.
    """
    if len(errors) < 2 or 3 * len(errors) < epochs:
        return False
    fall = max(0.0, errors[-2] - errors[-1])
    return errors[-1] - HOPELESS * fall * (epochs - len(errors)) > goal
