"""GPU kernels of iALS; twins/ has their CPU twins.

products.py   gradients from a row's clicks               descent.py   a step of conjugate gradients
few.py        rows of few clicks, one unknown per click   inverse.py   the preconditioner, in panels
blocks.py     a block of factors of each row, others fixed
"""
