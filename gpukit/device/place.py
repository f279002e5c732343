"""Where the work runs: decided once, aloud, never changed behind the caller's back."""

import os
from dataclasses import dataclass

from gpukit.errors import DeviceError, ParameterError
from gpukit.runtime.thread_count import get_num_threads

INSTALL_HINT = "pip install 'gpukit[cuda]' on a machine with an NVIDIA driver (gpukit doctor says what is missing)"
_first_used_in = {}  # process: the id of the one in which a GPU was made current first


@dataclass(frozen=True)
class Device:
    """kind 'cpu' or 'cuda', index of the GPU (0 for the CPU), name as people know it, compute capability or None."""

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


def resolve(spec="auto"):
    """The Device for 'auto', 'cpu', 'cuda' or 'cuda:N' (a Device passes through).

    'auto' takes the first GPU if there is one. Asking for a GPU that is not there raises DeviceError; anything else
    ParameterError.
    """
    if isinstance(spec, Device):
        return spec
    index = number_of(spec)
    return cpu() if index is None else gpu(index)


def number_of(spec):
    """The number of the GPU that resolve takes for 'auto', 'cpu', 'cuda' or 'cuda:N', None for the CPU. Raises as
    resolve."""
    kind, _, number = str(spec).partition(":")
    if kind not in ("auto", "cpu", "cuda") or (number and (kind != "cuda" or not number.isdecimal())):
        raise ParameterError(f"device must be auto, cpu, cuda or cuda:N; got {spec!r}.")
    found = 0 if kind == "cpu" else gpu_count()
    if kind == "cpu" or (kind == "auto" and not found):
        return None
    index = int(number or 0)
    if index >= found:
        have = "no CUDA GPU was found" if not found else f"only {found} GPU(s) were found, numbered from 0"
        raise DeviceError(
            f"device {spec} was asked for, but {have}. Use --device cpu (device='cpu'), or {INSTALL_HINT}."
        )
    return index


def cpu():
    """The CPU, with the number of threads of compiled loops."""
    threads = get_num_threads()
    return Device("cpu", 0, f"cpu ({threads} thread{'s' * (threads > 1)})")


def gpu_count():
    """How many GPUs numba-cuda can use; 0 without a driver, and 0 when numba-cuda cannot be imported."""
    try:
        from gpukit._cuda import cuda

        return len(cuda.gpus) if cuda.is_available() else 0
    except Exception:  # a broken driver or toolkit counts as none; `gpukit doctor` tells which
        return 0


def gpu(index):
    """The Device of GPU number index, made current. DeviceError in a process forked from one that has done so."""
    from gpukit._cuda import cuda

    check_process()
    cuda.select_device(index)
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    return Device("cuda", index, name, tuple(device.compute_capability))


def check_process():
    """DeviceError where CUDA is of no use: in a process that was forked after a GPU was first used."""
    if _first_used_in.setdefault("process", os.getpid()) != os.getpid():
        raise DeviceError(
            "This process was forked from one that uses a GPU already, and CUDA does not work in it. Start processes "
            "with multiprocessing's 'spawn', fork before the first use of a GPU, or use device='cpu'."
        )


def has_quad_additions():
    """Return True if the current GPU has additions of four numbers at once (primitives/wide.py's add4)."""
    from gpukit._cuda import cuda

    return tuple(cuda.get_current_device().compute_capability) >= (9, 0)


def processors():
    """Multiprocessors of the current GPU; 1 in the simulator, whose device does not say."""
    from gpukit._cuda import cuda

    return int(getattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1))
