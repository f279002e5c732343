"""gpukit.sorting: both layouts of an entry, with and without long segments, and the search for NaN."""

from compile.usage import Case

from gpukit.sorting import kernels
from gpukit.sorting.gpu import BLOCK_SIZE

QUEUE = "int64[::1], int32[::1], uint32, int32[::1], int64[:, ::1], uint64[:, ::1], uint32[:, ::1]"
CASES = [
    Case(
        f"sorting.argsort_segments[{dtype}{', only small' if only_small else ''}]",
        kernels.make_argsort(dtype == "float32", BLOCK_SIZE, only_small),
        f"{dtype}[::1], {QUEUE}",
        registers=80,
        float64_ok=dtype == "float64",
    )
    for dtype in ("float32", "float64")
    for only_small in (False, True)
] + [
    Case("sorting.first_nan", kernels.first_nan, "float64[::1], int64[::1]", registers=24, float64_ok=True),
]
