"""Memory of a GPU: what is free, what is needed, and the message when it is not enough."""

import contextlib

from gpukit.errors import DeviceMemoryError


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


def require_memory(device, needed, what, reserve=256 << 20):
    """Raise DeviceMemoryError when a GPU has less than needed + reserve bytes free. what: a phrase for the message."""
    free = free_memory(device)
    if free is not None and needed + reserve > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB on {device}, which has {free / 2**30:.2f} GiB free. "
            "Use --device cpu, a smaller model or less data, or a GPU with more memory."
        )


@contextlib.contextmanager
def reported(device, what):
    """Turn numba's or cupy's out-of-memory error into a DeviceMemoryError that names the work and the free memory."""
    try:
        yield
    except DeviceMemoryError:
        raise
    except Exception as error:
        if device.is_cuda and "OUT OF MEMORY" in str(error).upper().replace("_", " "):
            raise DeviceMemoryError(
                f"{what} ran out of memory on {device} ({free_memory(device) / 2**30:.2f} GiB free). "
                "Use --device cpu, a smaller model or less data, or a GPU with more memory."
            ) from error
        raise
