"""CPU twin of the kernel of the thresholding in a subspace: the same name and arguments, a slice a thread."""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block
from gpukit.svt.formulas import ZERO

EPS32, EPS64 = np.float32(np.finfo(np.float32).eps), np.finfo(np.float64).eps


@njit(fastmath={"contract", "nsz"})  # factor T[j, c] must not become a product of two of gram's numbers over a third
def _eliminate(T, diagonal, shift, eps, scale):
    """Run Gaussian elimination of [gram, I] in gram's storage.

    T (k, k): gram. In step j a row's numbers up to j belong to the right half.
    """
    k, largest = len(T), ZERO
    for j in range(k):
        diagonal[j] = T[j, j]
        T[j, j] += shift * diagonal[j]
        largest = max(largest, diagonal[j])
    for j in range(k):
        pivot = T[j, j]
        stays = pivot > k * eps * diagonal[j] and diagonal[j] > eps * eps * largest
        scale[j] = 1 / math.sqrt(pivot) if stays else ZERO
        T[j, j] = 1
        for i in range(j + 1, k):
            factor = T[i, j] / pivot if stays else ZERO
            T[i, j] = 0
            if stays:
                for c in range(k):
                    T[i, c] -= factor * T[j, c]


@by_block(lambda gram: len(gram))
def whiten(start, stop, gram, shift, out):
    """Twin of kernels.subspace.whiten."""
    k, eps = gram.shape[1], gram.dtype.type(EPS32 if gram.itemsize == 4 else EPS64)
    for s in range(start, stop):
        T, diagonal, scale = gram[s].copy(), np.zeros(k, gram.dtype), np.empty(k, gram.dtype)
        _eliminate(T, diagonal, shift, eps, scale)
        for i in range(k):
            for j in range(k):
                out[s, i, j] = T[j, i] * scale[j] if i <= j else ZERO
