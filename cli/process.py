"""The command's process: from its first line on, a request to stop is answered with one line and its exit code."""

import gc
import importlib
import sys

from gpukit import interrupt
from gpukit.runtime.start import raise_gc_threshold


def main(arguments=None):
    """Run the command line and leave with its exit code; see gpukit.cli.main, which is imported when that is heeded."""
    code = None
    try:
        interrupt.heed()
        raise_gc_threshold()
        code = importlib.import_module("gpukit.cli.main").run_alone(arguments)
        interrupt.over()
    except KeyboardInterrupt as stop:  # in the first moment, or in the last
        interrupt.over()
        if code is None:
            code = interrupt.exit_code(stop)
            sys.stderr.write("Interrupted. Nothing had begun.\n")
            importlib.import_module("gpukit.cli.main").tell_others(stop)
    gc.freeze()  # Python looks through all that was ever imported as it ends, for half a second; nobody waits for that
    sys.exit(code)
