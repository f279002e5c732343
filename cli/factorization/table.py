"""The closing table of a training run: the model compared with the global mean and the bias-only predictor."""

import numpy as np

from gpukit.evaluation.metrics import mae, rmse
from gpukit.factorization.choose.rule import BIASES


def closing_table(model, train, test):
    """A row a predictor: dicts of predictor, train_rmse, train_mae and, with a test set, test_rmse, test_mae.

    model: estimator fitted on train, whose mean and damped biases stand for the other two rows; train: Ratings; test:
    Ratings, ids of its own allowed, or None.
    """
    user_bias, item_bias = (biases.astype(np.float64) for biases in (model.user_baseline_, model.item_baseline_))
    name, won = type(model).__name__, model.chosen_["predictor"]
    rows = [{"predictor": label} for label in ("global mean", BIASES, name if won == name else f"{name}: {won}")]
    mean = mean_of(model)
    for part, ratings in (("train", train), ("test", test)):
        if ratings is None:
            continue
        biased = model.mean_ + _values_of(ratings.users, ratings.user_ids, model.user_ids_, user_bias)
        biased += _values_of(ratings.items, ratings.item_ids, model.item_ids_, item_bias)
        scores = (
            _errors(ratings.values, np.full(len(ratings), mean)),
            _errors(ratings.values, np.clip(biased, *model.scale_)),
            model.evaluate(ratings),
        )
        for row, score in zip(rows, scores):
            row[f"{part}_rmse"], row[f"{part}_mae"] = float(score["rmse"]), float(score["mae"])
    return rows


def mean_of(model):
    """The mean of the ratings that a model has learned from; mean_ is what it predicts where nothing is known."""
    if not model.chosen_.get("trend"):
        return model.mean_
    rated = model._rated
    return model.mean_ + model._scale.deviation * float(rated.levels[rated.codes].mean(dtype=np.float64))


def count_unknown(train, test):
    """(ratings of test whose user has no training rating, ... whose item has none)."""
    users = _values_of(test.users, test.user_ids, train.user_ids, np.bincount(train.users, minlength=train.shape[0]))
    items = _values_of(test.items, test.item_ids, train.item_ids, np.bincount(train.items, minlength=train.shape[1]))
    return int(np.count_nonzero(users == 0)), int(np.count_nonzero(items == 0))


def _values_of(rows, ids, known, values):
    """values of known ids for each of rows (numbers into ids), 0 for an id that is not known."""
    from gpukit.io.ids import rows_of

    return np.append(values, values.dtype.type(0))[rows_of(ids, known)][rows]  # -1, unknown, is the appended 0


def _errors(truth, predicted):
    return {"rmse": rmse(truth, predicted), "mae": mae(truth, predicted)}
