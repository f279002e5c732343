"""gpukit.neighbors: the hashing at the paper's code length, at its widest sums, and both searches."""

from compile.usage import Case

from gpukit.neighbors import kernels

HASH = (
    "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], int64, uint32[:, ::1], uint32[:, :, ::1], "
    "int64[::1]"
)
BINS = "uint32[:, ::1], uint8[::1], int64, int32[:, ::1]"

CASES = [
    Case("neighbors.hash_columns[96, 24]", kernels.make_hash_columns(96, 24), HASH, registers=48, shared=14 << 10),
    Case("neighbors.hash_columns[128, 64]", kernels.make_hash_columns(128, 64), HASH, registers=64),
    Case("neighbors.join_chunks[96, 24]", kernels.make_join_chunks(96, 24),
         "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], uint32[:, ::1]", registers=64),
    Case("neighbors.hamming_distances", kernels.hamming_distances, "uint32[:, ::1], uint8[::1], int64, uint32[:, ::1]",
         registers=64, shared=10 << 10),
    Case("neighbors.fill[keys]", kernels.fill, "uint32[::1], int64", registers=40),
    Case("neighbors.fill[counters]", kernels.fill, "int32[::1], int64", registers=40),
    Case("neighbors.bin_sizes", kernels.bin_sizes, BINS, registers=40),
    Case("neighbors.bin_starts", kernels.bin_starts, "int32[:, ::1]", registers=40),
    Case("neighbors.bin_fill", kernels.bin_fill, f"{BINS}, int32[:, ::1], int32[:, ::1]", registers=40),
    Case("neighbors.bucket_matches", kernels.bucket_matches, f"{BINS}, int32[:, ::1], int64, uint32[:, ::1]",
         registers=48),
    Case("neighbors.fill_slots", kernels.fill_slots,
         "int32[:, ::1], uint32[:, ::1], int64, int64, uint32, int64, int64, int32[:, ::1], float32[:, ::1], "
         "int32[::1]", registers=40),
]
