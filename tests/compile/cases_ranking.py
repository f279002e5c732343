"""gpukit.ranking: rows over one, some and all lanes; queries in shared memory and in the workspace."""

from compile.usage import Case, named
from numba.core import types

from gpukit.ranking import gpu
from gpukit.ranking.kernels import matrix as matrix_kernels
from gpukit.ranking.kernels import pair_sums as pair_sums_kernels
from gpukit.ranking.problem import Csr, Partners, Ranks, Sums, Walk

QUERIES = "int32[::1], float64[::1], int32[::1], int64[::1]"
F32, F64, I32, I64 = types.float32, types.float64, types.int32, types.int64
RANKS = named(Ranks, query=(I32, 1), level=(I32, 1), first_group=(I32, 1), group_starts=(I32, 1))
WALK = named(Walk, queries=(I32, 1), firsts=(I32, 1), offsets=(I32, 1), heights=(I32, 1), weights=(F64, 1))
PARTNERS = {
    name: named(Partners, tables=(kind, 3), counts=(I32, 2))
    for name, kind in (("uint16", types.uint16), ("int32", I32))
}
SUMS = named(Sums, above=(F64, 1), below=(F64, 1))
CSR = named(Csr, indptr=(I64, 1), indices=(I32, 1), values=(F32, 1))
MATRIX, VECTOR = "float64[:, ::1]", "float64[::1]"
PRODUCTS = [  # X, tables, (lanes, quads, slots, capacity, exact), registers, bytes spilled
    ("float32", "uint16", (16, 3, 4, 1280, False), 64, 64),
    ("float32", "uint16", (16, 3, 4, 1280, True), 128, 0),
    ("float64", "uint16", (16, 3, 4, 1280, True), 128, 0),
    ("float32", "uint16", (4, 3, 1, 1856, False), 64, 0),
    ("float32", "uint16", (32, 8, 1, 1280, True), 128, 32),
    ("float32", "uint16", (32, 2, 1, 1856, True), 128, 0),
    ("float32", "int32", (16, 3, 1, 0, False), 64, 0),
]


def product_case(real, table, constants, registers, spills):
    """A case of pair_product."""
    signature = f"{real}[:, ::1], {VECTOR}, float64", WALK, PARTNERS[table], f"{MATRIX}, {MATRIX}"
    name = ", ".join(map(str, (real, table, *constants)))
    return Case(
        f"ranking.pair_product[{name}]",
        pair_sums_kernels.make_pair_product(*constants),
        signature,
        registers,
        float64_ok=True,
        spills=spills,
    )


def matrix_cases(real, lanes, quads, registers):
    """Products with X."""
    for make, arguments in (
        (matrix_kernels.make_document_scores, f"{VECTOR}, {VECTOR}"),
        (matrix_kernels.make_transposed_product, f"{VECTOR}, {MATRIX}"),
    ):
        yield Case(
            f"ranking.{make.__name__[5:]}[{real}, {lanes}, {quads}]",
            make(lanes, quads),
            f"{real}[:, ::1], {arguments}",
            registers,
            float64_ok=True,
        )


def sums_case(capacity, table, registers):
    """A case of pair_sums."""
    return Case(
        f"ranking.pair_sums[{capacity}, {table}]",
        pair_sums_kernels.make_pair_sums(capacity),
        (f"{VECTOR}, float64", WALK, PARTNERS[table], f"{VECTOR}, {VECTOR}, {MATRIX}"),
        registers,
        float64_ok=True,
    )


CASES = [
    Case(
        "ranking.p_swx",
        pair_sums_kernels.p_swx,
        (f"{QUERIES}, {VECTOR}", SUMS),
        registers=48,
        float64_ok=True,
        shared=6 << 10,
    ),
    *(product_case(*product) for product in PRODUCTS),
    *(case for layout in (("float32", 16, 3, 72), ("float64", 32, 8, 136)) for case in matrix_cases(*layout)),
    sums_case(1280, "uint16", 88),
    sums_case(0, "int32", 104),
    *(
        case
        for table in ("uint16", "int32")
        for case in (
            Case(
                f"ranking.start_planes[{table}]",
                pair_sums_kernels.start_planes,
                (f"int32[::1], {VECTOR}", RANKS, f"int32[::1], {table}[:, :, ::1], {VECTOR}"),
                40,
                float64_ok=True,
            ),
            Case(
                f"ranking.search_plane[{table}]",
                pair_sums_kernels.search_plane,
                ("int64, int64", RANKS, PARTNERS[table], f"{VECTOR}, {VECTOR}"),
                64,
                float64_ok=True,
            ),
        )
    ),
    Case(
        "ranking.combine",
        pair_sums_kernels.combine,
        (f"{VECTOR}, float64", SUMS, SUMS, ", ".join([VECTOR] * 3)),
        48,
        float64_ok=True,
    ),
    Case(
        "ranking.csr_product",
        matrix_kernels.csr_product,
        (CSR, f"{VECTOR}, {VECTOR}"),
        48,
        float64_ok=True,
    ),
    Case("ranking.by_rank", matrix_kernels.by_rank, f"{VECTOR}, int32[::1], {VECTOR}", 32, float64_ok=True),
    Case("ranking.pad_rows", matrix_kernels.pad_rows, "float32[:, ::1], float32[:, ::1]", 40),
    *(
        Case(
            f"ranking.add_rows[{block[0]}, {block[1]}]",
            matrix_kernels.make_add_rows(*block),
            f"{MATRIX}, {VECTOR}",
            40,
            float64_ok=True,
        )
        for block in (gpu.WIDE, gpu.TALL)
    ),
    Case(
        "ranking.pair_pulls",
        matrix_kernels.pair_pulls,
        (RANKS, f"int32[::1], int32[::1], {VECTOR}, {VECTOR}"),
        32,
        float64_ok=True,
    ),
    Case(
        "ranking.query_means",
        matrix_kernels.query_means,
        f"float32[:, ::1], int32[::1], {VECTOR}, {MATRIX}",
        48,
        float64_ok=True,
    ),
    Case(
        "ranking.weighted_gram",
        matrix_kernels.weighted_gram,
        f"float32[:, ::1], {MATRIX}, int32[::1], {VECTOR}, int32[:, ::1], float64[:, :, ::1]",
        80,
        float64_ok=True,
    ),
]
