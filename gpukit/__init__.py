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

import os

from gpukit._lazy import on_demand

TYPE_CHECKING = False  # as typing's, whose import takes longer than gpukit's
if TYPE_CHECKING:
    from gpukit import base as base
    from gpukit import device as device
    from gpukit import documents as documents
    from gpukit import errors as errors
    from gpukit import evaluation as evaluation
    from gpukit import factorization as factorization
    from gpukit import graphs as graphs
    from gpukit import imputation as imputation
    from gpukit import neighbors as neighbors
    from gpukit import persist as persist
    from gpukit import random as random
    from gpukit import ranking as ranking
    from gpukit import ratings as ratings
    from gpukit import selection as selection
    from gpukit import sorting as sorting
    from gpukit import svt as svt
    from gpukit._version import __version__ as __version__
    from gpukit.documents import Documents as Documents
    from gpukit.documents import find_folds as find_folds
    from gpukit.documents import read_letor as read_letor
    from gpukit.documents import synth_letor as synth_letor
    from gpukit.factorization import LSHMF as LSHMF
    from gpukit.factorization import MatrixFactorization as MatrixFactorization
    from gpukit.graphs import GraphTensor as GraphTensor
    from gpukit.graphs import graph_from_coordinates as graph_from_coordinates
    from gpukit.graphs import graph_from_distances as graph_from_distances
    from gpukit.graphs import graph_from_series as graph_from_series
    from gpukit.graphs import read_graph as read_graph
    from gpukit.graphs import synth_graph as synth_graph
    from gpukit.imputation import GraphImputer as GraphImputer
    from gpukit.neighbors import SimLSH as SimLSH
    from gpukit.persist import load_model as load_model
    from gpukit.ranking import RankSVM as RankSVM
    from gpukit.ratings import Ratings as Ratings
    from gpukit.ratings import as_ratings as as_ratings
    from gpukit.ratings import read_ratings as read_ratings
    from gpukit.ratings import synth_ratings as synth_ratings
    from gpukit.runtime.thread_count import get_num_threads as get_num_threads
    from gpukit.runtime.thread_count import set_num_threads as set_num_threads
    from gpukit.sorting import segmented_argsort as segmented_argsort
    from gpukit.svt import singular_value_threshold as singular_value_threshold

# numpy's matrix products leave their threads waiting busily, in the way of compiled loops that follow: small tensors
# took several times as long. OpenBLAS reads this (a power of two, of cycles) when numpy is imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

ESTIMATORS = ("GraphImputer", "LSHMF", "MatrixFactorization", "RankSVM", "SimLSH")
_HOMES = {
    "__version__": "_version",
    "GraphImputer": "imputation",
    "LSHMF": "factorization",
    "MatrixFactorization": "factorization",
    "RankSVM": "ranking",
    "SimLSH": "neighbors",
    "Documents": "documents",
    "GraphTensor": "graphs",
    "Ratings": "ratings",
    "as_ratings": "ratings",
    "find_folds": "documents",
    "get_num_threads": "runtime.thread_count",
    "graph_from_coordinates": "graphs",
    "graph_from_distances": "graphs",
    "graph_from_series": "graphs",
    "read_graph": "graphs",
    "read_letor": "documents",
    "read_ratings": "ratings",
    "synth_graph": "graphs",
    "synth_letor": "documents",
    "synth_ratings": "ratings",
    "load_model": "persist",
    "segmented_argsort": "sorting",
    "set_num_threads": "runtime.thread_count",
    "singular_value_threshold": "svt",
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

__all__ = list(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES, _MODULES)
