"""gpukit.factorization.solvers: normal equations of als, steps of hogwild and steps over clicks.

als: each division of the tiles over a block; the others: lanes, factors (and neighbours) of a lane, by plain and by
quad additions.
"""

import numpy as np
from compile.usage import Case, named
from numba.core import types
from numba.core.typing.typeof import typeof

from gpukit.factorization.arrays import Parameters
from gpukit.factorization.solvers import hogwild_kernels as hogwild
from gpukit.factorization.solvers import squares
from gpukit.factorization.solvers.hogwild import Samples
from gpukit.factorization.solvers.sampled_formulas import Clicks, Draw
from gpukit.factorization.solvers.sampled_kernels import make_sampled_epoch
from gpukit.factorization.solvers.sgd.formulas import Rates
from gpukit.factorization.solvers.squares_kernels import (
    as_matrix,
    make_gram_of_pieces,
    make_solve_by_cholesky,
    sum_of_grams,
)

GRAMS, TABLE, LINES = "float32[:, :, ::1]", "float32[:, ::1]", "int64[:, ::1]"


def cases_of(n_factors):
    """Sums and solution for this number of factors."""
    shape = squares.shape_of(n_factors)
    arguments = f"{LINES}, int32[::1], float32[::1], float32[::1], {TABLE}, boolean, {GRAMS}"
    yield Case(
        f"factorization.gram_of_pieces[{n_factors}]", make_gram_of_pieces(*shape), arguments, registers=128, spills=8
    )
    if n_factors <= squares.MOST_FACTORS:
        kernel, arguments = (
            make_solve_by_cholesky(*shape[:3], shape.whole),
            f"{LINES}, {GRAMS}, {GRAMS}, float32[::1], float32, {TABLE}",
        )
        yield Case(f"factorization.solve_by_cholesky[{n_factors}]", kernel, arguments, registers=128, spills=192)


ADDITIONS = {"plain": ("sm_75", "sm_80", "sm_86", "sm_89"), "quad": ("sm_90", "sm_120")}
SAMPLES = named(Samples, major=(types.int32, 1), minor=(types.int32, 1), values=(types.float32, 1))


RATES = typeof(Rates(*[np.float32(1)] * 8))


def cases_of_hogwild():
    """The random order; an epoch."""
    arguments = "int64[::1], int32[::1], float32[::1], uint32", SAMPLES
    yield Case("factorization.scatter_ratings", hogwild.scatter_ratings, arguments, registers=56)
    for layout, most in (((8, 4), 72), ((16, 8), 96), ((32, 32), 255)):
        arguments = SAMPLES, f"{TABLE}, {TABLE}", RATES, "int64, uint32, int64"
        for kind, targets in ADDITIONS.items():
            name = f"factorization.hogwild_epoch[{', '.join(map(str, layout))}, {kind}]"
            kernel = hogwild.make_hogwild_epoch(*layout, kind == "quad")
            yield Case(name, kernel, arguments, registers=most, targets=targets)


CLICKS = named(Clicks, starts=(types.int64, 1), items=(types.int32, 1))
PARAMETERS = named(
    Parameters, P=(types.float32, 2), Q=(types.float32, 2), influence=(types.float32, 2), offsets=(types.float32, 2)
)
STEPS = RATES, types.uint32, typeof(Draw(np.uint32(1), 4, True))
SAMPLED = LINES, CLICKS, "int32[:, ::1]", PARAMETERS, *STEPS, "int64, uint32[:, ::1]"
MOST = {(8, 4, 0): (96, 0), (8, 4, 4): (144, 0), (16, 4, 4): (144, 0), (16, 8, 0): (104, 0), (32, 16, 16): (255, 96)}


def cases_of_sampled():
    """An epoch over clicks in a layout."""
    for layout, (most, spills) in MOST.items():
        for kind, targets in ADDITIONS.items():
            name = f"factorization.sampled_epoch[{', '.join(map(str, layout))}, {kind}]"
            kernel = make_sampled_epoch(*layout, kind == "quad")
            yield Case(name, kernel, SAMPLED, registers=most, spills=spills, targets=targets)


CASES = [case for n_factors in (4, 32, 128, 256, 1024) for case in cases_of(n_factors)]
CASES += [
    Case("factorization.sum_of_grams", sum_of_grams, f"{GRAMS}, {GRAMS}", registers=40),
    Case("factorization.as_matrix", as_matrix, f"{GRAMS}, {TABLE}", registers=40),
]
CASES += cases_of_hogwild()
CASES += cases_of_sampled()
