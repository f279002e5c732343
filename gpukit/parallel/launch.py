"""Start of a command's ranks on this machine: how many, on which devices; one exit code, no process left behind."""

import os
import signal
import socket
import subprocess
import sys
import time

from gpukit import interrupt
from gpukit.device.place import gpu_count
from gpukit.errors import DeviceError
from gpukit.parallel.heartbeat import RANK_ENDED
from gpukit.parallel.rendezvous import make_rendezvous
from gpukit.parallel.team import TeamError
from gpukit.runtime.launcher_env import PARENT_VARIABLE
from gpukit.runtime.thread_count import get_num_threads

END_SECONDS = 6.0  # for ranks to end by themselves after one has failed, or after a request to stop
LAST_SECONDS = 2.0  # for those that have not ended by themselves after a failure, once they are asked
FORWARD_SECONDS = 1.0  # for a rank that got a stop request to report it to the others itself
SIGNAL_CODE = 128  # plus the signal's number: exit code of a command that reports its stop
COMMAND = "from gpukit.cli.process import main; main()"
# Milliseconds of a pass over the data on an H200, rows of docs/benchmarks.csv. Sizes are estimated from file sizes and
# may be wrong by a factor of two, which matters only where one GPU and several take about the same time.
SIZES = {"ratings": 99.07e6, "features": 3.77e6 * 136, "tensor": 512 * 512 * 2600.0}  # Netflix, values of WEB30K
EPOCHS = {(32, 0): 7.12, (128, 0): 16.81, (32, 32): 11.44}  # {(F, K): of the ratings}
PASSES = {"features": 0.5459, "tensor": 73.79}  # a product with the Hessian, a step of the imputation
LONG_SECONDS = 15.0  # on one GPU; shorter jobs end before several have started, got their data and exchanged results


def launch(arguments, size, settings=lambda rank: {}, command=COMMAND):
    """Run `gpukit arguments` on `size` ranks; return the exit code of rank 0, or of the first that failed.

    settings(rank) returns environment variables of a rank. Only rank 0 has the standard streams and the terminal.
    Ctrl-Z stops all ranks, which are in the process group of this process. They get Ctrl-C as SIGTERM, which ends a
    starting Python without output.

    Raises TeamError if the machine cannot start the ranks. A stop request, also one to a single rank, is sent to all
    ranks once and raised; its `reported` is True if rank 0 has printed a message.
    """
    ranks, number, request, meeting = [], signal.SIGTERM, None, make_rendezvous(size)
    try:
        for rank in range(size):
            with interrupt.defer():  # otherwise a started process may be missing in the list
                ranks.append(start_rank(arguments, {**settings(rank), **meeting.environment(rank)}, rank == 0, command))
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
    """Start a rank with SIGINT blocked, so that Ctrl-C reaches this process alone, which forwards it."""
    if not has_streams:
        streams = {**dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL), **streams}
    environment = {**os.environ, **settings, PARENT_VARIABLE: str(os.getpid())}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:  # a shell's <(command) is an inheritable descriptor
        words = [sys.executable, "-P", "-c", command, *arguments]
        return subprocess.Popen(words, env=environment, close_fds=not has_streams, **streams)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


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
    for signal_number in (number,) if number == RANK_ENDED else (number, signal.SIGCONT):
        for rank in remaining:
            rank.send_signal(signal_number)
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


def make_rank_settings(size, gpus):
    """Return a function from a rank to its environment: its GPU, or its number of threads.

    Raises DeviceError if gpus is true and there are fewer visible GPUs than ranks.
    """
    if not gpus:
        threads = str(max(1, get_num_threads() // size))
        return lambda rank: {"GPUKIT_NUM_THREADS": threads}
    count = gpu_count()
    if size > count:
        reason = "no CUDA GPU was found" if not count else f"only {count} GPU(s) were found"
        raise DeviceError(f"--gpus {size} was requested, but {reason}. Use --ranks {size} for processes on the CPU.")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(number) for number in range(count)]
    return lambda rank: {"CUDA_VISIBLE_DEVICES": names[rank]}


def factorization_seconds(count, epochs, factors, neighbors):
    """Return the seconds of stochastic gradient descent on one GPU: `count` ratings, F factors, K neighbours."""
    usual, wide, near = EPOCHS.values()
    milliseconds = usual + (factors - 32) / 96 * (wide - usual) + neighbors / 32 * (near - usual)
    return 1e-3 * epochs * max(usual / 4, milliseconds) * count / SIZES["ratings"]


def pass_seconds(kind, values, passes):
    """Return the seconds of passes over `values` numbers on one GPU; kind: 'features' or 'tensor'."""
    return 1e-3 * passes * PASSES[kind] * values / SIZES[kind]


def choose_gpu_count(seconds, available):
    """Return (number of GPUs to use, reason): one or all available.

    seconds: on one GPU, None if they are unknown.
    """
    if available < 2:
        return 1, "no other GPU was found" if available else "no GPU was found"
    if seconds is None:
        return 1, "the time on one GPU was not measured for this request"
    reason = f"about {seconds:.2g} s on one GPU; several are faster from {LONG_SECONDS:g} s on"
    return (available if seconds > LONG_SECONDS else 1), reason
