"""Matrix factorization, with and without nonlinear neighbourhoods.

Paper: Li et al., "Locality Sensitive Hash Aggregated Nonlinear Neighborhood Matrix Factorization for Online Sparse Big
Data Analysis", ACM/IMS Trans. Data Sci. 2(4), 2022: CUSGD++ (Algorithm 2) is `MatrixFactorization`, CULSH-MF
(Algorithm 3) is `LSHMF`.

    r_ij ~ mu + b_i + b_j + u_i v_j                                                    MatrixFactorization
           + |R|^-1/2 sum_R (r_ik - b_ik) w_jk + |N|^-1/2 sum_N c_jk                   LSHMF, Eq. (1)

    estimator.py -> session (cpu.py | gpu.py) -> twins | kernels -> formulas
    settings.py  the parameters, checked                       prepare/   ratings in the form that an epoch reads
    run.py       one training run: epochs, judge, checkpoints  solvers/   how it is learned: SGD, Hogwild, ALS
    model/       a model's numbers, their layout, files        serve.py   predictions, recommendations
    arrays.py    arrays that travel together                   answers/   what is alike, explanations, evidence, exports
    steps.py     what cpu.py and gpu.py have                   choose/    what the user left open, on a hold-out
    lists/       what recommendations show, in what order
    update/      ratings that come later                       tuning/    choosing parameters by cross-validation
    shared/      over the ranks of a parallel.Team
    begin.py     everything before the first epoch             live/      kept on its device while ratings come
    baseline.py  damped biases alone, which all must beat      weights.py ratings that count differently
    objective.py feedback, loss and solver of a training       implicit/  clicks: recognised, chosen for, mixed, updated
    lookup.py    ids that are asked for, unknown ones too

Cost of an epoch: O(nnz (F + K)) operations. Memory: nnz (8 + K) bytes for the ratings, 4 ((M + N) (F + 8) + 4 N K) for
the model. Deterministic: the neighbours, the start and every split; training with one thread on the CPU, with
deterministic=True, or by alternating least squares.
"""

__all__ = ["MatrixFactorization", "LSHMF", "Filters"]


def __getattr__(name):
    if name == "Filters":
        from gpukit.factorization.lists import Filters

        return Filters
    if name in __all__:
        from gpukit.factorization import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
