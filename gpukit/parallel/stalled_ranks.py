"""Detection of stopped ranks (SIGSTOP, Ctrl-Z) by their process state in /proc.

Ranks need no heartbeat thread, which compiled loops on one thread would block. Without /proc no rank counts as stopped.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from pathlib import Path

from gpukit.parallel.team import TeamError

PATIENCE = 15.0  # seconds that a rank may be stopped while another runs
CHECK_SECONDS = 1.0  # between two checks
LATE_SECONDS = 3.0  # between two checks: the checking process was stopped too
SILENT_EXIT = signal.SIGUSR2  # ends a rank without a message, because another process prints it
MESSAGE = (
    "Rank {} on {} has been stopped for {:g} s (by SIGSTOP?), and all ranks have ended. Start again; "
    "--resume continues from a checkpoint."
)
STOPPED, ENDED = b"T", (b"Z", b"X", b"")  # process states; a debugger's is another


class StoppedError(TeamError):
    """A rank of this host has been stopped for too long."""


class RankMonitor:
    """Check of ranks of this host for stopped processes.

    ranks: {rank: process number}; seconds: limit of a stop, None: PATIENCE; failure: (rank, message) of the rank that
    was stopped for too long, or None.
    """

    def __init__(self, ranks, seconds=None):
        self.ranks, self.seconds = ranks, PATIENCE if seconds is None else seconds
        self.stopped_since, self.last_check, self.failure = {}, 0.0, None

    def check(self):
        """Raise StoppedError if a rank has been stopped for too long while another ran.

        A job that is stopped as a whole may continue later. May be called often; checks every CHECK_SECONDS.
        """
        now = time.monotonic()
        if now - self.last_check < CHECK_SECONDS:
            return
        states = {rank: process_state(process) for rank, process in self.ranks.items()}
        any_runs = any(state not in (STOPPED, *ENDED) for state in states.values())
        before = self.stopped_since if any_runs and now - self.last_check <= LATE_SECONDS else {}
        self.last_check = now
        self.stopped_since = {rank: before.get(rank, now) for rank, state in states.items() if state == STOPPED}
        for rank, since in self.stopped_since.items():
            if now - since >= self.seconds:
                if self.failure is None:  # the message contains the limit at the first failure
                    self.failure = rank, MESSAGE.format(rank, socket.gethostname(), self.seconds)
                raise StoppedError(self.failure[1])


class WaitTimer:
    """Waiting time without the time for which this process was stopped; read repeatedly."""

    def __init__(self):
        self.total, self.last = 0.0, time.monotonic()

    def seconds(self):
        """Return the waiting time so far."""
        now = time.monotonic()
        self.total, self.last = self.total + min(now - self.last, CHECK_SECONDS), now
        return self.total


def process_state(process):
    """Return the letter of a process's state, b"" if it has ended or is unknown."""
    return b"".join(read_stat(process)[:1])


def read_stat(process):
    """Return [state, parent, ...] of /proc/PROCESS/stat, [] if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def process_identity():
    """Return (boot and process namespace, process number) of this process; ("", number) without /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}", os.getpid()
    except OSError:
        return "", os.getpid()


def local_ranks(identities):
    """Return {rank: process number} in this process's namespace, by `process_identity` of all ranks."""
    namespace, _ = process_identity()
    return {rank: process for rank, (name, process) in enumerate(identities) if name and name == namespace}


@contextlib.contextmanager
def forward_ctrl_z(ranks):
    """Stop and continue ranks [subprocess.Popen], in process groups of their own, together with this process."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTSTP) != signal.SIG_DFL:
        yield
        return

    def stop(number, frame):
        signal_ranks(ranks, signal.SIGSTOP)
        signal.signal(number, signal.SIG_DFL)
        try:
            signal.raise_signal(number)  # stops this process until SIGCONT
        finally:
            signal.signal(number, stop)
            signal_ranks(ranks, signal.SIGCONT)

    signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)


def signal_ranks(ranks, number):
    """Send a signal to all ranks that have not ended."""
    for rank in ranks:
        rank.send_signal(number)
