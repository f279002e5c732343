"""Start of a command's ranks on this machine: one exit code, no process left behind."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

from gpukit import interrupt
from gpukit.parallel.current_team import RANK_ENDED
from gpukit.parallel.mailbox import allocate_boxes
from gpukit.parallel.sockets import make_socket_pairs
from gpukit.parallel.stalled_ranks import SILENT_EXIT, RankMonitor, StoppedError, forward_ctrl_z, signal_ranks
from gpukit.parallel.team import TeamError
from gpukit.runtime.launcher_env import TEAM_VARIABLE

END_SECONDS = 10.0  # for ranks to end by themselves after one has failed
FORWARD_SECONDS = 1.0  # for a rank that got a stop request to report it to the others itself
PAUSE = 0.01
LIMIT_ERRORS = errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM
SIGNAL_CODE = 128  # plus the signal's number: exit code of a command that reports its stop
COMMAND = "from gpukit.cli.process import main; main()"


def launch(arguments, size, settings=lambda rank: {}, command=COMMAND):
    """Run `gpukit arguments` on `size` ranks; return the exit code of rank 0, or of the first that failed.

    settings(rank) returns environment variables of a rank. Only rank 0 has the standard streams and the terminal.
    Ctrl-Z stops all ranks. Ranks get Ctrl-C as SIGTERM, which ends a starting Python without output.

    Raises TeamError if the machine cannot start the ranks, or if one is stopped while others run. A stop request, also
    one to a single rank, is sent to all ranks once and raised; its `reported` is True if rank 0 has printed a message.
    """
    ranks, number, stopped, request = [], signal.SIGTERM, None, None
    try:
        with open_connections(size) as connections:
            for rank, descriptors in enumerate(connections):
                ranks.append(_start_rank(rank, descriptors, arguments, settings(rank), command))
        monitor = RankMonitor({rank: process.pid for rank, process in enumerate(ranks)})
        with forward_ctrl_z(ranks):
            _wait_for_ranks(ranks, monitor)
        number = RANK_ENDED
    except OSError as error:
        advice = " Use fewer ranks." if error.errno in LIMIT_ERRORS else ""
        raise TeamError(f"{size:,} ranks cannot be started here ({error.strerror}).{advice}") from error
    except StoppedError:
        number, stopped = SILENT_EXIT, ranks[monitor.failure[0]]
        raise
    except KeyboardInterrupt as stop:
        request = stop
        raise
    finally:
        with interrupt.deferred():  # a second request must not leave ranks behind
            _end_ranks(ranks, number, stopped)
            if request is not None and ranks:
                request.reported = ranks[0].returncode - SIGNAL_CODE in interrupt.SIGNALS
    return _combine_exit_codes([rank.returncode for rank in ranks])


@contextlib.contextmanager
def open_connections(size):
    """Yield [{other rank: descriptor of its socket}], for ranks that start within the context.

    If there is shared memory, its descriptor is under the rank's own number.
    """
    with contextlib.ExitStack() as stack:
        pairs = make_socket_pairs(size)
        for end in (end for ends in pairs for end in ends.values()):
            stack.callback(end.close)
        connections = [{other: end.fileno() for other, end in ends.items()} for ends in pairs]
        if (memory := allocate_boxes(size)) is not None:
            stack.callback(os.close, memory)
            connections = [{rank: memory, **descriptors} for rank, descriptors in enumerate(connections)]
        yield connections


def _start_rank(rank, descriptors, arguments, settings, command):
    """Start a rank in its own session, so that only this process forwards Ctrl-C."""
    pairs = (f"{other}:{descriptor}" for other, descriptor in descriptors.items())
    team = ",".join([str(rank), str(os.getpid()), *pairs])
    streams = {} if rank == 0 else dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", command, *arguments],
        env={**os.environ, **settings, TEAM_VARIABLE: team},
        pass_fds=[*descriptors.values(), *([] if rank else inherited_descriptors())],
        start_new_session=True,
        **streams,
    )


def inherited_descriptors():
    """Return inheritable descriptors of this process except the standard streams: a shell's <(command)."""
    descriptors = []
    with contextlib.suppress(OSError):  # there may be no /dev/fd
        for name in os.listdir("/dev/fd"):
            with contextlib.suppress(OSError):  # the descriptor of the listed folder is closed
                if int(name) > 2 and os.get_inheritable(int(name)):
                    descriptors.append(int(name))
    return descriptors


def _wait_for_ranks(ranks, monitor):
    """Return when all ranks have ended, or END_SECONDS after one has failed.

    Raises StoppedError if a rank is stopped, Interrupted if a rank got a stop request and does not forward it.
    """
    failed = None
    while None in (codes := [rank.poll() for rank in ranks]):
        monitor.check()
        if failed is None and any(codes):
            failed = time.monotonic()
        elapsed = 0.0 if failed is None else time.monotonic() - failed
        # A rank that the signal itself has ended cannot forward it.
        if (number := _stop_signal(ranks)) is not None and (elapsed > FORWARD_SECONDS or -number in codes):
            raise interrupt.Interrupted(number)
        if elapsed > END_SECONDS:
            return
        time.sleep(PAUSE)


def _stop_signal(ranks):
    """Return the signal of the first rank that a stop request has ended, or None."""
    codes = [rank.returncode for rank in ranks if rank.returncode is not None]
    numbers = [-code if code < 0 else code - SIGNAL_CODE for code in codes]
    return next((number for number in numbers if number in interrupt.SIGNALS), None)


def _end_ranks(ranks, number, stopped):
    """End the remaining ranks by a signal, after END_SECONDS by force.

    A stopped rank is killed at once. Rank 0 gets the signal first, so that it does not report the end of another rank
    instead.
    """
    remaining = [rank for rank in ranks if rank.poll() is None]
    signal_ranks(remaining, number)
    if stopped is not None:
        stopped.kill()
    signal_ranks(remaining, signal.SIGCONT)
    start = time.monotonic()
    for rank in remaining:
        try:
            rank.wait(max(0.1, END_SECONDS - (time.monotonic() - start)))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def _combine_exit_codes(codes):
    """Return one exit code; report failures that rank 0 cannot report."""
    if codes[0] < 0:
        sys.stderr.write(f"Error: rank 0 was ended by signal {-codes[0]}, and all other ranks with it.\n")
        return 1
    rank, code = next(((rank, abs(code)) for rank, code in enumerate(codes) if code), (0, 0))
    if code and not codes[0]:
        sys.stderr.write(f"Error: rank {rank} has failed (exit code {code}) after rank 0 has ended.\n")
    return code
