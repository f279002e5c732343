"""Prepare a training on clicks, before the first epoch."""

from typing import NamedTuple

from gpukit import interrupt
from gpukit.errors import ModelError
from gpukit.factorization import run as runs
from gpukit.factorization.implicit import mix, start
from gpukit.factorization.implicit.choosing import choose
from gpukit.factorization.implicit.item_weights import add_item_weights
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.factorization.model import check, saving
from gpukit.factorization.shared.parts import chosen
from gpukit.parallel import ALONE
from gpukit.timing import Clock


class Second(NamedTuple):
    """Second of two mixed models, before its training.

    plan: settings.Settings; session; training: its Training; start: the first epoch.
    """

    plan: object
    session: object
    training: object
    start: int

    def trained(self, first, checkpoints, progress):
        """Train to the end and return the State.

        first: State of the first model, which checkpoints (run.Checkpoints or None) keep next to the second one's.
        Ctrl-C takes effect after the current epoch, as in run.run.
        """
        with interrupt.deferred() as pressed:
            for epoch in range(self.start, self.plan.epochs):
                self.training.epoch(epoch)
                progress("training", epoch + 1, self.plan.epochs, {"rmse": None})
                requested = pressed.requested
                with interrupt.answered(requested):
                    if checkpoints is not None and (requested is not None or checkpoints.due()):
                        checkpoints.write_second(first, self.session, epoch + 1)
            if checkpoints is not None and self.start < self.plan.epochs:
                second_model = saving.SecondModel(self.session.state(), self.plan.epochs)
                checkpoints.end(first, None, len(checkpoints.estimator.history_), second_model)
        return self.session.state()


def second(prepared, estimator, plan, progress, resumed):
    """Return the Second for a first model's settings.Settings.

    resumed: saving.SecondModel to continue from, or None. Raises ModelError if its sizes differ.
    """
    other = mix.partner(estimator, plan, len(prepared.clicks), prepared.clicks.shape)
    course = Course(prepared, other)
    if resumed is None:
        return Second(other, *course.begin(course.first(prepared.neighbors(other, progress))), 0)
    found, wanted = check.sizes_of(resumed.state), (other.n_factors, other.learned_neighbors)
    if found != wanted or resumed.epochs_done > other.epochs:
        raise ModelError(
            f"The checkpoint's second model has {found[0]} factors and {found[1]} neighbours after "
            f"{resumed.epochs_done} epochs; here it has {wanted[0]} and {wanted[1]}, {other.epochs} epochs in all. "
            "Leave --resume out to begin anew."
        )
    return Second(other, *course.begin(resumed.state), resumed.epochs_done)


def prepare(estimator, clicks, held_out, device, checked, progress, resume_from, team=ALONE, choice=None):
    """Return the run.Run of an estimator that learns clicks.

    Parameters
    ----------
    estimator : MatrixFactorization or LSHMF
    clicks : Ratings whose values are 1
    held_out : not used; clicks have no RMSE
    device : Device
    checked : settings.Settings
    progress : callable; see fit
    resume_from : path or None; the checkpoint to resume
    team : parallel.Team; its ranks solve for rows together
    choice : choose.chosen.Choice or None; None runs model selection

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    clock, resumed = Clock(), None
    if resume_from is not None:
        resumed = saving.load_checkpoint(resume_from, estimator, saving.fingerprint(clicks), clicks.shape, checked)
    with clock("choosing"):
        given = estimator, clicks, checked, device, progress
        choice = (
            resumed.choice if resumed else choice or chosen(lambda: choose(*given), checked, estimator.n_epochs, team)
        )
    plan, prepared = choice.settings, PreparedClicks(estimator, clicks, device, team=team)
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        course = Course(prepared, plan)
    with clock("neighbours"):
        neighbors = resumed.state.neighbors if resumed else prepared.neighbors(plan, progress)
    with clock("prepare"):
        session, training = course.begin(resumed.state if resumed else course.first(neighbors))
    first = (resumed.epochs_done, resumed.history, resumed.best) if resumed else (0, [], None)

    def complete(state, checkpoints=None):
        """Return the final State of the trained one."""
        if plan.mixed:
            with clock("training"):
                second_course = second(prepared, estimator, plan, progress, resumed.second if resumed else None)
                state = mix.joined(state, second_course.trained(state, checkpoints, progress), plan.mixed)
        state = add_item_weights(state, clicks, plan, device)
        return start.with_popularity(state, prepared.counts[1], plan.popular)

    return runs.Run(session, training, plan, clock, start.SCALE, *first, clicks, None, device, choice, complete)
