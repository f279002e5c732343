"""One training run: what `fit` does between checking its arguments and keeping the result."""

import time
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.errors import GpukitError
from gpukit.factorization import plan as plans
from gpukit.factorization.model import saving
from gpukit.factorization.model import state as states
from gpukit.parallel import ALONE
from gpukit.timing import work_clock

CHECKPOINT_SECONDS = 60.0


class Run(NamedTuple):
    """A training that is about to begin: the session, its solver's Training, settings.Settings, Clock and Scale, the
    first epoch, the history, the best state; Ratings to train on and to judge by (or None), Device, choose.Choice; what
    becomes of the State that was trained, a function of that and of Checkpoints or None; seen: Ratings held out of
    those that were given, which lists leave out, or None."""

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
    seen: object = None


class Judge:
    """RMSE on held-out ratings after an epoch, and the best state so far when training may stop early."""

    def __init__(self, session, held_out, scale, patience, history=(), best_state=None):
        self.session, self.scale, self.patience = session, scale, patience
        self.best, self.best_epoch, self.best_state = np.inf, -1, best_state
        if best_state is not None:
            judged = [(entry["rmse"], entry["epoch"] - 1) for entry in history]
            self.best, self.best_epoch = min(entry for entry in judged if np.isfinite(entry[0]))
        self.asked = None
        if held_out is not None and len(held_out):
            self.asked, self.truth = session.ask(held_out.users, held_out.items), session.truth(held_out.values)
            self.count = len(held_out)

    def rmse(self):
        """Root mean squared error of the clipped predictions, None without held-out ratings."""
        if self.asked is None:
            return None
        squares, _ = self.session.errors(self.asked, self.truth, self.scale)
        return float(np.sqrt(squares / self.count))

    def enough(self, epoch, rmse):
        """Whether RMSE has not fallen for `patience` epochs; keeps the best state for then."""
        if not self.patience or rmse is None:
            return False
        if rmse < self.best:
            self.best, self.best_epoch, self.best_state = rmse, epoch, self.session.state()
        return epoch - self.best_epoch >= self.patience


def unscale(z, scale):
    """Predictions in the ratings' own units, within their range."""
    with np.errstate(over="ignore"):  # a training that diverges may be beyond float32, and is at the range's end then
        value = z * np.float32(scale.deviation) + np.float32(scale.mean)
    return np.clip(value, np.float32(scale.low), np.float32(scale.high))


class Checkpoints:
    """Writes the state of a run to a file every CHECKPOINT_SECONDS and when asked; does nothing without a path.

    before: the saving.Part of the model that was reported, which a second training keeps in the file. ended: the Part
    of the end, once that is reached; it is not written.
    """

    def __init__(self, path, estimator, data, choice, team=ALONE, before=None):
        self.path, self.estimator, self.data, self.choice, self.team = path, estimator, data, choice, team
        self.before = before
        self.written, self.ended = time.monotonic(), None

    def write(self, session, best, done):
        """Write now: the session's State and the best one (or None) after `done` epochs."""
        if self.path is not None:
            state = session.state()  # of all ranks, of which the first one writes
            if self.team.rank == 0:
                saving.save_checkpoint(self.path, *self._facts(state, best, done))
            self.team.barrier()
        self.written = time.monotonic()

    def write_beside(self, first, session, done):
        """Write now: the State of the first of two models, which is done with, and the second's session after `done`
        epochs; ranks have none."""
        if self.path is not None:
            second, epochs = saving.Beside(session.state(), done), len(self.estimator.history_)
            saving.save_checkpoint(self.path, *self._facts(first, None, epochs, second))
        self.written = time.monotonic()

    def end(self, state, best, done, beside=None):
        """Keep the end of the training in memory, for a second training to write; arguments as saving.part_of."""
        if self.path is not None:
            self.ended = saving.part_of(*self._facts(state, best, done, beside))

    def _facts(self, state, best, done, beside=None):
        return self.estimator, state, best, done, self.data, self.choice, beside, self.before

    def due(self):
        """Whether it is time for another one."""
        if self.path is None:
            return False
        return bool(self.agreed(time.monotonic() - self.written >= CHECKPOINT_SECONDS))

    def agreed(self, requested):
        """The number of the signal by which any rank is requested to stop, or None; without a file each for itself."""
        if self.path is None or self.team.size == 1:
            return requested
        return int(self.team.allreduce(np.array(requested or 0), "max")) or None


def run(session, training, plan, judge, checkpoints, history, start, progress):
    """Epochs start..plan.epochs - 1 of a solver's Training; appends to history and returns the State to keep.

    Ctrl-C takes effect after the epoch at work: the checkpoint is written, then the KeyboardInterrupt goes on.
    """
    begun = work_clock() - (history[-1]["seconds"] if history else 0.0)
    judging = 0.0
    with interrupt.deferred() as pressed:
        for epoch in range(start, plan.epochs):
            training.epoch(epoch)
            seconds = work_clock() - begun - judging
            rmse = judge.rmse()
            judging = work_clock() - begun - seconds
            history.append({"epoch": epoch + 1, "seconds": seconds, "rmse": rmse})
            progress("training", epoch + 1, plan.epochs, {"rmse": rmse})
            enough = judge.enough(epoch, rmse)
            requested = checkpoints.agreed(pressed.requested)
            if requested is not None:
                with interrupt.answered(requested):
                    checkpoints.write(session, judge.best_state, epoch + 1)
            if enough:
                break
            if checkpoints.due():
                checkpoints.write(session, judge.best_state, epoch + 1)
        else:
            if start < plan.epochs and checkpoints.path is not None:
                checkpoints.end(session.state(), judge.best_state, plan.epochs)
    state = judge.best_state or session.state()
    state = states.shrunk(state, plan.share) if plan.epochs else states.without_factors(state)
    if not (np.isfinite(state.user_factors).all() and np.isfinite(state.item_factors).all()):
        raise GpukitError(
            f"Training diverged (learning_rate={plan.learning_rate}): the factors are no longer finite. "
            "Use a smaller learning_rate, or deterministic=True."
        )
    return state


def check_memory(device, n_ratings, sides, layout, beside=0):
    """DeviceMemoryError with both sizes when a GPU, or the main memory, cannot hold the work; beside: bytes that a way
    of training needs of its own on the device."""
    what = f"Training on {n_ratings:,} ratings"
    devices.require_memory(device, plans.memory_needed(n_ratings, sides, layout) + beside, what)
    devices.require_host(plans.memory_on_host(sides, layout), what)
