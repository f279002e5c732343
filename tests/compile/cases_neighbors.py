"""gpukit.neighbors: the hashing at the paper's code length, at its widest sums, and both searches."""

from compile.usage import Case

from gpukit.neighbors import kernels

HASH = (
    "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], int64, uint32[:, ::1], uint32[:, :, ::1], "
    "int64[::1]"
)
TABLES = "uint32[:, ::1], uint8[::1], int64, float32[:, ::1]"

CASES = [
    Case("neighbors.hash_columns[96, 24]", kernels.make_hash_columns(96, 24), HASH, registers=48, shared=14 << 10),
    Case("neighbors.hash_columns[128, 64]", kernels.make_hash_columns(128, 64), HASH, registers=64),
    Case(
        "neighbors.join_chunks[96, 24]",
        kernels.make_join_chunks(96, 24),
        "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.hamming_distances",
        kernels.hamming_distances,
        "uint32[:, ::1], uint8[::1], int64, uint32[:, ::1]",
        registers=64,
        shared=10 << 10,
    ),
    Case("neighbors.fill", kernels.fill, "uint32[::1], int64", registers=40),
    Case("neighbors.table_hashes", kernels.table_hashes, TABLES, registers=40),
    Case(
        "neighbors.bucket_matches",
        kernels.bucket_matches,
        f"{TABLES}, int32[:, ::1], int64, uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.fill_slots",
        kernels.fill_slots,
        "int32[:, ::1], uint32[:, ::1], int64, int64, uint32, int64, int64, int32[:, ::1], float32[:, ::1], int32[::1]",
        registers=40,
    ),
]
