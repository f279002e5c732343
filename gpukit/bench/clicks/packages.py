"""implicit's alternating least squares, on the CPU, with the package's own settings but for the numbers here."""

import time

import numpy as np

from gpukit.bench.clicks import course

FACTORS, ITERATIONS = 64, 15


def implicit_als(ncf, seed=0, clock=time.perf_counter, **named):
    """The course.Course of implicit's ALS by a clock, which leaves out what is done between its iterations; named:
    settings of the package."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy import sparse
    from threadpoolctl import threadpool_limits

    clicks, times, found = ncf.clicks, [], []
    matrix = sparse.csr_matrix((clicks.values, (clicks.users, clicks.items)), clicks.shape)
    users, items = ncf.pairs

    class Timed(AlternatingLeastSquares):
        begun = 0.0

        @property
        def solver(self):
            """What the package asks for when all is ready for its first iteration."""
            self.begun = clock()
            return super().solver

        def told(self, number, seconds, loss):
            times.append(clock() - self.begun + (times[-1] if times else 0.0))
            scores = np.einsum("nf,nf->n", self.user_factors[users], self.item_factors[items])
            found.append(ncf.judged(scores.reshape(ncf.found.items.shape)))
            self.begun = clock()

    with threadpool_limits(1, "blas"):  # as the package asks for
        model = Timed(factors=FACTORS, iterations=ITERATIONS, random_state=seed, **named)
        model.fit(matrix, show_progress=False, callback=model.told)
    return course.Course(found, times, {}, (*found[-1], None, None))
