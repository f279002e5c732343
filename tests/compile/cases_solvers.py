"""gpukit.factorization.solvers: the normal equations of als for each way that a block shares the tiles."""

from compile.usage import Case

from gpukit.factorization.solvers.als import plan
from gpukit.factorization.solvers.als.kernels.cholesky import make_solve_by_cholesky
from gpukit.factorization.solvers.als.kernels.gradients import make_solve_by_gradients
from gpukit.factorization.solvers.als.kernels.gram import make_gram_of_pieces

GRAMS, TABLE, LINES = "float32[:, :, ::1]", "float32[:, ::1]", "int64[:, ::1]"


def cases_of(n_factors):
    """Sums and solution for so many factors."""
    shape = plan.shape_of(n_factors)
    arguments = f"{LINES}, int32[::1], float32[::1], {TABLE}, boolean, {GRAMS}"
    yield Case(f"factorization.gram_of_pieces[{n_factors}]", make_gram_of_pieces(*shape), arguments, registers=128)
    if plan.is_direct(n_factors):
        kernel, arguments = make_solve_by_cholesky(*shape[:4]), f"{LINES}, {GRAMS}, float32, float32, {TABLE}"
        yield Case(f"factorization.solve_by_cholesky[{n_factors}]", kernel, arguments, registers=128, spills=16)
    else:
        kernel = make_solve_by_gradients(*shape[:3])
        arguments = f"{LINES}, {GRAMS}, float32, float32, int64, float32, {TABLE}"
        yield Case(f"factorization.solve_by_gradients[{n_factors}]", kernel, arguments, registers=136)


CASES = [case for n_factors in (4, 32, 128, 1024) for case in cases_of(n_factors)]
