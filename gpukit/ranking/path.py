"""The regularization path: C on a grid, ascending, warm-started, chosen on a validation set."""

import re
from typing import NamedTuple

import numpy as np

from gpukit.base import check_real
from gpukit.documents.table import Documents
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.ranking import evaluate, parse_metric, values_by_query
from gpukit.ranking import serve
from gpukit.ranking.inputs import read
from gpukit.timing import work_clock

POWER = re.compile(r"2(?:\^|\*\*)([+-]?\d{1,4})")
GRIDS = 'Write "2^-15:2^8", "2^-15:2^8:2^2" (each 2^2 times the last) or a list "0.1,1,10"'


class RankingMetric(NamedTuple):
    """A metric of evaluation.evaluate with ndcg, relevant, ties: its arguments."""

    name: str
    ndcg: str = "letor"
    relevant: float = 1.0
    ties: str = "average"

    def evaluate(self, y, scores, offsets):
        """Return the evaluation.Metrics of scores (l,): the usual ones and this one."""
        rules = {"ndcg": self.ndcg, "relevant": self.relevant, "ties": self.ties}
        return evaluate(y, scores, offsets, **rules, more=[self.name])

    def explain_undefined(self, y, offsets):
        """Return the reason why labels do not define the metric, or None."""
        return self.evaluate(y, np.zeros(len(y)), offsets).reasons.get(self.name)


def as_metric(metric):
    """Return a RankingMetric, or the one of a name; ParameterError for an unknown name."""
    metric = metric if isinstance(metric, RankingMetric) else RankingMetric(metric)
    parse_metric(metric.name)
    return metric


def regularization_path(model, train, validation, grid, metric, query_weight=None, progress=None, team=None):
    """See RankSVM.fit_path; fit and return model."""
    values, held_out = check_grid(grid), ValidationSet(read(*arguments(validation)), metric).check_defined()
    run = model.prepare(*arguments(train), query_weight=query_weight, team=team, choose=False)
    held_out.scale_like(run)
    path, results, w = [], [], None
    for C in values:
        start = work_clock()
        result = run.train(C, w, progress)
        seconds, w = work_clock() - start, result.w
        path.append(entry(run, C, result, seconds, held_out.evaluate(w)))
        results.append(result)
        if progress is not None:
            progress("path", len(path), len(values), path[-1])
    best = int(np.argmax([row["validation"][metric.name] for row in path]))  # the first of equal ones
    model.set_trained(run, values[best], results[best])
    model.path_, model.metric_ = path, metric.name
    return model


def arguments(documents):
    """Return the arguments of fit for Documents or (X, y, qid)."""
    if isinstance(documents, Documents):
        return (documents,)
    if isinstance(documents, tuple) and len(documents) == 3:
        return documents
    raise DataError(f"train and validation are Documents, or (X, y, qid); got {type(documents).__name__}.")


def entry(run, C, result, seconds, metrics):
    """Return a row of path_."""
    return {
        "C": C,
        "objective": float(result.objective),
        "gradient_norm": float(result.gradient),
        **run.steps(result),
        "seconds": seconds,
        "converged": run.converged(result),
        "validation": metrics,
    }


class ValidationSet:
    """Held-out documents, inputs.Inputs, and a RankingMetric.

    With weights of documents a query counts by their mean, as in LightGBM's metrics.
    """

    def __init__(self, inputs, metric):
        self.metric, self.inputs, self.weights = as_metric(metric), inputs, inputs.query_weights
        self.y, self.offsets = inputs.y, inputs.queries.offsets
        if inputs.weights is not None:
            lengths = np.diff(self.offsets)
            queries = np.repeat(np.arange(len(lengths)), lengths)
            means = np.bincount(queries, inputs.weights, len(lengths)) / np.maximum(lengths, 1)
            self.weights = means if self.weights is None else means * self.weights

    def check_defined(self):
        """Raise DataError where the labels do not define the metric; return self."""
        reason = self.metric.explain_undefined(self.y, self.offsets)
        if reason:
            raise DataError(
                f"The validation set has no {self.metric.name}: its {len(self.y):,} documents have labels from "
                f"{self.y.min():g} to {self.y.max():g}, and {reason}. Choose by another metric."
            )
        return self

    def scale_like(self, run):
        """Use the scaling and the columns of the training set (run.Run)."""
        X = serve.in_order(self.inputs.X, self.inputs.names, run.n_features, run.names)
        self.X = serve.prepare_features(run.scaling, run.map, X)

    def evaluate(self, w):
        """Return {metric: value} of the scores X w.

        Metrics do not depend on the constant that is missing if a sparse X could not be shifted.
        """
        return self.metric.evaluate(self.y, serve.product(self.X, w), self.offsets)

    def evaluate_queries(self, w):
        """Return (values (m,), weights (m,)) of the queries, whose weighted mean is the metric; ties are averaged."""
        scores = serve.finite(serve.product(self.X, w))
        metric, ndcg, relevant, _ = self.metric
        values, counts = values_by_query([metric], self.y, scores, self.offsets, ndcg, relevant)[metric]
        return values, counts if self.weights is None else counts * self.weights


def parse_grid(text):
    """Return the values of a grid, (k,) float64, ascending, without repeats.

    Forms: "2^-15:2^8" (each twice the last), "2^-15:2^8:2^2" (a factor) or "0.1,1,10". Raises ParameterError for
    anything else, for values that are not positive and for more than 1,000 of them.
    """
    most = 1000  # values of a grid
    if ":" not in text:
        return np.unique([number(part, text) for part in text.split(",")])
    parts = [number(part, text) for part in text.split(":")]
    low, high, factor = (*parts, 2.0)[:3]
    if len(parts) > 3 or low > high or factor <= 1:
        raise ParameterError(f"The grid of C {text!r} does not rise. {GRIDS}.")
    count = int(np.floor((np.log(high) - np.log(low)) / np.log(factor) + 1e-9)) + 1
    if count > most:
        raise ParameterError(f"The grid of C {text!r} has {count:,} values, {most:,} are the most. {GRIDS}.")
    return np.multiply.accumulate([low, *[factor] * (count - 1)])  # factor ** count may be beyond float64


def number(text, grid):
    """Return a positive number of "0.5" or "2^-3"; ParameterError with the grid."""
    word = text.strip()
    try:
        match = POWER.fullmatch(word)
        read = 2.0 ** int(match[1]) if match else float(word)
    except (ValueError, OverflowError):
        read = 0.0
    if not 0 < read < np.inf:
        raise ParameterError(f"The grid of C {grid!r} has {word!r}, which is no number above 0. {GRIDS}.")
    return read


def check_grid(grid):
    """Return a grid as ascending floats without repeats; ParameterError for a value that is not positive."""
    if isinstance(grid, str):
        return parse_grid(grid).tolist()
    values = np.unique([check_real("grid", value, 0.0, strict=True) for value in np.ravel(grid)])
    if not values.size:
        raise ParameterError(f"The grid of C is empty. {GRIDS}.")
    return values.tolist()
