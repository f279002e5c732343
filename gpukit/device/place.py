"""Device selection: chosen once and printed, never changed silently.

A thread initializes a GPU while data are read: the driver takes as long as reading a table.
"""

import contextlib
import ctypes
import os
import threading
from dataclasses import dataclass

from gpukit.errors import DeviceError, ParameterError
from gpukit.runtime.thread_count import get_num_threads

INSTALL_HINT = "pip install 'gpukit[cuda]' on a machine with an NVIDIA driver (gpukit doctor says what is missing)"
DRIVER = "libcuda.so.1"
_first_used_in = {}  # process: id of the process that first used a GPU


@dataclass(frozen=True)
class Device:
    """CPU or GPU.

    kind : 'cpu' or 'cuda'
    index : number of the GPU, 0 for the CPU
    name : name for messages
    capability : compute capability (major, minor); None for the CPU
    """

    kind: str
    index: int
    name: str
    capability: tuple | None = None

    @property
    def is_cuda(self):
        """True on a GPU."""
        return self.kind == "cuda"

    def __str__(self):
        return self.name if self.kind == "cpu" else f"cuda:{self.index} ({self.name})"


def resolve(spec: str | Device = "auto") -> Device:
    """Return the Device for 'auto', 'cpu', 'cuda', 'cuda:N' or a Device.

    'auto' is the first GPU, or the CPU if there is none. Raises DeviceError if the GPU does not exist, ParameterError
    for any other spec.
    """
    if isinstance(spec, Device):
        return spec
    index = number_of(spec)
    return cpu() if index is None else gpu(index)


def number_of(spec):
    """Return the number of the GPU that `resolve` chooses, None for the CPU; raises the same errors."""
    kind, _, number = str(spec).partition(":")
    if kind not in ("auto", "cpu", "cuda") or (number and (kind != "cuda" or not number.isdecimal())):
        raise ParameterError(f"device must be auto, cpu, cuda or cuda:N; got {spec!r}.")
    count = 0 if kind == "cpu" else gpu_count()
    if kind == "cpu" or (kind == "auto" and not count):
        return None
    index = int(number or 0)
    if index >= count:
        description = "no CUDA GPU was found" if not count else f"only {count} GPU(s) were found, numbered from 0"
        raise DeviceError(
            f"device {spec} is not available: {description}. Use --device cpu (device='cpu'), or {INSTALL_HINT}."
        )
    return index


def capability_of(spec):
    """Return the compute capability of the GPU that `resolve` chooses for spec, None for the CPU; it is not used yet.

    Raises the errors of `resolve`.
    """
    if isinstance(spec, Device):
        return spec.capability
    index = number_of(spec)
    if index is None:
        return None
    from gpukit._cuda import cuda

    return tuple(cuda.gpus[index].compute_capability)


def cpu():
    """Return the Device of the CPU, named with the number of threads of compiled loops."""
    threads = get_num_threads()
    return Device("cpu", 0, f"cpu ({threads} thread{'s' * (threads > 1)})")


def gpu_count():
    """Return the number of GPUs that numba-cuda can use; 0 without a driver or numba-cuda."""
    try:
        from gpukit._cuda import cuda

        return len(cuda.gpus) if cuda.is_available() else 0
    except Exception:  # a broken driver or toolkit counts as none; `gpukit doctor` describes it
        return 0


def gpu(index):
    """Make GPU number index current and return its Device; raises DeviceError in a forked process."""
    from gpukit._cuda import cuda

    check_process()
    cuda.select_device(index)
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    return Device("cuda", index, name, tuple(device.compute_capability))


def check_process():
    """Raise DeviceError in a process that was forked after a GPU was first used."""
    if _first_used_in.setdefault("process", os.getpid()) != os.getpid():
        raise DeviceError(
            "This process was forked from one that uses a GPU already, and CUDA does not work in it. Start processes "
            "with multiprocessing's 'spawn', fork before the first use of a GPU, or use device='cpu'."
        )


def has_quad_additions(capability=None):
    """Return True if a GPU of this compute capability, or the current GPU, adds four numbers at once.

    See primitives/wide.py's add4.
    """
    if capability is None:
        from gpukit._cuda import cuda

        capability = cuda.get_current_device().compute_capability
    return tuple(capability) >= (9, 0)


def processors():
    """Return the number of multiprocessors of the current GPU; 1 in the simulator."""
    from gpukit._cuda import cuda

    return int(getattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1))


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
