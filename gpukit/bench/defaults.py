"""`gpukit bench defaults`: test RMSE of the defaults beside means and other packages at their best, on real ratings."""

import numpy as np

from gpukit.bench.predictors import predictors
from gpukit.bench.record import Row
from gpukit.bench.sparse_ratings import sets
from gpukit.evaluation.metrics import rmse


def defaults(conditions):
    """A Row a predictor and set of ratings: RMSE on splits of nine to one, seeds from 0 on."""
    for name, ratings, seeds in sets(conditions.data, conditions.scale):
        splits = [ratings.split(0.1, seed) for seed in range(seeds)]
        for label, predictor in predictors(conditions.device).items():
            samples = [best(predictor, *split) for split in splits]
            note = f"{seeds} splits; mean {np.mean(samples):.4f}"
            yield Row(f"test RMSE {label}", name, "real", samples, "RMSE", note)


def best(predictor, train, test):
    """The lowest RMSE of a predictor's settings, predictions held within the range of the training ratings."""
    return min(rmse(test.values, np.clip(predicted, *train.scale)) for predicted in predictor(train, test))


BENCHES = {"defaults": defaults}
