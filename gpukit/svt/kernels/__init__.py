"""GPU kernels of the thresholding; gpukit.svt.twins has the same files for the CPU.

bidiagonal.py     bidiagonalization of slices
bulge_chasing.py  singular values, rotations, products
subspace.py       orthonormal bases of a subspace
products.py       polynomials of matrices
"""
