"""Paper's imputation: singular-value thresholding in the graph Fourier domain.

Steps: graph Fourier transform, thresholding of every slice, inverse transform.

run.py         one tensor; confidence of vertices    path.py        the path of thresholds, then fixed ranks
choose.py      'auto': weights, center, stopping; the method 'spectral'
cpu.py | gpu.py -> twins.py | kernels.py             one tensor on one device
"""
