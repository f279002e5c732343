"""CPU twin of the kernel of the thresholding by products: the same name and arguments, a matrix a thread."""

from gpukit.scheduler import by_block


@by_block(lambda out: len(out))
def combine(start, stop, Y, Z, a, b, c, out):
    """Twin of kernels.products.combine."""
    for k in range(start, stop):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[k, i, j] = b * Y[k, i, j] + c * Z[k, i, j]
            out[k, i, i] += a
