"""One-line kernel, and the smoke test of a GPU: the driver, NVVM and nvJitLink have to match."""

import numpy as np

from gpukit._cuda import cuda, kernel


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
    threads = 32
    try:
        with cuda.gpus[index]:
            out = cuda.to_device(np.zeros(threads, np.int32))
            cuda.jit(number_threads.py_func)[1, threads](out)  # bypasses the cache to test the compiler as well
            result = out.copy_to_host()
    except Exception as error:  # compiler, linker and driver raise unrelated exceptions
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {'; '.join(lines)}" if lines else type(error).__name__
    is_right = np.array_equal(result, np.arange(threads))
    return None if is_right else f"it gave {result[:4].tolist()}... instead of 0, 1, 2"
