"""gpukit.factorization.solvers.ials: a group of lanes for one quad of factors and for eight; rows in shared memory;
rows of few clicks; an inverse in float64."""

from compile.usage import Case

from gpukit.factorization.solvers.ials.kernels.descent import make_descent
from gpukit.factorization.solvers.ials.kernels.few import make_grams_of_few, make_turns
from gpukit.factorization.solvers.ials.kernels.inverse import invert_panel
from gpukit.factorization.solvers.ials.kernels.products import make_products_of_pieces
from gpukit.factorization.solvers.ials.plan import FEW
from gpukit.factorization.solvers.squares.plan import shape_of

LINES, LIST, TABLE = "int64[:, ::1]", "float32[::1]", "float32[:, ::1]"


def cases_of(lanes, count):
    """The steps of conjugate gradients for rows of so many factors."""
    width = lanes * count
    arguments = f"{LINES}, int32[::1], {LIST}, float32, {TABLE}, {TABLE}, {TABLE}"
    kernel = make_products_of_pieces(lanes, count)
    yield Case(f"factorization.products_of_pieces[{lanes} x {count}]", kernel, arguments, registers=64 + 5 * count)
    before, after = f"{LINES}, {LIST}, {TABLE}, {TABLE}, {TABLE}", f"{TABLE}, {TABLE}, {LIST}, {TABLE}"
    for kernel, name, last in zip(make_descent(width), ("begin_descent", "descend"), ("", "boolean, ")):
        yield Case(f"factorization.{name}[{width}]", kernel, f"{before}, {last}{after}", registers=136)


def cases_of_few(width):
    """Rows of few clicks, of so many factors."""
    arguments = f"{LINES}, int32[::1], {LIST}, {LIST}, {LIST}, {TABLE}, float32[:, :, ::1]"
    shape = shape_of(FEW)
    yield Case("factorization.grams_of_few", make_grams_of_few(*shape[:3], shape.whole), arguments, registers=112)
    turn, answer = make_turns(width)
    yield Case(f"factorization.turn_rows[{width}]", turn, f"{TABLE}, {TABLE}, {TABLE}", registers=96)
    arguments = f"{LINES}, int32[::1], {LIST}, {LIST}, {TABLE}, {TABLE}, {TABLE}, {TABLE}"
    yield Case(f"factorization.rows_of_few[{width}]", answer, arguments, registers=128)


CASES = [case for lanes, count in ((8, 4), (16, 16), (32, 32)) for case in cases_of(lanes, count)]
CASES += cases_of_few(256)
CASES.append(
    Case(
        "factorization.invert_panel",
        invert_panel,
        f"{TABLE}, float64, int64, float64[:, ::1], float64[:, ::1], {TABLE}",
        registers=64,
        float64_ok=True,
    )
)
