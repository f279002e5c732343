"""gpukit.selection: bound by memory and shared atomics."""

from compile.usage import Case

from gpukit.selection import kernels

CASES = [
    Case(
        "selection.select_smallest",
        kernels.select_smallest,
        "uint32[:, ::1], uint32, int32[:, ::1], uint32[:, ::1]",
        registers=64,
        shared=27 << 10,
    ),
    Case(
        "selection.select_listed",
        kernels.select_listed,
        "int64[::1], int32[::1], uint64[::1], int32[:, ::1], uint32[:, ::1]",
        registers=96,
        shared=27 << 10,
    ),
]
