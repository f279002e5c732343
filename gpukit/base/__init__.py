"""Base of all estimators; imports no compiler, pandas or scikit-learn.

| file         | contents                                                                                   |
|--------------|--------------------------------------------------------------------------------------------|
| estimator.py | `Estimator`: parameters by name, fitted check, model files                                 |
| checks.py    | checks of parameter values                                                                 |
| arrays.py    | arrays of other libraries (pandas, masked, on a GPU) to numpy; rows aligned by label       |
| scikit.py    | tags and metadata routing through scikit-learn's own classes, imported on demand           |
"""

from gpukit.base.checks import check_boolean, check_choice, check_integer, check_real
from gpukit.base.estimator import Estimator, not_fitted_error

__all__ = ["Estimator", "check_boolean", "check_choice", "check_integer", "check_real", "not_fitted_error"]
