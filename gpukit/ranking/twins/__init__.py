"""CPU twins of gpukit.ranking.kernels: equal file names, names and arguments."""
