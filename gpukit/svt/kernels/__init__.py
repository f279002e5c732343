"""GPU kernels of the thresholding; gpukit.svt.twins has the same files for the CPU.

bidiagonal.py  a slice to bidiagonal form     chase.py     singular values, rotations, products, and the way back
subspace.py    slices in a kept subspace      products.py  thresholding by matrix products alone
"""
