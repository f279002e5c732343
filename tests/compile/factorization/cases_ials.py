"""gpukit.factorization.solvers.ials: lanes for one and for eight groups of factors, rows in shared memory.

Also an inverse in float64.
"""

from compile.usage import Case, named
from numba.core import types

from gpukit.factorization.solvers.ials import Directions
from gpukit.factorization.solvers.ials_kernels import invert_panel, make_descent, make_products_of_pieces

LINES, LIST, TABLE = "int64[:, ::1]", "float32[::1]", "float32[:, ::1]"
STATE = named(Directions, ways=(types.float32, 2), left=(types.float32, 2), rests=(types.float32, 1))


def cases_of(lanes, count):
    """Steps of conjugate gradients for rows of this number of factors."""
    width = lanes * count
    arguments = f"{LINES}, int32[::1], {LIST}, float32, {TABLE}, {TABLE}, {TABLE}"
    kernel = make_products_of_pieces(lanes, count)
    yield Case(f"factorization.products_of_pieces[{lanes} x {count}]", kernel, arguments, registers=64 + 5 * count)
    before, after = f"{LINES}, {LIST}, {TABLE}, {TABLE}, {TABLE}", (STATE, TABLE)
    for kernel, name, last in zip(make_descent(width), ("begin_descent", "descend"), ("", ", boolean")):
        yield Case(f"factorization.{name}[{width}]", kernel, (before + last, *after), registers=136)


CASES = [case for lanes, count in ((8, 4), (16, 16), (32, 32)) for case in cases_of(lanes, count)]
CASES.append(
    Case(
        "factorization.invert_panel",
        invert_panel,
        f"{TABLE}, float64, int64, float64[:, ::1], float64[:, ::1], {TABLE}",
        registers=64,
        float64_ok=True,
    )
)
