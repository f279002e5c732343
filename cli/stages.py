"""Wall time of a command by part, from the process start."""

import os
import time
from pathlib import Path

from gpukit.timing import COMPILING, compile_seconds


class Stages:
    """Seconds by part, in order of first use.

    `done(name)` books the time since the last call. Compiling and loading of code are always booked as "compiling".
    """

    def __init__(self):
        self.seconds = {}
        self._mark, self._compiled = time.perf_counter() - process_age(), compile_seconds()

    def done(self, name, parts=None):
        """Book the time since the last call; parts: seconds by name, booked separately."""
        now, compiled = time.perf_counter(), compile_seconds()
        parts = {**(parts or {}), COMPILING: compiled - self._compiled}
        spent, self._mark, self._compiled = now - self._mark, now, compiled
        self._book(name, max(spent - sum(parts.values()), 0.0))
        for part, seconds in parts.items():
            self._book(part, seconds)

    def _book(self, name, seconds):
        self.seconds[name] = self.seconds.get(name, 0.0) + float(seconds)

    def line(self):
        """Format the parts and their sum in a line."""
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())
        return f"Seconds: {parts}; {sum(self.seconds.values()):.2f} in all."


def process_age():
    """Return the seconds since the process started.

    The resolution is 10 ms on Linux. It is 0 if the system does not report the time.
    """
    try:
        begun = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - begun, 0.0)
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0
