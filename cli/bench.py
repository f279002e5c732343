"""`gpukit bench`: run benchmarks, repeat tables of the papers, and add rows to the benchmark table."""

import csv
import os

import click

from gpukit.bench import NAMES, Conditions, find, measurement
from gpukit.bench import reproduce as papers
from gpukit.cli import options, outputs, report
from gpukit.cli.options import option
from gpukit.device import resolve
from gpukit.errors import ParameterError
from gpukit.persist import atomic_write, check_writable

SHAPES = (
    *("ml-10m", "netflix", "yahoo", "mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007", "mq2008"),
    *("ego-facebook", "64x64x2100", "512x512x2600"),
)
SCALE = click.FloatRange(0, 1, min_open=True)


@click.command("reproduce")
@click.argument("paper", type=click.Choice(tuple(papers.PAPERS)))
@click.argument("items", nargs=-1, metavar="[TABLE|FIGURE]...")
@option("--scale", "Fraction of the ratings, queries or vertices.", SCALE, 1.0)
@option("--shape shapes NAME", "Use only these shapes of generated data.", multiple=True)
@option("--output FILE", "Write the table here as csv.")
@option("--rows FILE", "Add the rows to this benchmark table, such as docs/benchmarks.csv.")
@option("--plot FILE", "Draw curves, or the paper's values and ours (png, pdf, svg).")
@options.force
@options.device
def reproduce(paper, items, output, plot, rows, force, **measured):
    """Repeat tables and figures of a PAPER (default: all) and print the paper's values next to ours.

    PAPER is lsh-mf (Li et al. 2022: Tables 4, 6 to 10, Figs. 6 to 10), imputation (Zhou and Zhang 2021: Tables 2 and 3,
    Figs. 6 to 10) or ranksvm (Jin and Lin 2014: Tables 1 to 3, Fig. 1). Items are written table4, fig6. Real data are
    read from the folder GPUKIT_DATA; other data are generated with the shapes of the paper's. Values on generated data
    and at a smaller scale compare with the paper's only in their order.

    \b
    gpukit bench reproduce ranksvm table2 --scale 0.01
    gpukit bench reproduce lsh-mf table7 fig8 --scale 0.01 --output lsh.csv --plot lsh.png
    """
    known = papers.PAPERS[paper]
    names = [item.lower().replace(" ", "").replace(".", "") for item in items]
    for name, item in zip(names, items):
        if name not in known:
            raise ParameterError(f"{paper} has no {item!r} to reproduce. Choose from {', '.join(known)}.")
    check_shapes(paper, measured["shapes"])
    for path, name in ((output, "--output"), (plot, "--plot")):
        outputs.check_output(path, name, force=force)
    outputs.check_plot(plot)
    if rows is not None:
        check_writable(rows)
    device, data = resolve(measured.pop("device")), os.environ.get("GPUKIT_DATA")
    results = []
    for result in reproduce_items(paper, names, Conditions(device, data=data, **measured)):
        results.append(result)
        report.echo(line_of(result))
        if rows is not None:
            measurement.append(rows, [measurement.line(papers.benchmark_row(paper, result.row), device)])
    if not results:
        raise ParameterError(f"{paper} {' '.join(items)} measured nothing: it needs real data in GPUKIT_DATA.")
    if output is not None:
        write_table(output, results)
    if plot is not None:
        draw(results, plot)


def check_shapes(paper, shapes):
    """Raise ParameterError for a shape of generated data that the items of a paper do not have."""
    known = papers.SHAPES[paper]
    for shape in shapes:
        if shape not in known:
            choice = f"Choose from {', '.join(known)}." if known else "Leave --shape out."
            raise ParameterError(f"{paper} has no generated shape {shape!r}. {choice}")


def reproduce_items(paper, names, conditions):
    """Yield the Reproductions of items; all of a paper without names, but report those whose real data are missing."""
    for name in names or papers.PAPERS[paper]:
        try:
            yield from papers.reproduce(paper, [name], conditions)
        except measurement.MissingDataError as error:
            if names:
                raise
            report.echo(f"{paper} {name} measured nothing: {error}", err=True)


def line_of(result):
    """Return a line: what, data, the paper's value, ours and their ratio."""
    row = result.row
    printed = "-" if result.paper is None else f"{result.paper:g}"
    ratio = "" if result.ratio is None else f", ours/paper {result.ratio:.3g}"
    return f"{row.what} | {row.shape}, {row.data} | paper {printed}, ours {result.ours:.5g} {row.unit}".rstrip() + ratio


def write_table(path, results):
    """Write the cells of the results as csv."""
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([papers.COLUMNS, *(result.cells() for result in results)])


def draw(results, path):
    """Write a picture of the curves of the results, or of their values next to the paper's."""
    curves = [(result, papers.curve_of(result.row)) for result in results]
    curves = [(result, curve) for result, curve in curves if curve][:12]
    if curves:
        with outputs.picture(path, 7, 4) as axis:
            for result, curve in curves:
                axis.plot(*zip(*curve), marker=".", label=f"{result.row.what}, {result.row.shape}")
            axis.set(xlabel="seconds", ylabel=curves[0][0].row.unit, xscale="log")
            axis.legend(fontsize=6)
        return
    names = [f"{result.row.what}, {result.row.shape}, {result.row.unit}" for result in results]
    with outputs.picture(path, 8, 1 + 0.25 * len(results)) as axis:
        axis.plot([result.ours for result in results], names, "o", label="gpukit")
        axis.plot([result.paper for result in results], names, "x", label="the paper")
        axis.tick_params(axis="y", labelsize=7)
        axis.set_xscale("log")
        axis.invert_yaxis()
        axis.legend()


class Bench(click.Command):
    """A command whose first word may be the command `reproduce` instead of a name."""

    commands = {reproduce.name: reproduce}

    def make_context(self, info_name, args, parent=None, **extra):
        """Return the context of this command, or of the one that the first word names."""
        below = self.commands.get(args[0]) if args else None
        if below is None:
            return super().make_context(info_name, args, parent, **extra)
        return below.make_context(f"{info_name} {below.name}", args[1:], parent, **extra)


@click.command("bench", cls=Bench, epilog=f"NAMES: {', '.join(NAMES)}.")
@click.argument("names", nargs=-1, metavar="[NAMES]...", type=click.Choice(NAMES))
@option(
    "--shape shapes NAME", f"Use only these generated shapes: {', '.join(SHAPES)}.", click.Choice(SHAPES), multiple=True
)
@option("--scale", "Fraction of their ratings, queries or vertices.", SCALE, 1.0)
@option("--output FILE", "Add the rows to this csv file.")
@options.device
def bench(names, shapes, scale, output, device):
    """Run the benchmarks NAMES (default: all) and print for each row: what, shape, p20, p50, p80, unit.

    Real data are read from the folder GPUKIT_DATA. Results are checked before they are timed. A benchmark that measures
    nothing under these options reports why. This is an error if it was named, or if no benchmark measured anything.

    \b
    gpukit bench epochs roofline --scale 0.01
    gpukit bench ranking --shape mq2007 --device cpu
    gpukit bench --device cuda --output docs/benchmarks.csv
    gpukit bench reproduce ranksvm table2 --scale 0.01      (see gpukit bench reproduce --help)
    """
    if output is not None:
        check_writable(output)
    conditions = Conditions(resolve(device), shapes, scale, os.environ.get("GPUKIT_DATA"))
    empty = []
    for name in names or NAMES:
        count = 0
        try:
            for row in find(name)(conditions):
                count += 1
                line = measurement.line(row, conditions.device)
                report.echo(f"{row.what} | {row.shape} | {line[6]} {line[7]} {line[8]} {row.unit} | {row.note}")
                if output is not None:
                    measurement.append(output, [line])
        except measurement.MissingDataError:
            if names:
                raise
        if not count:
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
