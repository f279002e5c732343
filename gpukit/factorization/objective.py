"""Objective of a training: feedback, loss and solver, from parameters that must be consistent."""

from typing import Literal, NamedTuple, get_args

from gpukit.base import check_choice, check_real
from gpukit.errors import ParameterError
from gpukit.factorization.solvers import LOSSES_OF, SOLVERS

Feedback = Literal["auto", "explicit", "implicit"]
Loss = Literal["auto", "squared", "cross-entropy", "bpr"]
Solver = Literal["auto", "sgd", "hogwild", "als", "ials", "ease", "sampled"]
NeighborSolver = Literal["auto", "sgd", "ials", "ease", "sampled"]  # solvers that train neighbourhoods
RowSolver = Literal["auto", "cholesky", "gradients"]  # of ials: solvers.ials.formulas.WAYS
FEEDBACK, LOSSES, ALL_SOLVERS, ROW_SOLVERS = map(get_args, (Feedback, Loss, Solver, RowSolver))
OF_CLICKS = ("positive_from", "n_negatives", "unobserved_weight")  # parameters for clicks only


class Goal(NamedTuple):
    """Objective of a training.

    feedback 'explicit' (ratings) or 'implicit' (clicks); loss; solver; open: loss and solver are chosen for clicks.
    """

    feedback: str
    loss: str
    solver: str
    open: bool


def goal_of(estimator, feedback=None):
    """Return the Goal of an estimator's parameters for a kind of feedback; None: the kind that they imply.

    Raises ParameterError for inconsistent parameters.
    """
    largest = 1e38
    check_choice("feedback", estimator.feedback, FEEDBACK)
    if estimator.positive_from is not None:
        check_real("positive_from", estimator.positive_from, -largest, largest)
    solver = check_choice("solver", estimator.solver, solvers_for(estimator))
    loss = check_choice("loss", estimator.loss, LOSSES)
    feedback = feedback or spoken_of(estimator)
    if feedback == "explicit":
        check_explicit(estimator)
        return Goal(feedback, "squared", "sgd" if solver == "auto" else solver, False)
    return Goal(feedback, *of_clicks(solver, loss), solver == "auto" and loss == "auto")


def solvers_for(estimator):
    """Return the solvers available to an estimator."""
    return get_args(NeighborSolver if hasattr(estimator, "n_neighbors") else Solver)


def spoken_of(estimator):
    """Return the feedback that the parameters imply: as named, or by a solver, a loss or a number for clicks."""
    if estimator.feedback != "auto":
        return estimator.feedback
    clicks = estimator.solver in LOSSES_OF or estimator.loss in sum(LOSSES_OF.values(), ())[1:]
    return "implicit" if clicks or any(getattr(estimator, name) is not None for name in OF_CLICKS) else "explicit"


def check_explicit(estimator):
    """Raise ParameterError for parameters of clicks."""
    named = [("loss", estimator.loss)] * (estimator.loss not in ("auto", "squared"))
    named += [("solver", estimator.solver)] * (estimator.solver in LOSSES_OF)
    named += [("row_solver", estimator.row_solver)] * (estimator.row_solver != "auto")
    named += [(name, getattr(estimator, name)) for name in OF_CLICKS if getattr(estimator, name) is not None]
    if named:
        name, value = named[0]
        raise ParameterError(
            f"{name}={value!r} is for clicks, and these are ratings. Leave it out, or name feedback='implicit' to take "
            "every rating as a click (positive_from=4: those from 4 on)."
        )


def of_clicks(solver, loss):
    """Return (loss, solver) for clicks with defaults filled in; raise ParameterError for an inconsistent pair."""
    if solver in SOLVERS:
        raise ParameterError(
            f"solver={solver!r} learns ratings, and these are clicks: 'ials', 'ease' and 'sampled' learn those ('auto' "
            "takes the best). Name feedback='explicit' if they are ratings after all."
        )
    if solver == "auto":
        solver = next((name for name, losses in LOSSES_OF.items() if loss in losses), "ials")
    if loss == "auto":
        loss = LOSSES_OF[solver][0]
    if loss not in LOSSES_OF[solver]:
        fits = " or ".join(map(repr, LOSSES_OF[solver]))
        raise ParameterError(f"solver={solver!r} learns by loss {fits}, not by loss={loss!r}: name one of the two.")
    return loss, solver
