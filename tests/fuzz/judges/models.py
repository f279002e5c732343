"""Judges of models: results follow the formulas of the docstrings with the model's numbers."""

import numpy as np

LARGE = 100.0  # above it float32 sums are inaccurate
CLOSE = 2e-2


def asked(answer, files):
    """Results for requested ids: known items, best first; predictions within the scale."""
    if "predicted" in answer:
        found, (low, high) = answer["predicted"], answer["scale"]
        return (
            None
            if np.isfinite(found).all() and (found >= low).all() and (found <= high).all()
            else "a prediction is beyond the scale"
        )
    items, scores = np.atleast_2d(answer["items"]), np.atleast_2d(answer["scores"])
    return _lists(items, scores, answer["known"])


def filtered(answer, files):
    """`asked`, and items are those of the file, or not those of the file."""
    known = set(answer["known"].tolist())
    shown = b"\n".join(files.values()).decode("utf-8", "replace")
    strange = [one for one in known if one not in shown] if answer["how"] in ("only", "only_category") else []
    if strange or not answer["diverse"]:
        return f"{strange[0]!r} is not in the file" if strange else asked(answer, files)
    for row in answer["items"].tolist():  # scores need not decrease: an item may be delayed by those before it
        there = [item for item in row if item is not None]
        if len(set(there)) < len(there) or not set(there) <= known:
            return f"{there} are not items that may be shown, each once"
    return None


def _lists(items, scores, known):
    """Rows of distinct known items, best first, missing ones at the end."""
    if items.shape != scores.shape or items.ndim != 2:
        return f"{items.shape} items and {scores.shape} scores"
    known = set(known.tolist())
    for row, its in zip(items.tolist(), scores.tolist()):
        there = [item for item, score in zip(row, its) if not np.isnan(score)]
        values = [score for score in its if not np.isnan(score)]
        if len(set(there)) < len(there) or not set(there) <= known:
            return f"{there} are not items of the model, each once"
        if values != sorted(values, reverse=True) or its[: len(values)] != values or not np.isfinite(values).all():
            return f"scores {its} do not fall, or are not finite"
        if any(item is not None for item in row[len(values) :]):
            return f"{row} has items without a score"
    return None


def facts(answer):
    """Facts of a model's training; they are saved unchanged."""
    if not answer.get("saved_alike", True):
        return "saved, loaded and saved again it is another file"
    history, timings = answer["facts"].get("history_"), answer["facts"].get("timings_")
    if isinstance(history, list) and not all(isinstance(entry, dict) for entry in history):
        return f"history_ is {str(history)[:80]}"
    if timings is not None and not (
        isinstance(timings, dict) and all(isinstance(one, (int, float)) for one in timings.values())
    ):
        return f"timings_ is {str(timings)[:80]}"
    device = answer["facts"].get("device_", "")
    return None if isinstance(device, str) else f"device_ is {device!r}"


def factorization(answer, files):
    """Finite, within the scale, Eq. (1) to float32; recommendations omit rated items."""
    users, items = answer["users"], answer["items"]
    for name, ids in (("user_ids_", users), ("item_ids_", items)):
        if ids.ndim != 1 or len(set(ids.tolist())) < len(ids):
            return f"{name} are not each once"
    low, high = answer["scale"]
    for name in ("predicted", "unknown"):
        found = answer[name]
        if not (np.isfinite(found).all() and (found >= np.float32(low)).all() and (found <= np.float32(high)).all()):
            return f"{name}: {found[:5]} is not finite, or beyond {low} to {high}"
    if not np.isfinite(answer.get("sequential", 0.0)).all():
        return f"errors of ratings in sequence: {answer['sequential']}"
    return (
        _lists(answer["best"], answer["scores"], items)
        or _lists(np.atleast_2d(answer["near"]), np.atleast_2d(answer["cosines"]), items)
        or _lists(np.atleast_2d(answer["same"]), np.atleast_2d(answer["close"]), users)
        or _lists(answer["folded"], answer["folded_scores"], items)
        or _unrated(answer)
        or _predicted(answer)
        or _explained(answer)
        or _exported(answer)
        or facts(answer)
    )


def _unrated(answer):
    indptr, rated, items = answer["rated_indptr"], answer["rated_items"], answer["items"]
    for row, best in enumerate(answer["best"].tolist()):
        seen = {items[item].item() for item in rated[indptr[row] : indptr[row + 1]]}
        if seen & set(best):
            return f"user row {row} is recommended {seen & set(best)}, which they rated"
    return None


def _explained(answer):
    """Predictions equal their explanations, which add the same numbers in another order."""
    found, explained = answer["explained_by_predict"].astype(np.float64), answer["explained"]
    largest = _largest(answer)
    if largest < LARGE and not np.allclose(found, explained, rtol=0, atol=CLOSE * largest):
        return f"explained as {explained}, predicted {found}"
    return None


def _exported(answer):
    """An export has the model's ids and numbers."""
    if "exported" not in answer:
        return None
    found, ids = answer["exported"], [*answer["users"].tolist(), *answer["items"].tolist()]
    names = {"user_ids": "users", "item_ids": "items", "user_factors": "user_factors_", "item_bias": "item_bias_"}
    for name, shown in names.items():
        if not np.array_equal(found[name], answer[shown]):
            return f"{name} is exported as {str(found[name])[:80]}"
    if "csv_ids" not in found:
        return None
    bias = np.concatenate((answer["user_bias_"], answer["item_bias_"]))
    if found["csv_ids"] != list(map(str, ids)) or not np.array_equal(found["csv_bias"].astype(np.float32), bias):
        return f"csv has ids {found['csv_ids'][:5]} and biases {found['csv_bias'][:5]}"
    return None


def _largest(answer):
    """Return the largest number of the model, at least 1."""
    names = ("user_factors_", "item_factors_", "user_bias_", "item_bias_", "rated_levels", "explicit_influences_")
    more = ("implicit_influences_", "user_baseline_", "item_baseline_")
    arrays = [np.abs(answer[name]).max(initial=0) for name in (*names, *more) if name in answer]
    return max([1.0, abs(answer["mean"]), answer["deviation"], *arrays])


def _predicted(answer):
    """Return the predictions by the formula, from the model's numbers."""
    shown = [answer[name] for name in ("user_factors_", "item_factors_", "user_bias_", "item_bias_")]
    near = [
        answer[name]
        for name in ("explicit_influences_", "implicit_influences_", "user_baseline_", "item_baseline_")
        if name in answer
    ]
    largest = _largest(answer)
    if not largest < LARGE:
        return None
    U, V, b, c = (array.astype(np.float64) for array in shown)
    rows = {one: row for row, one in enumerate(answer["users"].tolist())}
    columns = {one: row for row, one in enumerate(answer["items"].tolist())}
    for user, item, found in zip(
        answer["asked_users"].tolist(), answer["asked_items"].tolist(), answer["predicted"].tolist()
    ):
        i, j = rows[user], columns[item]
        wanted = answer["mean"] + b[i] + c[j] + U[i] @ V[j] + (_near(answer, i, j) if near else 0.0)
        if abs(np.clip(wanted, *answer["scale"]) - found) > CLOSE * largest:
            return f"user {user}, item {item}: predicted {found}, by the formula {wanted}"
    return None


def _near(answer, i, j):
    """Return the neighbours' part of Eq. (1)."""
    start, stop = answer["rated_indptr"][i : i + 2]
    rated = dict(zip(answer["rated_items"][start:stop].tolist(), answer["rated_codes"][start:stop].tolist()))
    known, unknown = [], []
    for k, near in enumerate(answer["neighbors_"][j].tolist()):
        if near in rated:
            z = answer["rated_levels"][rated[near]] * answer["deviation"]
            known.append(
                (z - answer["user_baseline_"][i] - answer["item_baseline_"][near])
                * answer["explicit_influences_"][j, k]
            )
        else:
            unknown.append(answer["implicit_influences_"][j, k])
    return sum(float(sum(part)) / len(part) ** 0.5 for part in (known, unknown) if part)


def resumed(answer, files):
    """A model whose epochs are those that were requested."""
    epochs = answer["facts"]["epochs"]
    if epochs != list(range(1, len(epochs) + 1)) or not epochs:
        return f"the history has the epochs {epochs}"
    return factorization({**answer, "facts": {}}, files)


def neighbors(answer, files):
    """Rows of other items, scores that are fractions, distinct ids."""
    near, scores, items = answer["neighbors"], answer["scores"], answer["items"]
    n = len(items)
    if near.ndim != 2 or len(near) != n or near.shape != scores.shape or near.dtype != np.int32:
        return f"neighbours are {near.dtype} {near.shape}, scores {scores.shape} of {n} items"
    if items.ndim != 1 or len(set(items.tolist())) < n:
        return "item_ids_ are not each once"
    for item, row in enumerate(near.tolist()):
        if item in row or min(row, default=0) < 0 or max(row, default=0) >= n:
            return f"neighbours of item {item}: {row}"
    share = answer["share"]
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        return f"random_share_ is {share!r}"
    known = ~np.isnan(scores)  # a random neighbour has no score
    return facts(answer) if ((scores[known] >= 0) & (scores[known] <= 1)).all() else "a score is no share"


def ranker(answer, files):
    """Scores are X scaled times w; ranks put the highest first, query by query."""
    X, w, found = answer["X"], answer["coef"], answer["predicted"]
    if not np.isfinite(found).all():
        return "a score is not finite"
    low, factor = (0.0, 1.0) if answer["kind"] != "minmax" else (answer["low"], answer["factor"])
    if answer["kind"] in ("none", "minmax"):
        wanted = ((X - low) * factor) @ w
        scale = 1 + np.abs((X - low) * factor) @ np.abs(w)
        if not (np.abs(wanted - found) <= 1e-5 * scale).all():
            return f"scores {found[:3]}, by the formula {wanted[:3]}"
    for query in set(answer["qid"].tolist()):
        rows = np.flatnonzero(answer["qid"] == query)
        order = rows[np.argsort(-found[rows], kind="stable")]
        if answer["ranks"][order].tolist() != list(range(1, len(rows) + 1)):
            return f"the ranks of query {query} are {answer['ranks'][rows]} for {found[rows]}"
    return facts(answer)


def imputed(answer, files):
    """Finite, unchanged where observed; confidence from 0 to 1."""
    values, filled, confidence = answer["values"], answer["filled"], answer["confidence"]
    seen = np.isfinite(values)
    if filled.shape != values.shape or not np.isfinite(filled).all() or not np.array_equal(filled[seen], values[seen]):
        return "what was filled in is not finite, or what was observed has changed"
    if confidence.shape != (len(values),) or not ((confidence >= 0) & (confidence <= 1)).all():
        return f"confidence_ is {confidence.shape}, or not from 0 to 1"
    if len(answer["completed"]) != len(values) or not np.isfinite(answer["completed"]).all():
        return "completed_ is not finite, or of other vertices"
    return facts(answer)


def planned(answer, files):
    """`imputed`, within the model's bounds; deviations of completed values are nonnegative or NaN."""
    low, high = (limit if bound is None else bound for bound, limit in zip(answer["bounds"], (-np.inf, np.inf)))
    put = answer["filled"][~np.isfinite(answer["values"])]
    if not ((put >= low - 1e-6) & (put <= high + 1e-6)).all():
        return f"filled in from {put.min()} to {put.max()}, the bounds are {answer['bounds']}"
    deviation = answer["deviation"]
    if deviation.shape != answer["completed"].shape or (deviation < 0).any() or np.isinf(deviation).any():
        return f"deviation_ is {deviation.shape}, or not from 0 on"
    report = answer["summary"]["report"]
    if not all(isinstance(row[0], str) and len(row) == 8 for row in report):
        return f"report_ is {str(report)[:80]}"
    shares = answer["summary"]["coverage"]
    if not all(isinstance(one, float) and 0 <= one <= 1 for pair in shares.items() for one in pair):
        return f"coverage_ is {str(shares)[:80]}"
    return imputed(answer, files)
