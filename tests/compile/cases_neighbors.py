"""gpukit.neighbors: simLSH at the paper's code length and at its widest sums, other hashes, searches, supplement."""

from compile.usage import Case

from gpukit.neighbors.hashes.minhash import kernels as minhash
from gpukit.neighbors.hashes.projection import kernels as projection
from gpukit.neighbors.hashes.simlsh import kernels as simlsh
from gpukit.neighbors.search.buckets import kernels as buckets
from gpukit.neighbors.search.exact import kernels as exact
from gpukit.neighbors.search.hamming import kernels as hamming
from gpukit.neighbors.supplement import kernels as supplement

HASH = (
    "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], int64, uint32[:, ::1], uint32[:, :, ::1], "
    "int64[::1]"
)
PAIRS = (
    "int64[::1], int32[::1], uint8[::1], int64[::1], int32[::1], uint8[::1], uint32[::1], int64, int64[::1], "
    "uint64[::1], int32[::1]"
)
TABLES = "uint32[:, ::1], uint8[::1], int64, float32[:, ::1]"

CASES = [
    Case(
        "neighbors.simlsh.hash_columns[96, 24]", simlsh.make_hash_columns(96, 24), HASH, registers=48, shared=14 << 10
    ),
    Case("neighbors.simlsh.hash_columns[128, 64]", simlsh.make_hash_columns(128, 64), HASH, registers=64),
    Case(
        "neighbors.simlsh.join_chunks[96, 24]",
        simlsh.make_join_chunks(96, 24),
        "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.simlsh.add_chunks[96, 24]",
        simlsh.make_add_chunks(96, 24),
        "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], int64[::1], uint32[:, :, ::1], uint32[:, ::1]",
        registers=96,
    ),
    Case("neighbors.simlsh.add_totals", simlsh.add_totals, "int64[:, ::1], int64[::1], int64[::1]", registers=40),
    Case(
        "neighbors.minhash.hash_columns",
        minhash.hash_columns,
        "int64[::1], int32[::1], uint32[::1], int64, uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.projection.project_columns",
        projection.project_columns,
        "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], uint32[:, ::1], int64[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.projection.join_parts",
        projection.join_parts,
        "int64[:, ::1], int64[:, ::1], uint32[:, ::1]",
        registers=40,
    ),
    Case(
        "neighbors.hamming.hamming_distances",
        hamming.hamming_distances,
        "uint32[:, ::1], uint8[::1], int64, uint32[:, ::1]",
        registers=64,
        shared=10 << 10,
    ),
    Case(
        "neighbors.exact.count_pairs", exact.count_pairs, "int64[::1], int32[::1], int64[::1], int64[::1]", registers=40
    ),
    Case(
        "neighbors.exact.list_pairs[512, 7, True]",
        exact.make_list_pairs(512, 7, True),
        PAIRS,
        registers=32,
        spills=304,  # ends of parts, not the addition of ratings
        float64_ok=True,
    ),
    Case(
        "neighbors.exact.list_pairs[512, 21, False]",
        exact.make_list_pairs(512, 21, False),
        PAIRS,
        registers=32,
        spills=304,
        float64_ok=True,
    ),
    Case("neighbors.buckets.fill", buckets.fill, "uint32[::1], int64", registers=40),
    Case("neighbors.buckets.table_hashes", buckets.table_hashes, TABLES, registers=40),
    Case(
        "neighbors.buckets.bucket_matches",
        buckets.bucket_matches,
        f"{TABLES}, int32[:, ::1], int64, uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.fill_slots",
        supplement.fill_slots,
        "int32[:, ::1], uint32[:, ::1], int64, int64, uint32, int64, int64, int32[:, ::1], float32[:, ::1], int32[::1]",
        registers=40,
    ),
]
