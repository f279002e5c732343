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

Tables, with their readers, writers and generators: ratings/, documents/, graphs/, on top of io/ (bytes in and out).
Shared by the rooms: evaluation/ (metrics), selection/ (row-wise top-k), primitives/ (device functions), device/ (where
the work runs), random.py (bits from a seed and an index), persist.py, errors.py.

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
    "Documents": "gpukit.documents",
    "GraphTensor": "gpukit.graphs",
    "Ratings": "gpukit.ratings",
    "as_ratings": "gpukit.ratings",
    "find_folds": "gpukit.documents",
    "get_num_threads": "gpukit.runtime.thread_count",
    "graph_from_coordinates": "gpukit.graphs",
    "graph_from_distances": "gpukit.graphs",
    "graph_from_series": "gpukit.graphs",
    "read_graph": "gpukit.graphs",
    "read_letor": "gpukit.documents",
    "read_ratings": "gpukit.ratings",
    "synth_graph": "gpukit.graphs",
    "synth_letor": "gpukit.documents",
    "synth_ratings": "gpukit.ratings",
    "load_model": "gpukit.persist",
    "segmented_argsort": "gpukit.sorting",
    "set_num_threads": "gpukit.runtime.thread_count",
    "singular_value_threshold": "gpukit.svt",
}
_MODULES = (
    "base",
    "device",
    "documents",
    "errors",
    "evaluation",
    "factorization",
    "graphs",
    "imputation",
    "neighbors",
    "persist",
    "random",
    "ranking",
    "ratings",
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
