"""Messages of ranks that mpiexec or srun has started, by MPI on host arrays."""

import atexit
import contextlib
import ctypes
import enum
import os
import socket
import sys
import threading
import time

import numpy as np

from gpukit.interrupt import undisturbed
from gpukit.parallel.heartbeat import END_SECONDS, Heartbeat
from gpukit.parallel.rendezvous import START_SECONDS, find_address, make_rendezvous, meet
from gpukit.parallel.team import TeamError
from gpukit.runtime.launcher_env import launched_ranks, read_whole_number

PART_BYTES = 1 << 30  # an MPI count is an int
LATER_SECONDS = 3.0  # until the next rank reports what all have noticed
NOT_STARTED = (
    "MPI has not started on all ranks for {:g} s: one is stopped, or its host cannot be reached. If ranks start later, "
    "set GPUKIT_START_SECONDS."
)


class Tag(enum.IntEnum):
    """A message; the length of one sent in parts; a part."""

    WHOLE, LENGTH, PART = range(7, 10)


def start_mpi():
    """Return mpi4py's MPI, initialized by a C call that lets other Python threads run.

    mpi4py's own initialization blocks all threads, and waits for a stopped rank without a timeout.
    """
    import mpi4py

    mpi4py.rc.initialize = False
    if mpi4py.rc.finalize is None:
        mpi4py.rc.finalize = True
    from mpi4py import MPI

    if not MPI.Is_initialized():
        try:
            initialize = ctypes.CDLL(MPI.__file__).MPI_Init_thread
        except (OSError, AttributeError):  # the library has no such symbol
            MPI.Init_thread()
            return MPI
        initialize(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
        for communicator in (MPI.COMM_SELF, MPI.COMM_WORLD):  # as after mpi4py's own initialization
            communicator.Set_errhandler(MPI.ERRORS_RETURN)
    return MPI


@contextlib.contextmanager
def limit_start(errors):
    """End this process if the context takes longer than GPUKIT_START_SECONDS; one rank says so."""
    seconds, done = read_whole_number(os.environ, "GPUKIT_START_SECONDS", START_SECONDS), threading.Event()

    def end():
        if not done.wait(seconds + LATER_SECONDS * min(2, launched_ranks()[1])):
            os.write(2 if errors is None else errors, f"Error: {NOT_STARTED.format(seconds)}\n".encode())
            os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class Messages:
    """Messages of an MPI rank; errors: descriptor for messages that rank 0 cannot print any more."""

    def __init__(self, errors=None):
        with limit_start(errors):
            self.MPI = start_mpi()
            self.communicator = self.MPI.COMM_WORLD.Dup()
            self.rank, self.size = self.communicator.Get_rank(), self.communicator.Get_size()
            hosts = self.communicator.allgather(socket.gethostname())
            meeting = make_rendezvous(self.size, find_address() if len(set(hosts)) > 1 else None)
            meeting = self.communicator.bcast(meeting)._replace(rank=self.rank)
            self.heartbeat = Heartbeat(meeting, meet(meeting), errors, is_process=True)
        self.queued, self.discarded = [], []
        self.check, self.fail = self.heartbeat.check, self.heartbeat.fail
        atexit.register(self._finalize)

    @undisturbed
    def send(self, rank, data):
        """See team.Messages."""
        with self._translate_errors(rank):
            self.queued = [(data, request) for data, request in self.queued if not request.Test()]
            data = np.frombuffer(data, np.uint8)
            if len(data) <= PART_BYTES:
                self._queue(rank, data, Tag.WHOLE)
                return
            self._queue(rank, np.array([len(data)]).view(np.uint8), Tag.LENGTH)
            for part in split_parts(data):
                self._queue(rank, part, Tag.PART)

    def _queue(self, rank, data, tag):
        self.queued.append((data, self.communicator.Isend([data, self.MPI.BYTE], rank, tag)))

    def receive(self, rank):
        """See team.Messages."""
        with self._translate_errors(rank):
            status = self.MPI.Status()
            self._wait_until(lambda: self.communicator.Iprobe(rank, self.MPI.ANY_TAG, status))
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            self.communicator.Recv([data, self.MPI.BYTE], rank, status.Get_tag())
            if status.Get_tag() == Tag.LENGTH:
                data = np.empty(data.view(np.int64)[0], np.uint8)
                for part in split_parts(data):
                    self._wait_until(lambda: self.communicator.Iprobe(rank, Tag.PART))
                    self.communicator.Recv([part, self.MPI.BYTE], rank, Tag.PART)
        return data.data

    @contextlib.contextmanager
    def _translate_errors(self, rank=None):
        """Raise MPI's errors within the context as TeamErrors."""
        try:
            yield
        except self.MPI.Exception as error:
            name = "another rank" if rank is None else f"rank {rank}"
            raise TeamError(f"MPI does not reach {name}: {error}.") from error

    def close(self, patient=True):
        """See team.Messages. Queued messages are sent first; the heartbeat ends with the process."""
        with self._translate_errors():
            for _, request in self.queued:
                self._wait_until(lambda request=request: self._discard_incoming() or request.Test(), patient)
        self.queued = []

    def _discard_incoming(self):
        """Receive and discard messages, because their senders cannot leave before."""
        status = self.MPI.Status()
        self.discarded = [(data, request) for data, request in self.discarded if not request.Test()]
        while self.communicator.Iprobe(self.MPI.ANY_SOURCE, self.MPI.ANY_TAG, status):
            data = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            request = self.communicator.Irecv([data, self.MPI.BYTE], status.Get_source(), status.Get_tag())
            self.discarded.append((data, request))  # the sender may be stopped before it has sent all

    def _wait_until(self, is_done, patient=True):
        """Return when is_done() is true; unlike MPI's own waits, raise the error of another rank.

        patient=False: an error is known, and only the loss of a rank ends the wait.
        """
        busy_until = time.monotonic() + 0.002
        while not is_done():
            if time.monotonic() > busy_until:
                if patient:
                    self.check()
                elif self.heartbeat.lost is not None:
                    return
                time.sleep(0.0005)

    def _finalize(self):
        """Wait for all ranks; end the process if one is lost, because MPI's finalization would wait for it."""
        if not self.MPI.Is_finalized():
            with self._translate_errors():
                barrier = self.communicator.Ibarrier()
                self._wait_until(lambda: self._discard_incoming() or barrier.Test(), patient=False)
        if self.heartbeat.lost is None:
            self.heartbeat.close(False)
            return
        if self.rank == int(self.heartbeat.lost == 0):  # the first rank that is left
            if not self.heartbeat.noticed:
                os.write(2, f"Error: {self.heartbeat.failure[1]}\n".encode())
        else:  # once one rank has left, mpiexec ends the others
            time.sleep(2 * END_SECONDS - LATER_SECONDS)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def split_parts(data):
    """Return views of an array of PART_BYTES bytes each; the last may be shorter."""
    return [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
