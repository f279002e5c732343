"""Prepare a training on ratings, before the first epoch."""

import numpy as np

from gpukit.device import cpu, spare_memory
from gpukit.device.engine import engine
from gpukit.errors import DeviceMemoryError
from gpukit.factorization import plan as plans
from gpukit.factorization import run as runs
from gpukit.factorization.choose import choose
from gpukit.factorization.model.layout import is_half, major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import PreparationOptions, order_weights
from gpukit.factorization.shared.partition import share_of
from gpukit.factorization.solvers import Task, training_of
from gpukit.factorization.solvers.sgd import training as batches
from gpukit.ratings.orders.order import Orders, order_ratings
from gpukit.timing import Clock

COLUMNS = ("starts", np.int64), ("others", np.int32), ("codes", np.uint8)  # of ratings.orders.order.Order


def prepare(request):
    """Return the run.Run of a run.FitRequest that learns Ratings.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    estimator, ratings, device, checked = request.estimator, request.ratings, request.device, request.settings
    clock, steps, progress = Clock(), engine(device, "gpukit.factorization"), request.progress
    streamed = fitting_layout(estimator, checked, ratings, device, steps)[
        1
    ]  # reports too little memory before any work
    host = cpu() if streamed else device  # of the preparation
    arguments = estimator, ratings, checked, host, request.held_out is not None, progress
    resumed, choice = request.resume_or_choose(clock, lambda: choose(*arguments))
    plan, solver = choice.settings, training_of(checked.solver)
    layout, streamed = fitting_layout(estimator, plan, ratings, device, steps)
    host = cpu() if streamed else device
    preparing = engine(host, "gpukit.factorization").preparing
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        orders = order_ratings(ratings, host)
        weights = order_weights(ratings, orders, preparing)
        options = options_of(estimator, plan, device)
        scale = training_data.scale_of(orders, values_for(orders, ratings), ratings.weights)
        data = training_data.prepare_ratings(orders, scale, options, preparing, weights)
        scale = data.scale
    with clock("neighbours"):
        compared = searchable(orders, layout, device) if streamed else (orders, steps)
        neighbors = None if resumed else estimator.searched(*compared, plan.n_neighbors, progress)
        compared = None
    with clock("prepare"):  # while a GPU is still searching
        share = share_of(ratings, plan.n_factors, request.team, device)
        task = Task(orders, scale, data, plan, layout, steps, device, estimator.deterministic, share, streamed)
        arranged, task = solver.arrange(task), task._replace(orders=None)
    with clock("neighbours"):
        neighbors = neighbors and neighbors()
    orders = None
    with clock("prepare"):
        session = request.begin_model(steps, layout, data, plan, resumed, neighbors)
        training = solver.begin(session, task, arranged)
    return request.run(session, training, clock, scale, resumed, choice)


def options_of(estimator, plan, device):
    """Return the PreparationOptions of a training by settings.Settings."""
    in_strata = training_data.uses_strata(device, estimator.deterministic and plan.solver == "sgd")
    return PreparationOptions(estimator.walk, plan.seed, in_strata, plan.n_neighbors > 0, plan.damping, plan.trend)


def values_for(orders, ratings):
    """Return the values of Ratings if scale_of reads them, otherwise None.

    Reading them may copy them to the host.
    """
    return None if orders.levels.exact and ratings.weights is None else ratings.values


def layout_of(estimator, plan, ratings, device, steps, n_stored=None):
    """Return the layout.Layout of a training by settings.Settings.

    n_stored: number of ratings stored on this device; None: all. Raises DeviceMemoryError if the training does not fit.
    """
    layout, in_batches = choose_layout(estimator, plan, ratings, device, steps)
    batch_bytes = batches.memory(len(ratings), layout) if in_batches else 0
    n_stored = len(ratings) if n_stored is None else n_stored
    runs.check_memory(device, n_stored, major_first(estimator.walk, *ratings.shape), layout, batch_bytes)
    return layout


def choose_layout(estimator, plan, ratings, device, steps):
    """Return (layout.Layout, True if a GPU trains in batches) of a training by settings.Settings."""
    in_batches = plan.solver == "sgd" and estimator.deterministic and device.is_cuda
    half = plan.solver == "sgd" and not in_batches and is_half(estimator.precision, device.is_cuda, len(ratings))
    return steps.layout(plan.n_factors, plan.n_neighbors, half), in_batches


def fitting_layout(estimator, plan, ratings, device, steps):
    """Return (layout.Layout, True if the ratings stream from host memory), see `layout_of`.

    They do if they do not fit on a GPU and the solver is SGD, unless it trains in batches. Raises DeviceMemoryError if
    that does not fit either.
    """
    try:
        return layout_of(estimator, plan, ratings, device, steps), False
    except DeviceMemoryError:
        layout, in_batches = choose_layout(estimator, plan, ratings, device, steps)
        if not device.is_cuda or plan.solver != "sgd" or in_batches:
            raise
    runs.check_streaming(device, ratings, major_first(estimator.walk, *ratings.shape), layout)
    return layout, True


def searchable(orders, layout, device):
    """Return (Orders, steps) to search neighbours with: on the GPU if the sorted ratings fit there, else on the CPU."""
    if not layout.slots or plans.memory_searched(len(orders), orders.shape[1], layout) > spare_memory():
        return orders, engine(cpu(), "gpukit.factorization")
    steps = engine(device, "gpukit.factorization")
    sides = [
        order._replace(**{name: steps.preparing.resident(getattr(order, name), dtype) for name, dtype in COLUMNS})
        for order in (orders.by_item, orders.by_user)
    ]
    return Orders(orders.shape, orders.levels, *sides, None, None), steps
