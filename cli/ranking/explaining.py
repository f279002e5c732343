"""The --explain of `gpukit rank`: parts of a score, or of the difference of two."""

import re

from gpukit.cli import models, report
from gpukit.cli.ranking import steps
from gpukit.documents.table import take_queries
from gpukit.errors import DataError, ParameterError


def check(ask):
    """Raise ParameterError for options of the scores."""
    for name in ("output", "per_query", "against", "qrels"):
        if getattr(ask, name) is not None:
            option = name.replace("_", "-")
            raise ParameterError(f"--explain prints parts of scores, and --{option} is for all scores. Leave out one.")


def show(ask, stages):
    """Print a row for each feature, the largest part first."""
    numbers = read_numbers(ask.explain)
    fitted, _ = models.open_model(ask.model, "cpu", stages, models.RANKING)
    with report.collect_warnings(ask.quiet or ask.as_json):
        documents = steps.read_for(fitted, ask)
    stages.done("reading")
    query, rows, scores = explain(fitted, documents, numbers)
    if ask.as_json:
        facts = {"command": "rank", **report.pick(ask, "model file"), "documents": numbers, "query": query}
        report.print_json({**facts, "scores": scores, "parts": rows, "seconds": stages.seconds})
        return
    most = 10  # features that are listed by name
    table, rest = rows[:most], rows[most:]
    if rest:
        table = [*table, {"feature": f"{len(rest):,} others", "part": sum(row["part"] for row in rest)}]
    table = [*table, {"feature": "sum", "part": sum(row["part"] for row in rows)}]
    columns = {"feature": "feature", "value": "value"} | ({"other": "other"} if len(numbers) > 1 else {})
    what = f"Score of document {numbers[0]:,} of query {query}"
    if len(numbers) > 1:
        what = f"Score of document {numbers[0]:,} less that of {numbers[1]:,}, of query {query}"
    report.print_table(table, columns | {"part": "part"}, what)
    report.remark(stages.line(), ask.quiet)


def read_numbers(text):
    """Return one or two numbers of documents."""
    if not re.fullmatch(r"\s*[1-9]\d{0,17}\s*(,\s*[1-9]\d{0,17}\s*)?", text):
        raise ParameterError(
            f"--explain {text!r} is not the number of a document, from 1, or of two, such as 3 or 3,7."
        )
    return [int(word) for word in text.split(",")]


def explain(fitted, documents, numbers):
    """Return (query id, rows of parts, scores) of documents by their numbers from 1."""
    import numpy as np

    from gpukit.ranking import serve

    if max(numbers) > len(documents.y):
        raise DataError(f"--explain {max(numbers):,}: the file has {len(documents.y):,} documents.")
    first, *others = (np.searchsorted(documents.offsets, number - 1, "right") - 1 for number in numbers)
    if any(other != first for other in others):
        raise DataError(
            f"--explain {numbers[0]},{numbers[1]}: the documents are of the queries {documents.qids[first]} and "
            f"{documents.qids[others[0]]}. Scores compare documents of one query; name two of one."
        )
    query = take_queries(documents, [first])
    rows = [number - 1 - int(documents.offsets[first]) for number in numbers]
    parts = fitted.explain(query)[rows]
    values = serve.in_model_order(fitted, query.X, query.names)[rows]
    values = values.toarray() if hasattr(values, "indptr") else values
    scores = parts.sum(axis=1).tolist()
    part = parts[0] - parts[1] if len(rows) > 1 else parts[0]
    known = serve.known_features(fitted)
    numbered = getattr(known, "columns", np.arange(values.shape[1])) + 1
    names = numbered.tolist() if known is None or hasattr(known, "columns") else known.tolist()
    table = [
        {"feature": name, "value": column[0], **({"other": column[1]} if len(rows) > 1 else {}), "part": share}
        for name, column, share in zip(names, values.T.tolist(), part[:-1].tolist())
    ]
    if part[-1]:
        table.append({"feature": "waves of all features", "part": float(part[-1])})
    table = [row for row in table if row["part"]]
    return documents.qids[first], sorted(table, key=lambda row: -abs(row["part"])), scores
