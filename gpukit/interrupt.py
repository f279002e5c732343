"""Stop requests (Ctrl-C; in a command also SIGTERM and SIGHUP), handled at a safe point.

undisturbed                 decorator: requests wait while the function runs, for some milliseconds
defer()                     context that records a request; the code in it raises Interrupted at a safe point
raise_at_end()              context that is completed before Interrupted is raised
heed(), ignore_requests()   begin and end of a command: a request raises Interrupted once, at any safe point
"""

import contextlib
import signal
import sys
import threading

from gpukit.errors import GpukitError

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
OF_RANKS = [getattr(signal, name) for name in ("SIGUSR1", "SIGUSR2") if hasattr(signal, name)]  # see current_team.py
# C code calls Python in these: an exception there is lost or ends in a crash. An interrupted import leaves an
# incomplete module.
UNSAFE = ("_frozen_importlib", "importlib._bootstrap", "numba.", "llvmlite.", "weakref")
UNDISTURBED = set()  # code of functions that must not be interrupted
SOON, AGAIN = 0.02, 2.0  # seconds until the next attempt: at an unsafe point; if Interrupted was lost


class Interrupted(KeyboardInterrupt):
    """Stop request; number: of the signal."""

    def __init__(self, number=signal.SIGINT):
        super().__init__()
        self.number = int(number)


def undisturbed(function):
    """Decorate a short function: a request during a call is handled after it."""
    UNDISTURBED.add(function.__code__)
    return function


def exit_code(stop):
    """Return the exit code of an interrupted command: 128 plus the number of the signal, as in shells."""
    return 128 + getattr(stop, "number", int(signal.SIGINT))


class Interrupt:
    """Deferred request; requested: number of the signal since `defer` began, or None."""

    requested = None

    def _note(self, number, frame):
        self.requested = number


@contextlib.contextmanager
def defer():
    """Yield an Interrupt, whose `requested` a stop request sets.

    The caller raises Interrupted(requested) at a safe point; otherwise the request is raised at the end. Nothing
    changes outside the main thread, where signals cannot be caught, and for signals that the process ignores.
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
    """Raise Interrupted(number) at the end of the context; a GpukitError in it becomes its cause.

    number: of the signal; None: no request, nothing is raised.
    """
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
    """Stop requests of this process; number: of the pending signal, or None."""

    number = None

    def request(self, number, frame):
        """Handle a signal; further ones are ignored while the first is pending."""
        if self.number is None:
            self.number = number
            self._answer(frame)

    def again(self, _, frame):
        """Handle the timer: pass the request to the current handler, which may be that of `defer`."""
        number, self.number = self.number, None
        if number is not None:
            signal.getsignal(number)(number, frame)

    def _answer(self, frame):
        safe = not is_unsafe(frame)
        signal.setitimer(signal.ITIMER_REAL, AGAIN if safe else SOON)
        if safe:
            raise Interrupted(self.number)

    def lost(self, unraisable):
        """Raise a lost Interrupted again later; a hook for sys.unraisablehook."""
        if issubclass(unraisable.exc_type, Interrupted):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            sys.__unraisablehook__(unraisable)


def is_unsafe(frame):
    """Return True if an exception that is raised in this frame may be lost."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code in UNDISTURBED or frame.f_globals.get("__name__", "").startswith(UNSAFE):
            return True
        frame = frame.f_back
    return False


def heed():
    """Let SIGINT, SIGTERM and SIGHUP raise Interrupted in the main thread, except ignored ones."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGALRM) == _command.again:
        return
    sys.unraisablehook = _command.lost
    signal.signal(signal.SIGALRM, _command.again)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _command.request)


def ignore_requests():
    """Ignore all requests from now on, at the end of a command."""
    if signal.getsignal(signal.SIGALRM) == _command.again:
        with_handler = [number for number in OF_RANKS if callable(signal.getsignal(number))]
        for number in (*SIGNALS, signal.SIGALRM, *with_handler):
            signal.signal(number, signal.SIG_IGN)


_command = _Command()
