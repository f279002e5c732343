"""Device memory, copies and kernel launches by direct calls of the CUDA driver.

numba-cuda takes 20 to 200 microseconds for an allocation, 100 for a small copy and 30 to 100 for a launch; freeing and
small copies also wait for all earlier kernels. A run on little data makes a hundred of each. The calls here take a few
microseconds and do not wait. Like _cache.py, this file uses private names of numba-cuda, whose version is pinned. The
simulator uses numba's calls.
"""

import contextlib
import ctypes
import functools
import gc
import math
import os
import struct
import threading
import weakref

import numpy as np

from gpukit._cuda import SIMULATED, cuda
from gpukit.runtime.start import gpu_memory_limit
from gpukit.timing import compile_seconds

if not SIMULATED:
    from numba.core import types
    from numba.cuda.cudadrv import devices
    from numba.cuda.cudadrv import driver as api  # a module: to look at its driver is to start it
    from numba.cuda.cudadrv.devicearray import DeviceNDArray
    from numba.np.numpy_support import from_dtype

DEFAULT = 0  # the default stream


class Pool:
    """Memory pool of one GPU; allocations and frees are ordered by its default stream.

    Freed memory serves later allocations. `trim` returns it to the driver, and so does the last free.
    """

    def __init__(self, context):
        self.context, self._process = context, os.getpid()
        self._sizes = {}  # {address: bytes}; a dict changes atomically
        properties = api.binding.CUmemPoolProps()
        properties.allocType = api.binding.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = api.binding.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = context.device.id
        self._pool = api.driver.cuMemPoolCreate(properties)
        keep_all = api.binding.cuuint64_t(2**64 - 1)
        threshold = api.binding.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        api.driver.cuMemPoolSetAttribute(self._pool, threshold, keep_all)

    def take(self, size):
        """Return a MemoryPointer to `size` bytes of device memory, freed when nothing refers to it.

        Raises the driver's error, also beyond the limit of GPUKIT_GPU_MEMORY.
        """
        try:
            address = self._allocate(size)
        except api.CudaAPIError:
            gc.collect()  # arrays in cycles, such as tracebacks within a first compilation
            self.context.deallocations.clear()
            self.trim()
            address = self._allocate(size)
        self._sizes[int(address)] = size
        memory = api.MemoryPointer(self.context, address, size, finalizer=functools.partial(self._free, address))
        memory._finalizer.atexit = False  # the driver may be gone by then, and takes everything anyway
        return memory

    def taken(self):
        """Return the bytes that are in use."""
        return sum(list(self._sizes.values()))

    def _allocate(self, size):
        """Return the address of `size` bytes; an error has `bytes_asked`, for device.memory.translate_memory_errors."""
        limit = gpu_memory_limit()
        try:
            if limit is not None and self.taken() + size > limit:
                raise api.CudaAPIError(2, "out of memory: the limit of GPUKIT_GPU_MEMORY is reached")
            return call_driver("cuMemAllocFromPoolAsync", size, self._pool, DEFAULT)
        except api.CudaAPIError as error:
            error.bytes_asked = size
            raise

    def _free(self, address):
        self._sizes.pop(int(address), None)
        if os.getpid() != self._process:  # a forked child, whose parent's memory it is
            return
        elsewhere = int(call_driver("cuCtxGetCurrent")) != int(self.context.handle)
        if elsewhere:  # the last reference may be dropped where another GPU is current
            api.driver.cuCtxPushCurrent(self.context.handle)
        try:
            call_driver("cuMemFreeAsync", address, DEFAULT)
            if not self._sizes:
                self.trim()
        finally:
            if elsewhere:
                api.driver.cuCtxPopCurrent()

    def trim(self):
        """Give what is not taken back to the driver, once the GPU has done with it."""
        api.driver.cuStreamSynchronize(DEFAULT)
        api.driver.cuMemPoolTrimTo(self._pool, 0)


def pool():
    """Return the Pool of the current GPU; None if the driver has no pools, and in the simulator."""
    if SIMULATED:
        return None
    extras = cuda.current_context().extras
    if "gpukit" not in extras:
        context = cuda.current_context()
        supported = api.binding.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        has_pools = api.driver.cuDeviceGetAttribute(supported, context.device.id)
        extras["gpukit"] = Pool(weakref.proxy(context)) if has_pools else None
    return extras["gpukit"]


def attached():
    """Return a context in which numba assumes that the current GPU does not change, instead of asking the driver."""
    return contextlib.nullcontext() if SIMULATED else devices._runtime.ensure_context()


def device_array(shape, dtype):
    """Return an uninitialized C-contiguous device array.

    shape: number or tuple.
    """
    shape, dtype = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)
    size, memory_pool = math.prod(shape), pool()
    if memory_pool is None or not size:
        return cuda.device_array(shape, dtype)
    return DeviceNDArray(
        shape, _strides(shape, dtype.itemsize), dtype, gpu_data=memory_pool.take(size * dtype.itemsize)
    )


@functools.lru_cache(1 << 12)
def _strides(shape, itemsize):
    """Return the strides of a C-contiguous array, in bytes."""
    return tuple(itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def memory_in_use():
    """Return the bytes of the current GPU that arrays of gpukit take; 0 where the driver has no pools."""
    memory_pool = pool()
    return memory_pool.taken() if memory_pool else 0


def release():
    """Return unused memory of the current GPU, of numba and of the Pool, to the driver."""
    cuda.current_context().deallocations.clear()
    if memory_pool := pool():
        memory_pool.trim()


def copy_in(array, target):
    """Copy a host array to a device array of the same shape, converted to its dtype.

    The array may be changed once this returns, because the driver buffers pageable memory at once.
    """
    array = np.ascontiguousarray(array, target.dtype)
    if array.shape != target.shape:
        raise ValueError(f"an array of shape {array.shape} does not fit one of shape {target.shape}")
    if SIMULATED:
        target.copy_to_device(array)
    else:
        call_driver("cuMemcpyHtoDAsync", target.device_ctypes_pointer.value, array.ctypes.data, array.nbytes, DEFAULT)


def copy_out(array):
    """Return a host copy of a C-contiguous device array, after all earlier work on the default stream."""
    if SIMULATED:
        return array.copy_to_host()
    out = np.empty(array.shape, array.dtype)
    if out.size:
        call_driver("cuMemcpyDtoH", out.ctypes.data, array.device_ctypes_pointer.value, out.nbytes)
    return out


def copy_page_locked(memory, array, first, stream):
    """Queue array[first : first + memory.size] = memory on a stream.

    memory: page-locked, of array's dtype; it must not change until the copy is done.
    """
    if SIMULATED:
        array[first : first + memory.size].copy_to_device(memory, stream=stream)
        return
    address = array.device_ctypes_pointer.value + first * memory.itemsize
    api.driver.cuMemcpyHtoDAsync(address, memory.ctypes.data, memory.nbytes, stream.handle)


def copy_to_page_locked(array, first, memory):
    """Queue memory[:] = array[first : first + memory.size] on the default stream; memory is page-locked."""
    if SIMULATED:
        array[first : first + memory.size].copy_to_host(memory)
        return
    address = array.device_ctypes_pointer.value + first * memory.itemsize
    call_driver("cuMemcpyDtoHAsync", memory.ctypes.data, address, memory.nbytes, DEFAULT)


def copy_rows(source, target, stream):
    """Queue target[...] = source on a stream; each is page-locked numpy or cupy, with contiguous rows."""
    if SIMULATED:
        target[...] = source
    elif source.size:
        shape = api.binding.CUDA_MEMCPY2D()
        shape.srcMemoryType = shape.dstMemoryType = api.binding.CUmemorytype.CU_MEMORYTYPE_UNIFIED
        shape.srcDevice, shape.dstDevice = map(address_of, (source, target))
        shape.srcPitch, shape.dstPitch = source.strides[0], target.strides[0]
        shape.WidthInBytes, shape.Height = source.nbytes // len(source), len(source)
        call_driver("cuMemcpy2DAsync", shape, int(stream))


def address_of(array):
    """Return the address of a numpy or cupy array."""
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def zeros(shape, dtype):
    """Return a device array of zeros."""
    out = device_array(shape, dtype)
    if SIMULATED:
        out.copy_to_device(np.zeros(out.shape, dtype))
    elif out.size:
        api.driver.cuMemsetD8Async(out.device_ctypes_pointer.value, 0, out.nbytes, DEFAULT)
    return out


NUMBERS = {  # formats of struct, padded to eight bytes
    **{f"int{8 * 2**n}": code + "x" * (8 - 2**n) for n, code in enumerate("bhiq")},
    **{f"uint{8 * 2**n}": code + "x" * (8 - 2**n) for n, code in enumerate("BHIQ")},
    "float32": "f4x",
    "float64": "d",
    "bool": "?7x",
}


class Plan:
    """Launch buffer of a kernel that is compiled for certain argument types; not for several threads.

    compiled: kernel of numba-cuda, which must outlive its code.
    """

    def __init__(self, compiled):
        self.compiled = compiled
        self.layout = struct.Struct("<" + "".join(map(struct_format, compiled.argument_types)))
        self.numbers = ctypes.create_string_buffer(self.layout.size)
        first = ctypes.addressof(self.numbers)
        addresses = range(first, first + self.layout.size, 8)
        self.pointers = (ctypes.c_uint64 * len(addresses))(*addresses)
        self.addresses = ctypes.addressof(self.pointers)
        self.function = api.binding.CUfunction(int(compiled._codelibrary.get_cufunc().handle))

    def launch(self, grid, block, numbers, stream=DEFAULT):
        """Queue the kernel on a stream (its handle) with these numbers as arguments."""
        self.layout.pack_into(self.numbers, 0, *numbers)
        self.repeat(grid, block, stream)

    def repeat(self, grid, block, stream=DEFAULT):
        """Queue the kernel with the numbers of the last launch."""
        call_driver("cuLaunchKernel", self.function, *grid, *block, 0, stream, self.addresses, 0)


def call_driver(name, *arguments):
    """Return the result of a driver call; numba's wrapper takes twice as long."""
    answer = getattr(api.binding, name)(*arguments)
    return api.driver._check_cuda_python_error(name, answer) if answer[0] else answer[-1]


def struct_format(kind):
    """Return the format of struct for a kernel argument of a numba type; KeyError for an unsupported type."""
    if hasattr(kind, "ndim"):  # an array: two pointers of numba, size, itemsize, address, shape, strides
        return "qqqqQ" + "qq" * kind.ndim
    if hasattr(kind, "types"):  # a tuple
        return "".join(map(struct_format, kind))
    return NUMBERS[str(kind)]


_plans = threading.local()
_loading, _loads = threading.Lock(), weakref.WeakKeyDictionary()  # {kernel: a lock}


def launch(kernel, grid, block, *arguments, stream=None):
    """Launch kernel[grid, block](*arguments) on a stream of numba; None is the default stream."""
    plan, numbers = (None, ()) if SIMULATED else _plan_launch(kernel, arguments)
    if plan is not None:
        plan.launch(as_dim3(grid), as_dim3(block), numbers, DEFAULT if stream is None else int(stream))
    else:
        how = (grid, block) if stream is None else (grid, block, stream)
        with _lock_of(kernel):
            kernel[how](*arguments)


class Repeated:
    """Launch with fixed arguments, repeated at every call.

    The types of the arguments are read once, because that takes longer than a launch. For one GPU, and one thread at a
    time. Arguments as of `launch`.
    """

    def __init__(self, kernel, grid, block, *arguments, stream=None):
        self.call, self.stream, self.plan = (kernel, grid, block, *arguments), stream, None
        self.shape = as_dim3(grid), as_dim3(block), DEFAULT if stream is None or SIMULATED else int(stream)

    def __call__(self):
        if self.plan is not None:
            self.plan.repeat(*self.shape)
            return
        launch(*self.call, stream=self.stream)  # the first launch may compile
        kernel, _, _, *arguments = self.call
        self.plan = fixed_plan(kernel, *arguments)


def fixed_plan(kernel, *arguments):
    """Return a Plan with the arguments of a launch stored; None if only numba can launch it."""
    known, numbers = (None, ()) if SIMULATED else _plan_launch(kernel, arguments)
    if known is None:
        return None
    plan = Plan(known.compiled)
    plan.layout.pack_into(plan.numbers, 0, *numbers)
    return plan


def _lock_of(kernel):
    """Return the lock of a kernel: numba-cuda fails if two threads load one kernel at once."""
    with _loading:
        return _loads.setdefault(kernel, threading.RLock())


def _plan_launch(kernel, arguments):
    """Return (Plan, numbers) of a launch.

    The Plan is None if numba has to launch: the first time, and for unsupported arguments.
    """
    kinds, numbers = [kernel, int(call_driver("cuCtxGetCurrent"))], []
    if not _read(arguments, kinds, numbers):
        return None, ()
    known, kinds = _plans.__dict__, tuple(kinds)
    if kinds not in known:
        compiled = kernel.overloads.get(tuple(map(kernel.typeof_pyval, arguments)))
        if compiled is None:
            return None, ()
        with _lock_of(kernel):
            known[kinds] = _plan(compiled)
    return known[kinds], numbers


def _plan(compiled):
    """Return a Plan; None if numba has to launch."""
    try:
        return None if compiled.debug or compiled.cooperative else Plan(compiled)
    except KeyError:
        return None


def _read(arguments, kinds, numbers):
    """Append the types and values of the arguments; return False for an unsupported one."""
    for argument in arguments:
        if isinstance(argument, DeviceNDArray):
            code, own = argument.__dict__.get("_gpukit_words") or _array_words(argument)
            kinds.append(code)
            numbers += own
        elif isinstance(argument, tuple):
            kinds += type(argument), len(argument)
            if not _read(argument, kinds, numbers):
                return False
        elif isinstance(argument, (int, float, np.number, np.bool_)):
            kinds.append(type(argument))
            numbers.append(argument)
        else:
            return False
    return True


def _array_words(array):
    """Return (code of an array's numba type, its words as a kernel argument); cached in the array."""
    array.__dict__["_gpukit_words"] = result = _code_of(array), _numbers_of(array)
    return result


def _code_of(array):
    """Return the code of an array's numba type, from a cache: numba takes ten microseconds to create the type."""
    plain = array.flags["C_CONTIGUOUS"] and 0 not in array.strides
    return (_type(array.dtype, array.ndim) if plain else array._numba_type_)._code


@functools.cache
def _type(dtype, axes):
    """Return the numba type of C-contiguous arrays; cached, because an unreferenced type gets a new code."""
    return types.Array(from_dtype(dtype), axes, "C")


def _numbers_of(array):
    """Return the words that numba-cuda passes for an array."""
    address = array.device_ctypes_pointer.value or 0
    return 0, 0, array.size, array.dtype.itemsize, address, *array.shape, *array.strides


def as_dim3(shape):
    """Return a grid or block of one to three numbers as three."""
    numbers = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
    return (*numbers, 1, 1)[:3]


class Mark:
    """Time stamp on the default stream; compile time between two stamps is not counted."""

    def __init__(self):
        self.event, self.compiled = cuda.event(), 0.0

    def record(self):
        """Queue the time stamp after all earlier work on the default stream."""
        self.event.record()
        self.compiled = compile_seconds()
        return self

    def seconds_to(self, later):
        """Wait for a later Mark; return the seconds from this one to it."""
        later.event.synchronize()
        return max(self.event.elapsed_time(later.event) / 1e3 - (later.compiled - self.compiled), 0.0)
