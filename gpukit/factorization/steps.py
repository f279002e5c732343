"""Interface of cpu.py and gpu.py, for training and serving, and what both have in common."""

from typing import Protocol

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.ease.training import pair_sums


class DeviceModel:
    """A State on a device: epochs over ratings, predictions, scores. preparing: prepare.cpu or prepare.gpu."""

    preparing: object

    def __init__(self, state, layout, walk, history, made=None):
        """Initialize from a State or from arrays on the device.

        state: state.State; layout: result of `Steps.layout`; walk: 'users' or 'items'; history: arrays.History; made:
        arrays on the device, in place of a State.

        spread: whether `train_on` may move the minor side's rows, which takes one pass over them; True by default.
        """

    def train_on(self, side, query, tables, workers, order=None):
        """Set the data of the epochs.

        side: arrays.Side; query: the Query of its ratings (not read without neighbours); tables: chunk tables; workers:
        number of workers for each.
        """

    def batch_of(self, side, query):
        """Return the arrays.Batch of an arrays.Side; query as in `train_on`."""

    def restart(self, state):
        """Continue from a state.State of the same layout."""
        self.parameters = type(self)(state, self.layout, self.walk, self.history).parameters

    def start_epoch(self, rates, turn):
        """Run one epoch over all ratings; a GPU queues it and returns at once."""

    def finish(self):
        """Wait for queued work."""

    def ask(self, users, items):
        """Return pairs of rows in the form that `predict` and `errors` take.

        users, items: (n,) int32 on the host.
        """

    def predicted(self, asked):
        """Return the predictions of `predict`, without weights between items, on the device."""

    def predict(self, asked):
        """Return predictions (n,) float32 on the host, in the units of training.

        asked: result of `ask`.
        """
        fetch = self.preparing.fetch
        predicted = fetch(self.predicted(asked))
        if self.item_weights.size:
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

    def weighted(self, users, keys):
        """Add the weights of the users' items to scores, keys (b, N) uint32; return the keys on the host."""

    @property
    def item_rows(self):
        """N."""
        return self.neighbors.shape[0]

    def pairs_at_once(self):
        """Number of pairs predicted at once, at least 1."""

    def tile_users(self):
        """Number of users scored at once."""

    def best(self, users, n, worth, hide):
        """Return the n best items of user rows, on the host.

        Result: (item rows (B, n) int32, scores (B, n) float32). worth (N,) float32: added to each item's scores, NaN
        excludes the item; hide: exclude rated items. Scores are NaN where too few items are left.
        """

    def learned(self):
        """Return (user rows, item rows, packed influences) on the device.

        Parameter rows are in row order.
        """
        return *major_first(self.walk, self.parameters.P, self.minor()), self.parameters.influence

    def minor(self):
        """Return the rows of the minor side in row order."""
        return self.parameters.Q

    def state(self):
        """Return the current State on the host."""


class Steps(Protocol):
    """A module of steps. preparing: prepare.cpu or prepare.gpu; chunking: solvers.sgd.chunks.cpu or gpu."""

    DeviceModel: type
    preparing: object
    chunking: object

    def layout(self, n_factors, n_neighbors, half=False):
        """Return the layout.Layout of a model on the device."""

    def most_workers(self, layout):
        """Return the number of workers that run in parallel."""

    def find_neighbors(self, table, settings):
        """Return a function that waits for the neighbours of a neighbors Columns.

        The function returns (neighbors (N, K) int32 on the device, number of random slots).
        """

    def begin(self, beginning, layout, walk, history) -> DeviceModel:
        """Return the DeviceModel at the start of a training, from a state.Beginning."""
