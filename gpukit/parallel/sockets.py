"""Messages between ranks on one machine: for any two of them a pair of sockets, made before they start."""

import os
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpukit._pool import cores
from gpukit.interrupt import undisturbed
from gpukit.parallel.team import SilenceError, TeamError

SECONDS = 600.0  # that a rank is waited for
EAGER = 0.001  # seconds of asking again and again, where processors are idle: a rank that sleeps wakes up late
LENGTH = struct.Struct("<q")  # of a message, before it


def pairs(size):
    """[{other rank: socket}], a dict for each rank, of ranks that are about to be started."""
    ends = [{} for _ in range(size)]
    try:
        for one in range(size):
            for other in range(one):
                ends[one][other], ends[other][one] = socket.socketpair()
    except OSError:
        for end in (end for its in ends for end in its.values()):
            end.close()
        raise
    return ends


class Messages:
    """The messages of a rank; ends: {other rank: file descriptor of its socket}."""

    def __init__(self, rank, ends, seconds=SECONDS):
        self.rank, self.size = rank, len(ends) + 1
        self.seconds, self.eager = seconds, EAGER if cores() >= 2 * self.size else 0.0
        self.lines = {other: socket.socket(fileno=descriptor) for other, descriptor in ends.items()}
        self.sending = {other: ThreadPoolExecutor(1) for other in ends}
        self.queued = {other: [] for other in ends}
        for line in self.lines.values():
            limit_waits(line.fileno(), seconds)

    @undisturbed
    def send(self, rank, data):
        """See team.Messages. What the socket does not take at once is sent by a thread."""
        queue = self.queued[rank]
        while queue and queue[0].done():
            queue.pop(0).result()
        parts = LENGTH.pack(len(data)), data
        left = parts if queue else self._send(rank, parts, socket.MSG_DONTWAIT)
        if left:
            queue.append(self.sending[rank].submit(self._send, rank, left))

    def receive(self, rank):
        """See team.Messages."""
        return self._body(rank, self._head(rank))

    def check(self):
        """See team.Messages: launch.py looks after ranks that it has started."""

    def close(self, patient=True):
        """See team.Messages. What is still queued is sent first."""
        for rank in self.lines:
            try:
                self._settle(rank)
            except TeamError:
                continue
        for pool in self.sending.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for line in self.lines.values():
            line.close()

    def _settle(self, rank):
        """Wait until all messages to a rank have gone."""
        while self.queued[rank]:
            self.queued[rank].pop(0).result()

    def _send(self, rank, parts, flags=0):
        """Send all parts, or with MSG_DONTWAIT as much as is taken at once; what is left, as parts."""
        try:
            while parts:
                parts = beyond(parts, self.lines[rank].sendmsg(parts, (), flags))
        except OSError as error:
            if not (flags and isinstance(error, BlockingIOError)):
                raise self._lost(rank, error) from None
        return parts

    def _head(self, rank, wait=True):
        """The head of the next message; BlockingIOError where none has begun and nobody is to wait for it."""
        head = bytearray(LENGTH.size)
        have = self._glance(rank, head) if wait else self._read(rank, head, socket.MSG_DONTWAIT)
        self._fill(rank, memoryview(head), have)
        return head

    def _body(self, rank, head):
        """The message that a head tells of."""
        data = np.empty(LENGTH.unpack(head)[0], np.uint8)
        self._fill(rank, memoryview(data))
        return data.data

    def _glance(self, rank, into):
        """How many bytes are read, of a message that is looked for again and again; 0: none within self.eager."""
        until = time.monotonic() + self.eager
        while time.monotonic() < until:
            try:
                return self._read(rank, into, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
        return 0

    def _fill(self, rank, view, have=0):
        """Fill a memoryview of bytes, of which some are there."""
        try:
            while have < len(view):
                have += self._read(rank, view[have:])
        except BlockingIOError as error:
            raise self._lost(rank, error) from None

    def _read(self, rank, into, flags=0):
        """How many bytes are read; TeamError where the other has ended, BlockingIOError where it does not answer."""
        try:
            if count := self.lines[rank].recv_into(into, flags=flags):
                return count
        except BlockingIOError:
            raise
        except OSError as error:
            raise self._lost(rank, error) from None
        raise self._lost(rank, None)

    def _lost(self, rank, error):
        if isinstance(error, BlockingIOError):
            return SilenceError(
                f"Rank {rank} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?"
            )
        return TeamError(f"Rank {rank} has ended before the work was done: killed, or out of memory.")


def beyond(parts, sent):
    """What is left of parts of a message, of which so many bytes have gone."""
    head, *others = parts
    if sent < len(head):
        return memoryview(head)[sent:], *others
    return beyond(others, sent - len(head)) if others else ()


def limit_waits(descriptor, seconds):
    """Make reads from and writes to a socket fail after so many seconds without a byte."""
    limit = struct.pack("ll", int(seconds), int(1e6 * (seconds % 1)))
    with socket.socket(fileno=os.dup(descriptor)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
