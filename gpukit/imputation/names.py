"""What parameters may say, where nothing else need be imported for it: auto/methods.py has the methods."""

SIMPLE = (
    "vertex-mean",
    "time-mean",
    "two-way-mean",
    "interpolation",
    "last-value",
    "seasonal",
    "neighbors",
    "tikhonov",
    "tikhonov-normalized",
    "feature-propagation",
    "soft-impute",
)
METHODS = (*SIMPLE, "kriging", "smoothness", "local", "spectral")
METRICS = ("absolute", "squared")
