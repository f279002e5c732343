"""Settings tried on one preparation: orders, histories and neighbours are made once and serve every candidate."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.choose.budget import weight
from gpukit.factorization.choose.candidates import WORTH
from gpukit.factorization.model.state import Beginning
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare import trend as trends
from gpukit.factorization.prepare.weights import order_weights
from gpukit.factorization.run import unscale
from gpukit.factorization.solvers import Task, training_of
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import work_clock

SLOWEST = 0.95  # ratio of a fall to the one before from which on a curve falls as good as for ever
ONE_THREAD = 200_000  # ratings up to which waiting for other threads takes longer than they save


class Outcome(NamedTuple):
    """What came of a candidate: settings.Settings with the epochs that were best; a dict an epoch like an estimator's
    history_ (epoch, seconds, rmse); the errors (n,) float64, truth less prediction, of the judging ratings after the
    best one."""

    settings: object
    curve: list
    errors: np.ndarray

    @property
    def rmse(self):
        """After the best epoch."""
        return rms(self.errors)


class Evaluator:
    """Ratings that train and ratings that judge, prepared on a device for any number of candidates.

    train, held_out: Ratings with the same id maps; way: PreparationOptions; what is to be the same on every run is
    trained in batches on a GPU, on a CPU by the one thread that choosing is held to; find(orders, steps): the
    neighbours (N, K) int32 on the host, best first, as many as a candidate may ask for.
    """

    def __init__(self, train, held_out, way, device, find):
        self.in_batches, way = way.deterministic and device.is_cuda, way._replace(deterministic=False)
        self.way, self.device, self.held_out, self.shape, self.made = way, device, held_out, train.shape, None
        self.steps = engine(device, "gpukit.factorization")
        self.orders = order_ratings(train, device)
        self.own = training_data.scale_of(self.orders, train.values, train.weights)
        self.weights = order_weights(train, self.orders, self.steps.preparing)
        self.roots = 1.0 if held_out.weights is None else np.sqrt(held_out.weights / held_out.weights.mean())
        self.neighbors = find(self.orders, self.steps)

    def begin(self, settings):
        """The Attempt of a candidate, before its first epoch."""
        self.settle(settings.damping, settings.trend)
        steps, side = self.steps, self.made.side
        layout, solver = steps.layout(settings.n_factors, settings.n_neighbors), training_of(settings.solver)
        neighbors = np.ascontiguousarray(self.neighbors[:, : settings.n_neighbors])
        facts = self.shape, settings.n_factors, neighbors, self.made.baseline, settings.biases, settings.seed
        beginning = Beginning(*facts)
        session = steps.begin(beginning, layout, self.way.walk, self.made.history)
        minor = steps.preparing.resident(steps.preparing.fetch(side.minor), np.int32)  # training may rename its rows
        made = self.made._replace(side=side._replace(minor=minor))
        task = Task(self.orders, self.scale, made, settings, layout, steps, self.device, self.in_batches)
        return Attempt(session, solver.begin(session, task, solver.arrange(task)), self)

    def settle(self, damping, trend=()):
        """Prepare for candidates that begin with these biases, which may move the mean; see PreparationOptions."""
        way = self.way._replace(damping=damping, trend=trend)
        if self.made is None or way != self.way:
            data = self.steps.preparing, way, self.weights
            self.way, self.scale = way, training_data.center_scale(self.orders, self.own, *data)
            self.made = training_data.prepare_ratings(self.orders, self.scale, way, self.steps.preparing, self.weights)

    def errors(self, z, scale=None):
        """(n,) float64: the judging ratings less their predictions, which are in z of a Scale (None: as settled); times
        the roots of their weights, so that squares are weighted."""
        return (self.held_out.values - unscale(z, scale or self.scale)).astype(np.float64) * self.roots

    def biased(self, damping, trend=()):
        """(n,) float64 errors of damped biases alone."""
        level, users, items = self.biases(damping, trend)
        z = level + np.append(users, 0.0)[self.held_out.users] + np.append(items, 0.0)[self.held_out.items]
        return self.errors(z.astype(np.float32), self.own)

    def biases(self, damping, trend):
        """(level, user biases, item biases) float64 in z of the training ratings' own Scale, on the host."""
        steps, data = self.steps.preparing, (self.orders, self.own)
        if not trend:
            return 0.0, *map(steps.fetch, training_data.baseline_of(*data, steps, damping, self.weights))
        z = steps.resident(training_data.z_of_levels(*data), np.float32)
        return trends.biases(self.orders, z, steps, damping, trend, self.weights)


class Attempt:
    """One candidate in training on an Evaluator."""

    def __init__(self, session, training, evaluator):
        self.session, self.training, self.evaluator = session, training, evaluator
        self.asked = session.ask(evaluator.held_out.users, evaluator.held_out.items)

    def epoch(self, number):
        """Train one epoch more and return the errors (n,) of the judging ratings."""
        self.training.epoch(number)
        return self.evaluator.errors(self.session.predict(self.asked))


def rms(errors):
    """Root mean square of errors (n,) float64."""
    return float(np.sqrt(np.mean(errors**2)))


def reach(errors):
    """What a falling curve of RMSE will come to, if its falls go on shrinking as they did last; it may well fall less.
    -inf of fewer than three epochs."""
    if len(errors) < 3:
        return -np.inf
    before, last = errors[-3] - errors[-2], errors[-2] - errors[-1]
    if min(before, last) <= 0:
        return errors[-1]
    ratio = min(last / before, SLOWEST)
    return errors[-1] - last * ratio / (1.0 - ratio)


def lags(errors, leader):
    """Whether a curve of RMSE is behind a leader's, an Outcome, at the same epoch, and will not come to be better by
    WORTH."""
    ahead = leader.curve[min(len(errors), len(leader.curve)) - 1]["rmse"]
    return errors[-1] > ahead and reach(errors) > leader.rmse * (1.0 - WORTH)


def curve(evaluators, settings, patience=0, progress=lambda epoch, rmse: None, leader=None, budget=None):
    """The Outcome of settings, trained on all evaluators side by side, an epoch at a time, for settings.epochs at most.

    patience: stop after so many epochs without a better one and take the best; 0: train them all and take the last.
    leader: with patience, stop where this Outcome is out of reach; budget: and where this budget.Budget is spent.
    """
    begun, history, best = work_clock(), [], None
    attempts = [evaluator.begin(settings) for evaluator in evaluators]
    for epoch in range(settings.epochs):
        errors = np.concatenate([attempt.epoch(epoch) for attempt in attempts])
        rmse = rms(errors)
        if budget:
            ratings = sum(len(evaluator.orders) for evaluator in evaluators)
            budget.spend(ratings * weight(settings.n_factors, settings.n_neighbors))
        history.append({"epoch": epoch + 1, "seconds": work_clock() - begun, "rmse": rmse})
        progress(epoch + 1, rmse)
        if best is None or not patience or rmse < best[1]:
            best = epoch, rmse, errors
        lagging = leader and lags([entry["rmse"] for entry in history], leader)
        if patience and (epoch - best[0] >= patience or lagging or (budget and budget.is_spent)):
            break
    return Outcome(settings._replace(epochs=best[0] + 1), history, best[2])
