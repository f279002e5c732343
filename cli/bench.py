"""`gpukit bench`: measure, and add rows to the benchmark table."""

import os

import click

from gpukit.bench import NAMES, Conditions, find
from gpukit.cli import options, report
from gpukit.device import resolve
from gpukit.errors import ParameterError

SHAPES = (
    "ml-10m",
    "netflix",
    "yahoo",
    "mslr-web30k",
    "mslr-web10k",
    "mq2007-list",
    "mq2008-list",
    "mq2007",
    "mq2008",
    "ego-facebook",
    "random",
    "64x64x2100",
    "512x512x2600",
)


@click.command("bench")
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice(SHAPES),
    metavar="NAME",
    help=f"Only these shapes of generated data, of those that a benchmark measures: {', '.join(SHAPES)}.",
)
@click.option(
    "--scale",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of their ratings, queries or vertices.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Processes that judge seeds side by side, where errors are measured and no times (impute-metr-la, "
    "impute-molene).",
)
@click.option("--output", metavar="FILE", help="Add the rows to this csv file.")
@options.device
def bench(names, shapes, scale, workers, output, device):
    """Measure NAMES (all of them without any) and print a line each: what, shape, p20, p50, p80, unit.

    Real data is found in the folder that GPUKIT_DATA names. Answers are checked before they are timed. A benchmark that
    measures nothing under these options says why; it is an error, after the others have run, where it was named, or
    where none measured anything.

    \b
    gpukit bench epochs hashing --scale 0.01
    gpukit bench ranking --shape mq2007 --device cpu
    gpukit bench --device cuda --output docs/benchmarks.csv
    """
    from gpukit.bench import record

    conditions = Conditions(resolve(device), shapes, scale, os.environ.get("GPUKIT_DATA"), workers)
    empty = []
    for name in names or NAMES:
        measured = False
        for row in find(name)(conditions):
            measured = True
            line = record.line(row, conditions.device)
            report.echo(f"{row.what} | {row.shape} | {line[6]} {line[7]} {line[8]} {row.unit} | {row.note}")
            if output is not None:
                record.append(output, [line])
        if not measured:
            empty.append(name)
            if not names:  # those of a whole run that do not apply are no error
                report.echo(f"bench {name} measured nothing: {reason(conditions)}.", err=True)
    if names and empty:
        raise ParameterError(f"bench {', '.join(empty)} measured nothing: {reason(conditions)}.")
    if len(empty) == len(NAMES):
        raise ParameterError(f"no benchmark of {len(NAMES)} measured anything: {reason(conditions)}.")


def reason(conditions):
    """Return what may keep a benchmark from measuring anything under the conditions."""
    causes = [f"it has no shape {' or '.join(conditions.shapes)}"] if conditions.shapes else []
    causes += [] if conditions.device.is_cuda else ["it needs a GPU (--device cuda)"]
    causes += [] if conditions.data else ["it needs real data in the folder that GPUKIT_DATA names"]
    causes += ["it needs packages of the extra 'bench' (pip install 'gpukit[bench]')"]
    return ", or ".join(causes)
