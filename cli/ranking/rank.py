"""`gpukit rank`: scores of documents by a ranking model."""

from types import SimpleNamespace

import click

from gpukit.cli import models, options, outputs, report
from gpukit.cli.ranking import steps
from gpukit.cli.ranking.table import METRICS, defined, tied, undefined, zeros
from gpukit.cli.stages import Stages


@click.command()
@click.argument("model")
@click.argument("file")
@click.option("--output", metavar="FILE", help="Write the scores here instead of on stdout.")
@options.force
@click.option("--metrics", is_flag=True, help="Also say how well they agree with the labels in FILE (on stderr).")
@options.scoring
@options.null
@options.as_json
@options.quiet
def rank(**values):
    """Score the documents of FILE, one number a line in the file's order; in a query, higher is better.

    FILE is what `gpukit ranksvm` reads, - stdin. A line's label may be any number, such as 0, where none is known.
    --json prints one object, with the scores unless --output takes them.

    \b
    gpukit rank mq.gpukit MQ2008/Fold1/test.txt --output test.scores --metrics
    """
    from gpukit.documents.read import read_like

    ask, stages = SimpleNamespace(**values), Stages()
    outputs.check_output(ask.output, "--output", [ask.model, ask.file], ask.force, text=True)
    outputs.takes_stdout(ask.output, ask.as_json)
    fitted, _ = models.open_model(ask.model, "cpu", stages, models.RANKING)
    names = getattr(fitted, "feature_names_in_", None)
    width = None if hasattr(fitted, "columns_") else fitted.n_features_in_
    with report.warnings_told(ask.quiet):
        documents = read_like(ask.file, ask.null, names, width)
        stages.done("reading")
        scores = fitted.predict(documents)
        stages.done("predicting")
    if ask.output is not None or not ask.as_json:
        steps.write_scores(scores, ask.output)
        stages.done("writing")
    metrics = steps.evaluate(ask, documents, scores) if ask.metrics else None
    stages.done("evaluating")
    show(ask, documents, scores, metrics, stages)


def show(ask, documents, scores, metrics, stages):
    """Print the metrics, the file of the scores and the seconds."""
    facts = {"queries": len(documents.qids), "documents": len(documents.y)}
    if ask.as_json:
        kept = {"output": ask.output} if ask.output is not None else {"scores": scores}
        report.print_json(
            {
                "command": "rank",
                "model": ask.model,
                "file": ask.file,
                **facts,
                "ndcg": ask.ndcg,
                "relevant": ask.relevant,
                "ties": ask.ties,
                "metrics": metrics,
                "reasons": metrics and metrics.reasons,
                "tied": metrics and metrics.ties,
                **kept,
                "seconds": stages.seconds,
            }
        )
        return
    if metrics is not None:
        report.print_table([{**facts, **defined(metrics)}], {**{name: name for name in facts}, **METRICS}, err=True)
        for text in undefined([metrics]):
            report.echo(text, err=True)
        if text := tied(ask.ties, "given", [metrics]):
            report.remark(text, ask.quiet)
        if few := zeros(ask.ndcg, [(len(documents.y), len(documents.qids), steps.short(documents))]):
            report.remark(few, ask.quiet)
    where = "" if ask.output is None or outputs.takes_stdout(ask.output) else f" in {ask.output}"
    report.remark(f"{facts['documents']:,} scores of {facts['queries']:,} queries{where}. {stages.line()}", ask.quiet)
