"""Ctrl-C that waits for a safe moment."""

import contextlib
import signal
import threading


class Interrupt:
    """requested: has Ctrl-C been pressed since `deferred` began?"""

    requested = False

    def _note(self, number, frame):
        self.requested = True


@contextlib.contextmanager
def deferred():
    """Within it Ctrl-C sets `requested` of the Interrupt it yields; who asks raises KeyboardInterrupt when all is safe.

    Outside the main thread signals cannot be caught, and a job in the background ignores Ctrl-C: both stay as they are.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt._note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
