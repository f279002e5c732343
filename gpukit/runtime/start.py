"""Faster imports for a command's process: fewer garbage collections, unused modules deferred."""

import contextlib
import gc
import importlib.util
import os
import re
import sys
import threading

from gpukit.errors import ParameterError

GC_THRESHOLD = 50_000  # objects allocated minus freed between two collections of the youngest generation
MOST_THREADS = 1 << 14  # tested on two cores; 99,999 end in a segmentation fault
SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?(|b|mib|gib)", re.IGNORECASE | re.ASCII)
UNITS = {"": 1, "b": 1, "mib": 1 << 20, "gib": 1 << 30}
# scipy imports these by `from numpy import *`; gpukit does not use them.
UNUSED_MODULES = ("numpy.f2py", "numpy.testing")


def raise_gc_threshold():
    """Collect garbage every 50,000 objects instead of every 700.

    Imports free nothing, and collections took a seventh of their time.
    """
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])


def check_threads(environment=os.environ):
    """Raise ParameterError for an invalid GPUKIT_NUM_THREADS or NUMBA_NUM_THREADS.

    numba would fail or warn on import, or its threads would crash.
    """
    for name in ("GPUKIT_NUM_THREADS", "NUMBA_NUM_THREADS"):
        text = environment.get(name)
        if text is not None and not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST_THREADS):
            raise ParameterError(f"{name}={text!r} is not a number of threads. Set 1 to {MOST_THREADS:,}, or unset it.")


def gpu_memory_limit(environment=os.environ):
    """Return the bytes of a GPU that gpukit may use, by GPUKIT_GPU_MEMORY; None without a limit.

    Raises ParameterError for anything but a positive number of bytes, MiB or GiB.
    """
    text = environment.get("GPUKIT_GPU_MEMORY")
    if text is None:
        return None
    match = SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * UNITS[match[2].lower()]) if match else 0
    if not size:
        raise ParameterError(
            f"GPUKIT_GPU_MEMORY={text!r} is not a size of GPU memory. Set a positive number of bytes, or one with a "
            "unit, such as 500MiB or 7.5GiB, or unset it."
        )
    return size


def defer_unused_modules():
    """Defer modules that numpy imports only for `from numpy import *`, if numpy is imported."""
    if "numpy" in sys.modules:
        for name in UNUSED_MODULES:
            defer_import(name)


def import_reader(path):
    """Import what reads a text or Parquet file on a thread, while the command loads numba.

    Who needs it waits, and gets its error. So does the end of the process, where an import that is not complete may
    crash. path: of the file; a binary copy needs no reader.
    """
    if str(path).lower().endswith((".gkr", ".npz")):
        return

    def load():
        with contextlib.suppress(ImportError):
            for name in ("pyarrow.csv", "pyarrow.compute"):
                importlib.import_module(name)

    threading.Thread(target=load, name="gpukit-imports").start()


def defer_import(name):
    """Execute a submodule of an imported package only on its first attribute access.

    Modules that are imported already, or do not exist, are ignored.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package, _, attribute = name.rpartition(".")
    setattr(sys.modules[package], attribute, module)
