"""Whether a GPU runs what is compiled for it: the driver, NVVM and nvJitLink have to fit together."""

import numpy as np

from gpukit._cuda import cuda
from gpukit.device.kernels import number_threads

THREADS = 32


def failure(index):
    """What goes wrong, in one line, when a kernel is compiled anew and run on GPU number index; None: nothing."""
    try:
        with cuda.gpus[index]:
            out = cuda.to_device(np.zeros(THREADS, np.int32))
            cuda.jit(number_threads.py_func)[1, THREADS](out)  # not from the disk: the compiler is tried too
            found = out.copy_to_host()
    except Exception as error:  # the compiler's, the linker's, the driver's: each has its own family
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {'; '.join(lines)}" if lines else type(error).__name__
    return None if np.array_equal(found, np.arange(THREADS)) else f"it gave {found[:4].tolist()}... in place of 0, 1, 2"
