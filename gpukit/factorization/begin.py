"""Prepare a training on ratings, before the first epoch."""

from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.choose.choice import choose
from gpukit.factorization.model import saving
from gpukit.factorization.model.layout import is_half, major_first
from gpukit.factorization.model.state import Beginning
from gpukit.factorization.prepare import conflict_free_blocks, training_data
from gpukit.factorization.prepare.training_data import PreparationOptions, order_weights
from gpukit.factorization.shared.parts import chosen
from gpukit.factorization.shared.rows import share_of
from gpukit.factorization.solvers import Task, training_of
from gpukit.factorization.solvers.sgd import batch_plan
from gpukit.parallel import ALONE
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import Clock


def prepare(estimator, ratings, held_out, device, checked, progress, resume_from, team=ALONE, choice=None):
    """Return the run.Run of an estimator that learns Ratings.

    Parameters ---------- estimator : MatrixFactorization or LSHMF ratings : Ratings; to train on held_out : Ratings or
    None; to judge every epoch by device : Device checked : settings.Settings progress : callable; see fit resume_from :
    path or None; the checkpoint to resume team : parallel.Team; its ranks solve for rows together choice :
    choose.chosen.Choice or None; None runs model selection

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    clock, steps = Clock(), engine(device, "gpukit.factorization")
    layout_of(estimator, checked, ratings, device, steps)  # reports too little memory before any work
    resumed = None
    if resume_from is not None:
        resumed = saving.load_checkpoint(resume_from, estimator, saving.fingerprint(ratings), ratings.shape, checked)
    with clock("choosing"):
        judged = held_out is not None
        given = estimator, ratings, checked, device, judged, progress
        choice = (
            resumed.choice if resumed else choice or chosen(lambda: choose(*given), checked, estimator.n_epochs, team)
        )
    plan, solver = choice.settings, training_of(checked.solver)
    layout = layout_of(estimator, plan, ratings, device, steps)
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        orders = order_ratings(ratings, device)
        weights = order_weights(ratings, orders, steps.preparing)
        in_strata = conflict_free_blocks.uses_strata(device, estimator.deterministic and plan.solver == "sgd")
        near = plan.n_neighbors > 0
        options = PreparationOptions(estimator.walk, plan.seed, in_strata, near, plan.damping, plan.trend)
        scale = training_data.scale_of(orders, values_for(orders, ratings), ratings.weights)
        scale = training_data.center_scale(orders, scale, steps.preparing, options, weights)
        made = training_data.prepare_ratings(orders, scale, options, steps.preparing, weights)
    with clock("neighbours"):
        neighbors = None if resumed else estimator.searched(orders, steps, plan.n_neighbors, progress)
    with clock("prepare"):  # while a GPU is still searching
        share = share_of(ratings, plan.n_factors, team, device)
        task = Task(orders, scale, made, plan, layout, steps, device, estimator.deterministic, share)
        arranged, task = solver.arrange(task), task._replace(orders=None)
    if resumed:
        orders = None
        start, history, best = resumed.epochs_done, resumed.history, resumed.best
        session = steps.DeviceModel(resumed.state, layout, estimator.walk, made.history)
    else:
        with clock("neighbours"):
            neighbors = neighbors()
        orders = None
        with clock("prepare"):
            facts = ratings.shape, plan.n_factors, neighbors, made.baseline, plan.biases, plan.seed
            session = steps.begin(Beginning(*facts), layout, estimator.walk, made.history)
        start, history, best = 0, [], None
    with clock("prepare"):
        training = solver.begin(session, task, arranged)
    return runs.Run(session, training, plan, clock, scale, start, history, best, ratings, held_out, device, choice)


def values_for(orders, ratings):
    """Return the values of Ratings if scale_of reads them, otherwise None.

    Reading them may copy them to the host.
    """
    return None if orders.levels.exact and ratings.weights is None else ratings.values


def layout_of(estimator, plan, ratings, device, steps, held=None):
    """Return the layout.Layout of a training by settings.Settings.

    held: number of ratings stored on this device; None: all. Raises DeviceMemoryError if the training does not fit.
    """
    in_batches = plan.solver == "sgd" and estimator.deterministic and device.is_cuda
    half = plan.solver == "sgd" and not in_batches and is_half(estimator.precision, device.is_cuda, len(ratings))
    layout = steps.layout(plan.n_factors, plan.n_neighbors, half)
    batch_bytes = batch_plan.memory(len(ratings), layout) if in_batches else 0
    held = len(ratings) if held is None else held
    runs.check_memory(device, held, major_first(estimator.walk, *ratings.shape), layout, batch_bytes)
    return layout
