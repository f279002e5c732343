"""CPU twins of kernels/; a row of `seen` has the factors in their order."""
