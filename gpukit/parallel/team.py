"""`Team`: collective operations of ranks, on top of messages from one rank to another; transport of arrays."""

import contextlib
import json
import signal
import struct
from typing import Protocol

import numpy as np

from gpukit.errors import GpukitError
from gpukit.interrupt import Interrupted

HEADER = struct.Struct("<16sq")  # the numbers after it are aligned; a dtype of text has up to 12 letters
OPERATIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class TeamError(GpukitError):
    """Another rank has failed, has ended, or does not answer."""


def describe_error(error):
    """Return (exit code, or minus the number of a stop signal; message) of an exception, for another rank."""
    if isinstance(error, KeyboardInterrupt):
        return -int(getattr(error, "number", signal.SIGINT)), ""
    text = str(error) if isinstance(error, GpukitError) else f"{type(error).__name__}: {error}"
    return getattr(error, "exit_code", 1), text


def raise_error(code, text):
    """Raise the exception of another rank's `describe_error`."""
    if code < 0:
        raise Interrupted(-code)
    error = TeamError(text)
    error.exit_code = code
    raise error


class Messages(Protocol):
    """Messages between the ranks of a Team: sockets.Messages or mpi.Messages.

    A message is bytes. Messages from one rank to another arrive in the order in which they were sent.
    """

    rank: int
    size: int
    heartbeat: object  # heartbeat.Heartbeat

    def send(self, rank, data):
        """Send bytes-like data.

        May return before they arrive, and never waits for a rank that waits too.
        """

    def receive(self, rank):
        """Return the next message of a rank, as a buffer that belongs to the caller.

        Raises the error of another rank, TeamError if one has ended or is silent.
        """

    def check(self):
        """Raise the error of another rank, if one has failed. May be called often."""

    def fail(self, code, text):
        """Report an error to all other ranks: its exit code and message, or minus the number of a stop signal."""

    def close(self, patient=True):
        """Close the connections.

        patient=False: the computation has failed, and others may not read queued messages.
        """


class Team:
    """The ranks of one computation; a context that reports its exceptions to all other ranks.

    messages: None for a team of one rank; rank: number of this rank, from 0; size: number of ranks; communicators: of
    NCCL, see nccl.make_gpu_transport. Arrays are numpy arrays, and returned arrays belong to the caller.
    """

    def __init__(self, messages=None):
        self.messages, self.communicators = messages, {}
        self.rank, self.size = (0, 1) if messages is None else (messages.rank, messages.size)

    @property
    def others(self):
        """Return the numbers of all other ranks, in increasing order."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def broadcast(self, array=None, root=0):
        """Return the array of rank `root` on all ranks; on `root` the given object itself."""
        if self.size == 1:
            return array
        if self.rank != root:
            return self.receive(root)
        message = pack(array)
        for rank in self.others:
            self.messages.send(rank, message)
        return array

    def reduce(self, array, operation="sum"):
        """Return the sum ('max', 'min') of all ranks' arrays on rank 0, None on others.

        Arrays have one shape and are added in the order of the ranks.
        """
        if self.rank:
            self.send(0, array)
            return None
        total = np.array(array)
        for rank in self.others:
            total = OPERATIONS[operation](total, self.receive(rank))
        return total

    def allreduce(self, array, operation="sum"):
        """Return the result of `reduce` on all ranks, bit for bit the same."""
        return self.broadcast(self.reduce(array, operation))

    def allgather(self, array):
        """Return [array of rank 0, of rank 1, ...], of any shapes, on all ranks."""
        return self.alltoall([array] * self.size)

    def broadcast_json(self, value=None):
        """Return the value of rank 0 on all ranks: text, exact numbers, and lists of them."""
        return json.loads(bytes(self.broadcast(None if self.rank else pack_json(value))))

    def gather(self, array):
        """Return [array of rank 0, of rank 1, ...] on rank 0, None on others."""
        if self.rank:
            self.send(0, array)
            return None
        return [array, *map(self.receive, self.others)]

    def allgather_json(self, value):
        """Return [value of rank 0, of rank 1, ...] on all ranks: text, numbers, and lists of them."""
        return [json.loads(bytes(array)) for array in self.allgather(pack_json(value))]

    def alltoall(self, arrays):
        """Return [array that rank 0 has for this rank, that rank 1 has, ...]; arrays: one for each rank."""
        for rank in self.others:
            self.send(rank, arrays[rank])
        return [np.array(arrays[rank]) if rank == self.rank else self.receive(rank) for rank in range(self.size)]

    def barrier(self):
        """Return when all ranks have called it."""
        self.allreduce(np.zeros(1, np.int8))

    def fail(self, error):
        """Report an exception to all other ranks: an error's message, or a request to stop."""
        if self.messages is not None:
            self.messages.fail(*describe_error(error))

    def check(self):
        """Raise the error of another rank, if one has failed."""
        if self.messages is not None:
            self.messages.check()

    def abort_at_failure(self, abort):
        """Call a function once if a rank fails, from any thread: it aborts work that waits for another rank."""
        self.messages.heartbeat.at_failure.append(abort)

    def close(self, patient=True):
        """Leave the team. patient: see Messages."""
        if self.messages is not None:
            self.messages.close(patient)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.fail(error)
        self.close(patient=error is None)

    def send(self, rank, array):
        """Send an array; see Messages."""
        self.messages.send(rank, pack(array))

    def receive(self, rank):
        """Return the next array that a rank has sent."""
        return unpack(self.messages.receive(rank))


def pack_json(value):
    """Return a value as JSON, (n,) uint8."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def pack(array):
    """Return the message of an array: dtype, number of dimensions, shape, data."""
    shape, array = np.shape(array), np.ascontiguousarray(array)
    header = HEADER.pack(array.dtype.str.encode(), len(shape)) + struct.pack(f"<{len(shape)}q", *shape)
    message = np.empty(len(header) + array.nbytes, np.uint8)
    message[: len(header)] = bytearray(header)
    message[len(header) :] = array.reshape(-1).view(np.uint8)
    return message.data


def unpack(data):
    """Return the array of a message."""
    kind, number = HEADER.unpack_from(data)
    shape = struct.unpack_from(f"<{number}q", data, HEADER.size)
    start = HEADER.size + 8 * number
    return np.frombuffer(data, kind.rstrip(b"\0").decode(), offset=start).reshape(shape)


class HostTransport:
    """Transport of arrays between ranks through the host by a Team's messages.

    nccl.NcclTransport has the same methods for GPUs that reach each other. Streams matter only there.
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


ALONE = Team()
