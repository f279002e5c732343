"""Training run on ratings: preparation before the first epoch, epochs, judging and checkpoints."""

import time
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.device import cpu, spare_memory
from gpukit.device.engine import engine
from gpukit.errors import DataError, DeviceMemoryError, GpukitError
from gpukit.factorization import plan as plans
from gpukit.factorization.choose import choose
from gpukit.factorization.constants import RULES
from gpukit.factorization.model import saving
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import is_half, major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import PreparationOptions, order_weights
from gpukit.factorization.shared.partition import share_of
from gpukit.factorization.solvers import Task, training_of
from gpukit.parallel import ALONE
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import Orders, order_ratings
from gpukit.ratings.repeats import validate
from gpukit.timing import Clock, work_clock


class Run(NamedTuple):
    """A training before its first epoch.

    session; training: the solver's Training; settings: settings.Settings; clock: Clock; scale: Scale; start: the first
    epoch; history; best: the best state; ratings: Ratings to train on; held_out: Ratings to judge by, or None; device:
    Device; choice: settings.Choice; complete: a function of the trained State and of Checkpoints or None that returns
    the final State; seen: [Ratings] that lists exclude, held out or of weight 0; low: those below positive_from, or
    None; own_users (rows,): those whose model this rank gets, None: all.
    """

    session: object
    training: object
    settings: object
    clock: object
    scale: object
    start: int
    history: list
    best: object
    ratings: object
    held_out: object
    device: object
    choice: object
    complete: object = lambda state, checkpoints=None: state
    seen: list = ()
    low: object = None
    own_users: object = None


class FitRequest(NamedTuple):
    """Arguments of `fit`, validated, from which a training is prepared.

    estimator; ratings: Ratings to train on; held_out: Ratings to judge every epoch by, or None; device: Device;
    settings: settings.Settings; progress: see fit; team: parallel.Team; choice: settings.Choice to repeat, or
    None; resume_from: path of the checkpoint to resume, or None.
    """

    estimator: object
    ratings: object
    held_out: object
    device: object
    settings: object
    progress: object
    team: object = ALONE
    choice: object = None
    resume_from: object = None

    def resume_or_choose(self, clock, choose):
        """Return (saving.Checkpoint or None, Choice of the checkpoint, of the request or of choose()).

        Raises ModelError for a checkpoint that does not fit.
        """
        resumed = None
        if self.resume_from is not None:
            data = saving.fingerprint(self.ratings), self.ratings.shape
            resumed = saving.load_checkpoint(self.resume_from, self.estimator, *data, self.settings)
        with clock("choosing"):
            return resumed, resumed.choice if resumed else self.choice or self._choose_once(choose)

    def _choose_once(self, choose):
        """Return choose() of rank 0, where it may depend on the number of threads."""
        if self.team.size == 1:
            return choose()
        kept = self.team.broadcast_json(None if self.team.rank else choose().kept())
        return saving.restore_choice(kept, self.settings, self.estimator.n_epochs)

    def begin_model(self, steps, layout, data, plan, resumed, neighbors, numbers=None):
        """Return the DeviceModel at the start of a training, or that of a State.

        data: TrainingData; plan: settings.Settings; resumed: State of a checkpoint or None; neighbors (N, K), not read
        with it; numbers: see DeviceModel.begin.
        """
        if resumed is not None:
            return steps.DeviceModel(resumed, layout, self.estimator.walk, data.history)
        return steps.begin(plan, data, layout, self.estimator.walk, neighbors, numbers)

    def run(self, session, training, clock, scale, resumed, choice, **more):
        """Return the Run of a training that begins, or continues a Checkpoint; more: other fields of the Run."""
        first = (resumed.epochs_done, resumed.history, resumed.best) if resumed else (0, [], None)
        facts = self.ratings, self.held_out, self.device, choice
        return Run(session, training, choice.settings, clock, scale, *first, *facts, **more)


class Judge:
    """RMSE on held-out ratings after each epoch, and the best state."""

    def __init__(self, session, held_out, scale, patience, history=(), best_state=None):
        self.session, self.scale, self.patience = session, scale, patience
        self.best, self.best_epoch, self.best_state = np.inf, -1, best_state
        if best_state is not None:
            judged = [(entry["rmse"], entry["epoch"] - 1) for entry in history]
            self.best, self.best_epoch = min(entry for entry in judged if np.isfinite(entry[0]))
        self.held_out = held_out if held_out is not None and len(held_out) else None
        self.asked = None  # of all held-out ratings, if they are judged at once
        if self.held_out is not None and len(held_out) <= session.pairs_at_once():
            self.asked = list(ask_in_parts(session, held_out))

    def rmse(self):
        """Return the RMSE of the clipped predictions, None without held-out ratings."""
        if self.held_out is None:
            return None
        pairs = self.asked or ask_in_parts(self.session, self.held_out)
        squares, _ = sum_errors(self.session, pairs, self.scale)
        return float(np.sqrt(squares / len(self.held_out)))

    def enough(self, epoch, rmse):
        """Return True if RMSE has not fallen for `patience` epochs.

        Keeps the best state.
        """
        if not self.patience or rmse is None:
            return False
        if rmse < self.best:
            self.best, self.best_epoch, self.best_state = rmse, epoch, self.session.state()
        return epoch - self.best_epoch >= self.patience


def ask_in_parts(session, ratings):
    """Yield (result of `ask`, of `truth`) for parts of Ratings in a session's rows, which its device can hold."""
    step = session.pairs_at_once()
    for first in range(0, len(ratings), step):
        part = slice(first, first + step)
        yield session.ask(ratings.users[part], ratings.items[part]), session.truth(ratings.values[part])


def sum_errors(session, pairs, scale):
    """Return (sum of squared errors, of absolute errors) of a session over the parts of `ask_in_parts`."""
    return tuple(map(sum, zip(*(session.errors(*part, scale) for part in pairs))))


class Checkpoints:
    """Checkpoints of a run, every RULES.checkpoint_seconds and on request.

    Without a path nothing is written. first: final State of the first of two mixed models, once the second one trains,
    which is not for several ranks. before: the saving.Part of the reported model, which a second training keeps in
    the file. ended: the Part at the end of the training, in memory only.
    """

    def __init__(self, path, estimator, data, choice, team=ALONE, before=None):
        self.path, self.estimator, self.data, self.choice, self.team = path, estimator, data, choice, team
        self.before, self.first = before, None
        self.written, self.ended = time.monotonic(), None

    def write(self, session, best, done):
        """Write a checkpoint: the session's State and the best one (or None) after `done` epochs."""
        if self.path is not None:
            state = session.state()  # collective; the first rank writes
            if self.team.rank == 0:
                saving.save_checkpoint(self.path, *self._facts(state, best, done))
            self.team.barrier()
        self.written = time.monotonic()

    def end(self, state, best, done):
        """Keep the end of the training in memory, for a second training.

        Arguments as saving.part_of.
        """
        if self.path is not None:
            self.ended = saving.part_of(*self._facts(state, best, done))

    def _facts(self, state, best, done):
        second = None
        if self.first is not None:
            state, done, second = self.first, len(self.estimator.history_), saving.SecondModel(state, done)
        return self.estimator, state, best, done, self.data, self.choice, second, self.before

    def due(self):
        """Return True if the next periodic checkpoint is due."""
        if self.path is None:
            return False
        return bool(self.agreed(time.monotonic() - self.written >= RULES.checkpoint_seconds))

    def agreed(self, requested):
        """Return the signal number by which any rank is requested to stop.

        None if there is no request. Without a file every rank uses its own.
        """
        if self.path is None or self.team.size == 1:
            return requested
        return int(self.team.allreduce(np.array(requested or 0), "max")) or None


def run(session, training, plan, judge, checkpoints, history, start, progress):
    """Run epochs start..plan.epochs - 1; return the State to keep.

    training: the solver's Training. Appends to history. Ctrl-C takes effect after the current epoch: the checkpoint is
    written, then KeyboardInterrupt is raised. Raises GpukitError if the factors are not finite.
    """
    started = work_clock() - (history[-1]["seconds"] if history else 0.0)
    judging = 0.0
    with interrupt.defer() as pressed:
        for epoch in range(start, plan.epochs):
            training.epoch(epoch)
            seconds = work_clock() - started - judging
            rmse = judge.rmse()
            judging = work_clock() - started - seconds
            history.append({"epoch": epoch + 1, "seconds": seconds, "rmse": rmse})
            progress("training", epoch + 1, plan.epochs, {"rmse": rmse})
            enough = judge.enough(epoch, rmse)
            requested = checkpoints.agreed(pressed.requested)
            if requested is not None:
                with interrupt.raise_at_end(requested):
                    checkpoints.write(session, judge.best_state, epoch + 1)
            if enough:
                break
            if checkpoints.due():
                checkpoints.write(session, judge.best_state, epoch + 1)
        else:
            if start < plan.epochs and checkpoints.path is not None:
                checkpoints.end(session.state(), judge.best_state, plan.epochs)
    state = judge.best_state or session.state()
    if not plan.epochs:
        state = states.without_factors(state)
    if not (np.isfinite(state.user_factors).all() and np.isfinite(state.item_factors).all()):
        sizes = {name: plan.known(name, 0.0) for name in ("influence_rate", "influence_decay")}
        largest = max(sizes, key=sizes.get)
        parameter, remedy = ("learning_rate", "a smaller learning_rate, or deterministic=True")
        if plan.learning_rate is None:  # least squares
            parameter, remedy = ("regularization", "a larger regularization")
        elif plan.regularization > 1 and plan.learning_rate * plan.regularization > 1:  # shrinks factors beyond 0
            parameter, remedy = ("regularization", "a smaller regularization")
        elif sizes[largest] > 1:
            parameter, remedy = (largest, f"a smaller {largest.replace('decay', 'regularization')}")
        value = getattr(plan, parameter)
        raise GpukitError(
            f"Training diverged ({parameter.replace('decay', 'regularization')}={value}): the factors are no longer "
            f"finite. Use {remedy}."
        )
    return state


def check_memory(device, n_ratings, sides, layout, extra=0, streamed=False):
    """Raise DeviceMemoryError if the GPU, main memory or the disk is too small for training.

    The message has both sizes. extra: additional bytes that a solver needs on the device; streamed: the ratings stay in
    main memory, see `fitting_layout`.
    """
    what = f"Training on {n_ratings:,} ratings" + ", streamed from main memory," * streamed
    needed = (plans.memory_streamed if streamed else plans.memory_needed)(n_ratings, sides, layout)
    devices.require_memory(device, needed + extra, what)
    devices.require_host(plans.memory_on_host(sides, layout), what)
    if streamed or not device.is_cuda:
        devices.require_room(plans.host_memory(n_ratings, sides, layout), what)


COLUMNS = ("starts", np.int64), ("others", np.int32), ("codes", np.uint8)  # of ratings.orders.order.Order


def prepare(request):
    """Return the run.Run of a run.FitRequest that learns Ratings.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    estimator, ratings, device, checked = request.estimator, request.ratings, request.device, request.settings
    clock, steps, progress = Clock(), engine(device, "gpukit.factorization"), request.progress
    _, streamed = fitting_layout(estimator, checked, ratings, device, steps)  # reports too little memory at once
    host = cpu() if streamed else device  # of the preparation
    arguments = estimator, ratings, checked, host, request.held_out is not None, progress
    try:
        resumed, choice = request.resume_or_choose(clock, lambda: choose(*arguments))
    except DataError:
        if type(ratings) is Ratings:
            validate(ratings)  # names a repeated pair, which a sample names by other ids
        raise
    plan, solver = choice.settings, training_of(checked.solver)
    layout, streamed = fitting_layout(estimator, plan, ratings, device, steps)
    host = cpu() if streamed else device
    host_steps = engine(host, "gpukit.factorization")
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        orders = order_ratings(ratings, host)
        weights = order_weights(ratings, orders, host_steps)
        options = options_of(estimator, plan)
        scale = training_data.scale_of(orders, values_for(orders, ratings), ratings.weights)
        data = training_data.prepare_ratings(orders, scale, options, host_steps, weights)
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
        session = request.begin_model(steps, layout, data, plan, resumed and resumed.state, neighbors)
        training = solver.begin(session, task, arranged)
    return request.run(session, training, clock, scale, resumed, choice)


def options_of(estimator, plan):
    """Return the PreparationOptions of a training by settings.Settings."""
    in_strata = estimator.deterministic and plan.solver == "sgd"
    return PreparationOptions(estimator.walk, plan.seed, in_strata, plan.n_neighbors > 0, plan.damping, plan.trend)


def values_for(orders, ratings):
    """Return the values of Ratings if scale_of reads them, otherwise None.

    Reading them may copy them to the host.
    """
    return None if orders.levels.exact and ratings.weights is None else ratings.values


def layout_of(estimator, plan, ratings, device, steps, stored=None):
    """Return the layout.Layout of a training by settings.Settings.

    stored: (number of ratings, (users, items)) on this device; None: all. Raises DeviceMemoryError if the training does
    not fit.
    """
    strata_bytes = 16  # more of a rating, while it is sorted by block
    layout, in_strata = choose_layout(estimator, plan, ratings, device, steps)
    n_stored, shape = stored or (len(ratings), ratings.shape)
    extra = strata_bytes * n_stored if in_strata else 0
    check_memory(device, n_stored, major_first(estimator.walk, *shape), layout, extra)
    return layout


def choose_layout(estimator, plan, ratings, device, steps):
    """Return (layout.Layout, True if it trains in strata) of a training by settings.Settings."""
    in_strata = plan.solver == "sgd" and estimator.deterministic
    half = plan.solver == "sgd" and not in_strata and is_half(estimator.precision, device.is_cuda, len(ratings))
    return steps.layout(plan.n_factors, plan.n_neighbors, half), in_strata


def fitting_layout(estimator, plan, ratings, device, steps):
    """Return (layout.Layout, True if the ratings stream from host memory), see `layout_of`.

    They do if they do not fit on a GPU and the solver is SGD, unless it trains in strata. Raises DeviceMemoryError if
    that does not fit either, in the GPU's memory, main memory or the disk's.
    """
    try:
        return layout_of(estimator, plan, ratings, device, steps), False
    except DeviceMemoryError:
        layout, in_strata = choose_layout(estimator, plan, ratings, device, steps)
        if not device.is_cuda or plan.solver != "sgd" or in_strata:
            raise
    check_memory(device, len(ratings), major_first(estimator.walk, *ratings.shape), layout, streamed=True)
    return layout, True


def searchable(orders, layout, device):
    """Return (Orders, steps) to search neighbours with: on the GPU if the sorted ratings fit there, else on the CPU."""
    if not layout.slots or plans.memory_searched(len(orders), orders.shape[1], layout) > spare_memory():
        return orders, engine(cpu(), "gpukit.factorization")
    steps = engine(device, "gpukit.factorization")
    sides = [
        order._replace(**{name: steps.resident(getattr(order, name), dtype) for name, dtype in COLUMNS})
        for order in (orders.by_item, orders.by_user)
    ]
    return Orders(orders.shape, orders.levels, *sides, None, None), steps
