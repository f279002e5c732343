"""The local regression on a GPU; cpu.py has the same interface."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.upload import to_device
from gpukit.imputation.local import kernels, regression
from gpukit.imputation.local.formulas import THREADS, features

BLOCKS = 1056


class Session:
    """See cpu.Session. The arrays of a ground stay on the device until another one is used."""

    def __init__(self):
        self.ground, self.there = None, None

    def describe(self, ground, vertex, column):
        """See cpu.Session."""
        if ground is not self.ground:
            self.ground, self.there = ground, [to_device(part) for part in ground]
        out = device_array((len(vertex), features(ground.near.shape[1])), np.float32)
        base = device_array(len(vertex), np.float32)
        if len(vertex):
            places = to_device(vertex), to_device(column)
            launch(kernels.describe, BLOCKS, THREADS, *self.there, *places, out, base)
        return out, base

    def host(self, array):
        """See cpu.Session."""
        return array.copy_to_host()

    def joined(self, parts, order):
        """See cpu.Session."""
        out = device_array((len(order), parts[0].shape[1]), np.float32)
        for part, rows, places in regression.parts_of(parts, order):
            launch(kernels.place, BLOCKS, THREADS, part, to_device(rows), to_device(places), out)
        return out

    def sent(self, array):
        """See cpu.Session."""
        return to_device(array)

    def empty(self, shape):
        """See cpu.Session."""
        return device_array(shape, np.float64)

    def remainders(self, features, targets, owner, *arrays):
        """See cpu.Session."""
        launch(kernels.remainders, len(owner), THREADS, features, targets, owner, *arrays)

    def gather(self, features, targets, owner, *arrays):
        """See cpu.Session."""
        launch(kernels.gather, len(owner), THREADS, features, targets, owner, *arrays)

    def solve(self, *arrays):
        """See cpu.Session."""
        launch(kernels.solve, len(arrays[-1]), THREADS, *arrays)

    def answer(self, features, base, group, coefficients):
        """See cpu.Session."""
        out = device_array(len(group), np.float64)
        if len(group):
            launch(kernels.answer, BLOCKS, THREADS, features, base, to_device(group), to_device(coefficients), out)
        return out.copy_to_host()
