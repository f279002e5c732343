"""CPU twins of kernels/, file by file. A Gram matrix has F + 2 numbers per side, in its lower half."""
