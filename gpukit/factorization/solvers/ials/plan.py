"""Which way a side's rows are solved for, in integers, before any work."""

WAYS = ("cholesky", "gradients", "blocks")
STEPS = 3  # of conjugate gradients a half epoch, from where the row stands (Takacs et al. 2011)
STAGE = 4096  # numbers of a block's rows in shared memory
MOST_ROWS = 16  # of a block
BLOCK = 64  # factors of a row that are solved for at once, the others held; on a GPU 32, 64 or 128
PANEL = 32  # unknowns of a matrix that are eliminated in a step
DIRECT = {True: 32, False: 32}  # factors up to which elimination is the better way, on a GPU or not; measured


def way_of(n_factors, on_gpu):
    """The way that is faster for F factors."""
    return "cholesky" if n_factors <= DIRECT[on_gpu] else "gradients"


def block_of(width):
    """Factors that are solved for at once, of rows of `width` of them."""
    return min(BLOCK, width)


def rows_of_block(width):
    """Rows of `width` factors that a block of kernels.gradients works on together."""
    return max(1, min(MOST_ROWS, STAGE // width))


FEW = 124  # clicks up to which a row is solved for by these: with the right-hand side, 16 tiles of 8 a side
STAGED = 32  # factors in shared memory at once


def few_of(n_factors, regularization):
    """Clicks up to which a row of F factors is solved for by a matrix of its clicks; 0: none is."""
    return FEW if n_factors >= FEW + FEW // 2 and regularization > 0 else 0
