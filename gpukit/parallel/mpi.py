"""Messages of ranks that mpiexec or srun has started, by MPI on host arrays."""

import atexit
import contextlib
import math
import os
import sys
import time

import numpy as np

from gpukit.interrupt import undisturbed
from gpukit.parallel.mpi_init import start_mpi, watch_start
from gpukit.parallel.sockets import TIMEOUT
from gpukit.parallel.stalled_ranks import SILENT_EXIT, RankMonitor, WaitTimer, local_ranks, process_identity
from gpukit.parallel.team import SilenceError, TeamError

WHOLE, LENGTH, PART = 7, 8, 9  # tags: a message; the length of one sent in parts; a part
PART_BYTES = 1 << 30  # an MPI count is an int
REPORT_SECONDS, EXTRA_SECONDS = 8.0, 2.0  # for the first rank to report, before another does, before mpiexec ends all
BUSY_SECONDS, PAUSE = 0.002, 0.0005  # of polling without a pause; seconds of a pause


class Messages:
    """Messages of an MPI rank; errors: descriptor for messages that rank 0 cannot print any more."""

    def __init__(self, errors=None):
        with watch_start(TIMEOUT, errors):
            self.MPI = start_mpi()
            self.communicator = self.MPI.COMM_WORLD.Dup()
            self.monitor = RankMonitor(local_ranks(self.communicator.allgather(process_identity())))
        self.rank, self.size = self.communicator.Get_rank(), self.communicator.Get_size()
        self.queued, self.discarded, self.errors, self.seconds = [], [], errors, TIMEOUT
        atexit.register(self._finalize)

    @undisturbed
    def send(self, rank, data):
        """See team.Messages."""
        with self._translate_errors(rank):
            self.queued = [(data, request) for data, request in self.queued if not request.Test()]
            data = np.frombuffer(data, np.uint8)
            if len(data) <= PART_BYTES:
                self._queue(rank, data, WHOLE)
                return
            self._queue(rank, np.array([len(data)]).view(np.uint8), LENGTH)
            for part in split_parts(data):
                self._queue(rank, part, PART)

    def _queue(self, rank, data, tag):
        self.queued.append((data, self.communicator.Isend([data, self.MPI.BYTE], rank, tag)))

    def receive(self, rank):
        """See team.Messages."""
        with self._translate_errors(rank):
            status = self.MPI.Status()
            self._wait_until(lambda: self.communicator.Iprobe(rank, self.MPI.ANY_TAG, status), rank)
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            self.communicator.Recv([data, self.MPI.BYTE], rank, status.Get_tag())
            if status.Get_tag() == LENGTH:
                data = np.empty(data.view(np.int64)[0], np.uint8)
                for part in split_parts(data):
                    self._wait_until(lambda: self.communicator.Iprobe(rank, PART), rank)
                    self.communicator.Recv([part, self.MPI.BYTE], rank, PART)
        return data.data

    @contextlib.contextmanager
    def _translate_errors(self, rank=None):
        """Raise MPI's errors within the context as TeamErrors."""
        try:
            yield
        except self.MPI.Exception as error:
            name = "another rank" if rank is None else f"rank {rank}"
            raise TeamError(f"MPI does not reach {name}: {error}.") from error

    def check(self):
        """See team.Messages; checks the ranks of this host."""
        self.monitor.check()

    def close(self, patient=True):
        """See team.Messages. Queued messages are sent first."""
        if not patient:
            self.monitor.seconds = 0.0  # a stopped rank receives nothing more
        try:
            with self._translate_errors():
                for _, request in self.queued:
                    self._wait_until(lambda request=request: self._discard_incoming() or request.Test(), None)
        except TeamError:
            if patient:
                raise
        self.queued = []

    def _discard_incoming(self):
        """Receive and discard messages, because their senders cannot leave before."""
        status = self.MPI.Status()
        self.discarded = [(data, request) for data, request in self.discarded if not request.Test()]
        while self.communicator.Iprobe(self.MPI.ANY_SOURCE, self.MPI.ANY_TAG, status):
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            request = self.communicator.Irecv([data, self.MPI.BYTE], status.Get_source(), status.Get_tag())
            self.discarded.append((data, request))  # the sender may be stopped before it has sent all

    def _wait_until(self, is_done, rank):
        """Return when is_done() is true; unlike MPI's own waits, raise SilenceError after the timeout."""
        timer = WaitTimer()
        while not is_done():
            waited = timer.seconds()
            if waited > self.seconds:
                name = "Another rank" if rank is None else f"Rank {rank}"
                raise SilenceError(f"{name} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?")
            if waited > BUSY_SECONDS:
                self.check()
                time.sleep(PAUSE)

    def _finalize(self):
        """End the process if a rank is stopped, because MPI's finalization would wait for it."""
        silent = self.monitor.failure is None and not self._wait_for_all()
        if self.monitor.failure is None:
            return
        stopped, reason = self.monitor.failure
        if self.rank:  # once one rank has left, mpiexec ends the others
            reports = self.rank == (2 if stopped == 1 else 1)
            time.sleep(REPORT_SECONDS if reports else REPORT_SECONDS + EXTRA_SECONDS)
        if self.rank or silent:
            self._report(reason)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)

    def _wait_for_all(self):
        """Wait for all ranks without a timeout; return False if one is stopped."""
        if self.MPI.Is_finalized():
            return True
        self.seconds = math.inf
        try:
            with self._translate_errors():
                barrier = self.communicator.Ibarrier()
                self._wait_until(lambda: self._discard_incoming() or barrier.Test(), None)
        except TeamError:
            self.errors = 2 if self.errors is None else self.errors
            return False
        return True

    def _report(self, reason):
        """Print the reason that rank 0 has not printed, because it is stopped or computes."""
        if self.rank and 0 in self.monitor.ranks:
            os.kill(self.monitor.ranks[0], SILENT_EXIT)
        if self.errors is not None:
            os.write(self.errors, f"Error: {reason}\n".encode())


def split_parts(data):
    """Return views of an array of PART_BYTES bytes each; the last may be shorter."""
    return [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
