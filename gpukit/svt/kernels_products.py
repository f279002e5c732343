"""GPU kernel of the thresholding by products; twins_products.py has it for the CPU."""

from gpukit._cuda import cuda, kernel

BLOCKS, THREADS = 1056, 256  # eight blocks a multiprocessor


@kernel
def combine(Y, Z, a, b, c, out):
    """out = a I + b Y + c Z, matrix by matrix.

    Y, Z, out (N, p, p) float32 or float64, contiguous; a, b, c of their type.
    Launch: any grid of one dimension.   Deterministic: yes.   Source: products.py.
    """
    p = out.shape[1]
    for at in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row = at // p
        column = at - row * p
        matrix = row // p
        row -= matrix * p
        value = b * Y[matrix, row, column] + c * Z[matrix, row, column]
        out[matrix, row, column] = value + a if row == column else value
