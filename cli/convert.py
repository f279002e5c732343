"""`gpukit convert`: convert ratings or documents to a binary copy or another format."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import click

from gpukit.cli import outputs, report
from gpukit.cli.options import as_json, duplicates, force, null, option, quiet, table_file
from gpukit.cli.report import Stages


@click.command()
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("output", metavar="OUT", type=click.Path())
@table_file
@duplicates
@option("--times", "Keep the times of ratings (timestamp, time, date).", bool)
@null
@force
@as_json
@quiet
def convert(source, output, null, force, as_json, quiet, **request):
    """Read the ratings in IN (a file or a folder, compressed or not; - is stdin) and write them to OUT.

    OUT's suffix says how: .gkr is a binary copy that loads at disk speed, .npz a scipy sparse matrix with the ids,
    .parquet and .csv have the columns user, item, rating; - writes csv on stdout. --times, and --columns
    user,item,rating,weight,count, keep more than the ratings; of a .gkr and an .npz all is kept. A line on stderr names
    columns of times, weights and counts that are not converted.

    Documents of queries (svmlight with qid:, or with FILE.query or FILE.group next to it, csv or Parquet with columns
    label and qid) become a .gkl, a binary copy that loads at disk speed, .parquet, or .txt, svmlight text (- too),
    which has no place for names of features; --null is for them, --format, --columns, --sep, --duplicates and --times
    for ratings.

    \b
    gpukit convert netflix/ netflix.gkr
    gpukit convert ratings.csv.gz ratings.gkr --columns item,user,-,rating
    gpukit convert ml-1m/ratings.dat ratings.parquet --times
    gpukit convert MQ2008/Fold1/train.txt train.gkl
    zcat ratings.csv.gz | gpukit convert - - --times | sort -t, -k4 | head
    """
    stages = Stages()
    outputs.takes_stdout(output, as_json)
    outputs.check_output(output, "OUT", [source], force, text=True)
    request["format"] = request.pop("file_format")
    with _opened(source) as source:
        if _are_documents(source, output, request["format"]):
            documents = _convert_documents(source, output, stages, null, quiet)
            result = *written_documents(documents, output, stages), "documents"
        else:
            data = _convert_ratings(source, output, stages, quiet or as_json, **request)
            result = *written(data, output, stages), "ratings"
    facts, line, things = result
    show(facts, line, stages, SimpleNamespace(as_json=as_json, quiet=quiet), rate=("reading", things))


def _opened(path):
    """Open the Source of a file or a pipe.

    The name of a folder is returned unchanged.
    """
    from gpukit.io import sources

    return contextlib.nullcontext(path) if Path(path).is_dir() else sources.opened(path)


def _are_documents(source, output, file_format):
    """Return True if the output's name or the source's content indicates documents."""
    from gpukit.documents.copies import SUFFIXES
    from gpukit.documents.read import is_letor
    from gpukit.io.sources import Source
    from gpukit.ratings.copies import SUFFIXES as OF_RATINGS

    suffix = Path(output).suffix.lower()
    named = suffix in SUFFIXES and suffix not in OF_RATINGS
    return named or (file_format == "auto" and isinstance(source, Source) and is_letor(source))


def _convert_documents(source, output, stages, null, quiet):
    """Read Documents from the source and write them to the output."""
    from gpukit.documents import read_letor, write_letor
    from gpukit.documents.copies import check_copy

    check_copy(output)
    stages.done("starting")
    with report.collect_warnings(quiet):
        documents = read_letor(source, null=null)
        stages.done("reading")
        write_letor(documents, output)
        stages.done("writing")
    return documents


def _convert_ratings(source, output, stages, quiet, **request):
    """Read Ratings with the options of read_ratings and write them to the output."""
    from gpukit.ratings import read_ratings, write_ratings
    from gpukit.ratings.copies import check_copy

    check_copy(output)
    stages.done("starting")
    request["times"] = request["times"] or ("auto" if getattr(source, "format", "") in ("gkr", "npz") else False)
    data = read_ratings(source, **request)
    stages.done("reading")
    for name, facts in report.read_notes().items():
        if "left_out" in facts:
            columns = ", ".join(facts["left_out"])
            report.remark(
                f"{name}: not converted: {columns}. --times keeps times, --columns weights and counts.", quiet
            )
    write_ratings(data, output)
    stages.done("writing")
    return data


def written(data, output, stages):
    """Return (facts, line of text) of ratings that were written to a file."""
    from gpukit.ratings.clicks import are_pairs

    low, high = data.scale
    facts = {
        "output": str(output),
        "ratings": len(data),
        "users": data.shape[0],
        "items": data.shape[1],
        "lowest": low,
        "highest": high,
        "bytes": outputs.size_of(output),
        "seconds": dict(stages.seconds),
    }
    what = f"{len(data):,} ratings, {data.shape[0]:,} users, {data.shape[1]:,} items, {low:g} to {high:g}"
    if are_pairs(data):
        facts |= {"clicks": int(data.counts.sum())}
        what = (
            f"{len(data):,} pairs without ratings (clicks), {data.shape[0]:,} users, {data.shape[1]:,} items, counted "
            + ("once" if data.counts.max() == 1 else f"{data.counts.min():g} to {data.counts.max():g} times")
        )
    return facts, what


def written_documents(documents, output, stages):
    """Return (facts, line of text) of documents written to a file or folder."""
    l, n = documents.X.shape
    low, high = float(documents.y.min()), float(documents.y.max())
    facts = {
        "output": str(output),
        "documents": l,
        "queries": len(documents.qids),
        "features": n,
        "lowest": low,
        "highest": high,
        "longest_query": int((documents.offsets[1:] - documents.offsets[:-1]).max()),
        "bytes": outputs.size_of(output),
        "seconds": dict(stages.seconds),
    }
    return facts, f"{l:,} documents, {len(documents.qids):,} queries, {n} features, relevance {low:g} to {high:g}"


def show(facts, line, stages, ask, rate):
    """Print the facts as JSON or as lines.

    rate: (stage, name of the items counted per second of the stage).
    """
    stage, things = rate
    speed = facts[things] / max(stages.seconds[stage], 1e-9)
    if ask.as_json:
        report.print_json({**facts, f"{things}_per_second": speed})
        return
    if ask.quiet:
        return
    aside = outputs.takes_stdout(facts["output"])
    size = "" if aside else f"; {outputs.spelled_size(facts['bytes'])}"
    report.echo(f"{facts['output']}: {line}{size}.", err=aside)
    spelled = f"{speed / 1e6:,.2f} million" if speed >= 1e5 else f"{speed:,.0f}"
    report.echo(f"{stage.capitalize()}: {spelled} {things} a second.", err=aside)
    report.echo(stages.line(), err=aside)
