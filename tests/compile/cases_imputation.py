"""gpukit.imputation: both kernels, for the estimate's two types of number."""

from compile.usage import Case

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


CASES = [*cases("float32"), *cases("float64")]
