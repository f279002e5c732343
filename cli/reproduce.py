"""`gpukit bench reproduce`: tables and figures of the papers, with the printed values next to ours."""

import csv
import os

import click

from gpukit.bench import Conditions
from gpukit.cli import options, outputs, report
from gpukit.cli.options import option
from gpukit.device import resolve
from gpukit.errors import ParameterError

ITEMS = {  # of gpukit.bench.reproduce, which --help does not import
    "lsh-mf": "Tables 4, 6 to 10, Figs. 6 to 10",
    "imputation": "Tables 2 and 3, Figs. 6 to 10",
    "ranksvm": "Tables 1 to 3, Fig. 1",
}


@click.command("reproduce")
@click.argument("paper", type=click.Choice(tuple(ITEMS)))
@click.argument("items", nargs=-1, metavar="[TABLE|FIGURE]...")
@option("--scale", "Fraction of the ratings, queries or vertices.", click.FloatRange(0, 1, min_open=True), 1.0)
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
    from gpukit.bench import measurement
    from gpukit.bench import reproduce as papers

    known = papers.PAPERS[paper]
    names = [item.lower().replace(" ", "").replace(".", "") for item in items]
    for name, item in zip(names, items):
        if name not in known:
            raise ParameterError(f"{paper} has no {item!r} to reproduce. Choose from {', '.join(known)}.")
    for path, name in ((output, "--output"), (plot, "--plot")):
        outputs.check_output(path, name, force=force)
    outputs.check_plot(plot)
    device, data = resolve(measured.pop("device")), os.environ.get("GPUKIT_DATA")
    results = []
    for result in papers.reproduce(paper, names, Conditions(device, data=data, **measured)):
        results.append(result)
        report.echo(line_of(result))
        if rows is not None:
            measurement.append(rows, [measurement.line(papers.benchmark_row(paper, result.row), device)])
    if not results:
        raise ParameterError(
            f"{paper} {' '.join(items)} measured nothing: it needs real data in the folder GPUKIT_DATA."
        )
    if output is not None:
        write_table(output, papers.COLUMNS, results)
    if plot is not None:
        draw(results, plot)


def line_of(result):
    """Return a line: what, data, the paper's value, ours and their ratio."""
    row = result.row
    printed = "-" if result.paper is None else f"{result.paper:g}"
    ratio = "" if result.ratio is None else f", ours/paper {result.ratio:.3g}"
    return f"{row.what} | {row.shape}, {row.data} | paper {printed}, ours {result.ours:.5g} {row.unit}".rstrip() + ratio


def write_table(path, columns, results):
    """Write the cells of the results as csv."""
    from gpukit.persist import atomic_write

    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(result.cells() for result in results)


def draw(results, path):
    """Write a picture of the curves of the results, or of their values next to the paper's."""
    from gpukit.bench.reproduce import curve_of
    from gpukit.cli.pictures import picture

    curves = [(result, curve_of(result.row)) for result in results]
    curves = [(result, curve) for result, curve in curves if curve][:12]
    if curves:
        with picture(path, 7, 4) as axis:
            for result, curve in curves:
                axis.plot(*zip(*curve), marker=".", label=f"{result.row.what}, {result.row.shape}")
            axis.set(xlabel="seconds", ylabel=curves[0][0].row.unit, xscale="log")
            axis.legend(fontsize=6)
        return
    with picture(path, 8, 1 + 0.25 * len(results)) as axis:
        places = range(len(results))
        axis.plot([result.ours for result in results], places, "o", label="gpukit")
        axis.plot([result.paper for result in results], places, "x", label="the paper")
        axis.set_yticks(
            places, [f"{result.row.what}, {result.row.shape}, {result.row.unit}" for result in results], fontsize=7
        )
        axis.set_xscale("log")
        axis.invert_yaxis()
        axis.legend()
