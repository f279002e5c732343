"""gpukit.factorization.solvers.ials: lanes for one and for eight groups of factors, rows in shared memory.

Also rows of few clicks and an inverse in float64.
"""

from compile.usage import Case

from gpukit.factorization.solvers.ials.blocks_kernels import (
    add_columns,
    make_errors_of_pieces,
    make_targets_of_block,
    take_columns,
)
from gpukit.factorization.solvers.ials.descent_kernels import make_descent
from gpukit.factorization.solvers.ials.few_kernels import make_grams_of_few, make_turns
from gpukit.factorization.solvers.ials.formulas import FEW
from gpukit.factorization.solvers.ials.inverse_kernels import invert_panel
from gpukit.factorization.solvers.ials.products_kernels import make_products_of_pieces
from gpukit.factorization.solvers.squares.plan import shape_of

LINES, LIST, TABLE = "int64[:, ::1]", "float32[::1]", "float32[:, ::1]"


def cases_of(lanes, count):
    """Steps of conjugate gradients for rows of this number of factors."""
    width = lanes * count
    arguments = f"{LINES}, int32[::1], {LIST}, float32, {TABLE}, {TABLE}, {TABLE}"
    kernel = make_products_of_pieces(lanes, count)
    yield Case(f"factorization.products_of_pieces[{lanes} x {count}]", kernel, arguments, registers=64 + 5 * count)
    before, after = f"{LINES}, {LIST}, {TABLE}, {TABLE}, {TABLE}", f"{TABLE}, {TABLE}, {LIST}, {TABLE}"
    for kernel, name, last in zip(make_descent(width), ("begin_descent", "descend"), ("", "boolean, ")):
        yield Case(f"factorization.{name}[{width}]", kernel, f"{before}, {last}{after}", registers=136)


def cases_of_few(width):
    """Rows of few clicks with this number of factors."""
    arguments = f"{LINES}, int32[::1], {LIST}, {LIST}, {LIST}, {TABLE}, float32[:, :, ::1]"
    shape = shape_of(FEW)
    yield Case("factorization.grams_of_few", make_grams_of_few(*shape[:3], shape.whole), arguments, registers=112)
    turn, answer = make_turns(width)
    yield Case(f"factorization.turn_rows[{width}]", turn, f"{TABLE}, {TABLE}, {TABLE}", registers=96)
    arguments = f"{LINES}, int32[::1], {LIST}, {LIST}, {TABLE}, {TABLE}, {TABLE}, {TABLE}"
    yield Case(f"factorization.rows_of_few[{width}]", answer, arguments, registers=128)


def cases_of_blocks(width, size):
    """Blocks of this number of factors of a row."""
    shape, lanes = shape_of(size), 8 if size <= 64 else 16
    arguments = f"{LINES}, int32[::1], boolean, {TABLE}, {TABLE}, {LIST}"
    name = f"factorization.errors_of_pieces[{lanes} x {size // lanes}]"
    yield Case(name, make_errors_of_pieces(lanes, size // lanes), arguments, registers=64)
    targets = make_targets_of_block(width, size, *shape[:2])
    arguments = f"{LINES}, {LIST}, {TABLE}, int64, {TABLE}, float32[:, :, ::1]"
    yield Case(f"factorization.targets_of_block[{size} of {width}]", targets, arguments, registers=96)


CASES = [case for lanes, count in ((8, 4), (16, 16), (32, 32)) for case in cases_of(lanes, count)]
CASES += cases_of_few(256)
CASES += [case for width, size in ((256, 32), (1024, 64)) for case in cases_of_blocks(width, size)]
CASES += [
    Case("factorization.take_columns", take_columns, f"{TABLE}, int64, int64, {TABLE}", registers=40),
    Case("factorization.add_columns", add_columns, f"{LINES}, {TABLE}, int64, int64, {TABLE}", registers=40),
]
CASES.append(
    Case(
        "factorization.invert_panel",
        invert_panel,
        f"{TABLE}, float64, int64, float64[:, ::1], float64[:, ::1], {TABLE}",
        registers=64,
        float64_ok=True,
    )
)
