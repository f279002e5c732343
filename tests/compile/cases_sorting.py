"""gpukit.sorting: both layouts of an entry, and the search for NaN."""

from compile.usage import Case

from gpukit.sorting import kernels
from gpukit.sorting.gpu import BLOCK_SIZE

QUEUE = "int64[::1], int32[::1], uint32, int32[::1], int64[:, ::1], uint64[:, ::1], uint32[:, ::1]"
CASES = [
    Case(
        "sorting.argsort_segments[float32]",
        kernels.make_argsort(True, BLOCK_SIZE),
        f"float32[::1], {QUEUE}",
        registers=80,
    ),
    Case(
        "sorting.argsort_segments[float64]",
        kernels.make_argsort(False, BLOCK_SIZE),
        f"float64[::1], {QUEUE}",
        registers=80,
        float64_ok=True,
    ),
    Case("sorting.first_nan", kernels.first_nan, "float64[::1], int64[::1]", registers=24, float64_ok=True),
]
