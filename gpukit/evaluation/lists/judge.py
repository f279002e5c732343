"""Evaluate a predictor's lists over the full ranking."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.lists import measures
from gpukit.evaluation.lists.clicks import contained
from gpukit.evaluation.lists.measures import list_properties


class Judged(NamedTuple):
    """Metrics of a predictor's lists.

    values {k: {metric: (users,) float64}}; facts {k: {name: float}}: properties of the lists (shown.py).
    """

    predictor: str
    values: dict
    facts: dict

    def row(self, k):
        """Return {predictor, mean of each metric over users, facts} at k."""
        means = {name: float(np.mean(values)) for name, values in self.values[k].items()}
        return {"predictor": self.predictor, **means, **self.facts.get(k, {})}


def check_cuts(k, most, reason="the model knows {:,} items"):
    """Return list lengths, one or several, as an ascending tuple.

    Raises ParameterError for none, or for one above `most`; reason: format of the reason in the message.
    """
    cuts = sorted({check_integer("k", one, 1) for one in np.atleast_1d(np.asarray(k, object))})
    if not cuts or cuts[-1] > most:
        why = f"{reason.format(most)}, so take k from 1 to {most:,}"
        raise ParameterError(f"k={cuts[-1] if cuts else k!r} is no length of a list; {why}.")
    return tuple(cuts)


def judge(predictor, tiles, relevant, clicks, cuts):
    """Evaluate lists and return Judged.

    tiles: an iterable of (user rows (b,), item rows (b, n) best first, -1 for none), n at least the last cut; relevant:
    test Clicks, rows as in tiles; clicks (N,): training clicks on each item; cuts: from check_cuts. Users are in the
    order of the tiles. Raises DataError without users.
    """
    values = {k: {name: [] for name in measures.NAMES} for k in cuts}
    slots = np.zeros((len(cuts), len(clicks) + 1), np.int64)
    sizes = relevant.counts()
    for rows, items in tiles:
        hits = contained(relevant, rows, items)
        for place, k in enumerate(cuts):
            slots[place] += np.bincount(items[:, :k].ravel() + 1, minlength=slots.shape[1])
            for name, column in measures.measured(hits, sizes[rows], k).items():
                values[k][name].append(column)
    if not values[cuts[0]]["hr"]:
        raise DataError("There are no users to judge lists by.")
    joined = {k: {name: np.concatenate(parts) for name, parts in by.items()} for k, by in values.items()}
    return Judged(predictor, joined, {k: list_properties(slots[place, 1:], clicks) for place, k in enumerate(cuts)})
