"""Arrays in their places from rank to rank: the Team's names for arrays that are filled, not made anew.

`HostLines` goes by the Team's messages, whatever device the arrays lie on; nccl.py has the same names for GPUs that
reach one another. A stream is only told for GPUs' sake.
"""

import contextlib

import numpy as np

from gpukit.parallel.team import SUMS


class HostLines:
    """A Team's arrays by way of the host. fetch(array): it on the host; store(values, array): array = values."""

    def __init__(self, team, fetch=lambda array: array, store=lambda values, array: np.copyto(array, values)):
        self.team, self.fetch, self.store, self.coming = team, fetch, store, []

    def together(self):
        """A context whose sends and receives may be carried out in any order; call the sends first."""
        return contextlib.nullcontext()

    def send(self, rank, array, stream=None):
        """Hand an array over to a rank."""
        self.team.send(rank, self.fetch(array))

    def receive(self, rank, array, stream=None):
        """array = what a rank has sent, of its shape and dtype."""
        self.store(self.team.receive(rank), array)

    def broadcast(self, array, root=0, stream=None):
        """array = that of rank `root`, on all ranks."""
        mine = self.team.rank == root
        values = self.team.broadcast(self.fetch(array) if mine else None, root)
        if not mine:
            self.store(values, array)

    def allreduce(self, array, how="sum", stream=None, out=None):
        """Write the sum (or 'max', 'min') of all ranks' arrays, of one shape, to out, or to array itself."""
        if how not in SUMS:
            raise ValueError(f"how must be one of {', '.join(SUMS)}; got {how!r}")
        self.store(self.team.allreduce(self.fetch(array), how), array if out is None else out)

    def allgather(self, array, out, stream=None):
        """out[r] = array of rank r, of one shape on all ranks."""
        self.store(np.stack(self.team.allgather(self.fetch(array))), out)

    def alltoall(self, parts, out, stream=None):
        """out[r] = what rank r has for this rank among its parts, {rank: array} both, of other ranks; arrays that have
        nothing may be left out on both sides. They are there once `arrive` has returned; what is done in between waits
        for no other rank."""
        for rank, array in parts.items():
            self.send(rank, array, stream)
        self.coming += out.items()

    def arrive(self, stream=None):
        """Wait until all that `alltoall` was to bring is there; by NCCL on a GPU, until work queued on the default
        stream from now on will find it there."""
        while self.coming:
            self.receive(*self.coming.pop(0))

    def check(self):
        """Raise what has gone wrong on other ranks meanwhile: nothing here, where every wait has a limit."""
