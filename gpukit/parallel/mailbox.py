"""Messages between ranks of one machine: short ones by shared memory, long ones by sockets.

A rank that polls the memory has a message some microseconds after it was written; a socket takes twenty. Reads without
a lock need writes to be visible in order, as on x86 processors; other processors use sockets only.
"""

import mmap
import os
import platform
import select
import time

from gpukit.interrupt import undisturbed
from gpukit.parallel import sockets
from gpukit.parallel.stalled_ranks import WaitTimer
from gpukit.parallel.team import TeamError

BOX_BYTES, HEADER_BYTES = 1 << 14, 128  # of a box with its header; the header has a cache line for either rank
POLLS = 64  # of the memory between two polls of the socket
SLEEP_SECONDS = 0.01  # delay of a message if sender and reader missed each other's write
ORDERED_MACHINES = ("x86_64", "AMD64", "amd64")


class Box:
    """The memory (BOX_BYTES,) of one rank's short messages to another, one at a time.

    sender: number and bytes of the message; reader: number of the last message read, and 1 while the reader sleeps.
    """

    def __init__(self, memory):
        half = HEADER_BYTES // 2
        self.sender, self.reader = memory[:half].cast("q"), memory[half:HEADER_BYTES].cast("q")
        self.message = memory[HEADER_BYTES:]

    def put(self, number, data):
        """Store a message; return False if it does not fit or the reader sleeps."""
        free = self.sender[0] == self.reader[0] and not self.reader[1]
        if not free or len(data) > len(self.message):
            return False
        self.message[: len(data)] = data
        self.sender[1] = len(data)
        self.sender[0] = number
        return True

    def take(self, number):
        """Return the message of a number, None if it is not here."""
        if self.sender[0] != number:
            return None
        data = bytearray(self.message[: self.sender[1]])
        self.reader[0] = number
        return data

    def set_sleeping(self, sleeping):
        """Record whether the reader sleeps; the sender then uses the socket, which wakes it."""
        self.reader[1] = int(sleeping)


class Messages(sockets.Messages):
    """See sockets.Messages; memory: the file descriptor of `allocate_boxes`, common to all ranks.

    Messages from one rank to another are numbered. The next message is either in the box or the next on the socket. A
    header on the socket with a later number is kept.
    """

    def __init__(self, rank, ends, memory, seconds=sockets.TIMEOUT):
        super().__init__(rank, ends, seconds)
        view = memoryview(mmap.mmap(memory, self.size**2 * BOX_BYTES))
        os.close(memory)
        boxes = [Box(view[start : start + BOX_BYTES]) for start in range(0, len(view), BOX_BYTES)]
        self.outgoing = {other: boxes[rank * self.size + other] for other in ends}
        self.incoming = {other: boxes[other * self.size + rank] for other in ends}
        self.sent, self.taken, self.headers = dict.fromkeys(ends, 0), dict.fromkeys(ends, 0), {}

    @undisturbed
    def send(self, rank, data):
        """See team.Messages."""
        self.sent[rank] += 1
        if not self.outgoing[rank].put(self.sent[rank], data):
            super().send(rank, data)

    def receive(self, rank):
        """See team.Messages."""
        self.taken[rank] += 1
        if rank not in self.headers:
            if not self._poll_both(rank):
                self._sleep(rank)
            if (data := self.incoming[rank].take(self.taken[rank])) is not None:
                return data
        return self._read_body(rank, self.headers.pop(rank))

    def _poll_both(self, rank):
        """Return True if the next message, or one on the socket, arrives within sockets.BUSY_SECONDS."""
        sender, number = self.incoming[rank].sender, self.taken[rank]
        end = time.monotonic() + sockets.BUSY_SECONDS
        while time.monotonic() < end:
            for _ in range(POLLS):
                if sender[0] == number:
                    return True
            if self._poll_socket(rank):
                return True
        return False

    def _sleep(self, rank):
        """Sleep until `_poll_both` would return True."""
        box, poll, timer = self.incoming[rank], select.poll(), WaitTimer()
        poll.register(self.sockets[rank], select.POLLIN)
        box.set_sleeping(True)
        try:
            while box.sender[0] != self.taken[rank]:
                if poll.poll(1e3 * SLEEP_SECONDS):
                    if self._poll_socket(rank):
                        return
                elif timer.seconds() > self.seconds:
                    raise self._team_error(rank, BlockingIOError())
        finally:
            box.set_sleeping(False)

    def _poll_socket(self, rank):
        """Read the header of a message on the socket; return False if there is none.

        True if the rank has ended and has left the next message in the box.
        """
        try:
            self.headers[rank] = self._read_header(rank, wait=False)
        except BlockingIOError:
            return False
        except TeamError:
            if self.incoming[rank].sender[0] != self.taken[rank]:
                raise
        return True


def allocate_boxes(size):
    """Return the file descriptor of zeroed memory for the boxes of `size` ranks, or None.

    None with fewer than two processors per rank, which leaves none to poll, and on processors that reorder writes.
    """
    if sockets.cores() < 2 * size or platform.machine() not in ORDERED_MACHINES or not hasattr(os, "memfd_create"):
        return None
    memory = os.memfd_create("gpukit")
    os.ftruncate(memory, size**2 * BOX_BYTES)
    return memory
