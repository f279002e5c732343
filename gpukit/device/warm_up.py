"""Initialize a GPU in a thread while data are read: the driver takes as long as reading a table."""

import contextlib
import ctypes
import threading

from gpukit.device.place import gpu, number_of

DRIVER = "libcuda.so.1"


def start_driver(spec):
    """Start initializing the CUDA driver unless spec is 'cpu'.

    Call it before numba is imported, whose first query waits for the driver.
    """
    if str(spec) != "cpu":
        threading.Thread(target=initialize_driver, name="gpukit-driver", daemon=True).start()


def initialize_driver():
    """Make the driver's first call; errors are left to the first user of the driver."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(DRIVER).cuInit(0)


def start_warm_up(spec, products=False):
    """Start initializing the GPU that `resolve` chooses for spec; do nothing for the CPU.

    products: load cupy's matrix products too. Raises the errors of `resolve`. Other errors are left to the first user
    of the GPU.
    """
    index = number_of(spec)
    if index is not None:
        threading.Thread(target=initialize_gpu, args=(index, products), name="gpukit-warm-up").start()


def initialize_gpu(index, products):
    """Create the context and the upload buffers of a GPU, and, for products, load cupy's matrix products."""
    with contextlib.suppress(Exception):
        gpu(index)
        from gpukit.device.upload import current_ring

        current_ring()
        if not products:
            return
        import cupy

        with cupy.cuda.Device(index):
            matrix = cupy.zeros((2, 2), cupy.float32)
            (matrix @ matrix).get()
