"""`gpukit rank`: scores of documents by a ranking model, their parts, and their metrics."""

import re
from pathlib import Path

from gpukit.cli import models, options, outputs, report
from gpukit.cli.options import option
from gpukit.cli.ranking import steps
from gpukit.cli.ranking.table import columns, show_notes
from gpukit.documents import trec
from gpukit.documents.table import take_queries
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import significance
from gpukit.io import sinks

OF_TEST = {"metric": "metric", "model": "MODEL", "against": "--against", "difference": "difference", "low": "from"}
OF_TEST |= {"high": "to", "p": "p"}
OF_TEST_TITLE = "Metrics of both models; difference with its 95 % interval; "
OF_TEST_TITLE += "p of the paired randomization test over queries"


@options.command()
@options.argument("model")
@options.argument("file")
@option("--output FILE", "Write the scores here; to a name in .trec as a TREC run.  [default: stdout]")
@options.force
@option("--metrics", "Print metrics by the labels in FILE too (on stderr).", bool)
@option("--per-query FILE", "Write the metrics of each query here, as csv; those of pairs with weights.")
@option("--against MODEL", "Another model; report whether the difference over queries is significant.")
@option("--qrels FILE", "Take the labels from these TREC qrels; other documents have 0.")
@option("--explain DOC[,DOC]", "Explain the score of a document of FILE, or the difference of two; from 1.")
@options.scoring
@options.null
@options.printing
def rank(ask, stages):
    """Score the documents of FILE, one number a line in the file's order; in a query, higher is better.

    FILE is what `gpukit ranksvm` reads, - stdin. A line's label may be any number, such as 0, where none is known.
    --json prints one object, with the scores unless --output takes them.

    \b
    gpukit rank mq.gpukit MQ2008/Fold1/test.txt --output test.scores --metrics
    gpukit rank new.gpukit test.txt --against old.gpukit --show ndcg@20,mrr --per-query queries.csv
    gpukit rank mq.gpukit test.txt --explain 3,7
    """
    paths = [path for path in (ask.model, ask.file, ask.against, ask.qrels) if path is not None]
    outputs.check_output(ask.output, "--output", paths, ask.force, text="plain")
    outputs.check_output(ask.per_query, "--per-query", paths, ask.force, text="plain")
    if outputs.takes_stdout(ask.output, ask.as_json) + outputs.takes_stdout(ask.per_query, ask.as_json) == 2:
        raise ParameterError("--output and --per-query both go to standard output. Name a file for one of them.")
    if ask.against is not None and ask.file == "-":
        raise ParameterError("--against may read FILE for each model, and standard input is read once. Name a file.")
    if ask.explain is not None:
        unused = "output force per_query against qrels metrics show ndcg relevant ties"
        options.refuse_unused(unused, "is for all scores, and --explain prints the parts of some. Leave out one.")
    ask.metrics = ask.metrics or ask.show is not None or ask.qrels is not None
    if not (ask.metrics or shows_metrics(ask)):
        options.refuse_unused("ndcg relevant ties", "is a rule of metrics, and none are printed. Add --metrics.")
    steps.check_metrics(ask)
    if ask.explain is not None:
        show_explanation(ask, stages)
        return
    with report.collect_warnings(ask.quiet):
        documents, scores, *others = scores_of(ask, stages)
        if ask.qrels is not None:
            documents = trec.relabel(documents, ask.qrels)
    if ask.output is not None or not (ask.as_json or shows_metrics(ask)):
        write(ask, documents, scores)
        stages.done("writing")
    metrics, comparison = evaluate(ask, documents, scores, *others)
    stages.done("evaluating")
    show(ask, documents, scores, metrics, comparison, stages)


def write(ask, documents, scores):
    """Write the scores, or a run of TREC."""
    from gpukit.ranking.serve import rank_scores

    if Path(ask.output or "-").suffix != ".trec":
        steps.write_scores(scores, ask.output)
        return
    ranks = rank_scores(scores, documents.offsets)
    with sinks.open_text_sink(ask.output) as file:
        file.writelines(trec.run_lines(documents, scores, ranks, steps.plain_decimal))


def shows_metrics(ask):
    """Return True if the results are about metrics, not scores."""
    return ask.against is not None or ask.per_query is not None


def scores_of(ask, stages):
    """Return (Documents, scores (l,) of the model, and those of the other one, if any).

    The file is read again for a model with other features.
    """
    features, documents, scores = None, None, []
    for path in filter(None, (ask.model, ask.against)):
        fitted, _ = models.open_model(path, "cpu", stages, models.RANKING)
        feature_names = steps.features_of(fitted)
        if feature_names != features:
            features, documents = feature_names, steps.read_for(fitted, ask)
            stages.done("reading")
        scores.append(fitted.predict(documents))
        stages.done("predicting")
    return documents, *scores


def evaluate(ask, documents, scores, others=None):
    """Return (the model's evaluation.ranking.Metrics or None, rows of the comparison); write the file of the queries.

    others: scores of the other model, or None.
    """
    metrics = steps.evaluate(ask, documents, scores) if ask.metrics or shows_metrics(ask) else None
    if not shows_metrics(ask):
        return metrics, []
    names = [name for name in columns(ask) if name not in metrics.reasons]
    ours = metrics_by_query(ask, documents, scores, names)
    other_values = {} if others is None else metrics_by_query(ask, documents, others, names)
    if ask.per_query is not None:
        write_queries(ask.per_query, documents, ours, other_values)
    return metrics, [compare(name, *ours[name], other_values[name][0]) for name in other_values]


def metrics_by_query(ask, documents, scores, names):
    """Return {metric: (values (m,), weights (m,))}, whose weighted means are those of steps.evaluate."""
    from gpukit.evaluation.ranking import values_by_query

    rules = report.pick(ask, "ndcg relevant ties")
    return values_by_query(names, documents.y, scores, documents.offsets, **rules, tied=0.0)


def write_queries(path, documents, ours, other_values):
    """Write a row per query: its id, number of documents, metrics, and those of the other model."""
    rows = {"query": documents.qids, "documents": documents.offsets[1:] - documents.offsets[:-1]}
    rows |= mark_undefined(ours)
    if "pa" in ours:
        rows["pairs"] = ours["pa"][1].astype(int)
    rows |= {f"{name} --against": values for name, values in mark_undefined(other_values).items()}
    outputs.write_csv(path, list(rows), [lambda: list(rows.values())])


def mark_undefined(metrics):
    """Return {metric: values (m,)}, nan where undefined; those of the pairs are weighted by the column of pairs."""
    import numpy as np

    return {name: np.where(weights > 0, values, np.nan) for name, (values, weights) in metrics.items()}


def compare(name, ours, weights, other_values):
    """Return a row of the comparison: both metrics, the difference, its 95 % interval and p, over queries."""
    counted = weights > 0
    ours, other_values, weights = ours[counted], other_values[counted], weights[counted]
    share = weights / weights.mean()
    difference = significance.compare(ours * share, other_values * share)
    means = {"model": float((ours * share).mean()), "against": float((other_values * share).mean())}
    return {"metric": name, **means, "difference": difference.mean, **report.pick(difference, "low high p")}


def show(ask, documents, scores, metrics, comparison, stages):
    """Print the metrics, the comparison, the file of the scores and the seconds."""
    facts = {"queries": len(documents.qids), "documents": len(documents.y)}
    if ask.as_json:
        fields = {"output": ask.output} if ask.output is not None else {"scores": scores}
        facts |= report.pick(ask, "model file ndcg relevant ties against per_query qrels")
        facts |= {"metrics": metrics, "reasons": metrics and metrics.reasons, "tied": metrics and metrics.ties}
        return report.print_result({**facts, "comparison": comparison, **fields}, stages)
    if metrics is not None:
        headings = {name: name for name in facts} | columns(ask)
        report.print_table([{**facts, **metrics}], headings, err=True)
        show_notes(ask, [{"given": metrics}], [steps.size_of(documents)], err=True)
    if comparison:
        report.print_table(comparison, OF_TEST, OF_TEST_TITLE)
    where = "" if ask.output is None or outputs.takes_stdout(ask.output) else f" in {ask.output}"
    report.remark(f"{facts['documents']:,} scores of {facts['queries']:,} queries{where}. {stages.line()}", ask.quiet)


def show_explanation(ask, stages):
    """Print a row for each feature, the largest part first."""
    numbers = read_numbers(ask.explain)
    fitted, _ = models.open_model(ask.model, "cpu", stages, models.RANKING)
    with report.collect_warnings(ask.silent):
        documents = steps.read_for(fitted, ask)
    stages.done("reading")
    query, rows, scores = explain(fitted, documents, numbers)
    if ask.as_json:
        facts = {**report.pick(ask, "model file"), "documents": numbers, "query": query}
        return report.print_result({**facts, "scores": scores, "parts": rows}, stages)
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
        raise ParameterError(f"--explain {text!r} is not the number of a document, from 1, or two, such as 3,7.")
    return [int(word) for word in text.split(",")]


def explain(fitted, documents, numbers):
    """Return (query id, rows of parts, scores) of documents by their numbers from 1."""
    import numpy as np

    from gpukit.ranking import serve

    if max(numbers) > len(documents.y):
        raise DataError(f"--explain {max(numbers):,}: the file has {len(documents.y):,} documents.")
    first, *others = (np.searchsorted(documents.offsets, number - 1, "right") - 1 for number in numbers)
    if any(other != first for other in others):
        first_id, other_id = documents.qids[first], documents.qids[others[0]]
        raise DataError(
            f"--explain {numbers[0]},{numbers[1]}: queries {first_id} and {other_id}. Give documents of one query."
        )
    query = take_queries(documents, [first])
    rows = [number - 1 - int(documents.offsets[first]) for number in numbers]
    parts = fitted.explain(query)[rows]
    values = serve.in_model_order(fitted, query.X, query.names)[rows]
    values = values.toarray() if hasattr(values, "indptr") else values
    scores = parts.sum(axis=1).tolist()
    shares = (parts[0] - parts[1:].sum(axis=0)).tolist()
    names = serve.known_features(fitted)
    if names is None or hasattr(names, "columns"):  # features have numbers
        names = getattr(names, "columns", np.arange(values.shape[1])) + 1
    labels = [*names.tolist(), "waves of all features"]
    columns = [*(dict(zip(("value", "other"), column)) for column in values.T.tolist()), {}]
    table = [{"feature": label, **column, "part": part} for label, column, part in zip(labels, columns, shares) if part]
    return documents.qids[first], sorted(table, key=lambda row: -abs(row["part"])), scores
