"""implicit's alternating least squares, on the CPU, with the package's own settings but for the numbers here."""

import numpy as np

from gpukit.bench.clicks import course

FACTORS, ITERATIONS = 64, 15


def implicit_als(ncf, seed=0):
    """The course.Course of implicit's ALS by its own clock, which leaves out what is done between its iterations."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy import sparse
    from threadpoolctl import threadpool_limits

    clicks, times, found = ncf.clicks, [], []
    matrix = sparse.csr_matrix((clicks.values, (clicks.users, clicks.items)), clicks.shape)
    model = AlternatingLeastSquares(factors=FACTORS, iterations=ITERATIONS, random_state=seed)
    users, items = ncf.pairs

    def told(number, seconds, loss):
        times.append(seconds + (times[-1] if times else 0.0))
        scores = np.einsum("nf,nf->n", model.user_factors[users], model.item_factors[items])
        found.append(ncf.judged(scores.reshape(ncf.found.items.shape)))

    with threadpool_limits(1, "blas"):  # as the package asks for
        model.fit(matrix, show_progress=False, callback=told)
    return course.Course(found, times, {}, (*found[-1], None, None))
