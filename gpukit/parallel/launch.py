"""Starts the ranks of a command on this machine and waits for them: one exit code, nobody left behind."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

from gpukit import interrupt
from gpukit.parallel.current_team import LEFT
from gpukit.parallel.mailbox import memory_of
from gpukit.parallel.sockets import pairs
from gpukit.parallel.stalled_ranks import QUIET, StoppedError, Watch, passed_on, tell
from gpukit.parallel.team import TeamError
from gpukit.runtime.launcher_env import TEAM_VARIABLE

GRACE = 10.0  # seconds that ranks have to end by themselves once one has failed
HEARD = 1.0  # seconds that ranks have to hear from one that was asked to stop, before they are asked too
PAUSE = 0.01
TOO_MANY = errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM
SHELL = 128  # and a signal's number: the exit code of a command that was asked to stop, and has said so
COMMAND = "from gpukit.cli.process import main; main()"


def launch(arguments, size, settings=lambda rank: {}, command=COMMAND):
    """Run `gpukit arguments` as `size` ranks and return one exit code: rank 0's where it has one to tell, else that of
    the first rank that failed. Rank 0 alone has standard input and output, and the terminal; settings(rank): its
    environment.

    Raises TeamError where there are too many for this machine, or for its limits, and where one is stopped while others
    are at work. A request to stop, also one that a rank alone has got, is passed to all ranks once, and on to the
    caller, with `told` where rank 0 has said so; Ctrl-Z stops all. Ranks hear of Ctrl-C by SIGTERM, which ends a Python
    that is about to start without a word.
    """
    ranks, number, lost, request = [], signal.SIGTERM, None, None
    try:
        with connections(size) as ways:
            for rank, way in enumerate(ways):
                ranks.append(_start(rank, way, arguments, settings(rank), command))
        watch = Watch({number: rank.pid for number, rank in enumerate(ranks)})
        with passed_on(ranks):
            _watch(ranks, watch)
        number = LEFT
    except OSError as error:
        fewer = " Ask for fewer." if error.errno in TOO_MANY else ""
        raise TeamError(f"{size:,} ranks cannot be started here ({error.strerror}).{fewer}") from error
    except StoppedError:
        number, lost = QUIET, ranks[watch.found[0]]
        raise
    except KeyboardInterrupt as stop:
        request = stop
        raise
    finally:
        with interrupt.deferred():  # a request that comes again must not leave ranks behind
            _end(ranks, number, lost)
            if request is not None and ranks:
                request.told = ranks[0].returncode - SHELL in interrupt.SIGNALS
    return _exit_code([rank.returncode for rank in ranks])


@contextlib.contextmanager
def connections(size):
    """[{other rank: descriptor of its socket}] of ranks that are started meanwhile, with that of the memory that all
    have under their own number, where there is one."""
    with contextlib.ExitStack() as kept:
        ends = pairs(size)
        for end in (end for its in ends for end in its.values()):
            kept.callback(end.close)
        ways = [{other: end.fileno() for other, end in its.items()} for its in ends]
        if (memory := memory_of(size)) is not None:
            kept.callback(os.close, memory)
            ways = [{rank: memory, **way} for rank, way in enumerate(ways)]
        yield ways


def _start(rank, way, arguments, settings, command):
    """The process of a rank. A group of its own: Ctrl-C comes by way of this process, once."""
    told = ",".join([str(rank), str(os.getpid()), *(f"{other}:{descriptor}" for other, descriptor in way.items())])
    quiet = {} if rank == 0 else dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", command, *arguments],
        env={**os.environ, **settings, TEAM_VARIABLE: told},
        pass_fds=[*way.values(), *([] if rank else inherited())],
        start_new_session=True,
        **quiet,
    )


def inherited():
    """The descriptors that this process was given, beside the standard streams, and hands on: a shell's <(command)."""
    found = []
    with contextlib.suppress(OSError):  # where there is no such folder
        for name in os.listdir("/dev/fd"):
            with contextlib.suppress(OSError):  # that of the folder itself
                if int(name) > 2 and os.get_inheritable(int(name)):
                    found.append(int(name))
    return found


def _watch(ranks, watch):
    """Return when all have ended, or one has failed and GRACE is over; StoppedError when one has been stopped,
    Interrupted when one was asked to stop and others have not heard of it."""
    failed = None
    while None in (codes := [rank.poll() for rank in ranks]):
        watch.check()
        if failed is None and any(codes):
            failed = time.monotonic()
        since = 0.0 if failed is None else time.monotonic() - failed
        # A rank that the signal itself has ended could not pass it on.
        if (asked := _asked(ranks)) is not None and (since > HEARD or -asked in codes):
            raise interrupt.Interrupted(asked)
        if since > GRACE:
            return
        time.sleep(PAUSE)


def _asked(ranks):
    """By which signal the first of the ranks that have ended so was asked to stop; None: none was. The
    signal itself ends a rank that does not handle it yet."""
    codes = [rank.returncode for rank in ranks if rank.returncode is not None]
    numbers = [-code if code < 0 else code - SHELL for code in codes]
    return next((number for number in numbers if number in interrupt.SIGNALS), None)


def _end(ranks, number, lost):
    """Let all that are still there end: by a signal, then by force; at once one that has been stopped, for which others
    may wait. The first one hears of it before the others can tell it of their end."""
    left = [rank for rank in ranks if rank.poll() is None]
    tell(left, number)
    if lost is not None:
        lost.kill()
    tell(left, signal.SIGCONT)
    begun = time.monotonic()
    for rank in left:
        try:
            rank.wait(max(0.1, GRACE - (time.monotonic() - begun)))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def _exit_code(codes):
    """One for all; a rank 0 that was killed could not say anything, so it is said here."""
    if codes[0] < 0:
        sys.stderr.write(f"Error: rank 0 was ended by signal {-codes[0]}, and the others with it.\n")
        return 1
    rank, code = next(((rank, abs(code)) for rank, code in enumerate(codes) if code), (0, 0))
    if code and not codes[0]:
        sys.stderr.write(f"Error: rank {rank} has failed (exit code {code}) once the first had done its work.\n")
    return code
