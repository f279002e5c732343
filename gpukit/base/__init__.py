"""What every estimator shares; none of it imports a compiler, pandas or scikit-learn.

| file         | what it decides                                                                            |
|--------------|--------------------------------------------------------------------------------------------|
| estimator.py | `Estimator`: parameters by name, fitted or not, model files, pickles                       |
| contract.py  | what all estimators have, as a Protocol: check, prepare, fit, save, load                   |
| checks.py    | checks of a parameter's value                                                              |
| arrays.py    | arrays as people have them (pandas, masked, on a GPU) as numpy's; rows matched by label    |
| scikit.py    | tags, metadata routing and HTML, by scikit-learn's own classes, when they are asked for    |
"""

from gpukit.base.checks import check_choice, check_integer, check_real
from gpukit.base.estimator import Estimator, not_fitted

__all__ = ["Estimator", "check_choice", "check_integer", "check_real", "not_fitted"]
