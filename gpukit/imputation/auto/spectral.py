"""The paper's algorithm among the methods: its setting is a dict of spectral.run.Setting, options too."""

import numpy as np

from gpukit.graphs.convert import by_vertex
from gpukit.imputation.choose import choose, with_path
from gpukit.imputation.inputs import Data
from gpukit.imputation.problem import Method, always
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Setting, impute
from gpukit.svt.plan import MOST

PROBE = ("frequency", 1.0, "entry")


def settings(problem):
    """A setting that is good enough for a trial; choose.py finds the others."""
    return [packed(with_path(Setting(*PROBE, problem.options.options)))]


def packed(setting):
    """A Setting as a dict of plain values."""
    return setting._asdict() | {"options": setting.options._asdict()}


def unpacked(setting):
    """The Setting of `packed`."""
    return Setting(**{**setting, "options": Options(**setting["options"])})


def fill(problem, setting):
    """The estimate where something is missing; zeros elsewhere."""
    data = as_data(problem)
    out = np.zeros(data.tensor.shape)
    out[~data.mask] = impute(problem.place, unpacked(setting), data.tensor, data.mask).estimate
    return out.reshape(problem.values.shape)


def as_data(problem):
    """inputs.Data of a problem, in slices: those of the period where the slices are vectors and it divides them."""
    count, columns = problem.values.shape
    m, n = problem.shape
    if 1 in (m, n) and problem.period and columns % problem.period == 0:
        m, n = columns // problem.period, problem.period
        m, n = (m, n) if max(m, n) <= MOST else problem.shape
    tensor = problem.values.reshape(count, m, n).astype(problem.place.dtype)
    return Data(tensor, by_vertex(problem.seen.reshape(count, m, n)), tensor.shape, tensor)


def decide(problem, progress):
    """The setting that choose.py takes."""
    asked = problem.options
    setting = Setting(asked.weights, asked.exponent, asked.center, asked.options)
    return packed(choose(problem.place, setting, as_data(problem), asked.seed, progress).setting)


METHOD = Method("spectral", always, settings, fill, decide=decide)
