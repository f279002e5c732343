"""gpukit.factorization: layouts (lanes, factors and neighbours of a lane) of layout.gpu_layout, up to 512 of each.

Quad additions need compute capability 9.0; below it the same kernels add one number at a time.
"""

import numpy as np
from compile.usage import Case
from numba.core.typing.typeof import typeof

from gpukit.factorization import kernels
from gpukit.factorization.solvers.sgd.formulas import Rates

ROWS = "float32[:, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1]"  # P, Q, influence, offsets
EPOCH = (
    f"int64[:, ::1], int32[::1], float32[::1], uint32[:, ::1], float32[::1], {ROWS}",
    typeof(Rates(*[np.float32(1)] * 8)),
    "uint32, int64",
)
PAIRS = f"int32[::1], int32[::1], uint32[:, ::1], float32[::1], {ROWS}, float32[::1]"
SCORES = f"int32[::1], uint8[:, ::1], int32[:, ::1], float32[::1], {ROWS}, boolean, uint32[:, ::1]"
HISTORY = "int64[::1], int32[::1], uint8[::1]"
LAYOUTS = {  # most registers of sgd_epoch with plain and with quad additions, predict_pairs, score_rows
    (8, 4, 0): (72, 72, 40, 32),
    (8, 4, 4): (104, 96, 48, 48),
    (8, 16, 4): (168, 168, 48, 64),
    (16, 4, 4): (104, 104, 48, 48),
    (16, 8, 0): (80, 80, 40, 40),
    (16, 16, 16): (255, 240, 80, 96),
    (32, 16, 16): (255, 240, 80, 96),
}
ADDITIONS = {False: ("plain", ("sm_75", "sm_80", "sm_86", "sm_89")), True: ("quad", ("sm_90", "sm_120"))}


def cases_of(layout, plain, quad, pairs, scores):
    """The kernels made for a layout, with the minor side's factors in float32 and in float16."""
    size = ", ".join(map(str, layout))
    for half, name in (False, size), (True, f"{size}, half"):
        for vector, most in (False, plain), (True, quad):
            kind, targets = ADDITIONS[vector]
            kernel = kernels.make_sgd_epoch(*layout, half, vector)
            yield Case(f"factorization.sgd_epoch[{name}, {kind}]", kernel, EPOCH, most, targets=targets)
        yield Case(f"factorization.predict_pairs[{name}]", kernels.make_predict_pairs(*layout, half), PAIRS, pairs)
    yield Case(f"factorization.score_rows[{size}]", kernels.make_score_rows(*layout), SCORES, scores)


# 1024 factors and 1024 neighbours, the most there can be: the one layout that does not fit into registers.
LARGEST = Case(
    "factorization.sgd_epoch[32, 32, 32, quad]",
    kernels.make_sgd_epoch(32, 32, 32, False, True),
    EPOCH,
    registers=255,
    spills=2200,
    targets=ADDITIONS[True][1],
)
CASES = [case for layout, limits in LAYOUTS.items() for case in cases_of(layout, *limits)] + [
    LARGEST,
    Case("factorization.fill_tables", kernels.fill_tables, f"int32[::1], {HISTORY}, uint8[:, ::1]", registers=40),
    Case(
        "factorization.neighbor_codes",
        kernels.neighbor_codes,
        f"{HISTORY}, int64[::1], int32[::1], int64[::1], int32[:, ::1], uint8[:, ::1], uint8[:, ::1]",
        registers=56,
    ),
]
