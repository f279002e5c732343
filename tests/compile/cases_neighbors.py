"""gpukit.neighbors: simLSH at the paper's code length and at its widest sums, other hashes, searches, supplement."""

from compile.usage import Case, named
from numba.core import types

from gpukit.neighbors import hash_kernels as simlsh
from gpukit.neighbors import search_kernels as hamming
from gpukit.neighbors.plan import Compressed, Lists, PairLists
from gpukit.neighbors.search_kernels import count_pairs, make_list_pairs

HASH = (
    "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], int64, uint32[:, ::1], uint32[:, :, ::1], "
    "int64[::1]"
)
RATINGS = named(Compressed, starts=(types.int64, 1), others=(types.int32, 1), codes=(types.uint8, 1))
PAIR_LISTS = named(PairLists, begins=(types.int64, 1), entries=(types.uint64, 1), sizes=(types.int32, 1))
PAIRS = RATINGS, RATINGS, "uint32[::1], int64", PAIR_LISTS
LISTS = named(Lists, neighbors=(types.int32, 2), scores=(types.float32, 2), random_slots=(types.int32, 1))
TABLES = "uint32[:, ::1], uint8[::1], int64, float32[:, ::1]"

CASES = [
    Case("neighbors.hash_columns[96, 24]", simlsh.make_hash_columns(96, 24), HASH, registers=48, shared=14 << 10),
    Case("neighbors.hash_columns[128, 64]", simlsh.make_hash_columns(128, 64), HASH, registers=64),
    Case(
        "neighbors.join_chunks[96, 24]",
        simlsh.make_join_chunks(96, 24),
        "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.add_chunks[96, 24]",
        simlsh.make_add_chunks(96, 24),
        "int64[:, ::1], int64, uint32[:, :, ::1], int64[::1], int64[::1], uint32[:, :, ::1], uint32[:, ::1]",
        registers=96,
    ),
    Case("neighbors.add_totals", simlsh.add_totals, "int64[:, ::1], int64[::1], int64[::1]", registers=40),
    Case(
        "neighbors.hash_minwise",
        simlsh.hash_minwise,
        "int64[::1], int32[::1], uint32[::1], int64, uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.project_columns",
        simlsh.project_columns,
        "int32[::1], uint8[::1], int64[::1], uint32[::1], int64[:, ::1], uint32[:, ::1], int64[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.join_parts",
        simlsh.join_parts,
        "int64[:, ::1], int64[:, ::1], uint32[:, ::1]",
        registers=40,
    ),
    Case(
        "neighbors.hamming_distances",
        hamming.hamming_distances,
        "uint32[:, ::1], uint8[::1], int64, uint32[:, ::1]",
        registers=128,
        shared=18 << 10,
    ),
    Case("neighbors.count_pairs", count_pairs, "int64[::1], int32[::1], int64[::1], int64[::1]", registers=40),
    Case(
        "neighbors.list_pairs[512, 7, True]",
        make_list_pairs(512, 7, True),
        PAIRS,
        registers=32,
        spills=304,  # ends of parts, not the addition of ratings
        float64_ok=True,
    ),
    Case(
        "neighbors.list_pairs[512, 21, False]",
        make_list_pairs(512, 21, False),
        PAIRS,
        registers=32,
        spills=304,
        float64_ok=True,
    ),
    Case("neighbors.fill", hamming.fill, "uint32[::1], int64", registers=40),
    Case("neighbors.table_hashes", hamming.table_hashes, TABLES, registers=40),
    Case(
        "neighbors.bucket_matches",
        hamming.bucket_matches,
        f"{TABLES}, int32[:, ::1], int64, uint32[:, ::1]",
        registers=64,
    ),
    Case(
        "neighbors.fill_slots",
        hamming.fill_slots,
        ("int32[:, ::1], uint32[:, ::1], int64, int64, uint32, int64", LISTS),
        registers=40,
    ),
]
