"""The threads of compiled loops: which of numba's layers runs them, and what is done about what it cannot bear.

    tbb         any thread may call, and so may a child that the main thread forks: taken where it can be had
    omp         any thread may call; GNU OpenMP ends a child that was forked after the first loop: refused by an error
    workqueue   one thread at a time, or the process is aborted: callers wait for each other

numba tries them in this order, or takes the one that NUMBA_THREADING_LAYER names. All parallel functions are called
through the class Parallel; what a layer cannot bear is put in the way there, once for all of them.
"""

import atexit
import contextlib
import ctypes
import importlib
import os
import threading
from importlib import metadata
from pathlib import Path

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.np.ufunc import parallel

from gpukit.errors import DeviceError, ParameterError

LAYERS = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}  # and numba's module of each
KINDS = {"default": tuple(LAYERS), "safe": ("tbb",), "threadsafe": ("tbb", "omp"), "forksafe": ("tbb", "workqueue")}
LIBRARY = "libtbb.so.12"
UNLOADED = ("libtcm", "libtbbbind")  # by TBB itself, which loads them where it finds hwloc
MAPS = "/proc/self/maps"
GET_TBB = "pip install 'gpukit[threads]'"
ELSE = "Start processes with multiprocessing's 'spawn', or fork before gpukit's first work"

_alone = threading.RLock()  # held by who is in a parallel loop under workqueue
# What a fork waits for, or the child would wait for a thread that it does not have: who takes several takes them in
# this order. The last is numba's own, a private name; numba is pinned.
_held_by_forks = (_alone, global_compiler_lock, parallel._backend_init_thread_lock)
_at_work = []  # an entry for each thread that is in a parallel loop
_unfit = []  # while the process forks: why its child cannot compute, or None


class Parallel:
    """What calls of compiled functions with parallel loops go through, from Python only (a gate says so)."""

    def __call__(self, *arguments):
        """The first call of any of them: the layer is begun, and from now on calls go the way it needs."""
        if Parallel.__call__ is _first:  # another thread may have been here meanwhile
            Parallel.__call__ = _one_at_a_time if layer() == "workqueue" else _counted
        return self(*arguments)


_first = Parallel.__call__


def _counted(self, *arguments):
    _at_work.append(None)
    try:
        return CPUDispatcher.__call__(self, *arguments)
    finally:
        _at_work.pop()


def _one_at_a_time(self, *arguments):
    with _alone:
        return CPUDispatcher.__call__(self, *arguments)


def layer():
    """The layer's name: tbb, omp or workqueue. Begins it when none has begun yet."""
    numba.get_num_threads()
    return numba.threading_layer()


def begun():
    """The name of the layer that has begun in this process, or in its parent before the fork; None before any has."""
    try:
        return numba.threading_layer()
    except ValueError:
        return None


def reason():
    """Why it is this layer, in a few words."""
    asked = str(numba.config.THREADING_LAYER)
    if asked != "default":
        return f"NUMBA_THREADING_LAYER={asked}"
    return {
        "tbb": "safe for threads and for forked processes",
        "omp": f"safe for threads, not for forked processes; {GET_TBB} for both",
        "workqueue": f"calls of several threads wait for each other; {GET_TBB} for better",
    }[layer()]


def prepare():
    """Once, before any loop runs: numba is shown pip's libtbb; ParameterError for a layer that cannot be had."""
    path = _pip_library()
    if path is not None:
        with contextlib.suppress(OSError):  # made for another machine: there are other layers
            ctypes.CDLL(str(path))  # numba asks for it by its name alone, which finds what is loaded already
    asked = str(numba.config.THREADING_LAYER).lower()
    wanted = KINDS.get(asked, (asked,))
    if not any(map(_is_there, wanted)):
        cure = GET_TBB if "tbb" in wanted else f"it is one of {', '.join([*LAYERS, *KINDS])}"
        raise ParameterError(f"NUMBA_THREADING_LAYER={asked}: there is no such threading layer here; {cure}.")
    # numba asks this lock, which processes share with those they were forked from, each time that it is asked for its
    # threads: of those, one that was killed then would stop all others for ever.
    parallel._backend_init_process_lock = contextlib.nullcontext()
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
    atexit.register(keep, *UNLOADED)


def keep(*names):
    """Have the libraries whose names begin so and that are loaded stay it to the end of the process; nothing without
    Linux's list of them.

    TBB's last worker unloads libtcm. It may do so while exit() is about to call that library's destructors: one command
    in 200 was ended by a signal, its work done.
    """
    with contextlib.suppress(OSError, AttributeError):
        paths = {line.split(maxsplit=5)[-1] for line in Path(MAPS).read_text().splitlines()}
        for path in (path for path in paths if Path(path).name.startswith(names)):
            ctypes.CDLL(path, os.RTLD_LAZY | os.RTLD_NOLOAD | os.RTLD_NODELETE)


def _pip_library():
    """The path of the libtbb that the package tbb has installed, for which numba does not look there; or None."""
    try:
        files = metadata.files("tbb") or ()
    except metadata.PackageNotFoundError:
        return None
    return next((file.locate() for file in files if file.name == LIBRARY), None)


def _is_there(name):
    """Whether numba can begin a layer."""
    try:
        if name == "tbb":
            ctypes.CDLL(LIBRARY)
        importlib.import_module(f"numba.np.ufunc.{LAYERS[name]}")
    except (OSError, ImportError, KeyError):
        return False
    return True


def _before_fork():
    """What is known of the parent is noted for the child."""
    for lock in _held_by_forks:
        lock.acquire()
    _unfit.append(_what_ails_a_child())


def _what_ails_a_child():
    if begun() == "omp":
        return f"from one whose threads (numba's layer omp) had begun. {ELSE}; or {GET_TBB}, a layer that bears forks"
    if begun() == "tbb" and threading.current_thread() is not threading.main_thread():
        return f"by a thread that is not the main one. {ELSE}, or fork from the main thread"
    if begun() == "tbb" and _at_work:
        return f"while other threads computed. {ELSE}, or while no thread computes"
    return None


def _after_fork():
    """The locks are free again; why the child cannot compute, or None."""
    for lock in reversed(_held_by_forks):
        lock.release()
    return _unfit.pop()


def _in_child():
    why = _after_fork()
    _at_work.clear()
    if why is not None:
        Parallel.__call__ = _refusal(why)


def _refusal(why):
    def refused(self, *arguments):
        raise DeviceError(f"gpukit cannot compute in this process: it was forked {why}.")

    return refused


prepare()
