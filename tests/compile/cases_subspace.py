"""gpukit.svt: the kernels of the thresholding in a subspace, and by products."""

import numpy as np
from compile.usage import Case

from gpukit.svt.kernels.products import combine
from gpukit.svt.kernels.subspace import make_whiten

CASES = [
    Case(
        f"svt.whiten[{real}]",
        make_whiten(np.dtype(real).type),
        f"{real}[:, :, ::1], {real}, {real}[:, :, ::1]",
        registers,
        float64_ok=real == "float64",
    )
    for real, registers in (("float32", 56), ("float64", 64))
] + [
    Case(
        f"svt.combine[{real}]",
        combine,
        ", ".join(2 * [f"{real}[:, :, ::1]"] + 3 * [real] + [f"{real}[:, :, ::1]"]),
        56,
        float64_ok=real == "float64",
    )
    for real in ("float32", "float64")
]
