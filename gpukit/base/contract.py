"""What all estimators have, under the same names; tests hold every one of them to it."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Learner(Protocol):
    """An estimator of gpukit.

    Data are its room's table (Ratings, Documents, GraphTensor) or plain arrays, the same for prepare and fit.
    """

    def check(self):
        """The parameters as the room's Settings, a NamedTuple; ParameterError for one out of bounds. Reads no data."""

    def prepare(self, *data, **more):
        """The room's Run: the data read and checked, on the device, everything before the first step."""

    def fit(self, *data, **more):
        """self: prepare, run, keep what was learned in attributes that end in _."""

    def save(self, path):
        """Write the fitted model to a file."""

    @classmethod
    def load(cls, path):
        """The fitted model in a file."""

    def get_params(self, deep=True):
        """The constructor's arguments."""

    def set_params(self, **params):
        """Set constructor arguments; what is fitted stays."""
