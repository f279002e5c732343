"""Memory of a GPU and of the host: what is free, what is needed, and the message when it is not enough."""

import contextlib
import os
import re
import resource
from pathlib import Path

from gpukit.errors import DeviceMemoryError

GROUP = Path("/sys/fs/cgroup")
SMALL = 32 << 20  # bytes of main memory that are not asked about


def free_memory(device):
    """Free bytes on a GPU; None on the CPU."""
    if not device.is_cuda:
        return None
    from gpukit._cuda import cuda

    release(device)
    return int(cuda.current_context().get_memory_info()[0])


def release(device):
    """Give a GPU's memory that gpukit and numba keep for arrays to come back to the driver; nothing on the CPU."""
    if device.is_cuda:
        from gpukit import _driver

        _driver.release()


def available_memory():
    """Bytes of main memory that this process can still have: the machine's, its control group's, its own limit's."""
    return max(0, min(_of_machine(), _of_group(), _of_process()))


def _of_machine():
    free = _numbers("/proc/meminfo").get("MemAvailable")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if free is None else free << 10


def _of_group():
    """What a control group has left; pages of files that it only caches count as free."""
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        limits = [_number(GROUP / name) for name in (most, used)]
        if None not in limits:
            cached = _numbers(GROUP / Path(most).parent / "memory.stat").get("inactive_file", 0)
            return limits[0] - limits[1] + cached
    return float("inf")


def _of_process():
    """What `ulimit -v` leaves."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return float("inf")
    return most - (_numbers("/proc/self/status").get("VmSize", 0) << 10)


def _number(path):
    """The number that a file holds, or None."""
    try:
        return int(Path(path).read_text("ascii"))
    except (OSError, ValueError):
        return None


def _numbers(path):
    """{name: number} of a file of lines `name number ...` or `name: number kB`."""
    try:
        lines = [line.replace(":", " ").split() for line in Path(path).read_text("utf-8", "replace").splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def require_memory(device, needed, what, reserve=256 << 20):
    """Raise DeviceMemoryError when a GPU has less than needed + reserve bytes free; of the CPU, whose work lies where
    its data do, require_host asks. what: a phrase for the message."""
    free = free_memory(device)
    if free is not None and needed + reserve > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB on {device}, which has {free / 2**30:.2f} GiB free. "
            "Use --device cpu, a smaller model or less data, or a GPU with more memory."
        )


def require_host(needed, what):
    """Raise DeviceMemoryError when less than `needed` bytes of main memory are to be had."""
    free = available_memory() if needed > SMALL else float("inf")
    if needed > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB of main memory, of which {free / 2**30:.2f} GiB are free. Use less "
            "data or a smaller model, or a machine (a limit: ulimit -v, a container's) with more."
        )


LACKING = (  # what the loader, the kernel and numba say of too little memory, where it is no MemoryError
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "unable to allocate",
)


def ran_out(error):
    """One line on an exception that means too little main memory; None for any other."""
    said = " ".join(" ".join(str(one) for one in _chain(error)).split())
    known = isinstance(error, ImportError | OSError | RuntimeError | SystemError)
    if not isinstance(error, MemoryError) and not (known and any(sign in said.lower() for sign in LACKING)):
        return None
    for one in _chain(error):
        one.__traceback__ = None  # whose frames hold what filled the memory
    try:
        left = f"; {available_memory() / 2**30:.2f} GiB of main memory are left"
    except MemoryError:
        left = ""
    return (
        f"Out of memory{f' ({said:.200})' if said else ''}{left}. Use less data or a smaller model, or raise the limit "
        "(ulimit -v, a container's)."
    )


def _chain(error):
    """An exception and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@contextlib.contextmanager
def reported(device, what):
    """Turn numba's or cupy's out-of-memory error into a DeviceMemoryError that names the work and the sizes; what the
    failed call had on the device is let go."""
    try:
        yield
    except DeviceMemoryError:
        raise
    except Exception as error:
        if not (device.is_cuda and "OUT OF MEMORY" in str(error).upper().replace("_", " ")):
            raise
        sizes = f"{_asked_for(error)}{free_memory(device) / 2**30:.2f} GiB free"
        for one in _chain(error):
            one.__traceback__ = None  # whose frames hold what lies on the device
        raise DeviceMemoryError(
            f"{what} ran out of memory on {device} ({sizes}). "
            "Use --device cpu, a smaller model or less data, or a GPU with more memory."
        ) from error


def _asked_for(error):
    """What did not fit, where the error tells: gpukit's pool notes it, cupy says it."""
    said = re.search(r"allocating ([\d,]+) bytes", str(error))
    size = int(said[1].replace(",", "")) if said else getattr(error, "bytes_asked", None)
    return f"{size / 2**30:.2f} GiB more asked for, " if size else ""
