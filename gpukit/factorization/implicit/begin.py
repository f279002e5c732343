"""Prepare a training on clicks, before the first epoch."""

from typing import NamedTuple

from gpukit import interrupt
from gpukit.errors import ModelError
from gpukit.factorization.implicit import mix, start
from gpukit.factorization.implicit.choosing import choose
from gpukit.factorization.implicit.item_weights import add_item_weights
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.factorization.model import saving
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
    found, wanted = saving.sizes_of(resumed.state), (other.n_factors, other.learned_neighbors)
    if found != wanted or resumed.epochs_done > other.epochs:
        raise ModelError(
            f"The checkpoint's second model has {found[0]} factors and {found[1]} neighbours after "
            f"{resumed.epochs_done} epochs; here it has {wanted[0]} and {wanted[1]}, {other.epochs} epochs in all. "
            "Leave --resume out to begin anew."
        )
    return Second(other, *course.begin(resumed.state), resumed.epochs_done)


def prepare(request):
    """Return the run.Run of a run.FitRequest that learns clicks, Ratings whose values are 1; they have no RMSE.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    estimator, clicks, device, progress = request.estimator, request.ratings, request.device, request.progress
    clock, given = Clock(), (estimator, clicks, request.settings, device, progress)
    resumed, choice = request.resume_or_choose(clock, lambda: choose(*given))
    plan, prepared = choice.settings, PreparedClicks(estimator, clicks, device, team=request.team)
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        course = Course(prepared, plan)
    with clock("neighbours"):
        neighbors = resumed.state.neighbors if resumed else prepared.neighbors(plan, progress)
    with clock("prepare"):
        session, training = course.begin(resumed.state if resumed else course.first(neighbors))

    def complete(state, checkpoints=None):
        """Return the final State of the trained one."""
        if plan.mixed:
            with clock("training"):
                second_course = second(prepared, estimator, plan, progress, resumed.second if resumed else None)
                state = mix.joined(state, second_course.trained(state, checkpoints, progress), plan.mixed)
        state = add_item_weights(state, clicks, plan, device)
        return start.with_popularity(state, prepared.counts[1], plan.popular)

    facts = clock, start.SCALE, resumed, choice
    return request._replace(held_out=None).run(session, training, *facts, complete=complete)
