"""`gpukit bench`: run benchmarks and add rows to the benchmark table."""

import os

import click

from gpukit.bench import NAMES, Conditions, find
from gpukit.cli import options, report
from gpukit.cli.options import option
from gpukit.cli.reproduce import reproduce
from gpukit.device import resolve
from gpukit.errors import ParameterError

SHAPES = (
    *("ml-10m", "netflix", "yahoo", "mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007", "mq2008"),
    *("ego-facebook", "64x64x2100", "512x512x2600"),
)


class Bench(click.Command):
    """A command whose first word may be the command `reproduce` instead of a name."""

    commands = {reproduce.name: reproduce}

    def make_context(self, info_name, args, parent=None, **extra):
        """Return the context of this command, or of the one that the first word names."""
        below = self.commands.get(args[0]) if args else None
        if below is None:
            return super().make_context(info_name, args, parent, **extra)
        return below.make_context(f"{info_name} {below.name}", args[1:], parent, **extra)


@click.command("bench", cls=Bench)
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@option(
    "--shape shapes NAME", f"Use only these generated shapes: {', '.join(SHAPES)}.", click.Choice(SHAPES), multiple=True
)
@option("--scale", "Fraction of their ratings, queries or vertices.", click.FloatRange(0, 1, min_open=True), 1.0)
@option("--workers", "Processes of benchmarks that measure errors only.", click.IntRange(1, 256), 1)
@option("--output FILE", "Add the rows to this csv file.")
@options.device
def bench(names, shapes, scale, workers, output, device):
    """Run the benchmarks NAMES (default: all) and print for each row: what, shape, p20, p50, p80, unit.

    Real data are read from the folder GPUKIT_DATA. Results are checked before they are timed. A benchmark that measures
    nothing under these options reports why. This is an error if it was named, or if no benchmark measured anything.

    \b
    gpukit bench epochs hashing --scale 0.01
    gpukit bench ranking --shape mq2007 --device cpu
    gpukit bench --device cuda --output docs/benchmarks.csv
    gpukit bench reproduce ranksvm table2 --scale 0.01      (see gpukit bench reproduce --help)
    """
    from gpukit.bench import measurement

    conditions = Conditions(resolve(device), shapes, scale, os.environ.get("GPUKIT_DATA"), workers)
    empty = []
    for name in names or NAMES:
        is_empty = True
        for row in find(name)(conditions):
            is_empty = False
            line = measurement.line(row, conditions.device)
            report.echo(f"{row.what} | {row.shape} | {line[6]} {line[7]} {line[8]} {row.unit} | {row.note}")
            if output is not None:
                measurement.append(output, [line])
        if is_empty:
            empty.append(name)
            if not names:  # a run of all benchmarks skips those that do not apply
                report.echo(f"bench {name} measured nothing: {reason(conditions)}.", err=True)
    if names and empty:
        raise ParameterError(f"bench {', '.join(empty)} measured nothing: {reason(conditions)}.")
    if len(empty) == len(NAMES):
        raise ParameterError(f"no benchmark of {len(NAMES)} measured anything: {reason(conditions)}.")


def reason(conditions):
    """Describe the possible reasons for a benchmark without rows."""
    causes = [f"it has no shape {' or '.join(conditions.shapes)}"] if conditions.shapes else []
    causes += [] if conditions.device.is_cuda else ["it needs a GPU (--device cuda)"]
    causes += [] if conditions.data else ["it needs real data in the folder GPUKIT_DATA"]
    causes += ["it needs packages of the extra 'bench' (pip install 'gpukit[bench]')"]
    return ", or ".join(causes)
