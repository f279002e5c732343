"""GPU kernels of iALS; twins/ has them for the CPU.

products.py   what a row's clicks add to a gradient      descent.py   a step of conjugate gradients
few.py        rows of few clicks, in as many unknowns     inverse.py   that of what rows share, in panels
blocks.py     some factors of each row, others held
"""
