"""Valid values of parameters, without imports; auto/methods.py has the methods."""

SIMPLE = (
    "vertex-mean",
    "vertex-median",
    "time-mean",
    "two-way-mean",
    "interpolation",
    "akima",
    "last-value",
    "seasonal",
    "neighbors",
    "tikhonov",
    "tikhonov-normalized",
    "feature-propagation",
)
METHODS = (*SIMPLE, "soft-impute", "kriging", "regularized-em", "smoothness", "local", "spectral")
METRICS = ("absolute", "squared")
