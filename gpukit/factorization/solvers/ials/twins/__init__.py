"""CPU twins of kernels/, file by file."""
