"""gpukit: three papers, three jobs, one toolkit. Every algorithm has a GPU kernel and a CPU twin of the same name.

    paper                                           room             estimator             command
    CULSH-MF  (neighbourhood matrix factorization)  factorization/   LSHMF                 gpukit train-lshmf
              CUSGD++, its plain form               factorization/   MatrixFactorization   (train-lshmf --neighbors 0)
              simLSH, its neighbour search          neighbors/       SimLSH                (part of train-lshmf)
    linear RankSVM, exact over all pairs            ranking/         RankSVM               gpukit ranksvm
              its segmented sort                    sorting/         segmented_argsort
    graph-tensor imputation                         imputation/       GraphImputer          gpukit impute
              its singular-value thresholding       svt/             singular_value_threshold

    estimator.fit -> gpu.py | cpu.py -> kernels.py | twins.py -> formulas.py

Shared by the rooms: datasets/ (readers, id maps, splits), selection/ (row-wise top-k), primitives/ (device functions),
device.py (where the work runs), random.py (bits from a seed and an index), metrics.py, persist.py, errors.py.

Importing gpukit costs nothing: estimators and modules are imported when they are first asked for.
"""

import importlib
import os

from gpukit._version import __version__

# numpy's matrix products leave their threads waiting busily, in the way of compiled loops that follow: small tensors
# took several times as long. OpenBLAS reads this (a power of two, of cycles) when numpy is imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

ESTIMATORS = {
    "GraphImputer": "gpukit.imputation",
    "LSHMF": "gpukit.factorization",
    "MatrixFactorization": "gpukit.factorization",
    "RankSVM": "gpukit.ranking",
    "SimLSH": "gpukit.neighbors",
}
_HOME = {
    **ESTIMATORS,
    "Documents": "gpukit.datasets",
    "GraphTensor": "gpukit.datasets",
    "Ratings": "gpukit.datasets",
    "as_ratings": "gpukit.datasets",
    "find_folds": "gpukit.datasets",
    "read_graph": "gpukit.datasets",
    "read_letor": "gpukit.datasets",
    "read_ratings": "gpukit.datasets",
    "synth_graph": "gpukit.datasets",
    "synth_letor": "gpukit.datasets",
    "synth_ratings": "gpukit.datasets",
    "load_model": "gpukit.persist",
    "segmented_argsort": "gpukit.sorting",
    "singular_value_threshold": "gpukit.svt",
}
_MODULES = (
    "base",
    "datasets",
    "device",
    "errors",
    "factorization",
    "imputation",
    "metrics",
    "neighbors",
    "persist",
    "random",
    "ranking",
    "selection",
    "sorting",
    "svt",
)

__all__ = ["__version__", *_HOME]


def __getattr__(name):
    """Import an estimator, a reader or a module of gpukit when it is first used."""
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"gpukit.{name}")
    raise AttributeError(f"module 'gpukit' has no attribute {name!r}; it has {', '.join(__all__)}.")


def __dir__():
    return sorted([*__all__, *_MODULES])
