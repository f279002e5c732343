"""CPU twins of gpukit.svt.kernels: equal file names, names and arguments."""
