"""RankSVM with L2 loss over all preference pairs, without a list of the pairs; linear, or with a feature map.

Paper: Jin and Lin, "Efficient Parallel Algorithms for Linear RankSVM on GPU", NPC 2014,
doi:10.1007/978-3-662-44917-2_16: the objective is Eq. (1), gradient and Hessian-vector product Eqs. (6)-(8), TRON
Algorithm 1, P-SWX Algorithm 2. The level tree (solver="scan") replaces P-SWX, which is solver="p-swx".

    f(w) = w'w / 2 + C sum over pairs (i, j) of one query, y_i > y_j, of max(0, 1 - w'(x_i - x_j))^2

    estimator.py   RankSVM                                   inputs.py, scaling.py   input validation; scaling
    run.py         a training set on its device, for any C   serve.py, saving.py     scores and ranks; files, ONNX
    problem.py     queries, weights, the level tree; named tuples of arrays for kernels and twins
    pair_sums.py   a Problem on a device: cpu.py | gpu.py, sparse.py -> twins/ | kernels/ -> formulas.py
    feature_map.py nonlinear functions of the features       blocks.py: features by blocks of documents
    shared.py      training over the ranks of a parallel.Team, each with a part of the queries
    selection.py   C, scale and features "auto", on folds    path.py: C on a grid; validation sets
    solvers/       tron.py: trust-region Newton, preconditioned CG, on objective.py: f, gradient, H v, preconditioner;
                   hard_margins.py: a path of C for slow trust regions
                   choose.py: solver, device, threads
                   counting.py: DCM and OST on the CPU

Cost for l documents of n features and k levels per query: a Newton step sorts and searches, O(l log l); a CG step takes
O(l n + l k) up to 8 levels, O(l n + l log k) above. Memory: X, and 2 to 4 bytes per document for each of max(2 k - 1, 3
log k) tables. With device="auto", problems below 4 million features stay on the CPU, which finishes sooner.
Deterministic: bitwise on the CPU, with any number of threads, and on one kind of GPU. All sums are float64.
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.ranking.estimator import RankSVM as RankSVM

_HOMES = {"RankSVM": "estimator"}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
