"""A GPU made ready by a thread of its own, while others read: the driver takes as long for it as a table is read in."""

import contextlib
import ctypes
import threading

from gpukit.device.place import gpu, number_of

DRIVER = "libcuda.so.1"


def wake(spec):
    """Start the driver, unless spec is 'cpu': before numba is imported, whose first question would wait for it."""
    if str(spec) != "cpu":
        threading.Thread(target=woken, name="gpukit-awake", daemon=True).start()


def woken():
    """The driver's first call, by itself; where there is none, or it fails, who needs it says so."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(DRIVER).cuInit(0)


def begin(spec):
    """Make the GPU ready that resolve takes for a spec, without waiting for it; nothing for the CPU.

    Raises as resolve where there is none. What else goes wrong does so again, aloud, for who needs it.
    """
    index = number_of(spec)
    if index is not None:
        threading.Thread(target=made_ready, args=(index,), name="gpukit-ahead").start()


def made_ready(index):
    """The context of a GPU, the buffers of uploads, and where cupy is installed the library of its products."""
    with contextlib.suppress(Exception):
        gpu(index)
        from gpukit.device.upload import current_ring

        current_ring()
        import cupy

        with cupy.cuda.Device(index):
            few = cupy.zeros((2, 2), cupy.float32)
            (few @ few).get()
