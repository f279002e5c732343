"""How a command's process starts fast: what Python does besides while packages are imported, left out."""

import gc
import importlib.util
import os
import sys

from gpukit.errors import ParameterError

YOUNG = 50_000  # objects made, less those let go, between two looks for what refers to itself
# `from numpy import *`, which scipy does, imports these: a compiler of Fortran and a test suite, which nobody here uses
MOST_THREADS = 1 << 14  # these were started on two cores; 99,999 end in a segmentation fault
UNUSED = ("numpy.f2py", "numpy.testing")


def seldom_collected():
    """Let Python look for objects that refer to themselves every 50,000 objects, not every 700: of what is imported
    nothing is let go, and looking through all of it time and again took a seventh of the time of the imports."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


def check_threads(environment=os.environ):
    """Raise ParameterError for a GPUKIT_NUM_THREADS or NUMBA_NUM_THREADS that is not a number of threads: numba would
    fail or warn when it is imported, or its threads crash."""
    for name in ("GPUKIT_NUM_THREADS", "NUMBA_NUM_THREADS"):
        text = environment.get(name)
        if text is not None and not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST_THREADS):
            raise ParameterError(f"{name}={text!r} is not a number of threads. Set 1 to {MOST_THREADS:,}, or unset it.")


def put_off_unused():
    """Leave modules that numpy imports when somebody asks for all of its names for who asks them for something."""
    if "numpy" in sys.modules:
        for name in UNUSED:
            put_off(name)


def put_off(name):
    """Let a module of a package that is imported be executed when one of its names is first asked for; nothing where
    it is there already, or is nowhere."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package, _, own = name.rpartition(".")
    setattr(sys.modules[package], own, module)
