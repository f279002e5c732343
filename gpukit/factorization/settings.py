"""The parameters of MatrixFactorization and LSHMF, checked."""

from typing import NamedTuple

from gpukit.base import check_choice, check_integer, check_real
from gpukit.factorization.model.layout import PRECISIONS

MOST_FACTORS = 1024
RATES = ("adaptive", "paper")


class Settings(NamedTuple):
    """What one training needs of the estimators' parameters; `defaults` of the number of ratings filled in."""

    epochs: int
    rates: str
    learning_rate: float
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
    from gpukit.factorization.solvers.sgd.rates import default_epochs, defaults

    check_integer("n_factors", estimator.n_factors, 1, MOST_FACTORS)
    kind = check_choice("rates", estimator.rates, RATES)
    check_choice("precision", estimator.precision, PRECISIONS)
    check_real("validation_fraction", estimator.validation_fraction, 0.0, 0.9)
    usual, given = defaults(kind, n_ratings), estimator.n_epochs
    return Settings(
        default_epochs(n_ratings) if given is None else check_integer("n_epochs", given, 1),
        kind,
        check_real("learning_rate", known(estimator.learning_rate, usual["learning_rate"]), 0.0, strict=True),
        check_real("regularization", known(estimator.regularization, usual["regularization"]), 0.0),
        usual["annealing"],
        bool(getattr(estimator, "biases", True)),
        check_integer("early_stopping", estimator.early_stopping, 0),
        check_integer("random_state", known(estimator.random_state, 0), 0, 2**63 - 1),
    )


def known(value, usual):
    """value, or the usual one for None."""
    return usual if value is None else value
