"""What training and serving need of a device: cpu.py and gpu.py are modules with these names."""

from typing import Protocol


class Session(Protocol):
    """A State at work on a device: epochs over ratings, predictions, scores."""

    def __init__(self, state, layout, walk, history):
        """state: state.State; layout: what `Steps.layout` gave; walk: 'users' or 'items'; history: prepare.History."""

    def train_on(self, side, query, tables, workers):
        """What epochs walk: a Side, the Query of its ratings (not read without neighbours), chunk tables and the
        workers for each."""

    def epoch(self, rates, turn):
        """One pass over all ratings; returns when it is done."""

    def ask(self, users, items, query):
        """Pairs of rows made ready for `predict`."""

    def predict(self, asked):
        """(n,) float32 on the host, in the units of training, of what `ask` returned."""

    def tile_users(self):
        """Users scored at once."""

    def best(self, users, n, hide):
        """(item rows (B, n) int32, scores (B, n) float32, NaN where too few items are left) on the host."""

    def state(self):
        """The State as it stands, on the host."""


class Steps(Protocol):
    """A module of steps."""

    Session: type

    def layout(self, n_factors, n_neighbors, half=False):
        """The layout.Layout of a model on the device."""

    def most_workers(self, layout):
        """Workers that are at work at once."""

    def find_neighbors(self, table, settings):
        """(neighbors (N, K) int32 on the host, random slots) of a neighbors Columns."""
