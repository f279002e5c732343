"""Messages between ranks by sockets, of one machine or over TCP."""

import os
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpukit._pool import cores
from gpukit.interrupt import undisturbed

LENGTH = struct.Struct("<q")  # header of a message


class Messages:
    """Messages of a rank; connections: {other rank: socket with a timeout}; heartbeat: its heartbeat.Heartbeat."""

    def __init__(self, rank, connections, heartbeat):
        self.rank, self.size, self.sockets, self.heartbeat = rank, len(connections) + 1, connections, heartbeat
        self.check, self.fail = heartbeat.check, heartbeat.fail
        # of polling before a rank sleeps, which delays its next message; only with idle processors
        self.busy_seconds = 0.001 if cores() >= 2 * self.size else 0.0
        self.senders = {other: ThreadPoolExecutor(1) for other in connections}
        self.queued = {other: [] for other in connections}

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
        header = bytearray(LENGTH.size)
        self._fill(rank, memoryview(header), self._poll(rank, header))
        data = np.empty(LENGTH.unpack(header)[0], np.uint8)
        self._fill(rank, memoryview(data))
        return data.data

    def close(self, patient=True):
        """See team.Messages. Queued messages are sent first."""
        try:
            for future in [future for queue in self.queued.values() for future in queue] if patient else ():
                future.result()
            self.heartbeat.close(patient)
        finally:
            self.heartbeat.close(False)
            for pool in self.senders.values():
                pool.shutdown(wait=False, cancel_futures=True)
            for end in self.sockets.values():
                end.close()

    def _send(self, rank, parts, flags=0):
        """Send parts; return the remaining ones, which MSG_DONTWAIT may leave."""
        while parts:
            try:
                parts = remaining_parts(parts, self.sockets[rank].sendmsg(parts, (), flags))
            except BlockingIOError:
                if flags:
                    return parts
                self.check()
            except OSError:
                self.heartbeat.lose(rank)
        return parts

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
        while count < len(view):
            try:
                count += self._read(rank, view[count:])
            except BlockingIOError:
                self.check()

    def _read(self, rank, buffer, flags=0):
        """Return the number of bytes read; TeamError if the rank has ended, BlockingIOError if nothing arrives."""
        try:
            if count := self.sockets[rank].recv_into(buffer, flags=flags):
                return count
        except BlockingIOError:
            raise
        except OSError:
            pass
        return self.heartbeat.lose(rank)


def remaining_parts(parts, n_sent):
    """Return the parts of a message without their first `n_sent` bytes."""
    first, *others = parts
    if n_sent < len(first):
        return memoryview(first)[n_sent:], *others
    return remaining_parts(others, n_sent - len(first)) if others else ()
