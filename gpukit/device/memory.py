"""Free and required memory of a GPU and of the host, and the errors if it is too small; large arrays in files."""

import contextlib
import gc
import math
import os
import re
import resource
import shutil
import tempfile
import warnings
from pathlib import Path

from gpukit.errors import DeviceMemoryError
from gpukit.runtime.start import gpu_memory_limit

GROUP = Path("/sys/fs/cgroup")
SMALL = 32 << 20  # bytes of main memory that are not checked


def free_memory(device):
    """Return the free bytes of a GPU, within GPUKIT_GPU_MEMORY; None for the CPU."""
    return _free_on_gpu() if device.is_cuda else None


def _free_on_gpu():
    from gpukit import _driver
    from gpukit._cuda import cuda

    _driver.release()
    free, limit = int(cuda.current_context().get_memory_info()[0]), gpu_memory_limit()
    return free if limit is None else max(0, min(free, limit - _driver.memory_in_use()))


def spare_memory():
    """Return the bytes of the current GPU for a task: those free, less a reserve or an eighth of a small limit.

    The reserve is left to the driver, to libraries and to small arrays.
    """
    reserve, limit = 256 << 20, gpu_memory_limit()
    return _free_on_gpu() - (reserve if limit is None else min(reserve, limit // 8))


def release(device):
    """Return the memory that gpukit and numba cache to the GPU; do nothing for the CPU."""
    if device.is_cuda:
        from gpukit import _driver

        _driver.release()


def available_memory():
    """Return the bytes of main memory available to this process, by machine, control group and ulimit."""
    return max(0, min(_free_on_machine(), _free_in_group(), _free_to_process()))


def _free_on_machine():
    free = _numbers("/proc/meminfo").get("MemAvailable")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if free is None else free << 10


def _free_in_group():
    """Return the bytes that the control group has left; cached file pages count as free."""
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        limits = [_number(GROUP / name) for name in (most, used)]
        if None not in limits:
            cached = _numbers(GROUP / Path(most).parent / "memory.stat").get("inactive_file", 0)
            return limits[0] - limits[1] + cached
    return float("inf")


def _free_to_process():
    """Return the bytes that `ulimit -v` and `ulimit -d` leave."""
    left = [float("inf")]
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            left.append(most - (_numbers("/proc/self/status").get(used, 0) << 10))
    return min(left)


def _number(path):
    """Return the number in a file, or None."""
    try:
        return int(Path(path).read_text("ascii"))
    except (OSError, ValueError):
        return None


def _numbers(path):
    """Return {name: number} from lines `name number ...` or `name: number kB`."""
    try:
        lines = [line.replace(":", " ").split() for line in Path(path).read_text("utf-8", "replace").splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def has_memory(needed):
    """Return True if the current GPU can spare `needed` bytes, see spare_memory."""
    if needed > spare_memory():
        gc.collect()  # frames of the compiler may keep arrays of an earlier run
    return needed <= spare_memory()


def require_memory(device, needed, what):
    """Raise DeviceMemoryError if a GPU cannot spare `needed` bytes, see spare_memory.

    what: the task, for the message. For the CPU see `require_host`.
    """
    if device.is_cuda and not has_memory(needed):
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB on {device}, which has {free_memory(device) / 2**30:.2f} GiB free. "
            "Use --device cpu, a smaller model or less data, or a GPU with more memory."
        )


def require_host(needed, what):
    """Raise DeviceMemoryError if fewer than `needed` bytes of main memory are available."""
    free = available_memory() if needed > SMALL else float("inf")
    if needed > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB of main memory; {free / 2**30:.2f} GiB are free. Use less data or "
            "a smaller model, or raise the limit (ulimit -v, a container's)."
        )


def is_large(size):
    """Return True if an array of `size` bytes belongs in a file: it would take a quarter of the main memory left."""
    return size > SMALL and 4 * size > available_memory()


def temporary_folder():
    """Return the folder of large arrays: TMPDIR, or the one that is on a disk on all systems."""
    return os.environ.get("TMPDIR") or "/var/tmp"


def require_room(needed, what):
    """Raise DeviceMemoryError if `needed` bytes exceed main memory and the disk; warn if they exceed main memory."""
    free = available_memory() if needed > SMALL else float("inf")
    if needed <= free:
        return
    folder, gib = temporary_folder(), 2**30
    disk = shutil.disk_usage(folder).free if os.path.isdir(folder) else 0
    if needed > free + disk:
        raise DeviceMemoryError(
            f"{what} needs {needed / gib:.2f} GiB; {free / gib:.2f} GiB of main memory and {disk / gib:.2f} GiB of the "
            f"disk of {folder} are free. Use less data, or set TMPDIR to a folder on a larger disk."
        )
    warnings.warn(
        f"{what} needs {needed / gib:.2f} GiB, more than the main memory that is free: large arrays are in temporary "
        f"files in {folder} (TMPDIR).",
        stacklevel=2,
    )


def empty(shape, dtype):
    """Return an uninitialized array; one that is large for the main memory left is an array_in_file."""
    return _allocate("empty", shape, dtype)


def zeros(shape, dtype):
    """Return an array of zeros; see `empty`."""
    return _allocate("zeros", shape, dtype)


def _allocate(name, shape, dtype):
    import numpy as np

    size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    return array_in_file(size).view(dtype).reshape(shape) if is_large(size) else getattr(np, name)(shape, dtype)


def array_in_file(size):
    """Return `size` bytes of zeros in an unnamed temporary file, whose pages need not stay in memory.

    The file ends with the array, also if the process is killed. Its space is reserved, since a disk that is full at a
    later write would end the process. Raises DeviceMemoryError.
    """
    import numpy as np

    folder = temporary_folder()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, max(1, size))
            return np.memmap(file, np.uint8)[:size].view(np.ndarray)
    except OSError as error:
        raise DeviceMemoryError(
            f"An array of {size / 2**30:.2f} GiB fits neither in main memory nor in {folder} ({error.strerror}). Use "
            "less data, or set TMPDIR to a folder on a larger disk."
        ) from error


SIGNS = (  # in messages of the loader, the kernel and numba that are not MemoryErrors
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "unable to allocate",
)


def describe_out_of_memory(error):
    """Return one line for an exception caused by too little main memory; None for others."""
    text = " ".join(" ".join(str(cause) for cause in _chain(error)).split())
    is_candidate = isinstance(error, ImportError | OSError | RuntimeError | SystemError)
    if not isinstance(error, MemoryError) and not (is_candidate and any(sign in text.lower() for sign in SIGNS)):
        return None
    _clear_tracebacks(error)
    try:
        left = f"; {available_memory() / 2**30:.2f} GiB of main memory are left"
    except MemoryError:
        left = ""
    return (
        f"Out of memory{f' ({text:.200})' if text else ''}{left}. Use less data or a smaller model, or raise the limit "
        "(ulimit -v, a container's)."
    )


def _chain(error):
    """Yield an exception and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _clear_tracebacks(error):
    """Release the arrays that the frames of an exception and its causes hold."""
    for cause in _chain(error):
        cause.__traceback__ = None


@contextlib.contextmanager
def translate_memory_errors(device, what):
    """Convert out-of-memory errors of numba and cupy to a DeviceMemoryError with the task and the sizes.

    The arrays of the failed call are released.
    """
    try:
        yield
    except DeviceMemoryError:
        raise
    except Exception as error:
        if not (device.is_cuda and "OUT OF MEMORY" in str(error).upper().replace("_", " ")):
            raise
        sizes = f"{_requested_size(error)}{free_memory(device) / 2**30:.2f} GiB free"
        _clear_tracebacks(error)
        raise DeviceMemoryError(
            f"{what} ran out of memory on {device} ({sizes}). "
            "Use --device cpu, a smaller model or less data, or a GPU with more memory."
        ) from error


def _requested_size(error):
    """Return the size of the failed allocation as text, '' if unknown."""
    match = re.search(r"allocating ([\d,]+) bytes", str(error))  # cupy's message; gpukit's pool sets bytes_asked
    size = int(match[1].replace(",", "")) if match else getattr(error, "bytes_asked", None)
    return f"{size / 2**30:.2f} GiB more asked for, " if size else ""
