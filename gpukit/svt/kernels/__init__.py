"""GPU kernels of the thresholding; gpukit.svt.twins has CPU twins of the same names.

bidiagonal.py     bidiagonalization            bulge_chasing.py  singular values, rotations, products
subspace.py       bases of a subspace          (and polynomials of matrices)
"""
