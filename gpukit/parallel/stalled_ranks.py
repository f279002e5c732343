"""Ranks that are stopped, by SIGSTOP or Ctrl-Z, told from ones that compute for long, by what the system says of them.

So ranks need no thread that says they are there, which compiled loops on one thread would keep from running. Where a
system has no /proc nobody counts as stopped.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from pathlib import Path

from gpukit.parallel.team import TeamError

PATIENCE = 15.0  # seconds that a rank may be stopped while another is at work
EACH, LATE = 1.0, 3.0  # seconds from one look to the next; who looks again after so many was stopped as well
QUIET = signal.SIGUSR2  # ends a rank that has nothing to say: it is said elsewhere
TOLD = (
    "Rank {} on {} has been stopped for {:g} s (by SIGSTOP?), and all have ended with it. Start again; "
    "--resume goes on from a checkpoint."
)
STOPPED, ENDED = b"T", (b"Z", b"X", b"")  # states of a process; a debugger's is another


class StoppedError(TeamError):
    """A rank of this host has been stopped for too long."""


class Watch:
    """Looks after ranks of this host, {rank: process number}, who may be stopped for `seconds` (None: PATIENCE); found:
    (the one that was for longer, what is said of it), or None."""

    def __init__(self, ranks, seconds=None):
        self.ranks, self.seconds = ranks, PATIENCE if seconds is None else seconds
        self.since, self.last, self.found = {}, 0.0, None

    def check(self):
        """Raise StoppedError where a rank has been stopped for too long while another was not: a job that is stopped
        as a whole goes on some day. May be called often; looks every EACH seconds."""
        now = time.monotonic()
        if now - self.last < EACH:
            return
        states = {rank: state(process) for rank, process in self.ranks.items()}
        alone = now - self.last <= LATE and any(each not in (STOPPED, *ENDED) for each in states.values())
        before, self.last = self.since if alone else {}, now
        self.since = {rank: before.get(rank, now) for rank, each in states.items() if each == STOPPED}
        for rank, since in self.since.items():
            if now - since >= self.seconds:
                if self.found is None:  # the first time says how long it was
                    self.found = rank, TOLD.format(rank, socket.gethostname(), self.seconds)
                raise StoppedError(self.found[1])


class Waited:
    """How long somebody waits, asked again and again; while it was stopped itself does not count."""

    def __init__(self):
        self.total, self.last = 0.0, time.monotonic()

    def seconds(self):
        """Seconds up to now."""
        now = time.monotonic()
        self.total, self.last = self.total + min(now - self.last, EACH), now
        return self.total


def state(process):
    """A letter for what a process does; b"" where it has ended, or nothing is known."""
    return b"".join(fields(process)[:1])


def fields(process):
    """What /proc says of a process: [a letter for what it does, the number of its parent, ...]; [] where it has
    ended, or nothing is known."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def place():
    """(what tells the processes that this one may look at from all others, "" where nothing does; its own number)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}", os.getpid()
    except OSError:
        return "", os.getpid()


def beside(places):
    """{rank: process number} of the ranks that this process may look at; places: `place()` of all."""
    own, _ = place()
    return {rank: process for rank, (where, process) in enumerate(places) if where and where == own}


@contextlib.contextmanager
def passed_on(ranks):
    """Within it Ctrl-Z stops ranks [subprocess.Popen], which have groups of their own, together with this process, and
    what lets it go on lets them."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTSTP) != signal.SIG_DFL:
        yield
        return

    def stop(number, frame):
        tell(ranks, signal.SIGSTOP)
        signal.signal(number, signal.SIG_DFL)
        try:
            signal.raise_signal(number)  # here this process stops, and goes on
        finally:
            signal.signal(number, stop)
            tell(ranks, signal.SIGCONT)

    signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)


def tell(ranks, number):
    """Send a signal to all that are still there."""
    for rank in ranks:
        rank.send_signal(number)
