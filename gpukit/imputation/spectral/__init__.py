"""The paper's imputation: graph Fourier transform, singular-value thresholding of every slice, and back.

run.py         one tensor on one device           path.py        the path of thresholds, then fixed ranks
thresholds.py  where each slice's lambda starts   ranks.py       the rank that each slice shows
formulas.py    scalar maths, cited                confidence.py  how far each vertex is determined
cpu.py | gpu.py -> twins.py | kernels.py          a Session: a tensor at work on a device
"""
