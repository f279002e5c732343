"""Choice of the row solver and sizes of its blocks."""

WAYS = ("cholesky", "gradients", "blocks")
STEPS = 3  # of conjugate gradients per half epoch, from the current row (Takacs et al. 2011)
STAGE = 4096  # numbers of a block's rows in shared memory
MOST_ROWS = 16  # of a block
BLOCK = 64  # factors of a row solved for at once, with the others fixed; on a GPU 32, 64 or 128
PANEL = 32  # unknowns eliminated in a step
DIRECT = {True: 32, False: 32}  # factors up to which elimination is faster, on a GPU or not; measured


def way_of(n_factors, on_gpu):
    """Return the faster row solver for F factors."""
    return "cholesky" if n_factors <= DIRECT[on_gpu] else "gradients"


def block_of(width):
    """Return the size of a block of factors, for rows of `width` factors."""
    return min(BLOCK, width)


def rows_of_block(width):
    """Return the rows of `width` factors that one block of kernels.descent processes."""
    return max(1, min(MOST_ROWS, STAGE // width))


FEW = 124  # most clicks for a solution in the clicks' unknowns: with the right-hand side, 16 tiles of 8 per side
STAGED = 32  # factors in shared memory at once


def few_of(n_factors, regularization):
    """Return the largest number of clicks for a solution in the clicks' unknowns; 0: never."""
    return FEW if n_factors >= FEW + FEW // 2 and regularization > 0 else 0
