"""Valid values of parameters; auto/methods.py has the methods."""

from typing import Literal, get_args

Method = Literal[
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
    "soft-impute",
    "kriging",
    "regularized-em",
    "smoothness",
    "local",
    "spectral",
]
Metric = Literal["absolute", "squared"]
METHODS, METRICS = get_args(Method), get_args(Metric)
