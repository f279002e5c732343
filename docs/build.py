"""Writes what is generated in docs/: cli.md (every command's --help) and benchmarks.md (the tables of benchmarks.csv).

`make docs` runs it; a gate compares.
"""

import csv
import re
from pathlib import Path

import click

FOLDER = Path(__file__).parent
COMMANDS_HEAD = """# Commands

Generated from `--help` by docs/build.py (`make docs`); do not edit.
"""
BENCHMARKS_HEAD = """# Benchmarks

Generated from benchmarks.csv by docs/build.py (`make docs`); do not edit. The file is a record: rows are only ever
added, by

    gpukit bench --output docs/benchmarks.csv

and the tables show the newest row of each measurement on each device. p50 is the median of the samples, p20 and p80 are
percentiles. Data is `real`, or `generated` with the shape and the skew of the named data set (`gpukit synth ratings`,
`gpukit synth letor`), never the data set itself: an RMSE or an f on it compares with nothing but other figures on it.
`real graph` is a real graph with generated values on it.
"""
NO_BENCHMARKS = "No figures are recorded yet.\n"
KEY = ("device", "what", "shape", "data")
FIGURES = ("p20", "p50", "p80")
SORTS, LETOR = re.compile(r"^segmented sort|^torch\.sort"), re.compile(r"mslr|mq200|lambdarank|planted", re.IGNORECASE)
SLICES, GRAPHS = re.compile(r"^\d+ x \d+ x \d+$"), re.compile(r"^(ego-facebook|random|METR-LA|\d+x\d+x\d+)\b")


def cli_reference():
    """The text of docs/cli.md: the group's help, then every verb's, a verb's own verbs behind it."""
    from gpukit.cli.main import VERBS, gpukit

    with click.Context(gpukit, info_name="gpukit", terminal_width=100, **gpukit.context_settings) as ctx:
        parts = [COMMANDS_HEAD, section("gpukit", gpukit.get_help(ctx))]
        for verb in VERBS:
            parts += sections_of(gpukit.get_command(ctx, verb), verb, ctx)
    return "\n".join(parts)


def sections_of(command, name, parent):
    """[section] of a command and of the commands below it."""
    with click.Context(command, info_name=name, parent=parent, max_content_width=100, terminal_width=100) as ctx:
        parts = [section(ctx.command_path, command.get_help(ctx))]
        for below, inner in sorted(getattr(command, "commands", {}).items()):
            parts += sections_of(inner, below, ctx)
    return parts


def section(title, text):
    """A heading and a help text as it is printed."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([f"## {title}", "", "```", *lines, "```", ""])


def benchmark_tables(path=FOLDER / "benchmarks.csv"):
    """The text of docs/benchmarks.md: a table a device, its rows in the order in which they were first measured."""
    newest = newest_rows(path)
    parts = [BENCHMARKS_HEAD]
    for device in dict.fromkeys(row["device"] for row in newest):
        parts.append(device_table(device, [row for row in newest if row["device"] == device]))
    return "\n".join(parts if newest else [BENCHMARKS_HEAD, NO_BENCHMARKS])


def newest_rows(path=FOLDER / "benchmarks.csv"):
    """Return the newest row of each measurement on each device, in the order in which they were first measured."""
    return list({tuple(row.get(name) or "" for name in KEY): row for row in rows_of(path)}.values())


def rows_of(path):
    """[dict] of a csv file, [] when it is not there."""
    if not Path(path).exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def device_table(device, rows):
    """A heading, the tables of one device's rows, and the versions that they were measured with."""
    sections = {}
    for row in rows:
        sections.setdefault(subject(row), []).append(row)
    lines = [f"## {device or 'unnamed device'}", ""]
    for name, own in sections.items():
        lines += [f"**{name}**", "", *table(own), ""]
    versions = dict.fromkeys(row["versions"] for row in rows if row.get("versions"))
    return "\n".join([*lines, *(f"Measured with {one}." for one in versions), ""])


def subject(row):
    """What a row is about: the sort, or the job that its shape is of."""
    if SORTS.search(row["what"]):
        return "Sorting"
    kinds = {LETOR: "Learning to rank", SLICES: "Singular-value thresholding", GRAPHS: "Imputation on graphs"}
    found = (name for kind, name in kinds.items() if kind.match(row["shape"]))
    return next(found, "Matrix factorization and neighbours")


def table(rows):
    """[line] of a table."""
    names = ("what", "shape", "data", *FIGURES, "unit", "commit", "note")
    rule = ["---:" if name in FIGURES else "---" for name in names]
    return [line(names), line(rule), *(line([row.get(name) or "" for name in names]) for row in rows)]


def line(cells):
    """A line of a table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


GENERATED = {"cli.md": cli_reference, "benchmarks.md": benchmark_tables}

if __name__ == "__main__":
    for name, text in GENERATED.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
