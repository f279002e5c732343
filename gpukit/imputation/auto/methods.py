"""All methods by name."""

from gpukit.imputation.auto import spectral
from gpukit.imputation.baselines import means, nearest, series, smoothed, soft_impute

SIMPLE = (*means.METHODS, *series.METHODS, *nearest.METHODS, *smoothed.METHODS, *soft_impute.METHODS)
METHODS = (*SIMPLE, spectral.METHOD)
BY_NAME = {method.name: method for method in METHODS}
NAMES = tuple(BY_NAME)
