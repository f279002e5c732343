"""A rank that completes a tensor with others: team, device, transport of arrays."""

import warnings

import numpy as np

from gpukit.parallel.devices import check_distinct_gpus, make_transport


class Crew:
    """This process's rank in a parallel.Team; constructed on all ranks together.

    device: device.Device of this rank, a CPU or a GPU of its own; workspace: of the run (device.workspace.Workspace).
    lines: array transport (parallel.array_transport). speeds (2, R): measured columns and slices per second of each
    rank, see parts.py; shared: True on rank 0 if a tensor was distributed.
    """

    def __init__(self, team, device, workspace):
        self.team, self.device, self.workspace = team, device, workspace
        check_distinct_gpus(team, device)
        self.lines = make_transport(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=2))
        self.speeds, self.measured, self.shared = np.ones((2, team.size)), False, False

    def ask(self, what, *numbers):
        """Broadcast a request of rank 0: a number of session.py, then arrays or numbers, flat."""
        self.team.broadcast(np.concatenate([[float(what)], *(np.ravel(each) for each in numbers)]))

    def collected(self, array):
        """Return [array of each rank] on rank 0, None on others."""
        if self.team.rank:
            self.team.send(0, array)
            return None
        return [array, *(self.team.receive(rank) for rank in self.team.others)]
