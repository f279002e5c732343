"""Requests to stop (Ctrl-C, and in a command SIGTERM and SIGHUP too), answered at a safe moment.

undisturbed      a function in which a command's requests wait, for some milliseconds
deferred()       within it a request is noted; who asks raises Interrupted when all is safe
answered()       what is still to be done before a request is answered; it is, whatever becomes of that
heed(), over()   the whole life of a command: an Interrupted wherever one may be raised, once
"""

import contextlib
import signal
import sys
import threading

from gpukit.errors import GpukitError

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
OF_RANKS = [getattr(signal, name) for name in ("SIGUSR1", "SIGUSR2") if hasattr(signal, name)]  # see current_team.py
# C code calls Python in these: an exception there is lost, or ends in a crash. Imports: a module half made is an error
# of its own.
UNSAFE = ("_frozen_importlib", "importlib._bootstrap", "numba.", "llvmlite.", "weakref")
UNDISTURBED = set()  # code of functions, in which a thing would be half done
SOON, AGAIN = 0.02, 2.0  # seconds until the next attempt: after an unsafe moment; after one that nobody caught


class Interrupted(KeyboardInterrupt):
    """A request to stop; number: of the signal."""

    def __init__(self, number=signal.SIGINT):
        super().__init__()
        self.number = int(number)


def undisturbed(function):
    """A decorator of functions that return soon: a request that comes while one runs is answered soon after."""
    UNDISTURBED.add(function.__code__)
    return function


def exit_code(stop):
    """What a command that an exception has stopped leaves with: 128 and the signal's number, as shells say it."""
    return 128 + getattr(stop, "number", int(signal.SIGINT))


class Interrupt:
    """requested: the number of the signal that has come since `defer` began, or None."""

    requested = None

    def _note(self, number, frame):
        self.requested = number


@contextlib.contextmanager
def defer():
    """Within it a request sets `requested` of the Interrupt it yields; who asks raises Interrupted(requested) when all
    is safe. What nobody asked for is answered at the end.

    Outside the main thread signals cannot be caught, and a job in the background ignores Ctrl-C: both stay as they are.
    """
    interrupt, before = Interrupt(), {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, interrupt._note)
        yield interrupt
    except BaseException:
        _restore(before)
        raise
    _restore(before)
    if interrupt.requested is not None:
        signal.raise_signal(interrupt.requested)


@contextlib.contextmanager
def raise_at_end(number):
    """Raises Interrupted(number) at its end; a GpukitError within it is the cause of that then. number None: nothing
    was requested, and nothing is changed."""
    try:
        yield
    except GpukitError as error:
        if number is None:
            raise
        raise Interrupted(number) from error
    if number is not None:
        raise Interrupted(number)


def _restore(handlers):
    for number, handler in handlers.items():
        signal.signal(number, handler)


class _Command:
    """The requests of this process: number, of the signal that is to be answered, or None."""

    number = None

    def request(self, number, frame):
        """The handler of a signal. Further ones, while the first is being answered, change nothing."""
        if self.number is None:
            self.number = number
            self._answer(frame)

    def again(self, _, frame):
        """The handler of the timer: the request goes to who is in charge now, which may be `defer`."""
        number, self.number = self.number, None
        if number is not None:
            signal.getsignal(number)(number, frame)

    def _answer(self, frame):
        safe = not is_unsafe(frame)
        signal.setitimer(signal.ITIMER_REAL, AGAIN if safe else SOON)
        if safe:
            raise Interrupted(self.number)

    def lost(self, unraisable):
        """sys.unraisablehook: an Interrupted that had nowhere to go is raised again, soon."""
        if issubclass(unraisable.exc_type, Interrupted):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            sys.__unraisablehook__(unraisable)


def is_unsafe(frame):
    """Whether an exception, raised in this frame, might not reach the command."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code in UNDISTURBED or frame.f_globals.get("__name__", "").startswith(UNSAFE):
            return True
        frame = frame.f_back
    return False


def heed():
    """From now on SIGINT, SIGTERM and SIGHUP, those that are not ignored, raise Interrupted in the main thread."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGALRM) == _command.again:
        return
    sys.unraisablehook = _command.lost
    signal.signal(signal.SIGALRM, _command.again)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _command.request)


def ignore_requests():
    """The command has ended: what comes now changes nothing any more."""
    if signal.getsignal(signal.SIGALRM) == _command.again:
        for number in (*SIGNALS, signal.SIGALRM, *filter(is_heeded, OF_RANKS)):
            signal.signal(number, signal.SIG_IGN)


def is_heeded(number):
    """Whether a function of this process answers a signal."""
    return callable(signal.getsignal(number))


_command = _Command()
