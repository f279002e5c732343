"""The local regression on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.imputation.local import regression, twins
from gpukit.imputation.local.formulas import features
from gpukit.imputation.local.twins import gather as gather
from gpukit.imputation.local.twins import remainders as remainders
from gpukit.imputation.local.twins import solve as solve


def upload(predictors):
    """Return method.Predictors, or another tuple of arrays, with its arrays on the device."""
    return predictors


def describe(predictors, vertex, column):
    """Return (features (n, size), base (n,)) float32 on the device.

    predictors: of `upload`; vertex, column (n,) int32 on the host.
    """
    series = predictors.near.shape[1]
    out, base = np.empty((len(vertex), features(series)), np.float32), np.empty(len(vertex), np.float32)
    twins.describe(*predictors, vertex, column, out, base)
    return out, base


def to_host(array):
    """Return a device array as numpy's."""
    return array


def join(parts, order):
    """Return concatenated features of several calls of describe, rows in an order (n,)."""
    out = np.empty((len(order), parts[0].shape[1]), np.float32)
    for part in regression.parts_of(parts, order):
        twins.place(*part, out)
    return out


def to_device(array):
    """Return a host array on the device."""
    return np.ascontiguousarray(array)


def empty(shape):
    """Return a float64 array on the device."""
    return np.empty(shape)


def predict(features, base, group, coefficients):
    """Return (n,) float64 on the host."""
    out = np.empty(len(group))
    twins.answer(features, base, group, coefficients, out)
    return out
