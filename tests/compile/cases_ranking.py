"""gpukit.ranking."""

from compile.usage import Case

from gpukit.ranking import kernels_pairs

QUERIES = "int32[::1], float64[::1], int32[::1], int64[::1]"

CASES = [
    Case("ranking.p_swx", kernels_pairs.p_swx, f"{QUERIES}, float64[::1], float64[::1], float64[::1]", registers=48,
         float64_ok=True, shared=6 << 10),
]
