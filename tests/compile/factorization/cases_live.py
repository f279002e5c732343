"""gpukit.factorization.live."""

from compile.usage import Case

from gpukit.factorization.live import kernels as live

KEYS, FIELDS, PLACES, FLAGS, ROWS = "uint64[::1]", "int64, int64, int64", "uint32[::1]", "uint8[::1]", "float32[:, ::1]"
HISTORY, STARTS = "int32[::1], uint8[::1]", "int64[::1]"
CASES = [
    Case(
        "factorization.live.find_levels",
        live.find_levels,
        f"float32[::1], float32[::1], {FLAGS}, {STARTS}",
        registers=40,
    ),
    Case(
        "factorization.live.find_pairs",
        live.find_pairs,
        f"{KEYS}, {FIELDS}, {STARTS}, int32[::1], {PLACES}, {KEYS}, {STARTS}",
        registers=48,
    ),
    Case(
        "factorization.live.correct_codes",
        live.correct_codes,
        f"{KEYS}, {PLACES}, int64, {FLAGS}, {KEYS}",
        registers=40,
    ),
    Case(
        "factorization.live.insert_records",
        live.insert_records,
        f"{HISTORY}, {KEYS}, {PLACES}, {FIELDS}, {HISTORY}",
        registers=64,
    ),
    Case("factorization.live.add_starts", live.add_starts, f"{STARTS}, {STARTS}, {STARTS}", registers=40),
    Case("factorization.live.tell_rows", live.tell_rows, f"{STARTS}, {STARTS}, {FLAGS}, {FLAGS}", registers=40),
    Case("factorization.live.mark_still", live.mark_still, f"{KEYS}, {FIELDS}, {FLAGS}, {FLAGS}, {KEYS}", registers=40),
    Case("factorization.live.read_base", live.read_base, f"{ROWS}, float64[::1]", registers=32, float64_ok=True),
    Case(
        "factorization.live.fresh_means",
        live.fresh_means,
        f"{STARTS}, int32[::1], uint8[::1], float32[::1], float64[::1], float64, {FLAGS}, float64[::1]",
        registers=64,
        float64_ok=True,
    ),
    Case(
        "factorization.live.begin_rows",
        live.begin_rows,
        f"{ROWS}, {FLAGS}, {STARTS}, float64[::1], boolean, int64, uint32, float32, {ROWS}",
        registers=64,
        float64_ok=True,
    ),
    Case("factorization.live.mark_new", live.mark_new, f"int32[::1], int64, {FLAGS}", registers=40),
    Case("factorization.live.rename_new", live.rename_new, "int32[::1], int64, int32[::1], int32[::1]", registers=40),
    Case("factorization.live.count_flags", live.count_flags, f"{FLAGS}, {STARTS}", registers=40),
    Case("factorization.live.most_rated", live.most_rated, f"{STARTS}, {FLAGS}, {STARTS}", registers=40),
    Case(
        "factorization.live.count_pieces",
        live.count_pieces,
        f"{STARTS}, {FLAGS}, float64, float64, float64, int64, {STARTS}",
        registers=64,
        float64_ok=True,
    ),
    Case("factorization.live.add_parts", live.add_parts, f"{STARTS}, {STARTS}, {STARTS}", registers=40),
    *(
        Case(
            f"factorization.live.take_flagged[{kind}]",
            live.take_flagged,
            f"{kind}[:, ::1], {FLAGS}, {kind}[:, ::1]",
            registers=64,
            float64_ok=kind == "float64",
        )
        for kind in ("float32", "float64")
    ),
]
