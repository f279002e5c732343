"""Matrix factorization, with and without nonlinear neighbourhoods.

Paper: Li et al., "Locality Sensitive Hash Aggregated Nonlinear Neighborhood Matrix Factorization for Online Sparse Big
Data Analysis", ACM/IMS Trans. Data Sci. 2(4), 2022. `MatrixFactorization` is CUSGD++ (Algorithm 2), `LSHMF` is CULSH-MF
(Algorithm 3).

    r_ij ~ mu + b_i + b_j + u_i v_j                                                    MatrixFactorization
           + |R|^-1/2 sum_R (r_ik - b_ik) w_jk + |N|^-1/2 sum_N c_jk                   LSHMF, Eq. (1)

    estimator.py -> session (cpu.py | gpu.py) -> twins | kernels -> formulas
    settings.py  validated parameters, chosen ones             prepare/   ratings in the layout that an epoch reads
    run.py       one training run, from its preparation on     solvers/   SGD, Hogwild, ALS, least squares for clicks
    model/       a model's numbers, their layout, files        serve.py   predictions, recommendations
    arrays.py    named tuples of arrays                        answers/   similarity, explanations, judging, exports
    steps.py     common part of cpu.py and gpu.py              choose.py  model selection on a hold-out
    lists/       content and order of recommendations          plan.py    memory that a training needs
    online/      online updates of a fitted model              tuning     hyperparameters by cross-validation
    shared/      training on the ranks of a parallel.Team      kernels.py, twins.py: neighbours' codes, Eq. (1), scores
    constants.py decisions that were found by trial            implicit/  clicks: detection, model selection, updates

Cost of an epoch: O(nnz (F + K)) operations. Memory: nnz (8 + K) bytes for the ratings, 4 ((M + N) (F + 8) + 4 N K) for
the model. Deterministic: the neighbours, the start and every split; training with one thread on the CPU, with
deterministic=True, or by alternating least squares.
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.factorization.estimator import LSHMF as LSHMF
    from gpukit.factorization.estimator import MatrixFactorization as MatrixFactorization
    from gpukit.factorization.lists.recommending import Filters as Filters

_HOMES = {"MatrixFactorization": "estimator", "LSHMF": "estimator", "Filters": "lists.recommending"}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
