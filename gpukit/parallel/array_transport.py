"""Transport of arrays between ranks, through the host.

nccl.NcclTransport has the same methods for GPUs that reach each other. Streams matter only there.
"""

import contextlib

import numpy as np


class HostTransport:
    """Transport through the host by a Team's messages.

    fetch(array) returns an array on the host; store(values, array) copies host values into an array.
    """

    def __init__(self, team, fetch=lambda array: array, store=lambda values, array: np.copyto(array, values)):
        self.team, self.fetch, self.store, self.pending = team, fetch, store, []

    def group(self):
        """Return a context whose sends and receives may run in any order; call the sends first."""
        return contextlib.nullcontext()

    def send(self, rank, array, stream=None):
        """Send an array to a rank."""
        self.team.send(rank, self.fetch(array))

    def receive(self, rank, array, stream=None):
        """Receive into array, of the shape and dtype of the array that the rank has sent."""
        self.store(self.team.receive(rank), array)

    def broadcast(self, array, root=0, stream=None):
        """Copy the array of rank `root` into array on all other ranks."""
        is_root = self.team.rank == root
        values = self.team.broadcast(self.fetch(array) if is_root else None, root)
        if not is_root:
            self.store(values, array)

    def allreduce(self, array, stream=None, out=None):
        """Write the sum of all ranks' arrays to out, by default to array itself."""
        self.store(self.team.allreduce(self.fetch(array)), array if out is None else out)

    def alltoall(self, parts, out, stream=None):
        """Start to send parts[r] to rank r and to receive out[r] from it; `wait` completes it.

        parts, out: {other rank: array}; empty arrays may be omitted on both sides.
        """
        for rank, array in parts.items():
            self.send(rank, array, stream)
        self.pending += out.items()

    def wait(self, stream=None):
        """Complete all calls of `alltoall`.

        With NCCL, work queued on the default stream afterwards finds the arrays complete.
        """
        while self.pending:
            self.receive(*self.pending.pop(0))

    def check(self):
        """Raise errors of other ranks: none here, because waits for messages do it."""
