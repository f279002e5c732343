"""Writes what is generated in docs/: cli.md (every command's --help); the tables of benchmarks.csv: benchmarks.md,
and roofline.md, whose sections other pages include.

`make docs` runs it; a gate compares.
"""

import csv
import math
import re
from pathlib import Path

import click

FOLDER = Path(__file__).parent
COLUMNS = 80  # of the blocks of a page on a screen of 1,280 pixels
COMMANDS_HEAD = """# Commands

Generated from `--help` by docs/build.py (`make docs`); do not edit.
"""
BENCHMARKS_HEAD = """# Benchmarks

Generated from benchmarks.csv by docs/build.py (`make docs`); do not edit. The file is a record: rows are only ever
added, by

    gpukit bench --output docs/benchmarks.csv

A table has the measurements of one shape, a column for each device, or those of several shapes on one device. Each
cell is the newest row: the median (p50) and, if it is at least 0.1 %, half the distance from the 20th to the 80th
percentile, relative to the median. Versions, commit, number of samples and a note are in benchmarks.csv. Empty cells
were not measured; "no value": the method failed or did not reach the target, as the note says.

Data is `real`, or `generated` with the shape and the skew of the named data set (`gpukit synth ratings`,
`gpukit synth letor`), never the data set itself: an RMSE or an f on it compares with nothing but other figures on it.
`real graph` is a real graph with generated values on it. A column "the paper" has the value that the paper prints, on
the data that it names.
"""
NO_BENCHMARKS = "No figures are recorded yet.\n"
KEY = ("device", "what", "shape", "data")
LEAST_SPREAD = 0.1  # percent
SERIES = 3  # shapes with the same measurements on one device, from which on they share a table
PAPER = re.compile(r"the paper: ([\d.]+(?:e-?\d+)?(?: (?:\w+|%))?(?:, [^;\d][^;]*)?)(?:;|$)")
THREADS, GPU_NAME = re.compile(r"(\d+) thread"), re.compile(r"^cuda:\d+ \((?:NVIDIA )?(.+)\)$")
ROOFLINE_HEAD = """# Share of the peak

Generated from benchmarks.csv by docs/build.py (`make docs`); do not edit. `gpukit bench roofline` counts the bytes that
each kernel reads and writes and its operations from the shapes of its arguments, and measures in the same run the
bandwidth of a copy (read plus written), the rate of a product of matrices in float32, and the time of the kernel, after
its answer was compared with the CPU twin's. The share is the longer of bytes / bandwidth and operations / rate, divided
by the time. Rows in a cache are faster than the bandwidth, so a share may exceed 100 %. Whole-number operations and
float64 are compared with the rate of float32 too. Pictures of the kernels:
[factorization](factorization.md#how-an-epoch-runs), [least squares](solvers.md#alternating-least-squares),
[neighbours](neighbors.md#implementation), [ranking](ranking.md#the-gpu-pass), [sorting](sorting.md#algorithm),
[singular values](svt.md#rotations), [smoothness](imputation.md#smoothness-over-graph-and-time).
"""
NOT_MEASURED = "Not measured yet: `gpukit bench roofline --output docs/benchmarks.csv`.\n"
ROOFLINE = {  # section of roofline.md, which the page of this name includes: names of its kernels
    "factorization": "epoch CU",
    "solvers": "epoch iALS",
    "neighbors": "simLSH|Hamming|the 32 smallest",
    "ranking": "product with the Hessian|X v",
    "sorting": "segmented_argsort",
    "svt": "singular-value",
    "imputation": "step of conjugate gradients",
}
PEAKS = "copy|product of matrices"
PAPERS_HEAD = """# Tables and figures of the papers

Generated from benchmarks.csv by docs/build.py (`make docs`); do not edit. Rows are added by

    gpukit bench reproduce PAPER [TABLE|FIGURE ...] --rows docs/benchmarks.csv

([guide](guides/papers.md)). Values on generated data compare with the paper's only in their order; times were measured
on other hardware than the paper's. Cells and kinds of data: [benchmarks](benchmarks.md).
"""
PAPERS = {  # section of papers.md: its rows, by "what | shape"
    "LSH-MF: Li et al. 2022": re.compile(r"^(Table|Fig\.) \d|^online: (test RMSE trained anew|rise of RMSE)"),
    "Imputation: Zhou and Zhang 2021": re.compile("^Imputation, "),
    "RankSVM: Jin and Lin 2014": re.compile("^RankSVM, "),
}
SUBJECTS = {  # by "what | shape"; the first that fits
    "Sorting": re.compile(r"^segmented sort|^torch\.sort"),
    "Learning to rank": re.compile(r"\| .*(mslr|mq200|lambdarank|planted)", re.IGNORECASE),
    "Singular-value thresholding": re.compile(r"\| \d+ x \d+ x \d+$"),
    "Imputation on graphs": re.compile(r"missing: |\| (ego-facebook|random|METR-LA|Molene|\d+x\d+x\d+)\b"),
    "Clicks": re.compile(r"iALS|EASE|\| .*\bNCF\b|\| ncf\b"),
    "Reading files": re.compile(r"\| .*million rows"),
    "Similarity": re.compile(r"^liked together"),
}
OTHERS = "Matrix factorization and neighbours"


def cli_reference():
    """The text of docs/cli.md: the group's help, then every verb's, a verb's own verbs behind it."""
    from gpukit.cli.main import VERBS, gpukit

    with click.Context(gpukit, info_name="gpukit", terminal_width=COLUMNS, **gpukit.context_settings) as ctx:
        parts = [COMMANDS_HEAD, section("gpukit", gpukit.get_help(ctx))]
        for verb in VERBS:
            parts += sections_of(gpukit.get_command(ctx, verb), verb, ctx)
    return "\n".join(parts)


def sections_of(command, name, parent):
    """[section] of a command and of the commands below it."""
    with click.Context(
        command, info_name=name, parent=parent, max_content_width=COLUMNS, terminal_width=COLUMNS
    ) as ctx:
        path = re.sub(
            r" \[[^]]*\](\.\.\.)?", "", ctx.command_path
        )  # without the choices of an argument of the command above
        parts = [section(path, command.get_help(ctx))]
        for below, inner in sorted(getattr(command, "commands", {}).items()):
            parts += sections_of(inner, below, ctx)
    return parts


def section(title, text):
    """A heading and a help text as it is printed."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([f"## {title}", "", "```", *lines, "```", ""])


def benchmark_tables(path=FOLDER / "benchmarks.csv"):
    """The text of docs/benchmarks.md: a section a subject, a table a shape, a column a device."""
    rows = [row for row in newest_rows(path) if paper(row) is None and not row["what"].startswith("roofline: ")]
    sections = grouped(rows, subject)
    if not sections:
        return "\n".join([BENCHMARKS_HEAD, NO_BENCHMARKS])
    names = [*SUBJECTS, OTHERS]
    return "\n".join([BENCHMARKS_HEAD, *(subject_section(name, sections[name]) for name in names if name in sections)])


def newest_rows(path=FOLDER / "benchmarks.csv"):
    """Return the newest row of each measurement on each device, in the order in which they were first measured."""
    return list({tuple(row.get(name) or "" for name in KEY): row for row in rows_of(path)}.values())


def rows_of(path):
    """[dict] of a csv file, [] when it is not there."""
    if not Path(path).exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def grouped(rows, key):
    """Return {key: [row]} in the order of the first row of each."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def paper_tables(path=FOLDER / "benchmarks.csv"):
    """The text of docs/papers.md: a section a paper, a table a shape."""
    sections = grouped(newest_rows(path), paper)
    missing = "\nNot measured at full scale yet.\n"
    parts = (subject_section(name, sections.get(name, [])) + missing * (name not in sections) for name in PAPERS)
    return "\n".join([PAPERS_HEAD, *parts])


def paper(row):
    """Return the section of papers.md of a row; None for one that is not of a paper's table or figure."""
    return next((name for name, pattern in PAPERS.items() if pattern.search(row["what"])), None)


def subject(row):
    """Return the subject of a row."""
    text = f"{row['what']} | {row['shape']}"
    return next((name for name, pattern in SUBJECTS.items() if pattern.search(text)), OTHERS)


def subject_section(name, rows):
    """Return the section of a subject: its heading and its tables."""
    shapes = grouped(rows, lambda row: (row["shape"], row["data"])).values()
    lines = [f"## {name}", ""]
    for alike in grouped(shapes, measured).values():
        if len(alike) >= SERIES and len({row["device"] for row in alike[0]}) == 1:
            lines += [f"**{short(alike[0][0]['device'])}, {alike[0][0]['data']}**", "", *series_table(alike), ""]
            continue
        for own in alike:
            lines += [f"**{own[0]['shape']}, {own[0]['data']}**", "", *table(own), ""]
    return "\n".join(lines)


def measured(rows):
    """Return what the rows of one shape measure, on which devices."""
    return rows[0]["data"], tuple((row["device"], row["what"], row["unit"]) for row in rows)


def series_table(shapes):
    """Return the lines of a table of one device: a line a shape, a column a measurement."""
    names = [f"{row['what']}, {row['unit']}" for row in shapes[0]]
    lines = [line(["shape", *names]), line(["---"] + ["---:"] * len(names))]
    return lines + [line([rows[0]["shape"], *map(cell, rows)]) for rows in shapes]


def table(rows):
    """Return the lines of a table: a line a measurement, a column a device."""
    devices = sorted({row["device"] for row in rows}, key=device_order)
    measurements = grouped(rows, lambda row: (row["what"], row["unit"]))
    published = {what: paper_value(own) for what, own in measurements.items()}
    columns = [*map(short, devices), *(["the paper"] if any(published.values()) else [])]
    lines = [line(["what", "unit", *columns]), line(["---"] * 2 + ["---:"] * len(columns))]
    for what, own in measurements.items():
        cells = {row["device"]: cell(row) for row in own}
        values = [*(cells.get(device, "") for device in devices), published[what]]
        lines.append(line([*what, *values[: len(columns)]]))
    return lines


def device_order(device):
    """Return the sort key of a device: GPUs first, then CPUs by falling number of threads."""
    threads = THREADS.search(device)
    return (threads is not None, -int(threads[1]) if threads else 0, device)


def short(device):
    """Return the name of a device without its index and maker."""
    return GPU_NAME.sub(r"\1", device) or "unnamed device"


def cell(row):
    """Return the median of a row, and half the distance from p20 to p80: relative to it, or itself if it is larger."""
    low, middle, high = (float(row[name]) for name in ("p20", "p50", "p80"))
    if math.isnan(middle):
        return "no value"
    spread = 50 * (high - low) / abs(middle) if middle else 0
    if spread < LEAST_SPREAD:
        return shortened(middle)
    if spread > 100:
        return f"{shortened(middle)} ±{shortened((high - low) / 2)}"
    return f"{shortened(middle)} ±{spread:.{0 if spread >= 0.95 else 1}f} %"


def shortened(value):
    """Return a number of four significant digits, large ones as whole numbers."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def paper_value(rows):
    """Return the value that a paper prints for a measurement, from its note or papers.csv; '' without one."""
    notes = [row.get("note") or "" for row in rows] + [printed_note(rows[0]) if paper(rows[0]) else ""]
    return next((found[1] for note in notes if (found := PAPER.search(note))), "")


def printed_note(row):
    """Return the note with the paper's value for a row of a paper's table; '' without one."""
    from gpukit.bench.measurement import Row, add_printed
    from gpukit.bench.reproduce import PREFIXES

    what = row["what"]
    for prefix in PREFIXES.values():
        what = what.removeprefix(prefix)
    return add_printed(Row(what, row["shape"], row["data"], [], row["unit"])).note


def line(cells):
    """A line of a table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def roofline_tables(path=FOLDER / "benchmarks.csv"):
    """The text of docs/roofline.md: the measured peaks, and a section for each page of kernels."""
    rows = [row for row in newest_rows(path) if row["what"].startswith("roofline: ")]
    peaks = [line(["peak", "device", "measured"]), line(["---", "---", "---:"])]
    peaks += [line([kernel_of(row), short(row["device"]), f"{cell(row)} {row['unit']}"]) for row in of(PEAKS, rows)]
    parts = [ROOFLINE_HEAD, "\n".join([*peaks, ""]) if rows else NOT_MEASURED]
    for page, names in ROOFLINE.items():
        marks = (f"<!-- --8<-- [{end}:{page}] -->" for end in ("start", "end"))
        parts.append(f"## {page.capitalize()}\n\n{next(marks)}\n\n{kernel_table(of(names, rows))}\n{next(marks)}\n")
    return "\n".join(parts)


def of(names, rows):
    """Return the rows of kernels whose names begin in one of these ways."""
    return [row for row in rows if re.match(names, kernel_of(row))]


def kernel_of(row):
    """Return the name of the kernel of a row of the roofline."""
    return row["what"].removeprefix("roofline: ")


def kernel_table(rows):
    """Return the table of kernels: data, device, time, bytes, operations and share."""
    if not rows:
        return NOT_MEASURED
    head = "kernel", "generated data", "device", "time", "read and written", "operations", "share of the peak"
    lines = [line(head), line(["---"] * 3 + ["---:"] * 4)]
    for row in rows:
        data = kernel_of(row), row["shape"], short(row["device"]), *row["note"].split("; ")
        lines.append(line([*data, f"{shortened(float(row['p50']))} {row['unit']}"]))
    return "\n".join([*lines, ""])


GENERATED = {
    "cli.md": cli_reference,
    "benchmarks.md": benchmark_tables,
    "papers.md": paper_tables,
    "roofline.md": roofline_tables,
}

if __name__ == "__main__":
    for name, text in GENERATED.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
