"""Prepare a training on clicks, before the first epoch."""

from gpukit.errors import ModelError
from gpukit.factorization import run as runs
from gpukit.factorization.implicit.choosing import choose
from gpukit.factorization.implicit.item_weights import add_item_weights
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.factorization.implicit.states import SCALE, combine_states, partner, with_popularity
from gpukit.factorization.model import saving
from gpukit.timing import Clock


def train_second(prepared, plan, progress, resumed, checkpoints):
    """Return the State of the second of two mixed models, trained to its end.

    plan: settings.Settings of the first one; resumed: saving.SecondModel to continue from, or None; checkpoints:
    run.Checkpoints, which keep the first model's State. Raises ModelError if the sizes differ.
    """
    estimator = prepared.estimator
    other = partner(estimator, plan, len(prepared.clicks), prepared.clicks.shape)
    course, done = Course(prepared, other), resumed.epochs_done if resumed else 0
    if resumed:
        result, wanted = saving.sizes_of(resumed.state), (other.n_factors, other.learned_neighbors)
        if result != wanted or done > other.epochs:
            raise ModelError(
                f"The checkpoint's second model has {result[0]} factors and {result[1]} neighbours after {done} "
                f"epochs; here it has {wanted[0]} and {wanted[1]}, {other.epochs} epochs in all. Leave --resume out to "
                "begin anew."
            )
    session, training = course.begin(resumed.state if resumed else course.first(prepared.neighbors(other, progress)))
    judge = runs.Judge(session, None, SCALE, 0)
    return runs.run(session, training, other, judge, checkpoints, [], done, progress)


def prepare(request):
    """Return the run.Run of a run.FitRequest that learns clicks, Ratings whose values are 1; they have no RMSE.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    estimator, clicks, device, progress = request.estimator, request.ratings, request.device, request.progress
    clock, arguments = Clock(), (estimator, clicks, request.settings, device, progress)
    resumed, choice = request.resume_or_choose(clock, lambda: choose(*arguments))
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
            checkpoints = checkpoints or runs.Checkpoints(None, estimator, None, choice)
            checkpoints.first, second = state, resumed.second if resumed else None
            with clock("training"):
                other = train_second(prepared, plan, progress, second, checkpoints)
            state = combine_states(state, other, plan.mixed)
        state = add_item_weights(state, clicks, plan, device)
        return with_popularity(state, prepared.counts[1], plan.popular)

    facts = clock, SCALE, resumed, choice
    return request._replace(held_out=None).run(session, training, *facts, complete=complete)
