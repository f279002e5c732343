"""The closing table: the model, the global mean and damped biases; names of options and ids in messages."""

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.cli.options import Naming
from gpukit.errors import DataError
from gpukit.factorization.serve import in_rows_of
from gpukit.factorization.settings import BIASES
from gpukit.io.ids import rows_of
from gpukit.ratings import read_ratings
from gpukit.ratings.parts import RatingsPart, reduce_over_ranks, rows_here


def read_table(ask, path, times=False, bounds=None):
    """Return the Ratings of a file, read by the options of a command; bounds: their permitted (low, high)."""
    return read_ratings(path, ask.file_format, ask.columns, ask.duplicates, ask.sep, times, bounds=bounds)


def closing_table(model, train, test):
    """Return a row per predictor: global mean, damped biases and the model.

    Keys: predictor, train_rmse, train_mae; with a test set also test_rmse, test_mae. model: estimator fitted on train;
    train: Ratings; test: Ratings, with its own ids if needed, or None. All ranks of RatingsParts call this, and rank 0
    gets the errors of all ratings.
    """
    from gpukit.evaluation.ratings import bias_errors

    user_bias, item_bias = (biases.astype(np.float64) for biases in (model.user_baseline_, model.item_baseline_))
    name, won = type(model).__name__, model.chosen_["predictor"]
    rows = [{"predictor": label} for label in ("global mean", BIASES, name if won == name else f"{name}: {won}")]
    mean = mean_of(model, train)
    for part, ratings in (("train", train), ("test", test)):
        if ratings is None:
            continue
        own, scores = rows_here(ratings), [dict.fromkeys(("rmse", "mae"), 0.0)] * len(rows)
        if len(own):
            sides = (own.user_ids, model.user_ids_, user_bias), (own.item_ids, model.item_ids_, item_bias)
            biases, means = [_known_values(*side) for side in sides], (mean, model.mean_)
            scores = [*bias_errors(own, biases, means, model.scale_), model.evaluate(own)]
        for row, score in zip(rows, _errors_of_all(ratings, scores)):
            row[f"{part}_rmse"], row[f"{part}_mae"] = float(score["rmse"]), float(score["mae"])
    return rows


def _errors_of_all(ratings, scores):
    """Return dicts of rmse and mae of all ratings of a RatingsPart, from those of each rank; of Ratings the same."""
    own_ratings, n = rows_here(ratings), len(ratings)
    if own_ratings is ratings:
        return scores
    sums = len(own_ratings) * np.array([(score["rmse"] ** 2, score["mae"]) for score in scores])
    return [{"rmse": squares**0.5, "mae": size} for squares, size in reduce_over_ranks(ratings, sums) / n]


def mean_of(model, train=None):
    """Return the mean of a model's training ratings; mean_ is the cold-start prediction."""
    if not model.chosen_.get("trend"):
        return model.mean_
    if isinstance(train, RatingsPart):
        return float(reduce_over_ranks(train, train.values.sum(dtype=np.float64))) / len(train)
    rated = model._rated
    sums = map_row_blocks(lambda rows: rated.levels[rated.codes[rows]].sum(dtype=np.float64), (len(rated.codes), 1))
    return model.mean_ + model._scale.deviation * float(sum(sums) / len(rated.codes))


def count_unknown(train, test):
    """Return the numbers of test ratings of users, and of items, without a training rating."""
    from gpukit.evaluation.ratings import rated_rows

    def count_of(side):
        rows, known = getattr(train, f"{side}s"), getattr(train, f"{side}_ids")
        rated = reduce_over_ranks(train, rated_rows(rows, len(known)), "max")
        values, tested = _known_values(getattr(test, f"{side}_ids"), known, rated), getattr(test, f"{side}s")
        counts = map_row_blocks(lambda part: np.count_nonzero(values[tested[part]]), (len(tested), 1))
        return len(test) - int(reduce_over_ranks(test, sum(counts)))

    return count_of("user"), count_of("item")


def unknown_pairs(fitted, users, items):
    """Return how many of the pairs of ids have a user, and how many an item, that a model does not know."""
    sides = (users, fitted.user_ids_), (items, fitted.item_ids_)
    return [int(np.count_nonzero(rows_of(ids, known) < 0)) for ids, known in sides]


def unknown_lines(total, users, items, what="pairs"):
    """Yield the remark on predictions for unknown users and items, if any."""
    if users or items:
        yield (
            f"Of {total:,} {what}, {users:,} are of users and {items:,} of items without a training rating; those were "
            "predicted from what is known."
        )


def range_lines(total, outside, scale):
    """Yield the remark on test ratings outside a model's range (low, high), if any."""
    if outside:
        yield f"Of {total:,} test ratings, {outside:,} are outside the model's range, {scale[0]:g} to {scale[1]:g}."


def trained_lines(total, trained):
    """Yield a remark for each model of {name: number of test ratings that it was trained on}, if there are any."""
    for name, count in trained.items():
        if count:
            yield (
                f"Of {total:,} test ratings, {count:,} are of pairs that {name} was trained on: its errors there are "
                "lower than on new ratings. Test on others."
            )


def count_trained(model, test):
    """Return the number of test Ratings whose pairs a model of ratings was trained on; 0 for one of clicks."""
    from gpukit.evaluation.lists import click_mask

    if model.feedback_ == "implicit":
        return 0
    pairs = in_rows_of(test, model.user_ids_, model.item_ids_)
    return int(click_mask(model._rated, pairs.users, pairs.items[:, None]).sum())


def count_outside(model, test):
    """Return the number of test Ratings outside the range that a model predicts."""
    low, high = map(np.float32, model.scale_)
    return int(np.count_nonzero((test.values < low) | (test.values > high)))


def _known_values(ids, known, values):
    """Return (n,) values of ids (n,), 0 for unknown ids.

    values: of the known ids.
    """
    if ids is known:
        return values
    return np.append(values, values.dtype.type(0))[rows_of(ids, known)]  # -1, unknown, is the appended 0


RENAMED = {"early_stopping": "--early-stop", "random_state": "--seed", "deterministic=True": "--deterministic"}
NAMES = "n_factors n_neighbors n_epochs learning_rate regularization feedback positive_from loss solver"
NAMES += " unobserved_weight min_support lsh_p lsh_q lsh_bits lsh_psi beta influence_rate"
NAMES += " influence_regularization"
OPTIONS = {name: f"--{name.removeprefix('n_').replace('_', '-')}" for name in NAMES.split()} | RENAMED
# ordinary words, except hash='minhash'
OPTIONS_TOO = {name: f"--{name}" for name in "hash precision search columns popularity diversity rates".split()}
NAMING = Naming(OPTIONS, OPTIONS_TOO)
spoken, options_named = NAMING.spoken, NAMING.named


def chosen_line(chosen):
    """Describe the settings of a training and their reason in a line."""
    users, items = chosen["damping"]
    biases = f"biases damped by {users:g} ratings a user, {items:g} an item"
    if any(chosen["trend"]):
        biases += ", to a line in their numbers"
    if chosen["n_epochs"]:
        biases = (
            f"F={chosen['n_factors']}, K={chosen['n_neighbors']}, {chosen['n_epochs']} epochs, lambda "
            f"{chosen['regularization']:.3g}, {biases if chosen['biases'] == 'held' else 'biases learned'}"
        )
    return f"Settings: {biases} ({chosen['why']})."


def check_known(typed, known, what):
    """Return the ids of `known` that the typed texts denote.

    typed: texts; known: (n,) ids of the model, int64 or str; what: "user" or "item", for the message. Raises DataError
    with the first unknown id and the nearest known id.
    """
    rows = rows_of(np.array(typed, dtype=str), known)
    for text, row in zip(typed, rows):
        if row < 0:
            raise DataError(
                f"{what} {text} is not in the model, which knows {len(known):,} {what}s; "
                f"the nearest id is {_nearest_id(text, np.sort(known))}."
            )
    return np.asarray(known)[rows]


def _nearest_id(text, known):
    """Return the nearest id: by value for integers, else the next in sorted order."""
    if known.dtype.kind not in "iu":
        return known[min(np.searchsorted(known, text), len(known) - 1)]
    try:
        wanted = int(text)
    except ValueError:
        return f"{known[0]} (ids are integers here)"
    return min(map(int, known), key=lambda value: abs(value - wanted))
