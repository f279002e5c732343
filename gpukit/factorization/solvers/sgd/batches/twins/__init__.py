"""CPU twins of kernels/; a row of seen has the factors as they are numbered."""
