"""GPU kernels of least squares; twins/ has their CPU twins.

gram.py       normal equations: sums of products of rows         gradients.py  solution by conjugate gradients
cholesky.py   solution by elimination in registers               tiles.py      a matrix in tiles, one per thread

The first two begin with the same step: products of a few columns in shared memory are added to a tile in a thread's
registers. Number 8 i + a of a column is at position a I + i there, with I tiles per side: the threads of a warp, which
have consecutive i and j, then read adjacent or equal positions.
"""
