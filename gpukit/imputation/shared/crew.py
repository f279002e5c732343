"""A rank among those that complete a tensor together: its team, its device, how arrays go to the others."""

import warnings

import numpy as np

from gpukit.parallel.between import lines_between
from gpukit.parallel.devices import check_apart


class Crew:
    """This process's place in a parallel.Team; made by all ranks at once.

    device: device.Device of this rank, a CPU's or a GPU of its own; workspace: of the run (device.workspace.Workspace).
    lines: arrays to and from the others (parallel.lines). speeds (2, R): columns and slices that each rank does a
    second, as far as it was measured: see parts.py; shared: whether any tensor was shared out, on rank 0.
    """

    def __init__(self, team, device, workspace):
        self.team, self.device, self.workspace = team, device, workspace
        check_apart(team, device)
        self.lines = lines_between(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=2))
        self.speeds, self.measured, self.shared = np.ones((2, team.size)), False, False

    def ask(self, what, *numbers):
        """Rank 0: a question to all others; a number of session.py's, and arrays or numbers, flat."""
        self.team.broadcast(np.concatenate([[float(what)], *(np.ravel(each) for each in numbers)]))

    def collected(self, array):
        """On rank 0 [array of each rank]; on others None."""
        if self.team.rank:
            self.team.send(0, array)
            return None
        return [array, *(self.team.receive(rank) for rank in self.team.others)]
