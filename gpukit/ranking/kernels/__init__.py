"""GPU kernels of linear RankSVM; gpukit.ranking.twins has the same files for the CPU.

pair_sums.py   a pass over the queries: Hessian product, or gradient and loss; P-SWX, the paper's sums
matrix.py      products with X, dense or sparse; the preconditioner's matrix
level_tree.py  positions of partners                    rows.py  rows of X over lanes
"""
