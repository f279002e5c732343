"""Messages between ranks on one machine: for any two of them a pair of sockets, made before they start."""

import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from gpukit.parallel.team import SilenceError, TeamError

SECONDS = 600.0  # that a rank is waited for
AT_ONCE = 1 << 15  # bytes that a socket takes whether or not they are read; more are sent by a thread


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
        self.seconds = seconds
        self.lines = {other: Connection(descriptor) for other, descriptor in ends.items()}
        self.sending = {other: ThreadPoolExecutor(1) for other in ends}
        self.queued = {other: [] for other in ends}
        for line in self.lines.values():
            limit_waits(line.fileno(), seconds)

    def send(self, rank, data):
        """See team.Messages."""
        queue = self.queued[rank]
        while queue and queue[0].done():
            queue.pop(0).result()
        if not queue and len(data) <= AT_ONCE:
            self._send(rank, data)
        else:
            queue.append(self.sending[rank].submit(self._send, rank, data))

    def receive(self, rank):
        """See team.Messages."""
        try:
            return memoryview(self.lines[rank].recv_bytes())
        except (EOFError, OSError) as error:
            raise self._lost(rank, error) from None

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

    def _send(self, rank, data):
        try:
            self.lines[rank].send_bytes(data)
        except OSError as error:
            raise self._lost(rank, error) from None

    def _lost(self, rank, error):
        if isinstance(error, BlockingIOError):
            return SilenceError(
                f"Rank {rank} has not answered for {self.seconds:g} s. Is it stopped, or out of memory?"
            )
        return TeamError(f"Rank {rank} has ended before the work was done: killed, or out of memory.")


def cores():
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_waits(descriptor, seconds):
    """Make reads from and writes to a socket fail after so many seconds without a byte."""
    limit = struct.pack("ll", int(seconds), int(1e6 * (seconds % 1)))
    with socket.socket(fileno=os.dup(descriptor)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
