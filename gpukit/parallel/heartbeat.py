"""Heartbeat of ranks: a thread of each reports that it is alive, and learns of errors and lost ranks.

Ranks are connected to rank 0, which passes errors on. What counts is the thread: a compilation or a long computation of
the main thread is no silence, a process that SIGSTOP has stopped is one, and so is a host that cannot be reached.
"""

import atexit
import contextlib
import os
import signal
import threading
import time
from multiprocessing.connection import Pipe, wait

from gpukit.parallel.rendezvous import ENDED, FAULTS, accept, refuse
from gpukit.parallel.team import TeamError, raise_error

BEAT_SECONDS = 1.0  # between two reports
PATIENCE = 15.0  # seconds of silence after which a rank is lost
LATE_SECONDS = 3.0  # between two reports of this rank: it was stopped itself, perhaps with the whole job
END_SECONDS = 5.0  # for the main thread to notice an error, and then to end
BEAT, LEFT = b"", b"L"
SILENT = (
    "Rank {} on {} has been silent for {:g} s: stopped (by SIGSTOP?), or its host cannot be reached. All ranks end. "
    "Start again; --resume continues from a checkpoint."
)
RANK_ENDED = signal.SIGUSR1  # sent by a launcher to ranks that do not know that another one has ended
exit_reasons = []  # the message of a command that this module interrupts


class Heartbeat:
    """Connection of a rank to the state of the others; rendezvous: Rendezvous; peers: its Peers.

    errors: descriptor for a message that rank 0 cannot print any more, or None; is_process: the rank is this process,
    which may be ended. failure: (exit code, or minus a signal's number; message) of the first rank that has failed;
    noticed: the main thread has raised it; lost: the first rank that has ended or is silent; given_up_until: time up to
    which ends of others are taken for the result of this rank's own silence; at_failure: [function] that aborts work
    which waits for another rank, each called once.
    """

    def __init__(self, rendezvous, peers, errors=None, is_process=False):
        self.rank, self.key, self.errors, self.is_process = rendezvous.rank, rendezvous.key, errors, is_process
        self.controls, self.listener = dict(peers.controls), peers.listener
        self.hosts = [host for host, _ in peers.places]
        self.failure, self.failed_at, self.lost, self.noticed, self.closed = None, None, None, False, False
        self.at_failure = []
        self.sleeper, self.waker = Pipe(duplex=False)
        self.last_beat, self.given_up_until = 0.0, 0.0
        self.lock, self.thread = threading.RLock(), threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        atexit.register(self.close, False)

    def check(self):
        """Raise the error of another rank: Interrupted for a request to stop, otherwise TeamError."""
        if self.failure is not None:
            self.noticed = True
            raise_error(*self.failure)

    def fail(self, code, text, noticed=True):
        """Report an error to all other ranks, unless one is known."""
        with self.lock:
            self.noticed |= noticed
            if self.failure is None and not self.closed:
                self.failure, self.failed_at = (code, text), time.monotonic()
                self._send(f"{code} {text}".encode())
        if noticed:
            self._abort()

    def lose(self, rank):
        """Raise the reason for which a rank does not answer any more."""
        end = time.monotonic() + 2 * BEAT_SECONDS
        while self.failure is None and time.monotonic() < end:
            time.sleep(0.005)  # its error, or the end of its thread, is on the way
        self.check()
        raise TeamError(ENDED.format(rank))

    def close(self, patient=True):
        """Leave the ranks. patient: raise the error of another rank; rank 0 waits for all others."""
        while patient and not self.noticed:
            self.check()
            if self.rank or not self.controls:
                break
            time.sleep(0.001)
        with self.lock:
            if not self.closed:
                self._send(LEFT)
                self.waker.send_bytes(BEAT)
                self.closed = True
        self.thread.join()
        atexit.unregister(self.close)

    def _run(self):
        """Report, listen and watch until the rank leaves."""
        last_look = time.monotonic()
        heard = dict.fromkeys(self.controls, last_look)
        while True:
            ready = wait([*self.controls.values(), self.listener, self.sleeper], BEAT_SECONDS / 2)
            if self.sleeper in ready:
                break
            now = time.monotonic()
            if now - last_look > LATE_SECONDS:
                heard = dict.fromkeys(self.controls, now)
            if now - last_look > PATIENCE:
                self.given_up_until = now + LATE_SECONDS
            last_look = now
            if now - self.last_beat >= BEAT_SECONDS:
                self.last_beat = now
                self._send(BEAT)
            if self.listener in ready:
                self._refuse()
            for rank, control in list(self.controls.items()):
                if control in ready:
                    heard[rank] = now
                    self._read(rank, control)
                elif now - heard[rank] > PATIENCE and self.failure is None:
                    self._lose(rank, SILENT.format(rank, self.hosts[rank], PATIENCE))
            if self.failed_at is not None and now - self.failed_at > 1.0:  # for the main thread to notice it
                self._abort()
            if self.failed_at is not None and self.is_process:
                self._end(now - self.failed_at)
        for connection in (*self.controls.values(), self.listener, self.sleeper, self.waker):
            connection.close()

    def _abort(self):
        """Call the functions of at_failure, from whichever thread comes first."""
        with contextlib.suppress(IndexError):  # pop is atomic
            while True:
                self.at_failure.pop()()

    def _send(self, message):
        """Send a message to all connected ranks."""
        with self.lock:
            for control in list(self.controls.values()):
                with contextlib.suppress(OSError):  # it has ended, as its connection shows
                    control.send_bytes(message)

    def _read(self, rank, control):
        """Read a message of a rank."""
        try:
            message = control.recv_bytes()
        except (OSError, EOFError):
            if self.is_process and time.monotonic() < self.given_up_until:
                self.fail(-signal.SIGTERM, "", noticed=False)  # the others have reported the silence of this rank
            self._lose(rank, ENDED.format(rank))
            return
        if message == LEFT:
            del self.controls[rank]
        elif message:
            code, _, text = message.decode().partition(" ")
            self.fail(int(code), text, noticed=False)

    def _lose(self, rank, text):
        """Note that a rank has ended or is silent; rank 1 reports it if rank 0 cannot."""
        del self.controls[rank]
        self.lost = rank if self.lost is None else self.lost
        if rank == 0 and self.rank == 1 and self.failure is None:
            self._report(text)
        self.fail(1, text, noticed=False)

    def _refuse(self):
        """Refuse a process that comes late: a rank that something has started again by itself."""
        with contextlib.suppress(*FAULTS):
            control = accept(self.listener, self.key)
            control.recv_bytes()
            refuse(control, TeamError("The ranks have begun without this one. Start all of them again."))
            control.close()

    def _report(self, text):
        """Write a message that the main thread of rank 0 does not print."""
        descriptor = self.errors if self.rank else 2
        if descriptor is not None:
            os.write(descriptor, f"Error: {text}\n".encode())

    def _end(self, seconds):
        """End a main thread that has not noticed an error for some seconds."""
        if seconds > 2 * END_SECONDS:
            if self.rank == 0 and not self.noticed:
                self._report(self.failure[1])
            os._exit(1)
        if seconds > END_SECONDS and not (self.noticed or exit_reasons):
            code, text = self.failure
            exit_reasons.extend([text] if code > 0 else [])
            os.kill(os.getpid(), signal.SIGTERM if code > 0 else -code)
