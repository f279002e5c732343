"""gpukit.ratings: ordering. The grid of levels is float64, so that every device rounds a rating equally."""

from compile.usage import Case

from gpukit.ratings.orders import kernels

BITS, CODES, ROWS, KEYS = "uint32[::1]", "uint8[::1]", "int32[::1]", "uint64[::1]"
ONE, PACKED = "int64[::1]", "int64, int64, int64, int64"  # n_users, n_items, item_shift, user_shift
IDS = "int32", "int64"
CASES = [
    Case("ratings.enter_values", kernels.enter_values, f"{BITS}, int64, {BITS}, {ROWS}", registers=40, shared=8 << 10),
    Case("ratings.find_codes", kernels.find_codes, f"{BITS}, {BITS}, {CODES}, {CODES}", registers=32, shared=10 << 10),
    Case(
        "ratings.grid_codes",
        kernels.grid_codes,
        f"float32[::1], float64, float64, {CODES}",
        registers=32,
        float64_ok=True,
    ),
    Case(
        "ratings.pack_keys",
        kernels.pack_keys,
        f"{ROWS}, {ROWS}, {CODES}, {PACKED}, {KEYS}, {ONE}",
        registers=48,
    ),
    Case("ratings.name_rows", kernels.name_rows, f"{ONE}, {ROWS}", registers=32),
    Case(
        "ratings.take_fields",
        kernels.take_fields,
        f"{KEYS}, int64, int64, int64, {ROWS}, {CODES}, {BITS}",
        registers=40,
    ),
    Case("ratings.first_repeat", kernels.first_repeat, f"{KEYS}, int64, {ONE}", registers=32),
    Case("ratings.count_codes", kernels.count_codes, f"{CODES}, {ONE}", registers=32),
    *(
        Case(f"ratings.id_bounds[{ids}]", kernels.id_bounds, f"{ids}[:, ::1], int64, {ONE}", registers=40)
        for ids in IDS
    ),
    *(
        Case(f"ratings.mark_ids[{ids}]", kernels.mark_ids, f"{ids}[:, ::1], int64, int64, {CODES}", registers=32)
        for ids in IDS
    ),
    *(
        Case(f"ratings.rank_ids[{ids}]", kernels.rank_ids, f"{ids}[:, ::1], int64, int64, {ROWS}, {ROWS}", registers=32)
        for ids in IDS
    ),
    *(
        Case(
            f"ratings.as_single[{kind}]",
            kernels.as_single,
            f"{kind}[::1], float32[::1]",
            registers=32,
            float64_ok=kind == "float64",
        )
        for kind in ("float32", "float64", *IDS)
    ),
]
