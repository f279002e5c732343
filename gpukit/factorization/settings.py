"""The parameters of MatrixFactorization and LSHMF, checked."""

from typing import NamedTuple

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.factorization.model.layout import PRECISIONS
from gpukit.factorization.solvers import SOLVERS, usual

MOST_FACTORS = 1024
RATES = ("adaptive", "paper")


class Settings(NamedTuple):
    """What one training needs of the estimators' parameters; `defaults` of the number of ratings filled in."""

    epochs: int
    solver: str
    rates: str
    learning_rate: float | None
    regularization: float
    annealing: float
    biases: bool
    patience: int
    seed: int

    def epoch_rates(self, epoch):
        """formulas.Rates of an epoch."""
        from gpukit.factorization.solvers.sgd.rates import epoch_rates

        return epoch_rates(self.rates, self.learning_rate, self.regularization, self.biases, self.annealing, epoch)


def check(estimator, n_ratings=0):
    """Settings of an estimator for so many ratings; raises ParameterError for a parameter out of bounds."""
    check_integer("n_factors", estimator.n_factors, 1, MOST_FACTORS)
    kind = check_choice("rates", estimator.rates, RATES)
    solver = check_choice("solver", getattr(estimator, "solver", "sgd"), SOLVERS)
    check_precision(solver, check_choice("precision", estimator.precision, PRECISIONS))
    check_real("validation_fraction", estimator.validation_fraction, 0.0, 0.9)
    standard, given = usual(solver, kind, n_ratings), estimator.n_epochs
    return Settings(
        standard["epochs"] if given is None else check_integer("n_epochs", given, 1),
        solver,
        kind,
        check_rate(solver, estimator.learning_rate, standard["learning_rate"]),
        check_real("regularization", known(estimator.regularization, standard["regularization"]), 0.0),
        standard["annealing"],
        bool(getattr(estimator, "biases", True)),
        check_integer("early_stopping", estimator.early_stopping, 0),
        check_integer("random_state", known(estimator.random_state, 0), 0, 2**63 - 1),
    )


def check_rate(solver, given, standard):
    """The learning rate, by default the standard one; None of a solver that takes no steps."""
    if standard is None and given is not None:
        raise ParameterError(f"learning_rate={given!r} means nothing to solver={solver!r}, which solves exactly.")
    return None if standard is None else check_real("learning_rate", known(given, standard), 0.0, strict=True)


def check_precision(solver, precision):
    """ParameterError for half precision of a solver that has none."""
    if solver == "als" and precision == "half":
        raise ParameterError(
            "precision='half' is for solvers that take steps; solver='als' solves in single precision."
        )


def known(value, standard):
    """value, or the standard one for None."""
    return standard if value is None else value
