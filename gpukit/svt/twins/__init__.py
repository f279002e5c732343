"""CPU twins of gpukit.svt.kernels, with the same files, names and arguments.

bidiagonal.py     bidiagonalization            bulge_chasing.py  singular values, rotations, products
subspace.py       bases of a subspace          (and polynomials of matrices)
"""
