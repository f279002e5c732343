"""GPU kernels of linear RankSVM; gpukit.ranking.twins has the same files for the CPU.

pair_sums.py   positions of partners; a pass over the queries: Hessian product, or gradient and loss; P-SWX, the paper's
matrix.py      products with X, dense or sparse; the preconditioner's matrix
rows.py        rows of X over lanes
"""
