"""gpukit.imputation: spectral kernels for both types of the estimate, and smoothness."""

from compile.usage import Case

from gpukit.imputation.smoothness import kernels as smoothness
from gpukit.imputation.spectral import kernels


def cases(real):
    """The cases of an estimate of `real`."""
    matrix = f"{real}[:, ::1]"
    return [
        Case(
            f"imputation.extrapolate[{real}]",
            kernels.extrapolate,
            f"{real}[::1], {real}[::1], {real}",
            32,
            float64_ok=real == "float64",
        ),
        Case(
            f"imputation.renew[{real}]",
            kernels.renew,
            f"{matrix}, boolean[:, ::1], int64, {matrix}, {matrix}, float64[:, ::1]",
            64,
            float64_ok=True,
        ),
    ]


FLAT, TABLE, PLACES = "float32[::1]", "float32[:, ::1]", "int32[:, ::1]"
EDGES, MASK = "int32[::1], int32[::1], float32[::1]", "boolean[:, ::1]"
SMOOTHNESS = [
    Case(
        "imputation.smoothness.differ",
        smoothness.differ,
        f"{TABLE}, {MASK}, {FLAT}, int32[::1], float32, {FLAT}, {FLAT}, {TABLE}, {TABLE}",
        64,
    ),
    Case(
        "imputation.smoothness.spread",
        smoothness.spread,
        f"{TABLE}, {TABLE}, {EDGES}, {TABLE}, {TABLE}, float64[::1]",
        64,
        float64_ok=True,
    ),
    Case(
        "imputation.smoothness.advance",
        smoothness.advance,
        f"float32, {', '.join([FLAT] * 6)}, float64[::1]",
        64,
        float64_ok=True,
    ),
    Case("imputation.smoothness.redirect", smoothness.redirect, f"float32, {FLAT}, {FLAT}", 32),
]
CASES = [*cases("float32"), *cases("float64"), *SMOOTHNESS]
