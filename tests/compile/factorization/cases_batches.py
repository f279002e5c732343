"""gpukit.factorization: epochs in batches, by a warp and by a team of warps, in layouts of layout.gpu_layout."""

import numpy as np
from compile.factorization.cases_factorization import BATCH, PARAMETERS
from compile.usage import Case
from numba.core.typing.typeof import typeof

from gpukit.factorization.solvers.sgd import batch_kernels as major_rows
from gpukit.factorization.solvers.sgd.formulas import Rates

RATES = typeof(Rates(*[np.float32(1)] * 8))
MAJOR = "int64[:, ::1]", BATCH, PARAMETERS, RATES, "float32[:, ::1]"
MINOR = "int64[::1], uint32[::1], int32[::1], int32[::1], float32[:, ::1], float32[:, ::1]", RATES
LAYOUTS = {  # most registers of walk_major and walk_minor, shared bytes of a team of four warps
    (8, 4, 0): (80, 72, 1 << 10),
    (8, 4, 4): (112, 72, 2 << 10),
    (16, 8, 0): (96, 88, 3 << 10),
    (16, 16, 16): (240, 120, 13 << 10),
}


def cases_of(layout, major, minor, shared):
    """Both kernels of a layout."""
    size = ", ".join(map(str, layout))
    for warps in (1, 4):
        room = shared if warps > 1 else 0
        yield Case(
            f"factorization.walk_major[{size}, {warps}]",
            major_rows.make_walk_major(*layout, warps),
            MAJOR,
            major,
            shared=room,
        )
        walk = major_rows.make_walk_minor(*layout[:2], warps)
        yield Case(f"factorization.walk_minor[{layout[0]}, {layout[1]}, {warps}]", walk, MINOR, minor, shared=room)


CASES = [case for layout, limits in LAYOUTS.items() if layout != (8, 4, 4) for case in cases_of(layout, *limits)] + [
    *(case for case in cases_of((8, 4, 4), *LAYOUTS[8, 4, 4]) if "major" in case.name),
    Case(
        "factorization.key_batch",
        major_rows.key_batch,
        "int64[:, ::1], int32[::1], int32[::1], uint64[::1], uint32[::1]",
        registers=40,
    ),
]
