"""Scores, ranks and metrics of a fitted RankSVM: one pass over X, on the CPU."""

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import align_rows
from gpukit.documents.adopt import given_names, split_queries
from gpukit.documents.table import Documents
from gpukit.documents.tables import places_of, take_columns
from gpukit.errors import DataError
from gpukit.evaluation import ranking
from gpukit.ranking import cpu, feature_map
from gpukit.ranking.inputs import (
    Occurring,
    Queries,
    check_own_queries,
    document_weights,
    features,
    query_weights,
    read,
    weights_given,
)
from gpukit.sorting import segmented_argsort


def predict(model, X):
    """See RankSVM.predict."""
    return scores(model, in_model_order(model, *features(X)))


def explain(model, X):
    """See RankSVM.explain."""
    X = in_model_order(model, *features(X))
    vectors = 4  # arrays with a column for each feature
    devices.require_host(vectors * 8 * X.shape[0] * len(model.coef_), f"Explaining {X.shape[0]:,} scores")
    X = X.toarray() if hasattr(X, "indptr") else X
    terms = prepare_features(model.scaling_, model.feature_map_, X)[:] * model.coef_
    parts = np.append(terms[:, : X.shape[1]], np.zeros((len(terms), 1)), axis=1)
    if model.feature_map_ is not None:
        model.feature_map_.attribute(terms[:, X.shape[1] :], parts)
    return parts


def scores(model, X):
    """Return the scaled and mapped X times coef_: (l,) float64; DataError for a score that is not finite."""
    result = product(prepare_features(model.scaling_, model.feature_map_, X), model.coef_)
    return finite(result + (0.0 if model.feature_map_ else model.scaling_.missing(X, model.coef_)))


def prepare_features(scaling, map, X):
    """Return X (l, n) scaled; with a map of feature_map, an Expanded."""
    if map is None:
        return scaling.apply(X)
    return feature_map.Expanded(scaling.apply(feature_map.to_dense(X, map.kind)), map)


def finite(scores):
    """Return scores (l,); DataError for the first that is not finite."""
    if not np.isfinite(scores).all():
        raise DataError(
            f"The score of document {int(np.argmin(np.isfinite(scores)))} is not finite: its features, or the model's "
            "weights, are too large. Bring the features to a smaller range and train again."
        )
    return scores


def product(X, w):
    """Return X w in float64, (l,)."""
    out = np.empty(X.shape[0])
    cpu.matrix(X).scores(w, out)
    return out


def in_order(X, names, width, known):
    """Return X (l, n) with the columns in the order of the training set, by name if both have names.

    known: names (n,), inputs.Occurring or None. Raises DataError for missing and unknown names, and for a wrong number
    of columns.
    """
    if isinstance(known, Occurring):
        return known.select(X)
    names, known = numbered(names, known, width)
    if names is not None and known is not None:
        places = places_of(known, names, "X")
        return X if places is None else take_columns(X, places)
    have = X.shape[1]
    if have > width:
        raise DataError(
            f"The test set has more features than the training set: {have:,} against {width:,}. Leave out "
            "the others, or train on data that has them."
        )
    if have < width:
        raise DataError(
            f"The model was trained on {width:,} features, and these documents have {have:,}. Give all "
            f"columns (read_letor(path, n_features={width}) fills in zeros)."
        )
    return X


def numbered(names, known, width):
    """Return (names, known) of a frame and a model.

    Columns that count from 0 are names only if both count from 0; next to other names they are ignored, as for an
    array.
    """
    if names is None and known is None:
        return names, known
    counted = {str(column) for column in range(width)}
    if names is not None and known is None and set(names.tolist()) == counted:
        known = np.arange(width).astype(str)
    if known is not None and given_names(names) is None and set(np.asarray(known).tolist()) != counted:
        names = None
    return names, known


def in_model_order(model, X, names):
    """See in_order."""
    return in_order(X, names, model.n_features_in_, known_features(model))


def known_features(model):
    """Return the names (n,) of a model's features, the inputs.Occurring of a wide training set, or None."""
    if hasattr(model, "columns_"):
        return Occurring(model.columns_, model.n_features_in_)
    return getattr(model, "feature_names_in_", None)


def rank(model, X, qid=None, group=None):
    """See RankSVM.rank."""
    if isinstance(X, Documents):
        check_own_queries(qid, group)
    X, qid = align_rows(X=X, qid=qid)
    result = predict(model, X)
    if isinstance(X, Documents):
        group = np.diff(X.offsets)
    queries = Queries(*split_queries(qid, group, len(result)))
    return queries.restored(rank_scores(queries.ordered(result), queries.offsets))


def rank_scores(scores, offsets):
    """Return the rank (l,) int32 of each document in its query, from 1; scores (l,) in the order of queries."""
    order = segmented_argsort(-scores, offsets, device="cpu")
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    ranks = np.empty(len(scores), np.int32)
    ranks[starts + order] = np.arange(len(scores)) - starts + 1
    return ranks


def score_inputs(model, inputs):
    """Return (labels, scores, offsets) of Inputs in the order of queries."""
    offsets, X = inputs.queries.offsets, in_model_order(model, inputs.X, inputs.names)
    return inputs.y, scores(model, X), offsets


def accuracy(model, X, y, qid, group, weights):
    """Return the pairwise accuracy, NaN without pairs.

    weights: of the queries, as query_weight of fit; of the documents, whose mean in a query counts; or None.
    """
    inputs = read(X, y, qid, group)
    if weights is None:
        return ranking.evaluate(*score_inputs(model, inputs))["pa"]
    weights, offsets = weights_given(weights, X), inputs.queries.offsets
    if np.shape(weights) == (offsets[-1],) != (len(offsets) - 1,):
        own = inputs.queries.ordered(document_weights(weights, None, offsets[-1]))
        weights = np.add.reduceat(own, offsets[:-1]) / np.diff(offsets)
    weights = query_weights(weights, inputs.queries, None if np.shape(weights) == (len(offsets) - 1,) else group)
    values, pairs = ranking.values_by_query(["pa"], *score_inputs(model, inputs), tied=0.0)["pa"]
    total = weights @ pairs
    return float((weights * pairs) @ values / total) if total else np.nan
