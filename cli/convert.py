"""`gpukit convert`: a ratings file of any format in, a binary copy (or .npz, .csv) out."""

from pathlib import Path

import click

from gpukit.cli import report
from gpukit.cli.options import as_json, duplicates, quiet, table_file
from gpukit.cli.stages import Stages


@click.command()
@click.argument("ratings", metavar="IN", type=click.Path())
@click.argument("output", metavar="OUT", type=click.Path())
@table_file
@duplicates
@as_json
@quiet
def convert(ratings, output, file_format, columns, sep, duplicates, as_json, quiet):
    """Read the ratings in IN (a file or a folder, compressed or not) and write them to OUT.

    OUT's suffix says how: .gkr is a binary copy that loads at disk speed, .npz a scipy sparse matrix with the ids, .csv
    lines user,item,rating.

    \b
    gpukit convert netflix/ netflix.gkr
    gpukit convert ratings.csv.gz ratings.gkr --columns item,user,-,rating
    """
    stages = Stages()
    from gpukit.datasets import read_ratings, write_ratings
    from gpukit.datasets.binary import check_output

    check_output(output)
    stages.done("starting")
    data = read_ratings(ratings, format=file_format, columns=columns, duplicates=duplicates, sep=sep)
    stages.done("reading")
    write_ratings(data, output)
    stages.done("writing")
    show(written(data, output, stages), stages, as_json, quiet, rate="reading")


def written(data, output, stages):
    """The facts of ratings that were written to a file, as a dict."""
    low, high = data.scale
    return {"output": str(output), "ratings": len(data), "users": data.shape[0], "items": data.shape[1], "lowest": low,
            "highest": high, "bytes": Path(output).stat().st_size, "seconds": dict(stages.seconds)}


def show(facts, stages, as_json, quiet, rate):
    """Print the facts: JSON, or lines for people with the ratings a second of the stage named by rate."""
    speed = facts["ratings"] / max(stages.seconds[rate], 1e-9)
    if as_json:
        report.print_json({**facts, "ratings_per_second": speed})
        return
    if quiet:
        return
    click.echo(f"{facts['output']}: {facts['ratings']:,} ratings, {facts['users']:,} users, {facts['items']:,} items, "
               f"{facts['lowest']:g} to {facts['highest']:g}; {facts['bytes'] / 1e6:,.1f} MB.")
    click.echo(f"{rate.capitalize()}: {speed / 1e6:,.2f} million ratings a second.")
    click.echo(stages.line())
