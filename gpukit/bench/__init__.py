"""Benchmarks: each checks its result, warms up, measures and yields rows of docs/benchmarks.csv.

| file              | contents                                                                              |
|-------------------|---------------------------------------------------------------------------------------|
| measurement.py    | rows and their file, samples of the time of a step, checks of results                 |
| papers.csv        | values that the papers print, by the rows that repeat them                            |
| process.py        | fresh processes: csv files by several packages, first runs and whole commands         |
| ratings.py        | epochs of CUSGD++ and CULSH-MF on generated shapes, also with less GPU memory than    |
|                   | they need; errors on MovieLens 1M; defaults compared with other packages              |
| recommendations.py | lists; single answers, batches and threads of a fitted model;                  |
|                   | loading its file                                                                      |
| sorting.py        | segmented sort and singular-value thresholding compared with torch and numpy          |
| ranking.py        | RankSVM on generated documents; CPU solvers, LightGBM and XGBoost                      |
| imputation.py, recovery.py | imputation: speed, accuracy                                                 |
| deep.py           | imputation compared with networks of PyPOTS                                            |
| clicks.py         | NCF's MovieLens 1M (real): epochs of iALS, Table 10 of Li et al. 2022                |
| ranks.py          | two and more GPUs or processes compared with one                                      |
| roofline.py       | share of the device's bandwidth and arithmetic rate that each kernel reaches          |
| reproduce.py      | items of each paper by name, and printed values next to ours                          |
| solvers.py        | Li et al. 2022, sections 5.2 and 5.3: Tables 4 and 6 to 9, Figs. 6 to 10              |

    gpukit bench [NAME ...] [--device cuda] [--output docs/benchmarks.csv]
"""

import functools
import importlib
from typing import NamedTuple

from gpukit.device import Device

MODULES = {  # functions of each module: their names with - for _ are those of the benchmarks
    "process": "reading first_run commands",
    "ratings": "epochs out_of_core accuracy defaults",
    "recommendations": "lists serve",
    "sorting": "sorting orders thresholding",
    "ranking": "ranking solvers features",
    "imputation": "impute_speed",
    "recovery": "impute_metr_la impute_molene ends",
    "deep": "deep",
    "ranks": "ranks",
    "roofline": "roofline",
    "solvers": "agreement",
    "clicks": "ials clicks",
}
BENCHES = {name.replace("_", "-"): f"{module}.{name}" for module, names in MODULES.items() for name in names.split()}
NAMES = tuple(BENCHES)


class Conditions(NamedTuple):
    """Conditions of a run.

    device : device.Device
    shapes : names of the shapes to measure; () for the usual ones
    scale : fraction of their data
    data : folder of real data, or None
    """

    device: Device
    shapes: tuple = ()
    scale: float = 1.0
    data: str | None = None

    def select(self, usual, more=()):
        """Return the names to measure: the usual ones, or those of `shapes` among both."""
        return tuple(name for name in (*usual, *more) if name in (self.shapes or usual))

    def generate(self, generator, usual, more=()):
        """Yield (name, name with scale, generator(name, scale)) of the shapes to measure."""
        for name in self.select(usual, more):
            yield name, shape_name(name, self.scale), generator(name, self.scale)


def shape_name(name, scale):
    """Return 'netflix', or 'netflix x 0.01'."""
    return name if scale == 1 else f"{name} x {scale:g}"


def find(name):
    """Return the benchmark of a name, or of a module and a function: it yields measurement.Rows of Conditions."""
    module, _, function = BENCHES.get(name, name).rpartition(".")
    measure = getattr(importlib.import_module(f"gpukit.bench.{module}"), function)
    add_printed = importlib.import_module("gpukit.bench.measurement").add_printed
    return functools.wraps(measure)(lambda conditions: map(add_printed, measure(conditions)))
