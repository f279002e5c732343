"""Messages of ranks that mpiexec or srun has started, by MPI on host arrays."""

import atexit
import contextlib
import math
import os
import sys
import time

import numpy as np

from gpukit.interrupt import undisturbed
from gpukit.parallel.mpi_init import attended, begin
from gpukit.parallel.sockets import SECONDS
from gpukit.parallel.stalled_ranks import QUIET, Waited, Watch, beside, place
from gpukit.parallel.team import SilenceError, TeamError

WHOLE, LENGTH, PART = 7, 8, 9  # tags: a message; the bytes of one that comes in parts, before it; a part
PIECE = 1 << 30  # bytes that go at once: an int of MPI's counts them
GRACE, MORE = 8.0, 2.0  # seconds that the first rank has to say why, before another one does, before mpiexec ends all
PATIENT, PAUSE = 0.002, 0.0005  # seconds of asking without a pause; of a pause


class Messages:
    """The messages of a rank of an MPI communicator (mpi4py's; None: of all ranks); errors: a descriptor on which it
    says what the first rank cannot say any more."""

    def __init__(self, world=None, seconds=SECONDS, errors=None):
        with attended(seconds, errors):
            self.MPI = begin()
            self.world = (self.MPI.COMM_WORLD if world is None else world).Dup()
            self.watch = Watch(beside(self.world.allgather(place())))
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.queued, self.dropped, self.errors, self.seconds = [], [], errors, seconds
        atexit.register(self._leave)

    @undisturbed
    def send(self, rank, data):
        """See team.Messages."""
        with self._named(rank):
            self.queued = [(data, request) for data, request in self.queued if not request.Test()]
            data = np.frombuffer(data, np.uint8)
            if len(data) <= PIECE:
                self._queue(rank, data, WHOLE)
                return
            self._queue(rank, np.array([len(data)]).view(np.uint8), LENGTH)
            for part in parts(data):
                self._queue(rank, part, PART)

    def _queue(self, rank, data, tag):
        self.queued.append((data, self.world.Isend([data, self.MPI.BYTE], rank, tag)))

    def receive(self, rank):
        """See team.Messages."""
        with self._named(rank):
            status = self.MPI.Status()
            self._await(lambda: self.world.Iprobe(rank, self.MPI.ANY_TAG, status), rank)
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            self.world.Recv([data, self.MPI.BYTE], rank, status.Get_tag())
            if status.Get_tag() == LENGTH:
                data = np.empty(data.view(np.int64)[0], np.uint8)
                for part in parts(data):
                    self._await(lambda: self.world.Iprobe(rank, PART), rank)
                    self.world.Recv([part, self.MPI.BYTE], rank, PART)
        return data.data

    @contextlib.contextmanager
    def _named(self, rank=None):
        """Within it MPI's own errors are TeamErrors."""
        try:
            yield
        except self.MPI.Exception as error:
            whom = "another rank" if rank is None else f"rank {rank}"
            raise TeamError(f"MPI does not reach {whom}: {error}.") from error

    def check(self):
        """See team.Messages: of ranks on this host."""
        self.watch.check()

    def close(self, patient=True):
        """See team.Messages. What is still queued is sent first."""
        if not patient:
            self.watch.seconds = 0.0  # who is stopped now takes nothing more
        try:
            with self._named():
                for _, request in self.queued:
                    self._await(lambda request=request: self._drop() or request.Test(), None)
        except TeamError:
            if patient:
                raise
        self.queued = []

    def _drop(self):
        """Take what others still send to a rank that reads no more: they could not leave before it is taken."""
        status = self.MPI.Status()
        self.dropped = [(data, request) for data, request in self.dropped if not request.Test()]
        while self.world.Iprobe(self.MPI.ANY_SOURCE, self.MPI.ANY_TAG, status):
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            request = self.world.Irecv([data, self.MPI.BYTE], status.Get_source(), status.Get_tag())
            self.dropped.append((data, request))  # who sends may be stopped in the middle of it

    def _await(self, ready, rank):
        """Return when ready() is true; MPI's own waits would have no end."""
        so_far = Waited()
        while not ready():
            waited = so_far.seconds()
            if waited > self.seconds:
                whom = "Another rank" if rank is None else f"Rank {rank}"
                raise SilenceError(f"{whom} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?")
            if waited > PATIENT:
                self.check()
                time.sleep(PAUSE)

    def _leave(self):
        """MPI's own end, which comes next, would wait for a rank that is stopped; without it mpiexec ends all."""
        silent = self.watch.found is None and not self._all_leave()
        if self.watch.found is None:
            return
        stopped, why = self.watch.found
        if self.rank:  # once one has left, mpiexec lets nobody get further
            speaks = self.rank == (2 if stopped == 1 else 1)
            time.sleep(GRACE if speaks else GRACE + MORE)
        if self.rank or silent:
            self._say(why)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)

    def _all_leave(self):
        """Wait for all to come here, however long one works by itself; False: one is stopped, which nobody has told."""
        if self.MPI.Is_finalized():
            return True
        self.seconds = math.inf
        try:
            with self._named():
                barrier = self.world.Ibarrier()
                self._await(lambda: self._drop() or barrier.Test(), None)
        except TeamError:
            self.errors = 2 if self.errors is None else self.errors
            return False
        return True

    def _say(self, why):
        """Say for all what the first rank has not said: it is stopped, or at work by itself."""
        if self.rank and 0 in self.watch.ranks:
            os.kill(self.watch.ranks[0], QUIET)
        if self.errors is not None:
            os.write(self.errors, f"Error: {why}\n".encode())


def parts(data):
    """Views of PIECE bytes of an array each, the last one of what is left."""
    return [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
