"""The command's process, which handles stop requests from its start."""

import gc
import importlib
import sys

from gpukit import interrupt


def main(arguments=None):
    """Run the command line and exit with its code; see gpukit.cli.main.

    Other modules are imported after the handling of stop requests is installed.
    """
    code = None
    try:
        interrupt.heed()
        importlib.import_module("gpukit.runtime.start").raise_gc_threshold()
        code = importlib.import_module("gpukit.cli.main").run_alone(arguments)
        interrupt.ignore_requests()
    except KeyboardInterrupt as stop:  # at the very start or end
        interrupt.ignore_requests()
        if code is None:
            code = interrupt.exit_code(stop)
            sys.stderr.write("Interrupted. Nothing had begun.\n")
            importlib.import_module("gpukit.cli.main").tell_others(stop)
    gc.freeze()  # Python's last garbage collection over all imported modules would take half a second
    sys.exit(code)
