"""What the device models of cpu.py and gpu.py have in common."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.model.state import rows_of_side
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.ease.training import pair_sums
from gpukit.random import key
from gpukit.streams import Keyed


class DeviceModel:
    """A State on a device: epochs over ratings, predictions, scores; cpu.DeviceModel documents the other methods.

    preparing: prepare.cpu or prepare.gpu.
    """

    @classmethod
    def begin(cls, beginning, layout, walk, history):
        """Return the model at the start of a training; beginning: model.state.Beginning.

        It has small random factors, biases at the baseline (or 0), and no influences.
        """
        steps, sides = cls.preparing, []
        base = [steps.resident(side, np.float64) for side in beginning.baseline]
        for rows, side_base, stream in zip(beginning.shape, base, Keyed.FIRST_FACTORS):
            kind = rows_of_side(layout, walk, stream == Keyed.FIRST_FACTORS[0])
            table = steps.empty((rows + 1, kind.stride), np.float32)
            factors = table.view(np.float16) if kind.half else table
            seed_key = np.uint32(key(beginning.seed, stream))
            steps.run("start_rows", seed_key, side_base, beginning.biases, kind.n_factors, factors, table)
            sides.append(table)
        neighborhood, shape = None, (beginning.shape[1] + 1, layout.slots)
        if layout.slots:
            near, offsets = steps.empty(shape, np.int32), steps.empty(shape, np.float32)
            steps.run("pack_near", steps.resident(beginning.neighbors, np.int32), base[1], near, offsets)
            neighborhood = near, steps.zeros((shape[0], 2 * shape[1]), np.float32), offsets
        arrays = *major_first(walk, *sides), beginning.neighbors, neighborhood
        return cls(None, layout, walk, history, arrays)

    def restart(self, state):
        """Continue from a state.State of the same layout."""
        self.parameters = type(self)(state, self.layout, self.walk, self.history).parameters

    def predict(self, pairs):
        """Return predictions (n,) float32 on the host, in the units of training.

        pairs: result of `ask`.
        """
        fetch = self.preparing.fetch
        predicted = fetch(self.predicted(pairs))
        if self.item_weights is not None:
            predicted += pair_sums(self, *major_first(self.walk, fetch(pairs.major), fetch(pairs.minor)))
        return predicted

    def truth(self, values):
        """Return ratings (n,) float32 in the form that `errors` takes."""
        return np.ascontiguousarray(values, np.float32)

    def errors(self, pairs, truth, scale):
        """Return (sum of squared errors, of absolute errors) in the ratings' units.

        pairs, truth: results of `ask` and `truth`.
        """
        return training_data.errors(self.predicted(pairs), truth, scale, self.preparing)

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
