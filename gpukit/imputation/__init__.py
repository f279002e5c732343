"""Graph-tensor imputation: the missing matrices on the vertices of a graph, from those of the others.

Paper: Zhang et al., the graph-tensor imputation paper: Algorithm 1 (iterations), Algorithm 2 (thresholding, svt/); the
model is Sun, Yan and Donoho, "Convolutional Imputation of Matrix Networks" (ICML 2018). G (N, m, n) on a graph of N
vertices has, after the transform Z = U' G by the Laplacian's eigenvectors U, slices of low rank:

    G_impute = P_Omega(G) + P_missing(G_est),  Z = U' G_impute,  Z_est(k) = S_lambda_k(Z(k)),  G_est = U Z_est

    estimator.py   GraphImputer                                inputs.py       what people hand in, checked
    run.py         settings decided, the tensor completed      serve.py        another tensor on the same graph
    choose.py      'auto': weights, center, stopping point     holdout.py      what is hidden to judge by
    centering.py   means taken off and put back                saving.py       what a model file keeps
    baselines.py   simple methods                              compare.py      them beside the imputation
    spectral/      the paper: path of thresholds, fixed ranks; cpu.py | gpu.py, a Session each

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
