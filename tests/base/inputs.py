"""Substitutes for arrays of libraries that the tests do not install."""

import numpy as np


class OnDevice:
    """The interface of cupy's and torch's arrays; copied by `way`."""

    def __init__(self, array, way):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = array.__array_interface__
        if way == "cupy":
            self.get = lambda: array
        else:
            self.cpu = lambda: self
            self.numpy = lambda: array


class Capsule:
    """An array with DLPack only, on a device kind (1 host, 2 GPU)."""

    def __init__(self, array, kind):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)


class Cupy:
    """Substitute for cupy: asarray of a numpy array, on the current device."""

    def __init__(self):
        self.made, self.current = [], None

    def array(self, values, number):
        """An array on the GPU with a number."""
        library = self

        class ndarray(OnDevice):
            __module__ = "cupy"

        class Device:
            def __enter__(self):
                library.current = number

            def __exit__(self, *_):
                library.current = None

        found = ndarray(values, "cupy")
        found.device, found.number = Device(), number
        return found

    def asarray(self, values):
        """Return a new array on the current device."""
        self.made.append(values.shape)
        return self.array(np.array(values), self.current)
