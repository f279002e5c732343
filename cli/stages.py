"""Where the wall time of a command goes: every second, from the start of the process, belongs to a named part."""

import os
import time
from pathlib import Path

from gpukit.timing import COMPILING, compile_seconds


class Stages:
    """Seconds by part, in the order of their first use. `done(name)` gives the time since the last call to a part.

    Compiling and loading code are a part of their own, "compiling", wherever they happen.
    """

    def __init__(self):
        self.seconds = {}
        self._mark, self._compiled = time.perf_counter() - process_age(), compile_seconds()

    def done(self, name, parts=None):
        """End a stretch of work. parts: seconds by name measured inside it, booked apart; name gets what is left."""
        now, compiled = time.perf_counter(), compile_seconds()
        parts = {**(parts or {}), COMPILING: compiled - self._compiled}
        spent, self._mark, self._compiled = now - self._mark, now, compiled
        self._book(name, max(spent - sum(parts.values()), 0.0))
        for part, seconds in parts.items():
            self._book(part, seconds)

    def _book(self, name, seconds):
        self.seconds[name] = self.seconds.get(name, 0.0) + float(seconds)

    def line(self):
        """One line for people: the parts and their sum."""
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())
        return f"Seconds: {parts}; {sum(self.seconds.values()):.2f} in all."


def process_age():
    """Return the seconds since the process started, to 10 ms on Linux; 0 if the system does not report it."""
    try:
        begun = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - begun, 0.0)
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0
