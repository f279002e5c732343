"""`gpukit convert`: ratings or documents of queries in any format in, a binary copy (or .npz, .csv, .txt) out."""

from pathlib import Path

import click

from gpukit.cli import report
from gpukit.cli.options import as_json, duplicates, null, quiet, table_file
from gpukit.cli.stages import Stages


@click.command()
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("output", metavar="OUT", type=click.Path())
@table_file
@duplicates
@null
@as_json
@quiet
def convert(source, output, file_format, columns, sep, duplicates, null, as_json, quiet):
    """Read the ratings in IN (a file or a folder, compressed or not) and write them to OUT.

    OUT's suffix says how: .gkr is a binary copy that loads at disk speed, .npz a scipy sparse matrix with the ids, .csv
    lines user,item,rating.

    Documents of queries (svmlight with qid:, or with FILE.query beside it) become a .gkl, a binary copy that loads at
    disk speed, or .txt, svmlight text; --null is for them, --format, --columns, --sep and --duplicates for ratings.

    \b
    gpukit convert netflix/ netflix.gkr
    gpukit convert ratings.csv.gz ratings.gkr --columns item,user,-,rating
    gpukit convert MQ2008/Fold1/train.txt train.gkl
    """
    stages = Stages()
    from gpukit.documents import copies, read_letor, write_letor
    from gpukit.documents.read import is_letor

    if Path(output).suffix.lower() in copies.SUFFIXES or (file_format == "auto" and is_letor(source)):
        copies.check_output(output)
        stages.done("starting")
        documents = read_letor(source, null=null)
        stages.done("reading")
        write_letor(documents, output)
        stages.done("writing")
        show(*written_documents(documents, output, stages), stages, as_json, quiet, rate=("reading", "documents"))
        return
    data = _convert_ratings(source, output, stages, format=file_format, columns=columns, duplicates=duplicates, sep=sep)
    show(*written(data, output, stages), stages, as_json, quiet, rate=("reading", "ratings"))


def _convert_ratings(source, output, stages, **request):
    """The Ratings read from source, by the words of read_ratings, and written to output."""
    from gpukit.ratings import read_ratings, write_ratings
    from gpukit.ratings.copies import check_output

    check_output(output)
    stages.done("starting")
    data = read_ratings(source, **request)
    stages.done("reading")
    write_ratings(data, output)
    stages.done("writing")
    return data


def written(data, output, stages):
    """(facts, line for people) of ratings that were written to a file."""
    low, high = data.scale
    facts = {
        "output": str(output),
        "ratings": len(data),
        "users": data.shape[0],
        "items": data.shape[1],
        "lowest": low,
        "highest": high,
        "bytes": Path(output).stat().st_size,
        "seconds": dict(stages.seconds),
    }
    return facts, f"{len(data):,} ratings, {data.shape[0]:,} users, {data.shape[1]:,} items, {low:g} to {high:g}"


def written_documents(documents, output, stages):
    """(facts, line for people) of documents that were written to a file or a folder."""
    files = [file for file in (Path(output), *Path(output).rglob("*")) if file.is_file()]
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
        "bytes": sum(file.stat().st_size for file in files),
        "seconds": dict(stages.seconds),
    }
    return facts, f"{l:,} documents, {len(documents.qids):,} queries, {n} features, relevance {low:g} to {high:g}"


def show(facts, line, stages, as_json, quiet, rate):
    """Print the facts: JSON, or lines for people; rate: (a stage, what is counted a second of it)."""
    stage, things = rate
    speed = facts[things] / max(stages.seconds[stage], 1e-9)
    if as_json:
        report.print_json({**facts, f"{things}_per_second": speed})
        return
    if quiet:
        return
    click.echo(f"{facts['output']}: {line}; {facts['bytes'] / 1e6:,.1f} MB.")
    click.echo(f"{stage.capitalize()}: {speed / 1e6:,.2f} million {things} a second.")
    click.echo(stages.line())
