"""The only `from numba import cuda`. The name must stay `cuda`: the simulator replaces the module's global of that
name."""

import functools

from gpukit import timing
from gpukit._jit import attach, recorded  # (which sets the environment first)
from gpukit.runtime import settings

with settings.refuse_unparsed():
    from numba import cuda
from numba.core import config, types

__all__ = [
    "SIMULATED",
    "cuda",
    "device",
    "intrinsic",
    "kernel",
    "overload",
    "types",
    "with_shared_memory",
]

SIMULATED = bool(config.ENABLE_CUDASIM)
if not SIMULATED:
    from numba.cuda import extending
    from numba.cuda.dispatcher import CUDADispatcher

    intrinsic, overload = extending.intrinsic, recorded(extending.overload)
else:
    intrinsic = overload = None
    CUDADispatcher = object


class Kernel(CUDADispatcher):
    """A kernel that counts compiling and loading its code apart from computation."""

    def compile(self, sig):
        with timing.compiling():
            return super().compile(sig)


# Products are fused into sums, divisions and roots use the approximate units (2 ulp); NaN and infinity keep their
# meaning.
FASTMATH = {"contract", "arcp", "afn"}


def kernel(function=None, **options):
    """cuda.jit of a kernel whose code is kept on disk."""
    if function is None:
        return functools.partial(kernel, **options)
    made = attach(cuda.jit(function, **{"fastmath": FASTMATH, **options}))
    if not SIMULATED:
        made.__class__ = Kernel
    return made


def device(function=None, **options):
    """cuda.jit of a device function, inlined wherever it is called."""
    if function is None:
        return functools.partial(device, **options)
    return cuda.jit(function, **{"device": True, "forceinline": True, "fastmath": FASTMATH, **options})


STATIC_SHARED = 48 << 10  # bytes of shared memory that any block may have


def with_shared_memory(kernel, grid, block, size, stream=0):
    """kernel[grid, block, stream, size]: a launch with `size` bytes of dynamic shared memory.

    A block that wants more than 48 KB has to say so to the driver first; numba-cuda does not.
    """
    launch = kernel[grid, block, stream, size]
    if size > STATIC_SHARED // 2 and not SIMULATED:  # the kernel's own arrays count too
        launch.pre_launch_callbacks.append(_allow_shared_memory)
    return launch


def _allow_shared_memory(kernel, launch):
    """Set the dynamic shared memory that a block of the kernel may have."""
    from numba.cuda.cudadrv.driver import binding, driver

    function = kernel._codelibrary.get_cufunc()
    attribute = binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    driver.cuKernelSetAttribute(attribute, launch.sharedmem, function.handle, function.device.id)
