"""Paper's imputation: singular-value thresholding in the graph Fourier domain.

Steps: graph Fourier transform, thresholding of every slice, inverse transform.

run.py         one tensor on one device              path.py        the path of thresholds, then fixed ranks
thresholds.py  start of each slice's lambda          ranks.py       rank of each slice
formulas.py    scalar formulas with sources          confidence.py  confidence of each vertex
cpu.py | gpu.py -> twins.py | kernels.py             a Session: one tensor on one device; steps.py its protocol
"""
