"""The only `from numba import cuda`. The name must stay `cuda`: the simulator replaces the module's global of that
name."""

import contextlib
import functools
from types import SimpleNamespace

from gpukit import _jit, timing
from gpukit._jit import attach, wrap_overload  # (which sets the environment first)
from gpukit.runtime import settings

with contextlib.suppress(ImportError):  # a .pth file imports it, but not from folders of PYTHONPATH
    import _numba_cuda_redirector  # noqa: F401
with settings.refuse_unparsed():
    from numba import cuda
from numba.core import config, types  # noqa: F401

SIMULATED = bool(config.ENABLE_CUDASIM)
if not SIMULATED:
    from numba.cuda import dispatcher, extending
    from numba.cuda.cudadrv import devices, nvrtc
    from numba.cuda.dispatcher import CUDADispatcher

    intrinsic, overload = extending.intrinsic, wrap_overload(extending.overload)
else:
    intrinsic = overload = None
    CUDADispatcher = object


class Kernel(CUDADispatcher):
    """A kernel that counts compiling and loading its code apart from computation."""

    @property
    def listed_name(self):
        """The name in its module: its own, or the call of its maker."""
        return vars(self).get("_listed_name", self.py_func.__qualname__)

    def compile(self, sig):
        with timing.compiling():
            if _jit.helpers is not None:
                _jit.helpers.claim((self.py_func.__module__, self.listed_name))
            return super().compile(sig)


# Products are fused into sums, divisions and roots use the approximate units (2 ulp); NaN and infinity keep their
# meaning.
FASTMATH = {"contract", "arcp", "afn"}


def kernel(function=None, **options):
    """cuda.jit of a kernel whose code is kept on disk."""
    if function is None:
        return functools.partial(kernel, **options)
    result = attach(cuda.jit(function, **{"fastmath": FASTMATH, **options}))
    if not SIMULATED:
        result.__class__ = Kernel
    return result


def factory(function):
    """Cache a function of constants that returns a kernel, or a tuple of kernels, and name them by the call."""

    @functools.cache
    def make(*constants):
        result = function(*constants)
        for index, value in enumerate(result) if isinstance(result, tuple) else [(None, result)]:
            value._listed_name = name_of_call(function.__name__, constants, index)
        return result

    return functools.wraps(function)(make)


def name_of_call(maker, constants, index=None):
    """Return the call of a factory as text, with an index if it returns several kernels.

    constants: numbers, booleans and types of numpy.
    """
    texts = [value.__name__ if isinstance(value, type) else repr(value) for value in constants]
    return f"{maker}({','.join(texts)})" + ("" if index is None else f"[{index}]")


def device(function=None, **options):
    """cuda.jit of a device function, inlined wherever it is called."""
    if function is None:
        return functools.partial(device, **options)
    return cuda.jit(function, **{"device": True, "forceinline": True, "fastmath": FASTMATH, **options})


@functools.cache
def assume_gpu(capability):
    """Let this process compile kernels for a compute capability, (major, minor), without a GPU or its driver.

    The kernels can be kept on disk, not launched.
    """
    context = SimpleNamespace(device=SimpleNamespace(id=0, compute_capability=capability))
    devices._runtime = SimpleNamespace(get_or_create_context=lambda number: context)
    dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()  # instead of loading it on the GPU


def targets():
    """Return {name: compute capability} of the GPUs that kernels can be compiled for, such as sm_90: (9, 0)."""
    return {f"sm_{major}{minor}": (major, minor) for major, minor in nvrtc.get_supported_ccs()}


def with_shared_memory(kernel, grid, block, size, stream=0):
    """kernel[grid, block, stream, size]: a launch with `size` bytes of dynamic shared memory.

    A block that wants more than 48 KB has to say so to the driver first; numba-cuda does not.
    """
    launch = kernel[grid, block, stream, size]
    any_block = 48 << 10  # bytes of shared memory that any block may have
    if size > any_block // 2 and not SIMULATED:  # the kernel's own arrays count too
        launch.pre_launch_callbacks.append(_allow_shared_memory)
    return launch


def _allow_shared_memory(kernel, launch):
    """Set the dynamic shared memory that a block of the kernel may have."""
    from numba.cuda.cudadrv.driver import binding, driver

    function = kernel._codelibrary.get_cufunc()
    attribute = binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    driver.cuKernelSetAttribute(attribute, launch.sharedmem, function.handle, function.device.id)
