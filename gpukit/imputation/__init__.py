"""Graph-tensor imputation: the missing matrices on the vertices of a graph, from those of the others.

Paper: Zhou and Zhang, "High Performance Graph Data Imputation on Multiple GPUs", Future Internet 13 (2021), 36,
doi:10.3390/fi13020036: Algorithm 1 (iterations), Algorithm 2 (thresholding, svt/). The model is Sun, Yan and Donoho,
"Convolutional Imputation of Matrix Networks" (ICML 2018). G (N, m, n) on a graph of N vertices has, after the transform
Z = U' G by the Laplacian's eigenvectors U, slices of low rank:

    G_impute = P_Omega(G) + P_missing(G_est),  Z = U' G_impute,  Z_est(k) = S_lambda_k(Z(k)),  G_est = U Z_est

    problem.py     series on a graph, and what a method is     names.py       what parameters may say
    fitted_options.py  options of a fitted model        scans.py      passes along the rows of a table, compiled
    auto/          methods judged on what is hidden, mixed; deviations of what is filled in
    baselines/     simple methods                              kriging/, local/   a Gaussian process; regression
    regularized_em/   the vertices' joint distribution
    smoothness/    near in time and on the graph: alike        soft_impute/   low rank of the whole table
    shared/        over the ranks of a parallel.Team           tables/        tables and times as people have them
    estimator.py   GraphImputer                                inputs.py      what people hand in, checked
    run.py         settings decided, a tensor completed        choose.py      'auto': weights, center, stopping point
    serve.py       another tensor on the same graph            saving.py      model files
    centering.py   means taken off and put back                holdout.py     what is hidden to judge by
    compare.py     simple methods beside the spectral one      periods.py     after how many columns things repeat
    units.py       sensors of unlike kinds, each by its spread
    spectral/      the paper's algorithm; gpukit.graphs has the graph, its Fourier basis and the tensors
      run.py         one tensor on one device                  path.py        the path, then the phase of fixed ranks
      thresholds.py  where each slice's lambda starts          ranks.py       the rank that each slice shows
      confidence.py  how far each vertex is determined         formulas.py    scalar maths, cited
      cpu.py | gpu.py -> twins.py | kernels.py                 a Session: a tensor at work on a device

Cost of an iteration, a share s of the vertices missing something: 4 s N K m n for the transforms, and the thresholding
of K slices m x n. Memory: two copies of the tensor and two of the part that misses something, at most four in all.
Deterministic on one machine; what is recovered depends on the basis, which is not unique where eigenvalues repeat.
"""

import importlib

__all__ = ["GraphImputer"]


def __getattr__(name):
    if name in __all__:
        return getattr(importlib.import_module("gpukit.imputation.estimator"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
