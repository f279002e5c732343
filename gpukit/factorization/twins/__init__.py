"""CPU twins of gpukit.factorization.kernels: equal file names, names and arguments.

Threads take the place of groups of lanes; codes are bytes, (n, K) uint8, not words of four.
"""
