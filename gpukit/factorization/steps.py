"""What the device models of cpu.py and gpu.py have in common."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.ease.training import pair_sums


class DeviceModel:
    """A State on a device: epochs over ratings, predictions, scores; cpu.DeviceModel documents the other methods.

    preparing: prepare.cpu or prepare.gpu.
    """

    def restart(self, state):
        """Continue from a state.State of the same layout."""
        self.parameters = type(self)(state, self.layout, self.walk, self.history).parameters

    def predict(self, asked):
        """Return predictions (n,) float32 on the host, in the units of training.

        asked: result of `ask`.
        """
        fetch = self.preparing.fetch
        predicted = fetch(self.predicted(asked))
        if self.item_weights is not None:
            predicted += pair_sums(self, *major_first(self.walk, fetch(asked.major), fetch(asked.minor)))
        return predicted

    def truth(self, values):
        """Return ratings (n,) float32 in the form that `errors` takes."""
        return np.ascontiguousarray(values, np.float32)

    def errors(self, asked, truth, scale):
        """Return (sum of squared errors, of absolute errors) in the ratings' units.

        asked, truth: results of `ask` and `truth`.
        """
        return training_data.errors(self.predicted(asked), truth, scale, self.preparing)

    @property
    def item_rows(self):
        """N."""
        return self.neighbors.shape[0]

    def learned(self):
        """Return (user rows, item rows, packed influences) on the device.

        Parameter rows are in row order.
        """
        return *major_first(self.walk, self.parameters.P, self.minor()), self.parameters.influence

    def minor(self):
        """Return the rows of the minor side in row order."""
        return self.parameters.Q
