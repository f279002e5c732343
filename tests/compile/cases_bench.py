"""gpukit.bench: the ladder's kernels."""

from compile.usage import Case

from gpukit.bench import kernels

SIGNATURE = "int32[::1], int64[::1], int32[::1], float32[::1], float32[:, ::1], float32[:, ::1], float32, float32"

CASES = [
    Case(
        f"bench.paper_epoch[{lanes}, {factors}]",
        kernels.make_paper_epoch(lanes, factors),
        SIGNATURE,
        registers=limit,
    )
    for lanes, factors, limit in ((32, 1, 60), (8, 4, 72), (32, 4, 72))
]
