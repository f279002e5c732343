"""gpukit.primitives: the passes of the grouping, with keys only and with a value per key."""

from compile.usage import Case

from gpukit.primitives.group import kernels

KEYS, PAYLOAD, COUNTS, TOTALS = "uint64[::1]", "uint32[::1]", "int64[:, ::1]", "int64[::1]"
DIGIT = "int64, int64, int64"  # shift, width, tiles
CASES = [
    Case("primitives.count_digits", kernels.count_digits, f"{KEYS}, {DIGIT}, {COUNTS}", registers=32, shared=8 << 10),
    Case("primitives.scan_digits", kernels.scan_digits, f"{COUNTS}, {TOTALS}", registers=32),
    *(
        Case(
            f"primitives.scatter_digits[{name}]",
            kernels.make_scatter_digits(paired),
            f"{KEYS}, {PAYLOAD}, {DIGIT}, {COUNTS}, {TOTALS}, {KEYS}, {PAYLOAD}",
            registers=80,
            shared=36 << 10,
        )
        for name, paired in (("keys", False), ("pairs", True))
    ),
    Case("primitives.row_starts", kernels.row_starts, f"{KEYS}, int64, int64, {TOTALS}", registers=40),
]
