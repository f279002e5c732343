"""Graph-tensor imputation: estimate missing matrices on the vertices of a graph from the observed ones.

Paper: Zhou and Zhang, "High Performance Graph Data Imputation on Multiple GPUs", Future Internet 13 (2021), 36,
doi:10.3390/fi13020036: Algorithm 1 (iterations), Algorithm 2 (thresholding, svt/). The model is Sun, Yan and Donoho,
"Convolutional Imputation of Matrix Networks" (ICML 2018). G (N, m, n) on a graph of N vertices has slices of low rank
after the transform Z = U' G by the Laplacian's eigenvectors U:

    G_impute = P_Omega(G) + P_missing(G_est),  Z = U' G_impute,  Z_est(k) = S_lambda_k(Z(k)),  G_est = U Z_est

    estimator.py   GraphImputer                                run.py         settings and completion of one tensor
    inputs.py      validation of user input                    forms.py       tables of users as arrays, and back
    options.py     values of parameters, fitted options        saving.py      model files
    serve.py       other tensors on the same graph, later columns
    problem.py     series on a graph, patches of it; definition of a method; centering, units
    periods.py     order and period of columns                 scans.py       passes along the rows of a table
    constants.py   constants that decide results
    auto/          comparison of methods on hidden values, ensembles, standard deviations
    simple.py      means, interpolation, seasonal means, trends beyond the ends of series
    kriging.py     a Gaussian process on the graph             regularized_em.py   joint distribution of the vertices
    smoothness/    smoothness in time and on the graph         regression.py  regression on other series, lags and time
    spectral/      the paper's algorithm                       local.py       regression on similar series
    distributed/   'spectral' over a parallel.Team; gpukit.graphs has the graph and its Fourier basis

Cost of an iteration, for a share s of vertices with missing values: 4 s N K m n for the transforms, and the
thresholding of K slices m x n. Memory: two copies of the tensor and two of the incomplete part, at most four in all.
Deterministic on one machine. Results depend on the basis, which is not unique if eigenvalues repeat.
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.imputation.estimator import GraphImputer as GraphImputer

_HOMES = {"GraphImputer": "estimator"}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
