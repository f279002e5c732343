"""Short messages between ranks on one machine by memory that they share, the others by sockets.pairs.

Who looks at the memory meanwhile has a message some microseconds after it was written; by a socket it takes twenty, and
so did two of a RankSVM's 300 for a product. What is looked at without a lock must be seen in the order in which it was
written: so it is with x86's processors, and others have sockets alone.
"""

import mmap
import os
import platform
import select
import time

from gpukit.interrupt import undisturbed
from gpukit.parallel import sockets
from gpukit.parallel.stalled_ranks import Waited
from gpukit.parallel.team import TeamError

ROOM, HEAD = 1 << 14, 128  # bytes of a box, and of what stands before its message: a line of a cache for either rank
LOOKS = 64  # at the memory, from one at the socket to the next
NAP = 0.01  # seconds for which a rank that sleeps may miss a message, where neither saw what the other was writing
IN_ORDER = ("x86_64", "AMD64", "amd64")


class Box:
    """The memory (ROOM,) of one rank's short messages to another, of which it holds one at a time.

    of_sender: the message's number, its bytes; of_reader: the last number that was taken, whether the reader sleeps.
    """

    def __init__(self, memory):
        self.of_sender, self.of_reader = memory[: HEAD // 2].cast("q"), memory[HEAD // 2 : HEAD].cast("q")
        self.message = memory[HEAD:]

    def put(self, number, data):
        """Whether a message lies here now: not a long one, nor where the last one still lies, or where nobody looks."""
        free = self.of_sender[0] == self.of_reader[0] and not self.of_reader[1]
        if not free or len(data) > len(self.message):
            return False
        self.message[: len(data)] = data
        self.of_sender[1] = len(data)
        self.of_sender[0] = number
        return True

    def take(self, number):
        """The message of a number, None where it is not here."""
        if self.of_sender[0] != number:
            return None
        data = bytearray(self.message[: self.of_sender[1]])
        self.of_reader[0] = number
        return data

    def sleep(self, yes):
        """Tell the sender whether to take the socket, which wakes the reader."""
        self.of_reader[1] = int(yes)


class Messages(sockets.Messages):
    """See sockets.Messages; memory: the file descriptor of `memory_of`, which every rank has.

    Messages from one rank to another have numbers. The one that a rank waits for is either in the box or the next on
    the socket: if that one has a later number, it is kept.
    """

    def __init__(self, rank, ends, memory, seconds=sockets.SECONDS):
        super().__init__(rank, ends, seconds)
        whole = memoryview(mmap.mmap(memory, self.size**2 * ROOM))
        os.close(memory)
        boxes = [Box(whole[at : at + ROOM]) for at in range(0, len(whole), ROOM)]
        self.out = {other: boxes[rank * self.size + other] for other in ends}
        self.coming = {other: boxes[other * self.size + rank] for other in ends}
        self.sent, self.taken, self.heads = dict.fromkeys(ends, 0), dict.fromkeys(ends, 0), {}

    @undisturbed
    def send(self, rank, data):
        """See team.Messages."""
        self.sent[rank] += 1
        if not self.out[rank].put(self.sent[rank], data):
            super().send(rank, data)

    def receive(self, rank):
        """See team.Messages."""
        self.taken[rank] += 1
        if rank not in self.heads:
            if not self._look(rank):
                self._sleep(rank)
            if (data := self.coming[rank].take(self.taken[rank])) is not None:
                return data
        return self._body(rank, self.heads.pop(rank))

    def _look(self, rank):
        """Whether the message that is waited for lies in the box, or one is on the socket, within sockets.EAGER."""
        written, number = self.coming[rank].of_sender, self.taken[rank]
        until = time.monotonic() + sockets.EAGER
        while time.monotonic() < until:
            for _ in range(LOOKS):
                if written[0] == number:
                    return True
            if self._knock(rank):
                return True
        return False

    def _sleep(self, rank):
        """Return when `_look` would find something."""
        box, door, so_far = self.coming[rank], select.poll(), Waited()
        door.register(self.lines[rank], select.POLLIN)
        box.sleep(True)
        try:
            while box.of_sender[0] != self.taken[rank]:
                if door.poll(1e3 * NAP):
                    if self._knock(rank):
                        return
                elif so_far.seconds() > self.seconds:
                    raise self._lost(rank, BlockingIOError())
        finally:
            box.sleep(False)

    def _knock(self, rank):
        """Whether a message has begun to come by the socket, whose head is kept. Who has ended may have left one in the
        box."""
        try:
            self.heads[rank] = self._head(rank, wait=False)
        except BlockingIOError:
            return False
        except TeamError:
            if self.coming[rank].of_sender[0] != self.taken[rank]:
                raise
        return True


def memory_of(size):
    """The file descriptor of memory for the boxes of so many ranks that are about to be started, all 0; None where
    sockets alone do: on few processors, which have other things to do than to look."""
    if sockets.cores() < 2 * size or platform.machine() not in IN_ORDER or not hasattr(os, "memfd_create"):
        return None
    memory = os.memfd_create("gpukit")
    os.ftruncate(memory, size**2 * ROOM)
    return memory
