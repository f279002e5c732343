"""GPU kernels of linear RankSVM; gpukit.ranking.twins has the same files for the CPU.

pair_sums.py   a pass over the queries: Hessian product, or gradient and loss    level_tree.py  positions of partners
matrix.py      products with X, dense or sparse; the preconditioner's matrix      p_swx.py       the paper's sums
rows.py        rows of X over lanes
"""
