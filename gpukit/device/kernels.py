"""One-line kernel, and the smoke test of a GPU: the driver, NVVM and nvJitLink have to match."""

import numpy as np

from gpukit._cuda import cuda, kernel

THREADS = 32


@kernel
def number_threads(out):
    """out[i] = i.

    out (n,) int32, overwritten.
    Launch: one block of n threads.   Deterministic: yes.
    Source: ours.
    """
    out[cuda.threadIdx.x] = np.int32(cuda.threadIdx.x)


def failure(index):
    """Compile and run a kernel on GPU number index; return None or one line with the error."""
    try:
        with cuda.gpus[index]:
            out = cuda.to_device(np.zeros(THREADS, np.int32))
            cuda.jit(number_threads.py_func)[1, THREADS](out)  # bypasses the cache to test the compiler as well
            result = out.copy_to_host()
    except Exception as error:  # compiler, linker and driver raise unrelated exceptions
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {'; '.join(lines)}" if lines else type(error).__name__
    return (
        None if np.array_equal(result, np.arange(THREADS)) else f"it gave {result[:4].tolist()}... instead of 0, 1, 2"
    )
