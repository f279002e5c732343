"""gpukit.factorization.solvers: the normal equations of als for each way that a block shares the tiles; hogwild's steps
for one to 32 factors a lane, in both precisions."""

from compile.usage import Case, named
from numba.core import types

from gpukit.factorization.solvers.als import plan
from gpukit.factorization.solvers.als.kernels.cholesky import make_solve_by_cholesky
from gpukit.factorization.solvers.als.kernels.gradients import make_solve_by_gradients
from gpukit.factorization.solvers.als.kernels.gram import make_gram_of_pieces
from gpukit.factorization.solvers.hogwild import kernels as hogwild
from gpukit.factorization.solvers.hogwild.arrays import Samples, Tables

GRAMS, TABLE, LINES = "float32[:, :, ::1]", "float32[:, ::1]", "int64[:, ::1]"
WEIGHED = 4  # factors of which ratings that count differently are tried too


def cases_of(n_factors):
    """Sums and solution for so many factors."""
    shape = plan.shape_of(n_factors)
    arguments = f"{LINES}, int32[::1], float32[::1], {TABLE}, boolean, {GRAMS}"
    gram = make_gram_of_pieces(*shape)
    yield Case(f"factorization.gram_of_pieces[{n_factors}]", gram, arguments, registers=128)
    if n_factors == WEIGHED:
        paired = arguments.replace("float32[::1]", TABLE)
        yield Case(f"factorization.gram_of_pieces[{n_factors}, weights]", gram, paired, registers=128)
    if plan.is_direct(n_factors):
        kernel, arguments = make_solve_by_cholesky(*shape[:4]), f"{LINES}, {GRAMS}, float32, float32, {TABLE}"
        yield Case(f"factorization.solve_by_cholesky[{n_factors}]", kernel, arguments, registers=128, spills=24)
    else:
        kernel = make_solve_by_gradients(*shape[:3])
        arguments = f"{LINES}, {GRAMS}, float32, float32, int64, float32, {TABLE}"
        yield Case(f"factorization.solve_by_gradients[{n_factors}]", kernel, arguments, registers=136)


SAMPLES = named(Samples, major=(types.int32, 1), minor=(types.int32, 1), values=(types.float32, 1))
PRECISIONS = {"single": ("float32", types.float32), "half": ("float16", types.float16)}


def cases_of_hogwild():
    """The random order, both copies, an epoch."""
    arguments = "int64[::1], int32[::1], float32[::1], uint32", SAMPLES
    yield Case("factorization.scatter_ratings", hogwild.scatter_ratings, arguments, registers=56)
    for precision, (text, dtype) in PRECISIONS.items():
        arguments = f"{text}[:, ::1], int64, float{48 - int(text[5:])}[:, ::1]"
        yield Case(f"factorization.copy_factors[from {precision}]", hogwild.copy_factors, arguments, registers=40)
        single = {name: (types.float32, 2) for name in ("own", "other")}
        tables = named(Tables, P=(dtype, 2), Q=(dtype, 2), **single)
        for factors, most in ((1, 56), (4, 64), (32, 255)):
            arguments = SAMPLES, tables, "float32, float32, float32, int64, int64"
            kernel = hogwild.make_hogwild_epoch(factors)
            yield Case(f"factorization.hogwild_epoch[{factors}, {precision}]", kernel, arguments, registers=most)


CASES = [case for n_factors in (4, 32, 128, 1024) for case in cases_of(n_factors)]
CASES += cases_of_hogwild()
