"""Interface of all estimators, which tests verify for each of them."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Learner(Protocol):
    """Protocol of gpukit's estimators.

    Data are the package's table (Ratings, Documents, GraphTensor) or plain arrays, the same for prepare and fit.
    """

    def check(self):
        """Return the parameters as the package's Settings, a NamedTuple.

        Raises ParameterError for one out of bounds. Reads no data.
        """

    def prepare(self, *data, **more):
        """Return the package's Run, ready for its first step.

        The data are read, checked and on the device.
        """

    def fit(self, *data, **more):
        """Prepare, run, and store the result in attributes that end in _.

        Returns self.
        """

    def save(self, path):
        """Write the fitted model to a file."""

    @classmethod
    def load(cls, path):
        """Return the fitted model in a file."""

    def get_params(self, deep=True):
        """Return the constructor's arguments."""

    def set_params(self, **params):
        """Set constructor arguments; the fitted state stays."""
