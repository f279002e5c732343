"""Start of a command's ranks on this machine: one exit code, no process left behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from gpukit import interrupt
from gpukit.parallel.heartbeat import RANK_ENDED
from gpukit.parallel.rendezvous import make_rendezvous
from gpukit.parallel.team import TeamError
from gpukit.runtime.launcher_env import PARENT_VARIABLE

END_SECONDS = 6.0  # for ranks to end by themselves after one has failed, or after a request to stop
LAST_SECONDS = 2.0  # for those that have not ended by themselves after a failure, once they are asked
FORWARD_SECONDS = 1.0  # for a rank that got a stop request to report it to the others itself
SIGNAL_CODE = 128  # plus the signal's number: exit code of a command that reports its stop
COMMAND = "from gpukit.cli.process import main; main()"


def launch(arguments, size, settings=lambda rank: {}, command=COMMAND):
    """Run `gpukit arguments` on `size` ranks; return the exit code of rank 0, or of the first that failed.

    settings(rank) returns environment variables of a rank. Only rank 0 has the standard streams and the terminal.
    Ctrl-Z stops all ranks. Ranks get Ctrl-C as SIGTERM, which ends a starting Python without output.

    Raises TeamError if the machine cannot start the ranks. A stop request, also one to a single rank, is sent to all
    ranks once and raised; its `reported` is True if rank 0 has printed a message.
    """
    ranks, number, request, meeting = [], signal.SIGTERM, None, make_rendezvous(size)
    try:
        for rank in range(size):
            ranks.append(start_rank(arguments, {**settings(rank), **meeting.environment(rank)}, rank == 0, command))
        with forward_ctrl_z(ranks):
            _wait_for_ranks(ranks)
        number = RANK_ENDED
    except OSError as error:
        raise TeamError(f"{size:,} ranks cannot be started here ({error.strerror}).") from error
    except KeyboardInterrupt as stop:
        request = stop
        raise
    finally:
        with interrupt.defer() as further:  # must not leave ranks behind
            silent = end_ranks(ranks, number)
            if request is not None and ranks:
                further.requested = None
                request.reported = ranks[0].returncode - SIGNAL_CODE in interrupt.SIGNALS
    return _combine_exit_codes([rank.returncode for rank in ranks], silent)


def start_rank(arguments, settings, has_streams=False, command=COMMAND, **streams):
    """Start a rank in its own session, so that only this process forwards Ctrl-C."""
    if not has_streams:
        streams = {**dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL), **streams}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", command, *arguments],
        env={**os.environ, **settings, PARENT_VARIABLE: str(os.getpid())},
        close_fds=not has_streams,  # a shell's <(command) is an inheritable descriptor
        start_new_session=True,
        **streams,
    )


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


def _wait_for_ranks(ranks):
    """Return when all ranks have ended, or END_SECONDS after one has failed.

    Raises Interrupted if a rank got a stop request and does not forward it.
    """
    failed = None
    while None in (codes := [rank.poll() for rank in ranks]):
        if failed is None and any(codes):
            failed = time.monotonic()
        elapsed = 0.0 if failed is None else time.monotonic() - failed
        # A rank that the signal itself has ended cannot forward it.
        if (number := _stop_signal(ranks)) is not None and (elapsed > FORWARD_SECONDS or -number in codes):
            raise interrupt.Interrupted(number)
        if elapsed > END_SECONDS:
            return
        time.sleep(0.01)


def _stop_signal(ranks):
    """Return the signal of the first rank that a stop request has ended, or None."""
    codes = [rank.returncode for rank in ranks if rank.returncode is not None]
    numbers = [-code if code < 0 else code - SIGNAL_CODE for code in codes]
    return next((number for number in numbers if number in interrupt.SIGNALS), None)


def end_ranks(ranks, number):
    """End the remaining ranks by a signal, after some seconds by force; return those that needed force.

    Rank 0 gets the signal first, so that it does not report the end of another rank instead. A request to stop also
    ends ranks that Ctrl-Z has stopped.
    """
    remaining, silent = [rank for rank in ranks if rank.poll() is None], []
    signal_ranks(remaining, number)
    if number != RANK_ENDED:
        signal_ranks(remaining, signal.SIGCONT)
    end = time.monotonic() + (LAST_SECONDS if number == RANK_ENDED else END_SECONDS)
    for rank in remaining:
        try:
            rank.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()
            silent.append(rank)
    return silent


def _combine_exit_codes(codes, silent):
    """Return one exit code; report failures that rank 0 cannot report."""
    rank, code = next(((rank, abs(code)) for rank, code in enumerate(codes) if code), (0, 0))
    line = ""
    if silent and codes[0] == -signal.SIGKILL:
        line = f"Rank 0 on {socket.gethostname()} was silent: stopped (by SIGSTOP?). All ranks have ended. Start again"
        line += "; --resume continues from a checkpoint"
    elif codes[0] < 0:
        line = f"rank 0 was ended by signal {-codes[0]}, and all other ranks with it"
    elif code and not codes[0]:
        line = f"rank {rank} has failed (exit code {code}) after rank 0 has ended"
    if line:
        sys.stderr.write(f"Error: {line}.\n")
    return 1 if codes[0] < 0 else code
