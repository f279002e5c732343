"""Substitute for cupy's or torch's arrays; `held.there` is passed to kernels."""

from support import SIMULATED


class Held:
    """The interface of cupy's and torch's arrays; `seen` counts the copies to the host."""

    def __init__(self, array, number=0):
        from gpukit._cuda import cuda

        self.array, self.number, self.seen = array, number, 0
        self.there = cuda.to_device(array, copy=False) if SIMULATED else cuda.to_device(array)
        self.shape, self.dtype = array.shape, array.dtype
        strides = None if array.flags.c_contiguous else array.strides
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "strides": strides}

    def __dlpack_device__(self):
        return 2, self.number

    def get(self):
        self.seen += 1
        return self.array
