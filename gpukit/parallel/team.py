"""`Team`: what ranks do together, on top of messages from one to another."""

import signal
import struct
from typing import Protocol

import numpy as np

from gpukit.errors import GpukitError
from gpukit.interrupt import Interrupted

HEAD, FAILED = struct.Struct("<4s4xq"), b"fail"  # as long as keeps numbers behind it where processors like them
SUMS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class TeamError(GpukitError):
    """Another rank has failed, has ended, or does not answer."""


class SilenceError(TeamError):
    """Another rank has not answered within the limit."""


class Messages(Protocol):
    """How a Team's ranks talk: sockets.Messages or mpi.Messages. A message is bytes; those from one rank to another
    arrive in the order in which they were sent."""

    rank: int
    size: int

    def send(self, rank, data):
        """Hand over bytes-like data; may return before they have arrived, and never waits for a rank that waits too."""

    def receive(self, rank):
        """The next message of a rank, as a buffer that belongs to the caller; raises TeamError when it has ended,
        SilenceError when the limit is over."""

    def check(self):
        """Raise TeamError where another rank is known to be stopped; for who waits by other ways. May be called
        often."""

    def close(self, patient=True):
        """No more messages; not patient: the work has failed, and others may not take what is still queued."""


class Team:
    """The ranks of one piece of work; a context: an exception in it is told to all others, who raise it too.

    rank: this one's number, from 0; size: how many there are. Without messages: one rank, which has everything
    already. Arrays are numpy's; what is returned belongs to the caller. kept: what else ranks talk by, for as long as
    there is a team (nccl.device_lines).
    """

    def __init__(self, messages=None):
        self.messages, self.kept = messages, {}
        self.rank, self.size = (0, 1) if messages is None else (messages.rank, messages.size)

    @property
    def others(self):
        """The numbers of all other ranks, rising."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def broadcast(self, array=None, root=0):
        """The array of rank `root`, on all ranks; on that one as it was given."""
        if self.size == 1:
            return array
        if self.rank != root:
            return self.receive(root)
        for rank in self.others:
            self.send(rank, array)
        return array

    def reduce(self, array, how="sum"):
        """On rank 0 the sum (or 'max', 'min') of all ranks' arrays of one shape, added in their order; else None."""
        if self.rank:
            self.send(0, array)
            return None
        total = np.array(array)
        for rank in self.others:
            total = SUMS[how](total, self.receive(rank))
        return total

    def allreduce(self, array, how="sum"):
        """The same as reduce, on all ranks: the same bits everywhere."""
        return self.broadcast(self.reduce(array, how))

    def allgather(self, array):
        """[array of rank 0, of rank 1, ...], of any shapes, on all ranks."""
        for rank in self.others:
            self.send(rank, array)
        return [np.array(array) if rank == self.rank else self.receive(rank) for rank in range(self.size)]

    def pass_on(self, array):
        """One step of a ring: send to the next rank, return what the one before has sent."""
        if self.size == 1:
            return np.array(array)
        self.send((self.rank + 1) % self.size, array)
        return self.receive((self.rank - 1) % self.size)

    def alltoall(self, parts):
        """[what rank 0 has for this rank, what rank 1 has, ...] of parts [array for rank 0, for rank 1, ...]."""
        for rank in self.others:
            self.send(rank, parts[rank])
        own = np.array(parts[self.rank])
        return [own if rank == self.rank else self.receive(rank) for rank in range(self.size)]

    def barrier(self):
        """Return when all ranks are here."""
        self.allreduce(np.zeros(1, np.int8))

    def fail(self, error):
        """Tell all others that this rank has failed, and why; one that was asked to stop asks them."""
        code = error.exit_code if isinstance(error, GpukitError) else 1
        if isinstance(error, KeyboardInterrupt):
            code = -getattr(error, "number", signal.SIGINT)
        text = str(error) if isinstance(error, GpukitError) else f"{type(error).__name__}: {error}"
        told = HEAD.pack(FAILED, code) + text.encode()
        for rank in self.others:
            try:
                self.messages.send(rank, told)
            except TeamError:  # it knows, or it is the one that has ended
                continue

    def check(self):
        """Raise TeamError where another rank is known to be stopped."""
        if self.messages is not None:
            self.messages.check()

    def close(self, patient=True):
        """Leave the team; patient: see Messages."""
        if self.messages is not None:
            self.messages.close(patient)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.fail(error)
        self.close(patient=error is None)

    def send(self, rank, array):
        """Hand an array over to a rank; may return before it has arrived, and never waits for a rank that waits too."""
        try:
            self.messages.send(rank, packed(array))
        except TeamError:  # it has ended; its last words may be there
            while True:
                self.receive(rank)

    def receive(self, rank):
        """The next array that a rank has sent."""
        return unpacked(self.messages.receive(rank))


def packed(array):
    """A message: 4 letters of the dtype, the number of dimensions, the shape, the bytes."""
    shape, array = np.shape(array), np.ascontiguousarray(array)
    head = HEAD.pack(array.dtype.str.encode(), len(shape)) + struct.pack(f"<{len(shape)}q", *shape)
    return b"".join((head, array.reshape(-1).view(np.uint8).data))


def unpacked(data):
    """The array of a message; raises what a rank that failed has told, Interrupted where it was asked to stop."""
    kind, numbers = HEAD.unpack_from(data)
    if kind == FAILED and numbers < 0:
        raise Interrupted(-numbers)
    if kind == FAILED:
        error = TeamError(bytes(data[HEAD.size :]).decode())
        error.exit_code = numbers
        raise error
    shape = struct.unpack_from(f"<{numbers}q", data, HEAD.size)
    start = HEAD.size + 8 * numbers
    return np.frombuffer(data, kind.rstrip(b"\0").decode(), offset=start).reshape(shape)


ALONE = Team()
