"""GPU kernels of linear RankSVM; gpukit.ranking.twins has the same files for the CPU.

pair_sums.py   a pass over the queries: Hessian product, or gradient and loss    level_tree.py  positions of partners
matrix.py      products with X, dense or sparse                                  p_swx.py       the paper's sums
gram.py        the preconditioner's matrix                                       rows.py        rows of X over lanes
"""
