"""The ratings of one fold, made ready once for every setting that is tried on it."""

import math
import time
from typing import NamedTuple

import numpy as np

from gpukit import _jit
from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.evaluation.metrics import rmse
from gpukit.factorization import run as runs
from gpukit.factorization.estimator import LSHMF, MatrixFactorization, check_shape
from gpukit.factorization.model.layout import is_half, major_first
from gpukit.factorization.model.state import Beginning
from gpukit.factorization.prepare import ready
from gpukit.factorization.solvers import Task, training_of
from gpukit.ratings.orders.order import order_ratings

PATIENCE = 5  # epochs without a lower RMSE that end a training
ONE_THREAD = 200_000  # ratings up to which waiting for other threads takes longer than they save
HOPELESS = 1.5  # times the last epoch's gain, for every epoch left: more than a curve still falls


class Curve(NamedTuple):
    """errors: RMSE after each epoch, infinite once training has diverged; seconds of training and judging."""

    errors: list
    seconds: float


def estimator_of(template, setting, epochs=None):
    """The estimator of a grid.Setting, not fitted; in all else as the template, an LSHMF."""
    kind = LSHMF if setting.n_neighbors else MatrixFactorization
    names = kind().get_params()
    chosen = {**template.get_params(), **setting._asdict(), "n_epochs": epochs}
    return kind(**{name: value for name, value in chosen.items() if name in names})


class Fold:
    """Ratings to train on and to judge by, on a device: in their orders, with the neighbours of the largest K.

    train, test: Ratings of the same rows; template: an LSHMF; most: the largest K of the settings.
    """

    def __init__(self, train, test, template, most):
        check_shape(train)
        if not len(test):
            raise DataError("a fold has no ratings to judge by: use fewer folds (cv).")
        self.train, self.test, self.template = train, test, template
        self.device = devices.resolve(template.device)
        self.steps = engine(self.device, "gpukit.factorization")
        self.made, self.neighbors = {}, np.zeros((train.shape[1], 0), np.int32)
        with devices.reported(self.device, "Training"):
            self.orders = order_ratings(train, self.device)
            self.scale = ready.scale_of(self.orders, train.values)
            if most:
                self.neighbors = template.find_neighbors(self.orders, self.steps, most)

    def ready(self, model, seed):
        """The ready.Ready of an estimator: walked by user, or with neighbours by item."""
        way = ready.Way(model.walk, seed, model.deterministic, model.walk == "items")
        if way not in self.made:
            self.made[way] = ready.make_ready(self.orders, self.scale, way, self.steps.preparing)
        return self.made[way]

    def begin(self, model, setting, plan):
        """(Session, Training) that a training of a setting begins with."""
        half = is_half(model.precision, self.device.is_cuda, len(self.train))
        layout = self.steps.layout(setting.n_factors, setting.n_neighbors, half)
        runs.check_memory(self.device, len(self.train), major_first(model.walk, *self.train.shape), layout)
        made, preparing, solver = self.ready(model, plan.seed), self.steps.preparing, training_of(plan.solver)
        near = np.ascontiguousarray(self.neighbors[:, : setting.n_neighbors])
        facts = self.train.shape, setting.n_factors, near, made.baseline, plan.biases, plan.seed
        session = self.steps.begin(Beginning(*facts), layout, model.walk, made.history)
        own = preparing.resident(preparing.fetch(made.side.minor), np.int32)  # a GPU's session renumbers its rows
        made = made._replace(side=made.side._replace(minor=own))
        task = Task(self.orders, self.scale, made, plan, layout, self.steps, self.device, half, model.deterministic)
        return session, solver.begin(session, task, solver.arrange(task))

    def curve(self, setting, epochs, goal=None):
        """The Curve of a training of a Setting: `epochs` at most, fewer where PATIENCE of them bring nothing, or where
        goal, the lowest RMSE of another setting, is out of reach (None: not asked)."""
        begun, errors = time.perf_counter(), []
        model = estimator_of(self.template, setting, epochs)
        plan = model.check(len(self.train))
        with devices.reported(self.device, "Training"), _jit.threads(1 if len(self.train) <= ONE_THREAD else None):
            session, training = self.begin(model, setting, plan)
            judge = runs.Judge(session, self.test, self.scale, 0)
            for epoch in range(epochs):
                training.epoch(epoch)
                error = judge.rmse()
                errors.append(error if math.isfinite(error) else math.inf)
                if enough(errors) or (goal is not None and hopeless(errors, epochs, goal)):
                    break
        return Curve(errors, time.perf_counter() - begun)

    def means_rmse(self):
        """RMSE of the bias-only predictor (baseline.py) on what judges."""
        made = next(iter(self.made.values()), None) or self.ready(self.template, 0)
        users, items = (np.append(self.steps.preparing.fetch(bias), 0.0) for bias in made.baseline)
        biased = self.scale.mean + self.scale.deviation * (users[self.test.users] + items[self.test.items])
        return rmse(self.test.values, np.clip(biased, self.scale.low, self.scale.high))


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
