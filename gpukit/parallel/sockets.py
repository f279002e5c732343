"""Messages between ranks of one machine, by a pair of sockets for each pair of ranks."""

import os
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpukit._pool import cores
from gpukit.interrupt import undisturbed
from gpukit.parallel.team import SilenceError, TeamError

TIMEOUT = 600.0  # seconds to wait for another rank
BUSY_SECONDS = 0.001  # of polling before a rank sleeps, which delays its next message; only with idle processors
LENGTH = struct.Struct("<q")  # header of a message


def make_socket_pairs(size):
    """Return [{other rank: socket}], a dict for each of `size` ranks that are about to start."""
    ends = [{} for _ in range(size)]
    try:
        for rank in range(size):
            for other in range(rank):
                ends[rank][other], ends[other][rank] = socket.socketpair()
    except OSError:
        for end in (end for sockets in ends for end in sockets.values()):
            end.close()
        raise
    return ends


class Messages:
    """Messages of a rank; ends: {other rank: file descriptor of its socket}."""

    def __init__(self, rank, ends, seconds=TIMEOUT):
        self.rank, self.size, self.seconds = rank, len(ends) + 1, seconds
        self.busy_seconds = BUSY_SECONDS if cores() >= 2 * self.size else 0.0
        self.sockets = {other: socket.socket(fileno=descriptor) for other, descriptor in ends.items()}
        self.senders = {other: ThreadPoolExecutor(1) for other in ends}
        self.queued = {other: [] for other in ends}
        for end in self.sockets.values():
            set_timeouts(end.fileno(), seconds)

    @undisturbed
    def send(self, rank, data):
        """See team.Messages. A thread sends the bytes that the socket does not take at once."""
        queue = self.queued[rank]
        while queue and queue[0].done():
            queue.pop(0).result()
        parts = LENGTH.pack(len(data)), data
        rest = parts if queue else self._send(rank, parts, socket.MSG_DONTWAIT)
        if rest:
            queue.append(self.senders[rank].submit(self._send, rank, rest))

    def receive(self, rank):
        """See team.Messages."""
        return self._read_body(rank, self._read_header(rank))

    def check(self):
        """See team.Messages. Does nothing, because launch.py monitors the ranks that it has started."""

    def close(self, patient=True):
        """See team.Messages. Queued messages are sent first."""
        for rank in self.sockets:
            try:
                self._flush(rank)
            except TeamError:
                continue
        for pool in self.senders.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for end in self.sockets.values():
            end.close()

    def _flush(self, rank):
        while self.queued[rank]:
            self.queued[rank].pop(0).result()

    def _send(self, rank, parts, flags=0):
        """Send parts; return the remaining ones, which MSG_DONTWAIT may leave."""
        try:
            while parts:
                parts = remaining_parts(parts, self.sockets[rank].sendmsg(parts, (), flags))
        except OSError as error:
            if not (flags and isinstance(error, BlockingIOError)):
                raise self._team_error(rank, error) from None
        return parts

    def _read_header(self, rank, wait=True):
        """Return the header of the next message; without wait, BlockingIOError if none has arrived."""
        header = bytearray(LENGTH.size)
        count = self._poll(rank, header) if wait else self._read(rank, header, socket.MSG_DONTWAIT)
        self._fill(rank, memoryview(header), count)
        return header

    def _read_body(self, rank, header):
        """Return the message of a header."""
        data = np.empty(LENGTH.unpack(header)[0], np.uint8)
        self._fill(rank, memoryview(data))
        return data.data

    def _poll(self, rank, buffer):
        """Read into a buffer without sleeping; return the number of bytes, 0 after self.busy_seconds."""
        end = time.monotonic() + self.busy_seconds
        while time.monotonic() < end:
            try:
                return self._read(rank, buffer, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
        return 0

    def _fill(self, rank, view, count=0):
        """Fill a memoryview of bytes after its first `count`."""
        try:
            while count < len(view):
                count += self._read(rank, view[count:])
        except BlockingIOError as error:
            raise self._team_error(rank, error) from None

    def _read(self, rank, buffer, flags=0):
        """Return the number of bytes read; TeamError if the rank has ended, BlockingIOError if nothing arrives."""
        try:
            if count := self.sockets[rank].recv_into(buffer, flags=flags):
                return count
        except BlockingIOError:
            raise
        except OSError as error:
            raise self._team_error(rank, error) from None
        raise self._team_error(rank, None)

    def _team_error(self, rank, error):
        if isinstance(error, BlockingIOError):
            return SilenceError(
                f"Rank {rank} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?"
            )
        return TeamError(f"Rank {rank} has ended before the computation was complete: killed, or out of memory.")


def remaining_parts(parts, sent):
    """Return the parts of a message without their first `sent` bytes."""
    first, *others = parts
    if sent < len(first):
        return memoryview(first)[sent:], *others
    return remaining_parts(others, sent - len(first)) if others else ()


def set_timeouts(descriptor, seconds):
    """Make reads from and writes to a socket fail after `seconds` without a byte."""
    limit = struct.pack("ll", int(seconds), int(1e6 * (seconds % 1)))
    with socket.socket(fileno=os.dup(descriptor)) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
