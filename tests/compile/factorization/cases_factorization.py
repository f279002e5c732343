"""gpukit.factorization: layouts (lanes, factors and neighbours of a lane) of layout.gpu_layout, up to 512 of each.

Additions of four numbers need compute capability 9.0; below it the same kernels add single numbers.
"""

import numpy as np
from compile.usage import Case, named
from numba.core import types
from numba.core.typing.typeof import typeof

from gpukit.factorization import kernels as scores
from gpukit.factorization.arrays import Batch, History, Pairs, Parameters, Query, Tables, WeightedBatch, WeightLists
from gpukit.factorization.kernels import add_weights
from gpukit.factorization.prepare import kernels as prepare
from gpukit.factorization.shared import kernels as shared
from gpukit.factorization.solvers.ease_kernels import regress_on_neighbors
from gpukit.factorization.solvers.sgd import kernels as chunks
from gpukit.factorization.solvers.sgd import kernels as sgd
from gpukit.factorization.solvers.sgd import kernels as stream
from gpukit.factorization.solvers.sgd.formulas import Rates

F32, I32, I64, U8, U32 = types.float32, types.int32, types.int64, types.uint8, types.uint32
BATCH = named(Batch, minor=(I32, 1), values=(F32, 1), codes=(U32, 2), levels=(F32, 1))
ASKED = named(Pairs, major=(I32, 1), minor=(I32, 1), codes=(U32, 2), levels=(F32, 1))
PARAMETERS = named(Parameters, P=(F32, 2), Q=(F32, 2), influence=(F32, 2), offsets=(F32, 2))
HISTORY = named(History, indptr=(I64, 1), items=(I32, 1), codes=(U8, 1), levels=(F32, 1))
QUERY = named(Query, indptr=(I64, 1), items=(I32, 1), places=(U32, 1))
WEIGHTS = named(WeightedBatch, minor=(I32, 1), values=(F32, 1), codes=(U32, 2), levels=(F32, 1), weights=(F32, 1))
EPOCH = "int64[:, ::1]", BATCH, PARAMETERS, typeof(Rates(*[np.float32(1)] * 8)), "uint32, int64"
WEIGHTED = EPOCH[0], WEIGHTS, *EPOCH[2:]
GROWN = "int32[::1], int64, float32, float32[:, ::1]"
PAIRS = ASKED, PARAMETERS, "float32[::1]"
RATED_BY = named(Tables, rated=(U32, 2), codes=(U8, 3), levels=(F32, 1))
SCORES = (
    "int32[::1]",
    RATED_BY,
    "int32[:, ::1]",
    PARAMETERS,
    "int64, float32[::1], boolean, uint32[:, ::1]",
)
TABLES = "int32[::1]", HISTORY, RATED_BY
ADD_WEIGHTS = "int32[::1]", HISTORY, "float32[:, ::1], uint32[:, ::1]"
LISTED = named(WeightLists, starts=(I64, 1), items=(I32, 1), weights=(F32, 1))
ADD_LISTED = "int32[::1]", HISTORY, LISTED, "uint32[:, ::1]"
REGRESS = (
    "int32[:, ::1], int64[::1], int32[::1], int64, float32, float32[:, ::1], uint32[:, :, ::1], float32[:, :, ::1]"
)
CODES = HISTORY, QUERY, "int32[:, ::1], uint32[:, ::1], uint8[:, ::1]"
LOOKED_UP = HISTORY, QUERY, "int32[:, ::1], uint32[:, ::1]"
TAKEN = "float32[:, ::1], int32[::1], float32[:, ::1], float32[:, ::1]"
ADDED = "float32[:, ::1], float32[:, ::1], float32[::1], int32[::1], float32[:, ::1], float32[:, ::1]"
LAYOUTS = {  # most registers of sgd_epoch with plain and with quad additions, predict_pairs
    (8, 4, 0): (72, 72, 40),
    (8, 4, 4): (104, 96, 48),
    (8, 16, 4): (168, 168, 48),
    (16, 4, 4): (104, 104, 48),
    (16, 8, 0): (80, 80, 40),
    (16, 16, 16): (255, 240, 80),
    (32, 16, 16): (255, 240, 80),
}
WEIGHED = {(8, 4, 0): 80, (8, 4, 4): 112}  # most registers of sgd_epoch with weights of ratings
ADDITIONS = {False: ("plain", ("sm_75", "sm_80", "sm_86", "sm_89")), True: ("quad", ("sm_90", "sm_120"))}


def cases_of(layout, plain, quad, pairs):
    """The kernels made for a layout, with the minor side's factors in float32 and in float16."""
    size = ", ".join(map(str, layout))
    for half, name in (False, size), (True, f"{size}, half"):
        for vector, most in (False, plain), (True, quad):
            kind, targets = ADDITIONS[vector]
            kernel = sgd.make_sgd_epoch(*layout, half, vector)
            yield Case(f"factorization.sgd_epoch[{name}, {kind}]", kernel, EPOCH, most, targets=targets)
            if layout in WEIGHED:
                weighted = f"factorization.sgd_epoch[{name}, {kind}, weights]"
                yield Case(weighted, kernel, WEIGHTED, WEIGHED[layout], targets=targets)
            if not layout[2]:
                grown = sgd.make_grow_rows(*layout[:2], half, vector)
                yield Case(f"factorization.grow_rows[{name}, {kind}]", grown, GROWN, registers=48, targets=targets)
        yield Case(f"factorization.predict_pairs[{name}]", scores.make_predict_pairs(*layout, half), PAIRS, pairs)


STARTS, RATED, PLACES = "int64[::1]", "int32[::1], uint8[::1], float32[::1]", "uint32[::1]"  # RATED: others, codes, z
UNITS = "float32, float32, float32, float32"  # deviation, mean, low, high
PREPARING = [
    Case("factorization.shuffle_rows", prepare.shuffle_rows, f"{STARTS}, {PLACES}, uint32, {PLACES}", registers=48),
    Case("factorization.lay_out", prepare.lay_out, f"{PLACES}, {RATED}, int32[::1], float32[::1]", registers=32),
    Case(
        "factorization.lay_out_values",
        prepare.lay_out_values,
        f"{PLACES}, {PLACES}, float32[::1], float32, float32, float32[::1]",
        registers=32,
    ),
    Case("factorization.count_up", prepare.count_up, PLACES, registers=32),
    Case("factorization.follow", prepare.follow, ", ".join([PLACES] * 3), registers=32),
    Case(
        "factorization.key_runs",
        prepare.key_runs,
        f"{STARTS}, int32[::1], {PLACES}, int32[::1], int32[::1], int64, int64, uint64[::1]",
        registers=64,
    ),
    *(
        Case(f"factorization.take_changes[{kind}]", shared.make_take_changes(half), TAKEN, registers=48)
        for kind, half in (("half", True), ("single", False))
    ),
    *(
        Case(f"factorization.add_changes[{kind}]", shared.make_add_changes(half, False), ADDED, registers=48)
        for kind, half in (("half", True), ("single", False))
    ),
    *(
        Case(
            f"factorization.add_changes[{kind}, quad]",
            shared.make_add_changes(half, True),
            ADDED,
            registers=48,
            targets=ADDITIONS[True][1],
        )
        for kind, half in (("half", True), ("single", False))
    ),
    Case(
        "factorization.factor_squares",
        shared.factor_squares,
        "float32[:, ::1], float32[::1], int64, int64, float64[:, ::1]",
        registers=64,
        float64_ok=True,
        shared=128,
    ),
    Case(
        "factorization.damp",
        shared.damp,
        "float64[:, ::1], float32[::1], int64, float32[::1]",
        registers=48,
        float64_ok=True,
    ),
    Case("factorization.turn_around", prepare.turn_around, f"{PLACES}, {PLACES}", registers=32),
    Case(
        "factorization.cut_runs", prepare.cut_runs, f"{STARTS}, int32[::1], int64, int64, int64[:, ::1]", registers=64
    ),
    Case("factorization.raise_codes", prepare.raise_codes, "uint8[::1], uint8[::1]", registers=32),
    Case(  # a sum per rating, and their residuals
        "factorization.residual_means",
        prepare.residual_means,
        f"{STARTS}, {RATED}, float64[::1], float64, float64[::1]",
        registers=48,
        float64_ok=True,
        shared=64,
    ),
    Case(
        "factorization.weighted_means",
        prepare.weighted_means,
        f"{STARTS}, {RATED}, float32[::1], float64[::1], float64, float64[::1]",
        registers=48,
        float64_ok=True,
        shared=64,
    ),
    *(
        Case(
            f"factorization.start_rows[{name}]",
            prepare.start_rows,
            f"uint32, {PLACES}, float64[::1], boolean, int64, {kind}[:, ::1], float32[:, ::1]",
            registers=48,
            float64_ok=True,  # the biases that it reads
        )
        for name, kind in (("single", "float32"), ("half", "float16"))
    ),
    Case("factorization.count_keys", prepare.count_keys, f"{STARTS}, int64, uint64[::1], {PLACES}", registers=32),
    Case("factorization.spread_rows", prepare.spread_rows, f"{PLACES}, int64, int32[::1]", registers=48),
    *(
        Case(f"factorization.{name}", getattr(prepare, name), "float32[:, ::1], int32[::1], float32[:, ::1]", 48)
        for name in ("move_rows", "take_rows")
    ),
    *(
        Case(
            f"factorization.read_rows[{name}]",
            prepare.read_rows,
            f"{kind}[:, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1]",
            registers=48,
        )
        for name, kind in (("single", "float32"), ("half", "float16"))
    ),
    Case(
        "factorization.pack_near",
        prepare.pack_near,
        "int32[:, ::1], float64[::1], int32[:, ::1], float32[:, ::1]",
        registers=48,
        float64_ok=True,  # the biases that it reads
    ),
    Case("factorization.pack_pairs", prepare.pack_pairs, "int32[::1], int32[::1], uint64[::1]", registers=32),
    Case("factorization.items_of", prepare.items_of, "uint64[::1], int32[::1]", registers=32),
    Case(
        "factorization.error_sums",
        prepare.error_sums,
        f"float32[::1], float32[::1], {UNITS}, float64[:, ::1]",
        registers=48,
        float64_ok=True,
        shared=128,
    ),
]

CHUNKS = "int64[:, ::1]"
CHUNKING = [
    Case(
        "factorization.cut_rows",
        chunks.cut_rows,
        f"{STARTS}, int64[::1], uint64[::1], int64, uint32, {CHUNKS}, uint64[::1], {PLACES}",
        registers=64,
    ),
    Case(
        "factorization.fallen_lengths",
        chunks.fallen_lengths,
        f"{CHUNKS}, {PLACES}, int64, int64, uint64[::1], {PLACES}",
        32,
    ),
    Case("factorization.deal_hands", chunks.deal_hands, f"{PLACES}, uint32, uint32[:, ::1]", registers=48),
    Case(
        "factorization.take_quads",
        chunks.take_quads,
        f"{CHUNKS}, {PLACES}, int64, uint32[:, ::1], {CHUNKS}",
        registers=48,
    ),
]
STREAMING = [
    Case(
        "factorization.unpack_ratings",
        stream.unpack_ratings,
        "uint8[::1], int64, int64, int64, float32[::1], int32[::1], float32[::1]",
        registers=48,
    ),
    Case("factorization.unpack_codes", stream.unpack_codes, "uint32[::1], int64, int64, uint32[::1]", registers=48),
]

# the maximum of 1024 factors and 1024 neighbours, the only layout that does not fit into registers.
LARGEST = Case(
    "factorization.sgd_epoch[32, 32, 32, quad]",
    sgd.make_sgd_epoch(32, 32, 32, False, True),
    EPOCH,
    registers=255,
    spills=2200,
    targets=ADDITIONS[True][1],
)
CASES = [case for layout, limits in LAYOUTS.items() for case in cases_of(layout, *limits)] + [
    LARGEST,
    Case("factorization.score_rows", scores.score_rows, SCORES, registers=80),
    Case("factorization.fill_tables", scores.fill_tables, TABLES, registers=40),
    Case("factorization.add_weights", add_weights, ADD_WEIGHTS, registers=56),
    Case("factorization.add_listed_weights", scores.add_listed_weights, ADD_LISTED, registers=48),
    Case("factorization.regress_on_neighbors", regress_on_neighbors, REGRESS, registers=64),
    Case("factorization.neighbor_codes", scores.neighbor_codes, CODES, registers=56),
    Case("factorization.look_up_codes", scores.look_up_codes, LOOKED_UP, registers=56),
    *PREPARING,
    *STREAMING,
    *CHUNKING,
]
