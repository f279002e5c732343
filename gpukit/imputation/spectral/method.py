"""The paper's algorithm as a method. Its setting is a dict of spectral.run.Setting, with options."""

import numpy as np

from gpukit.graphs.convert import reduce_mask
from gpukit.imputation.inputs import Data
from gpukit.imputation.problem import Method
from gpukit.imputation.spectral.choose import choose, with_path
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Setting, impute
from gpukit.svt.plan import MOST

MOST_VERTICES = 8_000  # LAPACK takes minutes for the whole basis of more, on two cores
PROBE = ("frequency", 1.0, "entry")


def competes(problem):
    """Return True if 'spectral' is named, or is a candidate whose Fourier basis takes at most minutes."""
    method, basis = problem.options.method, problem.place.basis
    return method == "spectral" or (method == "auto" and (not basis.exact or basis.count <= MOST_VERTICES))


def note_left_out(problem):
    """Return [note] for a problem whose graph is too large for the whole basis, else []."""
    if problem.options.method != "auto" or competes(problem):
        return []
    return [
        f"the method spectral was not tried: the whole Fourier basis of {problem.place.basis.count:,} vertices would "
        "take long. basis_size=K (--basis-size K) tries it with the K smoothest eigenvectors."
    ]


def settings(problem):
    """Return a setting that suffices for a trial; choose.py finds the others."""
    return [pack_setting(with_path(Setting(*PROBE, problem.options.options)))]


def pack_setting(setting):
    """Return a Setting as a dict of plain values."""
    return setting._asdict() | {"options": setting.options._asdict()}


def unpack_setting(setting):
    """Return the Setting of `pack_setting`."""
    return Setting(**{**setting, "options": Options(**setting["options"])})


def fill(problem, setting):
    """Return the estimate of missing values, zeros elsewhere."""
    data, columns = as_data(problem), slices_of(problem)[0]
    out = np.zeros(data.tensor.shape)
    out[~data.mask] = impute(problem.place, unpack_setting(setting), data.tensor, data.mask).estimate
    result = np.empty(problem.values.shape)
    result[:, columns] = out.reshape(len(out), -1)
    return result


def as_data(problem):
    """Return inputs.Data of a problem, in slices."""
    columns, shape = slices_of(problem)
    tensor = problem.values[:, columns].reshape(len(problem.values), *shape).astype(problem.place.dtype)
    return Data(tensor, reduce_mask(problem.seen[:, columns].reshape(tensor.shape)), tensor.shape, tensor)


def slices_of(problem):
    """Return (columns, (m, n)) of the slices; vectors are cut into periods.

    An incomplete last row starts earlier, so some columns are in two rows.
    """
    columns, period = problem.values.shape[1], problem.period
    rows = -(-columns // period) if period else 0
    if 1 not in problem.shape or not 1 < rows or max(rows, period) > MOST:
        return np.arange(columns), problem.shape
    last = np.arange(columns - period, columns)
    return np.concatenate((np.arange((rows - 1) * period), last)), (rows, period)


def decide(problem, progress):
    """Return the setting selected by choose.py."""
    options = problem.options
    setting = Setting(options.weights, options.exponent, options.center, options.options)
    return pack_setting(choose(problem.place, setting, as_data(problem), options.seed, progress).setting)


METHOD = Method("spectral", competes, settings, fill, decide=decide)
