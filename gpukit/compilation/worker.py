"""A process that compiles. It writes a line when it is ready, and one for each Task, a line of standard input.

The line of a kernel ends with the compute capability of its GPU. The end of the input ends the process. Ctrl-C is the
parent's: the process that waits for this one closes the input.
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
            compile_line(*line.split())
        print(flush=True)


def compile_line(module, name, types, *capability):
    """Compile a Task, given as words, a kernel for a compute capability such as 9.0."""
    if capability:
        from gpukit._cuda import assume_gpu

        assume_gpu(tuple(map(int, capability[0].split("."))))
    Task(module, name, types).compile()


if __name__ == "__main__":
    main()
