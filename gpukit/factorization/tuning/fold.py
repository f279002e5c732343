"""Ratings of one fold, prepared once for every setting."""

from gpukit import device as devices
from gpukit.errors import DataError
from gpukit.factorization.baseline import USUAL
from gpukit.factorization.choose.evaluator import ONE_THREAD, Evaluator, Outcome, Stopping, rms, train_candidate
from gpukit.factorization.estimator import LSHMF, MatrixFactorization, check_shape
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.factorization.tuning.grid import OPEN
from gpukit.runtime import thread_count
from gpukit.timing import work_clock

PATIENCE = 5  # epochs without a lower RMSE that end a training


def estimator_of(template, setting, epochs=None):
    """Return the unfitted estimator of a grid.Setting.

    template: an LSHMF with the other parameters.
    """
    kind = MatrixFactorization if setting.n_neighbors == 0 else LSHMF
    names = kind().get_params()
    chosen = {**template.get_params(), **setting._asdict(), "n_epochs": epochs}
    return kind(**{name: value for name, value in chosen.items() if name in names})


class Fold:
    """Training and judging ratings of one fold on a device.

    train, test: Ratings of the same rows; template: an LSHMF; most: the largest K of the settings, whose neighbours all
    settings share. Preparations exist for either major side.
    """

    def __init__(self, train, test, template, most):
        check_shape(train)
        if not len(test):
            raise DataError("a fold has no ratings to judge by: use fewer folds (cv).")
        self.train, self.test, self.template, self.most = train, test, template, most
        self.device, self.threads = devices.resolve(template.device), 1 if len(train) <= ONE_THREAD else None
        self.evaluators = {}

    def evaluator(self, model, seed):
        """Return the choose.evaluator.Evaluator for the major side of an estimator."""
        if model.walk not in self.evaluators:
            way = PreparationOptions(model.walk, seed, model.deterministic, model.walk == LSHMF.walk)
            find = lambda orders, steps: model.find_neighbors(orders, steps, self.most)  # noqa: E731
            self.evaluators[model.walk] = Evaluator(self.train, self.test, way, self.device, find)
        return self.evaluators[model.walk]

    def evaluate(self, setting, epochs, leader=None, margin=0.0):
        """Return the Outcome of a Setting, without the errors of its predictions.

        epochs: the maximum. leader, margin: see Stopping.
        """
        with devices.reported(self.device, "Training"), thread_count.limited(self.threads):
            if setting == OPEN:
                return self.evaluate_open()
            model = estimator_of(self.template, setting, epochs)
            plan = model.check(len(self.train))
            evaluators = [self.evaluator(model, plan.seed)]
            return train_candidate(evaluators, plan, Stopping(PATIENCE, leader, margin))._replace(errors=None)

    def evaluate_open(self):
        """Return the Outcome of the estimator that chooses its own settings, as one epoch."""
        begun, model = work_clock(), estimator_of(self.template, OPEN).fit(self.train)
        row = {"epoch": 1, "rmse": model.evaluate(self.test)["rmse"], "seconds": work_clock() - begun}
        return Outcome(model.check(len(self.train))._replace(epochs=1), [row], None)

    def means_rmse(self):
        """Return the RMSE of the bias-only predictor (baseline.py) on the judging ratings."""
        evaluator = next(iter(self.evaluators.values()), None) or self.evaluator(self.template, 0)
        return rms(evaluator.biased(USUAL))
