"""What training and serving need of a device: cpu.py and gpu.py are modules with these names."""

from typing import Protocol


class Session(Protocol):
    """A State at work on a device: epochs over ratings, predictions, scores."""

    def __init__(self, state, layout, walk, history, made=None):
        """state: state.State; layout: what `Steps.layout` gave; walk: 'users' or 'items'; history: arrays.History;
        made: what it would be made into, on the device, in place of a State.

        spread: whether `train_on` may move the minor side's rows, which takes a pass over all of them; True unless set.
        """

    def train_on(self, side, query, tables, workers, order=None):
        """What epochs walk: an arrays.Side, the Query of its ratings (not read without neighbours), chunk tables and
        the workers for each."""

    def batch_of(self, side, query):
        """The arrays.Batch of an arrays.Side; query as in `train_on`."""

    def restart(self, state):
        """Go on from a state.State of the same layout."""

    def epoch(self, rates, turn):
        """One pass over all ratings; returns when it is done."""

    def start_epoch(self, rates, turn):
        """`epoch`, on a GPU queued and not waited for."""

    def finish(self):
        """Return when what is queued is done."""

    def ask(self, users, items):
        """Pairs of rows, (n,) int32 on the host, made ready for `predict` and `errors`."""

    def predict(self, asked):
        """(n,) float32 on the host, in the units of training, of what `ask` returned."""

    def truth(self, values):
        """Ratings (n,) float32 made ready for `errors`."""

    def errors(self, asked, truth, scale):
        """(sum of squared, sum of absolute errors) in the ratings' units of what `ask` and `truth` returned."""

    def tile_users(self):
        """Users scored at once."""

    def best(self, users, n, worth, hide):
        """(item rows (B, n) int32, scores (B, n) float32, NaN where too few items are left) on the host.

        worth (N,) float32: added to each item's scores, NaN: the item is left out; hide: leave rated items out.
        """

    def learned(self):
        """(users', items' parameter rows as they are numbered, packed influences), on the device."""

    def state(self):
        """The State as it stands, on the host."""


class Steps(Protocol):
    """A module of steps. preparing: prepare.cpu or prepare.gpu; chunking: solvers.sgd.chunks.cpu or gpu."""

    Session: type
    preparing: object
    chunking: object

    def layout(self, n_factors, n_neighbors, half=False):
        """The layout.Layout of a model on the device."""

    def most_workers(self, layout):
        """Workers that are at work at once."""

    def find_neighbors(self, table, settings):
        """A function that waits for (neighbors (N, K) int32 on the device, random slots) of a neighbors Columns."""

    def begin(self, beginning, layout, walk, history) -> Session:
        """The Session that training begins with, of a state.Beginning."""
