"""Everything that training on clicks needs, before the first epoch."""

from gpukit import interrupt
from gpukit.factorization import run as runs
from gpukit.factorization.implicit import mix, start
from gpukit.factorization.implicit.blend import blended
from gpukit.factorization.implicit.choosing import choose
from gpukit.factorization.implicit.ground import Course, Ground
from gpukit.factorization.model import saving
from gpukit.factorization.shared.choosing import chosen
from gpukit.parallel import ALONE


def beside(ground, estimator, plan, progress):
    """The State of the model that is mixed in, trained."""
    other = mix.partner(estimator, plan, len(ground.clicks), ground.clicks.shape)
    course = Course(ground, other)
    session, training = course.begin(course.first(ground.neighbors(other, progress)))
    with interrupt.deferred() as pressed:
        for epoch in range(other.epochs):
            training.epoch(epoch)
            progress("training", epoch + 1, other.epochs, {"rmse": None})
            if pressed.requested is not None:
                raise interrupt.Interrupted(pressed.requested)
    return session.state()


def prepare(estimator, clicks, held_out, device, checked, progress, resume_from, team=ALONE):
    """run.Run of an estimator that learns clicks, Ratings whose values are 1; held_out is not read: there is no
    RMSE of clicks; checked: settings.Settings; team: the parallel.Team whose ranks solve for rows together.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    clock, resumed = runs.Clock(), None
    if resume_from is not None:
        resumed = saving.load_checkpoint(resume_from, estimator, saving.fingerprint(clicks), clicks.shape, checked)
    with clock("choosing"):
        given = estimator, clicks, checked, device, progress
        choice = resumed.choice if resumed else chosen(lambda: choose(*given), checked, estimator.n_epochs, team)
    plan, ground = choice.settings, Ground(estimator, clicks, device, team=team)
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        course = Course(ground, plan)
    with clock("neighbours"):
        neighbors = resumed.state.neighbors if resumed else ground.neighbors(plan, progress)
    with clock("prepare"):
        session, training = course.begin(resumed.state if resumed else course.first(neighbors))
    first = (resumed.epochs_done, resumed.history, resumed.best) if resumed else (0, [], None)

    def complete(state):
        """What is kept of the State that was trained."""
        with clock("neighbours"):
            state = blended(state, clicks, plan)
        if plan.mixed:
            with clock("training"):
                state = mix.joined(state, beside(ground, estimator, plan, progress), plan.mixed)
        return start.ranked_for_strangers(state, ground.counts[1])

    return runs.Run(session, training, plan, clock, start.SCALE, *first, clicks, None, device, choice, complete)
