"""A process that compiles. It writes a line when it is ready, and one for each Task, a line of standard input.

The end of the input ends it. Ctrl-C is the parent's: the process that waits for this one closes the input.
"""

import contextlib
import signal
import sys

from gpukit.compilation.signatures import Task


def main():
    """Compile what standard input names; what cannot be compiled is left to the process that needs it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not within the write of a file
    print(flush=True)
    for line in sys.stdin:
        with contextlib.suppress(Exception):
            Task(*line.split()).compile()
        print(flush=True)


if __name__ == "__main__":
    main()
