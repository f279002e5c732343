"""gpukit.svt: the kernel of the thresholding in a subspace."""

import numpy as np
from compile.usage import Case

from gpukit.svt.kernels_subspace import make_whiten

CASES = [
    Case(f"svt.whiten[{real}]", make_whiten(np.dtype(real).type), f"{real}[:, :, ::1], {real}, {real}[:, :, ::1]",
         registers, float64_ok=real == "float64")
    for real, registers in (("float32", 56), ("float64", 64))
]
