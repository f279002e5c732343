"""Messages of ranks that mpiexec or srun has started, by MPI on host arrays."""

import time

import numpy as np

from gpukit.parallel.sockets import SECONDS
from gpukit.parallel.team import SilenceError

TAG = 7
PATIENT, PAUSE = 0.002, 0.0005  # seconds of asking without a pause; of a pause


class Messages:
    """The messages of a rank of an MPI communicator (mpi4py's; None: of all ranks)."""

    def __init__(self, world=None, seconds=SECONDS):
        from mpi4py import MPI

        self.MPI, self.seconds = MPI, seconds
        self.world = (MPI.COMM_WORLD if world is None else world).Dup()
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.queued = []

    def send(self, rank, data):
        """See team.Messages."""
        self.queued = [(data, request) for data, request in self.queued if not request.Test()]
        data = np.frombuffer(data, np.uint8)
        self.queued.append((data, self.world.Isend([data, self.MPI.BYTE], rank, TAG)))

    def receive(self, rank):
        """See team.Messages."""
        status = self.MPI.Status()
        self._await(lambda: self.world.Iprobe(rank, TAG, status), rank)
        data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
        self.world.Recv([data, self.MPI.BYTE], rank, TAG)
        return data.data

    def close(self):
        """See team.Messages. What is still queued is sent first."""
        for _, request in self.queued:
            self._await(request.Test, None)
        self.queued = []

    def _await(self, ready, rank):
        """Return when ready() is true; MPI's own waits would have no end."""
        begun = time.monotonic()
        while not ready():
            waited = time.monotonic() - begun
            if waited > self.seconds:
                whom = "Another rank" if rank is None else f"Rank {rank}"
                raise SilenceError(f"{whom} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?")
            if waited > PATIENT:
                time.sleep(PAUSE)
