"""Evaluation of settings on one preparation.

Orders, histories and neighbours are computed once for all candidates.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.state import Beginning
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import PreparationOptions, order_weights
from gpukit.factorization.run import unscale
from gpukit.factorization.solvers import Task, training_of
from gpukit.model_selection.trial import Trial
from gpukit.ratings.orders.order import order_ratings
from gpukit.streams import Numpy
from gpukit.timing import work_clock


class Evaluator:
    """Training and judging ratings on a device, for any number of candidates.

    estimator: has the order of training and finds neighbours; train, held_out: Ratings with the same id maps;
    n_neighbors: the largest number of a candidate. Deterministic training runs in batches on a GPU, and on a CPU in the
    single thread that model selection uses.
    """

    def __init__(self, estimator, train, held_out, seed, device, n_neighbors=0):
        self.way = PreparationOptions(estimator.walk, seed, False, n_neighbors > 0)
        self.in_batches = estimator.deterministic and device.is_cuda
        self.device, self.held_out, self.shape, self.made = device, held_out, train.shape, None
        self.steps = engine(device, "gpukit.factorization")
        self.orders = order_ratings(train, device)
        self.own = training_data.scale_of(self.orders, train.values, train.weights)
        self.weights = order_weights(train, self.orders, self.steps.preparing)
        self.roots = 1.0 if held_out.weights is None else np.sqrt(held_out.weights / held_out.weights.mean())
        self.neighbors = estimator.find_neighbors(self.orders, self.steps, n_neighbors)

    def begin(self, settings):
        """Return a function of an epoch's number that trains it and returns the errors (n,) of held-out ratings."""
        self.settle(settings.damping, settings.trend)
        steps, side = self.steps, self.made.side
        layout, solver = steps.layout(settings.n_factors, settings.n_neighbors), training_of(settings.solver)
        neighbors = np.ascontiguousarray(self.neighbors[:, : settings.n_neighbors])
        facts = self.shape, settings.n_factors, neighbors, self.made.baseline, settings.biases, settings.seed
        beginning = Beginning(*facts)
        session = steps.begin(beginning, layout, self.way.walk, self.made.history)
        minor = steps.preparing.resident(steps.preparing.fetch(side.minor), np.int32)  # training may rename its rows
        data = self.made._replace(side=side._replace(minor=minor))
        task = Task(self.orders, self.scale, data, settings, layout, steps, self.device, self.in_batches)
        training = solver.begin(session, task, solver.arrange(task))
        pairs = session.ask(self.held_out.users, self.held_out.items)

        def epoch(number):
            training.epoch(number)
            return self.errors(session.predict(pairs))

        return epoch

    def settle(self, damping, trend=()):
        """Prepare for candidates with these biases, which may change the mean.

        See PreparationOptions.
        """
        way = self.way._replace(damping=damping, trend=trend)
        if self.made is None or way != self.way:
            self.made = training_data.prepare_ratings(self.orders, self.own, way, self.steps.preparing, self.weights)
            self.way, self.scale = way, self.made.scale

    def errors(self, z, scale=None):
        """Return the errors (n,) float64 of predictions of the judging ratings.

        z: predictions, scaled by a Scale (None: that of `settle`). Errors are multiplied by the roots of the weights,
        so that squares are weighted.
        """
        return (self.held_out.values - unscale(z, scale or self.scale)).astype(np.float64) * self.roots

    def biased(self, damping, trend=()):
        """Return the errors (n,) float64 of damped biases alone."""
        level, users, items = self.biases(damping, trend)
        z = level + np.append(users, 0.0)[self.held_out.users] + np.append(items, 0.0)[self.held_out.items]
        return self.errors(z.astype(np.float32), self.own)

    def biases(self, damping, trend):
        """Return (level, user biases, item biases) float64 on the host.

        They are in z of the training ratings' own Scale.
        """
        steps, data = self.steps.preparing, (self.orders, self.own)
        if not trend:
            return 0.0, *map(steps.fetch, training_data.baseline_of(*data, steps, damping, self.weights))
        z = steps.resident(training_data.z_of_levels(*data), np.float32)
        return training_data.trend_biases(self.orders, z, steps, damping, trend, self.weights)


def rms(errors):
    """Return the root mean square of errors (n,) float64; infinite if training has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.sqrt(np.mean(errors**2)))
    return value if np.isfinite(value) else np.inf


def make_trial(candidate, errors, row):
    """Return the Trial of a candidate by its errors (n,) of held-out ratings; scores are their negated squares."""
    largest = 1e30  # of a training that has diverged
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.nan_to_num(errors**2, nan=largest, posinf=largest)
    return Trial(candidate, -np.minimum(squares, largest), {**row, "rmse": rms(errors)})


def held_out_biases(evaluators, damping, trend):
    """Return the Trial of damped biases, whose candidate is (damping, trend), on all evaluators."""
    errors = np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
    nothing = {"n_factors": 0, "n_neighbors": 0, "regularization": None, "n_epochs": 0, "biases": "held"}
    row = {**nothing, "damping": list(damping), "trend": list(trend), "rmse": None, "curve": []}
    return make_trial((damping, trend), errors, row)


def curve_of(trial):
    """Return the RMSE of a Trial by epoch, a list."""
    return [epoch["rmse"] for epoch in trial.row["curve"]]


def work_of_epoch(evaluators, settings):
    """Return the work of an epoch on all evaluators, in multiplications; a neighbour costs about twice a factor."""
    n_ratings = sum(len(evaluator.orders) for evaluator in evaluators)
    return n_ratings * (settings.n_factors + 2 * settings.n_neighbors + 8)


def train_candidate(evaluators, settings, stopping, progress=lambda epoch, rmse: None):
    """Return the Trial of settings, with the best number of epochs, trained on all evaluators.

    stopping: a model_selection EarlyStopping.
    """
    start, curve, units = work_clock(), [], work_of_epoch(evaluators, settings)
    trainings = [evaluator.begin(settings) for evaluator in evaluators]
    for epoch in range(settings.epochs):
        errors = np.concatenate([train_epoch(epoch) for train_epoch in trainings])
        rmse = rms(errors)
        if stopping.budget is not None:
            stopping.budget.spend(units)
        is_over = stopping.is_over(rmse, errors) or (stopping.patience and np.isinf(rmse))
        curve.append({"epoch": epoch + 1, "seconds": work_clock() - start, "rmse": rmse})
        progress(epoch + 1, rmse)
        if is_over:
            break
    settings = settings._replace(epochs=stopping.best + 1)
    row = {name: getattr(settings, name) for name in ("n_factors", "n_neighbors", "regularization")}
    row |= {"n_epochs": settings.epochs, "biases": settings.kind_of_biases, "rmse": None, "curve": curve}
    return make_trial(settings, stopping.result, row)


def folds(ratings, seed, share=None):
    """Return a list of (train, held_out), Ratings with the same id maps.

    Held-out parts are random and disjoint. share: fraction of the ratings in a part; None: part_share, more for few
    ratings, less for very many.
    """
    n = len(ratings)
    most, target = RULES.most_parts, RULES.judging_ratings
    share = share or min(max(RULES.part_share, target / (most * n)), RULES.largest_part_share)
    size = max(1, min(int(share * n), n // 2, RULES.most_judging))
    parts = max(1, min(-(-target // size), most, n // size))
    order = np.random.default_rng([seed, Numpy.JUDGES[0]]).permutation(n)
    part_of = np.full(n, parts, np.int8)
    part_of[order[: parts * size]] = np.repeat(np.arange(parts), size)
    return [ratings.parted(part_of != part) for part in range(parts)]
