"""gpukit.svt: the kernels of the thresholding in a subspace, and by products."""

import numpy as np
from compile.usage import TARGETS, Case

from gpukit.svt.kernels.bulge_chasing import combine
from gpukit.svt.kernels.subspace import make_whiten
from gpukit.svt.plan import bytes_of_whiten, widest_subspace


def whiten_cases(real, registers):
    """The cases of whiten in the widest subspace of each device."""
    size, widths = np.dtype(real).itemsize, {}
    for target, (_, room) in TARGETS.items():
        widths.setdefault(widest_subspace(size, room), []).append(target)
    for k, targets in widths.items():
        yield Case(
            f"svt.whiten[{real}, {k}]",
            make_whiten(np.dtype(real).type),
            f"{real}[:, :, ::1], {real}, {real}[:, :, ::1]",
            registers,
            float64_ok=real == "float64",
            dynamic=bytes_of_whiten(k, size),
            targets=tuple(targets),
        )


CASES = [*whiten_cases("float32", 56), *whiten_cases("float64", 64)] + [
    Case(
        f"svt.combine[{real}]",
        combine,
        ", ".join(2 * [f"{real}[:, :, ::1]"] + 3 * [real] + [f"{real}[:, :, ::1]"]),
        56,
        float64_ok=real == "float64",
    )
    for real in ("float32", "float64")
]
