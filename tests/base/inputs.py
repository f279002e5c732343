"""Stand-ins for arrays of libraries that the tests do not install."""


class OnDevice:
    """What cupy's and torch's arrays look like from outside; copied by `way`."""

    def __init__(self, array, way):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = array.__array_interface__
        if way == "cupy":
            self.get = lambda: array
        else:
            self.cpu = lambda: self
            self.numpy = lambda: array


class Capsule:
    """An array that speaks DLPack alone, and says that it lies on a device of a kind (1 the host, 2 a GPU)."""

    def __init__(self, array, kind):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)
