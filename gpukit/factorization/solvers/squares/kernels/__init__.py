"""GPU kernels of least squares; twins/ has them for the CPU.

gram.py       the normal equations: sums of products of rows     gradients.py  their solution by conjugate gradients
cholesky.py   their solution by elimination in registers         tiles.py      a matrix in tiles, a tile a thread

Both begin with the same step: a tile, held in a thread's registers, becomes larger or smaller by the products of a few
columns in shared memory. There a column's number 8 i + a stands at place a I + i, I the tiles a side: the threads of a
warp, whose i and j follow each other, then read neighbouring places, or the same.
"""
