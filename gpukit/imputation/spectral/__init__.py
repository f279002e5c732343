"""Paper's imputation: singular-value thresholding in the graph Fourier domain.

Steps: graph Fourier transform, thresholding of every slice, inverse transform.

run.py         one tensor on one device              path.py        the path of thresholds, then fixed ranks
thresholds.py  lambda of each slice                  ranks.py       rank of each slice
choose.py      'auto': weights, center, stopping     confidence.py  confidence of each vertex
holdout.py     held-out values                       method.py      the method 'spectral'
cpu.py | gpu.py -> twins.py | kernels.py             one tensor on one device
"""
