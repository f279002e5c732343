"""The local regression on a GPU; cpu.py has the same functions."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.upload import to_device as to_device
from gpukit.imputation import constants
from gpukit.imputation.local import kernels, regression
from gpukit.imputation.local.formulas import THREADS, features

BLOCKS = 4 * constants.BLOCKS


def upload(predictors):
    """See cpu.upload."""
    return predictors._make(map(to_device, predictors))


def describe(predictors, vertex, column):
    """See cpu.describe."""
    out = device_array((len(vertex), features(predictors.near.shape[1])), np.float32)
    base = device_array(len(vertex), np.float32)
    if len(vertex):
        launch(kernels.describe, BLOCKS, THREADS, *predictors, to_device(vertex), to_device(column), out, base)
    return out, base


def to_host(array):
    """See cpu.to_host."""
    return array.copy_to_host()


def join(parts, order):
    """See cpu.join."""
    out = device_array((len(order), parts[0].shape[1]), np.float32)
    for part, rows, places in regression.parts_of(parts, order):
        launch(kernels.place, BLOCKS, THREADS, part, to_device(rows), to_device(places), out)
    return out


def empty(shape):
    """See cpu.empty."""
    return device_array(shape, np.float64)


def remainders(features, targets, owner, *arrays):
    """Launch kernels.remainders."""
    launch(kernels.remainders, len(owner), THREADS, features, targets, owner, *arrays)


def gather(features, targets, owner, *arrays):
    """Launch kernels.gather."""
    launch(kernels.gather, len(owner), THREADS, features, targets, owner, *arrays)


def solve(*arrays):
    """Launch kernels.solve."""
    launch(kernels.solve, len(arrays[-1]), THREADS, *arrays)


def predict(features, base, group, coefficients):
    """See cpu.predict."""
    out = device_array(len(group), np.float64)
    if len(group):
        launch(kernels.answer, BLOCKS, THREADS, features, base, to_device(group), to_device(coefficients), out)
    return out.copy_to_host()
