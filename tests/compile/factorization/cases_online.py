"""gpukit.factorization.online."""

from compile.usage import Case, named
from numba.core import types

from gpukit.factorization.arrays import History
from gpukit.factorization.online import kernels as online
from gpukit.factorization.prepare.formulas import FirstRows

KEYS, FIELDS, PLACES, FLAGS, ROWS = "uint64[::1]", "int64, int64, int64", "uint32[::1]", "uint8[::1]", "float32[:, ::1]"
ARRAYS, STARTS = "int32[::1], uint8[::1]", "int64[::1]"
PARTS = (types.int64, 1), (types.int32, 1), (types.uint8, 1), (types.float32, 1)
HISTORY = named(History, **dict(zip(History._fields, PARTS)))
FIRST_ROWS = types.NamedTuple([types.float64[::1], types.boolean, types.int64, types.uint32], FirstRows)
CASES = [
    Case(
        "factorization.online.find_levels",
        online.find_levels,
        f"float32[::1], float32[::1], {FLAGS}, {STARTS}",
        registers=40,
    ),
    Case(
        "factorization.online.find_pairs",
        online.find_pairs,
        (f"{KEYS}, {FIELDS}, int64", HISTORY, f"{PLACES}, {KEYS}, {STARTS}"),
        registers=48,
    ),
    Case(
        "factorization.online.correct_codes",
        online.correct_codes,
        f"{KEYS}, {PLACES}, int64, {FLAGS}, {KEYS}",
        registers=40,
    ),
    Case(
        "factorization.online.insert_records",
        online.insert_records,
        f"{ARRAYS}, {KEYS}, {PLACES}, {FIELDS}, {ARRAYS}",
        registers=64,
    ),
    Case("factorization.online.add_starts", online.add_starts, f"{STARTS}, {STARTS}, {STARTS}", registers=40),
    Case("factorization.online.flag_rows", online.flag_rows, f"{STARTS}, {STARTS}, {FLAGS}, {FLAGS}", registers=40),
    Case(
        "factorization.online.mark_fixed",
        online.mark_fixed,
        f"{KEYS}, {FIELDS}, {FLAGS}, {FLAGS}, {KEYS}",
        registers=40,
    ),
    Case("factorization.online.read_base", online.read_base, f"{ROWS}, float64[::1]", registers=32, float64_ok=True),
    Case(
        "factorization.online.fresh_means",
        online.fresh_means,
        f"{STARTS}, int32[::1], uint8[::1], float32[::1], float64[::1], float64, {FLAGS}, float64[::1]",
        registers=64,
        float64_ok=True,
    ),
    Case(
        "factorization.online.begin_rows",
        online.begin_rows,
        (f"{ROWS}, {FLAGS}, {STARTS}", FIRST_ROWS, f"float32, {ROWS}"),
        registers=64,
        float64_ok=True,
    ),
    Case("factorization.online.mark_new", online.mark_new, f"int32[::1], int64, {FLAGS}", registers=40),
    Case(
        "factorization.online.rename_new", online.rename_new, "int32[::1], int64, int32[::1], int32[::1]", registers=40
    ),
    Case("factorization.online.most_rated", online.most_rated, f"{STARTS}, {FLAGS}, {STARTS}", registers=40),
    Case(
        "factorization.online.count_chunks",
        online.count_chunks,
        f"{STARTS}, {FLAGS}, float64, float64, float64, int64, {STARTS}",
        registers=64,
        float64_ok=True,
    ),
    Case("factorization.online.add_parts", online.add_parts, f"{STARTS}, {STARTS}, {STARTS}", registers=40),
    *(
        Case(
            f"factorization.online.take_flagged[{kind}]",
            online.take_flagged,
            f"{kind}[:, ::1], {FLAGS}, {kind}[:, ::1]",
            registers=64,
            float64_ok=kind == "float64",
        )
        for kind in ("float32", "float64")
    ),
]
