"""Parameters of MatrixFactorization and LSHMF, validated.

Objective of a training: feedback, loss and solver, from parameters that must be consistent. `Choice`: the settings of
one training, the trials and the reason.
"""

import warnings
from typing import Literal, NamedTuple, get_args

from gpukit.base import check_boolean, check_choice, check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.factorization.constants import RULES
from gpukit.factorization.constants import USUAL as USUAL_DAMPING
from gpukit.factorization.model.layout import PRECISIONS
from gpukit.factorization.solvers import LOSSES_OF, SOLVERS, solver_defaults

Feedback = Literal["auto", "explicit", "implicit"]
Loss = Literal["auto", "squared", "cross-entropy", "bpr"]
Solver = Literal["auto", "sgd", "hogwild", "als", "ials", "ease", "sampled"]
NeighborSolver = Literal["auto", "sgd", "ials", "ease", "sampled"]  # solvers that train neighbourhoods
RowSolver = Literal["auto", "cholesky", "gradients"]  # of ials
FEEDBACK, LOSSES, ALL_SOLVERS, ROW_SOLVERS = map(get_args, (Feedback, Loss, Solver, RowSolver))
Rows = Literal["move", "frozen"]
ROWS = get_args(Rows)
RETRAINED = "anew"  # value of "rows" after retraining (online/run.py)
WEIGHTED = "weighted"  # True in chosen_ of a training with weights, which a model does not store
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
    solvers = NeighborSolver if hasattr(estimator, "n_neighbors") else Solver
    solver = check_choice("solver", estimator.solver, get_args(solvers))
    loss = check_choice("loss", estimator.loss, LOSSES)
    feedback = feedback or implied_feedback(estimator)
    if feedback == "explicit":
        check_explicit(estimator)
        return Goal(feedback, "squared", "sgd" if solver == "auto" else solver, False)
    return Goal(feedback, *resolve_click_solver(solver, loss), solver == "auto" and loss == "auto")


def implied_feedback(estimator):
    """Return the feedback that the parameters imply: as named, or by a solver, a loss or a number for clicks."""
    if estimator.feedback != "auto":
        return estimator.feedback
    clicks = estimator.solver in LOSSES_OF or estimator.loss in sum(LOSSES_OF.values(), ())[1:]
    return "implicit" if clicks or any(getattr(estimator, name) is not None for name in OF_CLICKS) else "explicit"


def check_explicit(estimator):
    """Raise ParameterError for parameters of clicks."""
    is_for_clicks = {
        "loss": estimator.loss not in ("auto", "squared"),
        "solver": estimator.solver in LOSSES_OF,
        "row_solver": estimator.row_solver != "auto",
    } | {name: getattr(estimator, name) is not None for name in OF_CLICKS}
    for name in filter(is_for_clicks.get, is_for_clicks):
        raise ParameterError(
            f"{name}={getattr(estimator, name)!r} is for clicks, and these are ratings. Leave it out, or name "
            "feedback='implicit' to take every rating as a click (positive_from=4: those from 4 on)."
        )


def resolve_click_solver(solver, loss):
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
        losses = " or ".join(map(repr, LOSSES_OF[solver]))
        raise ParameterError(f"solver={solver!r} learns by loss {losses}, not by loss={loss!r}: name one of the two.")
    return loss, solver


LARGEST = 1e30  # of a parameter: its products with counts are within float32
MOST_FACTORS = 1024
MOST_NEGATIVES = 1000
Rates = Literal["adaptive", "paper"]


class Settings(NamedTuple):
    """Parameters of one training, with defaults for those that are open.

    damping: of the users' and of the items' baseline biases. trend: as in PreparationOptions. held: biases stay at the
    baseline; with 0 epochs the model is the baseline. feedback: 'explicit' or 'implicit'. For 'implicit': loss;
    n_negatives sampled for a click; unobserved_weight alpha0 of every pair; exponent nu of the scale of the
    regularization; counted: frequent clicks have more weight; popular: share of popularity; mixed: weight of a second
    model's score; ease: weight of the score of item weights, whose regularization is ease_decay; row_solver: of ials.
    beta of Eq. (7), influence_rate and influence_decay of w and c (Table 5): None for the solver's.
    """

    epochs: int
    solver: str
    rates: str
    learning_rate: float | None
    regularization: float
    annealing: float
    biases: bool
    patience: int
    seed: int
    n_factors: int
    n_neighbors: int = 0
    damping: tuple = USUAL_DAMPING
    trend: tuple = ()
    held: bool = False
    feedback: str = "explicit"
    loss: str = "squared"
    n_negatives: int = 0
    unobserved_weight: float = 0.0
    exponent: float = 0.0
    counted: bool = False
    popular: float = 0.0
    mixed: float = 0.0
    ease: float = 0.0
    ease_decay: float = 0.0
    row_solver: str = "auto"
    beta: float | None = None
    influence_rate: float | None = None
    influence_decay: float | None = None

    @property
    def item_decay(self):
        """Regularization lambda of the item weights."""
        return self.regularization if self.solver == "ease" else self.ease_decay

    @property
    def learned_neighbors(self):
        """Number of neighbours in training; `ials` and `ease` have none."""
        return 0 if self.solver in ("ials", "ease") else self.n_neighbors

    @property
    def kind_of_biases(self):
        """'none'; 'held' at the baseline, also without epochs; 'learned'."""
        return "none" if not self.biases else "held" if self.held or not self.epochs else "learned"

    def known(self, name, default):
        """Return a field, or the default if it is None."""
        return value_or_default(getattr(self, name), default)

    def epoch_rates(self, epoch):
        """Return the formulas.Rates of an epoch."""
        from gpukit.factorization.solvers.rates import epoch_rates

        return epoch_rates(self, epoch)


BIASES = "damped biases"  # name of the predictor in chosen_
# Fields of Settings in a checkpoint, and those for clicks.
KEPT_SETTINGS = "n_factors n_neighbors epochs regularization damping trend held patience".split()
CLICKS = "solver loss n_negatives unobserved_weight exponent counted popular mixed ease ease_decay".split()


class Choice(NamedTuple):
    """Settings for all ratings, with the trials and the reason.

    settings: Settings; trials: candidates as dicts, empty if nothing was tried; why: the reason in a sentence.
    """

    settings: object
    trials: list
    why: str

    def facts(self, estimator):
        """Return the choice as a dict for chosen_.

        estimator: name of its class.
        """
        settings = self.settings
        trained = settings.epochs > 0 or settings.solver == "ease"
        clicks = {"feedback": "implicit", **click_settings(settings)} if settings.feedback == "implicit" else {}
        return {
            "predictor": estimator if trained else BIASES,
            "n_factors": settings.n_factors if trained else 0,
            "n_neighbors": settings.n_neighbors,
            "n_epochs": settings.epochs,
            "learning_rate": settings.learning_rate if trained else None,
            "regularization": settings.regularization if trained else None,
            "biases": settings.kind_of_biases,
            "damping": list(settings.damping),
            "trend": list(settings.trend),
            **clicks,
            "why": self.why,
        }

    def kept(self):
        """Return the entries for a checkpoint, as a dict."""
        entries = {name: getattr(self.settings, name) for name in KEPT_SETTINGS}
        return {**entries, **click_settings(self.settings), "trials": self.trials, "why": self.why}


def click_settings(settings):
    """Return the Settings for clicks alone, as a dict; empty for ratings."""
    if settings.feedback == "explicit":
        return {}
    return {name: getattr(settings, name) for name in CLICKS}


def check(estimator, n_ratings=0, feedback=None):
    """Return the Settings of an estimator for ratings or clicks.

    n_ratings: their number. feedback None: the kind that the parameters imply. Raises ParameterError for a parameter
    out of bounds.
    """
    click_factors = 64
    goal = goal_of(estimator, feedback)
    usual_factors = RULES.usual_factors if goal.feedback == "explicit" else click_factors
    usual_factors = 1 if goal.solver == "ease" else usual_factors
    factors = check_integer("n_factors", value_or_default(estimator.n_factors, usual_factors), 1, MOST_FACTORS)
    kind, solver = check_choice("rates", estimator.rates, get_args(Rates)), goal.solver
    is_deterministic = check_boolean("deterministic", estimator.deterministic)
    check_precision(solver, check_choice("precision", estimator.precision, PRECISIONS), is_deterministic)
    check_real("validation_fraction", estimator.validation_fraction, 0.0, 0.9)
    standard, n_epochs = solver_defaults(solver, kind, n_ratings), estimator.n_epochs
    check_effects(estimator, solver, kind, standard)
    rate, decay = (
        value_or_default(getattr(estimator, name), standard[name]) for name in ("learning_rate", "regularization")
    )
    return Settings(
        standard["epochs"] if n_epochs is None else check_integer("n_epochs", n_epochs, 1),
        solver,
        kind,
        rate if rate is None else check_real("learning_rate", rate, 0.0, LARGEST, strict=True),
        check_real("regularization", decay, 0.0, LARGEST),
        standard["annealing"],
        check_boolean("biases", getattr(estimator, "biases", True)) and solver not in ("ials", "ease"),
        check_integer("early_stopping", estimator.early_stopping, 0),
        check_integer("random_state", value_or_default(estimator.random_state, 0), 0, 2**63 - 1),
        factors,
        feedback=goal.feedback,
        loss=goal.loss,
        ease=float(solver == "ease"),
        row_solver=check_choice("row_solver", estimator.row_solver, ROW_SOLVERS),
        **optional_settings(estimator, standard),
    )


def check_effects(estimator, solver, kind, standard):
    """Raise ParameterError for a parameter without effect; kind: of the rates; standard: the solver's defaults."""
    is_exact = solver not in ("sgd", "sampled")
    sizes = "solver='ease', which has no factors and no epochs" if solver == "ease" else ""
    influences = f"solver={solver!r}, which learns no influences" if is_exact else ""
    no_rows = f"solver={solver!r}, which solves for no rows" if solver in ("ease", "sampled") else ""
    is_named, has_rate = estimator.solver != "auto", standard["learning_rate"] is not None
    has_beta = solver == "hogwild" or (kind == "paper" and not is_exact)
    reasons = {
        **{"n_factors": sizes, "n_epochs": sizes},
        "learning_rate": "" if has_rate else f"solver={solver!r}, which solves exactly",
        "unobserved_weight": "solver='ease', which has no such weight" if solver == "ease" else "",
        "row_solver": no_rows,
        "n_negatives": f"solver={solver!r}, which draws none" if is_named and solver in ("ials", "ease") else "",
        "beta": "" if has_beta else f"rates={kind!r} of {solver!r}. Use rates='paper'",
        **{"influence_rate": influences, "influence_regularization": influences},
    }
    for name, reason in reasons.items():
        if reason and (value := getattr(estimator, name, None)) != getattr(type(estimator), name, None):
            raise ParameterError(f"{name}={value!r} means nothing to {reason}.")
    if kind == "paper" and is_named and not has_rate:
        raise ParameterError(f"rates={kind!r} means nothing to solver={solver!r}, which solves exactly.")


OPTIONAL = {  # parameters of some solvers: their Settings, check and bounds
    "n_negatives": ("n_negatives", check_integer, 1, MOST_NEGATIVES),
    "unobserved_weight": ("unobserved_weight", check_real, 0.0, LARGEST),
    "beta": ("beta", check_real, 0.0, LARGEST),
    "influence_rate": ("influence_rate", check_real, 0.0, LARGEST),
    "influence_regularization": ("influence_decay", check_real, 0.0, LARGEST),
}


def optional_settings(estimator, standard):
    """Return the Settings of parameters in OPTIONAL that the user or the solver's defaults set, as a dict."""
    result = {name: standard[name] for name in ("n_negatives", "unobserved_weight", "exponent") if name in standard}
    for name, (field, checking, least, most) in OPTIONAL.items():
        if (value := getattr(estimator, name, None)) is not None:
            result[field] = checking(name, value, least, most)
    return result


def check_weights(solver, ratings):
    """Raise ParameterError if the solver does not support the ratings' weights."""
    weighted_solvers = "sgd", "als"
    if ratings.weights is not None and solver not in weighted_solvers:
        raise ParameterError(f"solver={solver!r} takes no weights. Use 'sgd' or 'als', or leave the weights out.")


def check_precision(solver, precision, deterministic):
    """Raise ParameterError for half precision if the solver does not support it."""
    if precision != "half":
        return
    if solver != "sgd":
        raise ParameterError(f"precision='half' is for solver='sgd'; solver={solver!r} works in single precision.")
    if deterministic:
        raise ParameterError(
            "precision='half' is for training whose result varies; with deterministic=True use 'auto' or 'single'."
        )


def value_or_default(value, standard):
    """Return value, or standard if it is None."""
    return standard if value is None else value


def clamp_settings(estimator, settings, shape):
    """Return Settings with factors and neighbours limited by the shape (users, items).

    There are at most min(shape) factors and at most the number of other items as neighbours. A UserWarning reports a
    larger value from the user.
    """
    most = {"n_factors": min(shape), "n_neighbors": shape[1] - 1}
    for name, limit in most.items():
        value = getattr(estimator, name, None)
        if value is not None and value > limit:
            warnings.warn(
                f"{name}={value} is more than {shape[0]:,} users and {shape[1]:,} items allow: {limit} are used.",
                UserWarning,
                stacklevel=4,
            )
    return settings._replace(**{name: min(getattr(settings, name), limit) for name, limit in most.items()})
