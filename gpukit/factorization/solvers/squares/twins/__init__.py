"""CPU twins of kernels/, file by file. A Gram matrix is a square of F + 2 numbers a side, its lower half filled."""
