"""Check output files before any computation, and write csv files and pictures atomically.

matplotlib is imported on first use.
"""

import contextlib
import importlib.util
import os
from pathlib import Path

import click

from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks


def check_output(path, option, inputs=(), force=False, text=False):
    """Raise DataError for an invalid output path; None passes.

    It cannot be written, is an input or another output, or exists without force. An empty file does not count as
    existing, because makers of temporary names create such files.

    text: a table or text is written, which '-' sends to standard output; ParameterError for '-' otherwise. "plain": it
    is text whatever the suffix; ParameterError for suffixes of other formats.
    """
    if path is None or (text and sinks.is_standard(path)):
        return
    if text == "plain" and Path(path).suffix.lower() in (".parquet", ".json", ".npz", ".gz", ".bz2", ".xz", ".zip"):
        raise ParameterError(f"{option} {path}: the output is plain text. Choose another suffix, such as .csv or .txt.")
    sinks.refuse_dash(path, option)
    from gpukit.persist import check_writable

    target = check_writable(path)
    for source in inputs:
        if target.is_file() and os.path.exists(source) and target.samefile(source):
            raise DataError(f"{option} {path} would overwrite a file that this command reads. Name another file.")
    context = click.get_current_context(silent=True)
    if context and not sinks.is_stream(path):
        other = context.meta.setdefault(__name__, {}).setdefault(target, option)
        if other != option:
            raise DataError(f"{option} {path} is the file of {other} too. Name another file.")
    if target.is_file() and target.stat().st_size and not force:
        kept = f"{option} {path} is there already and is kept"
        raise DataError(f"{kept}. Name another file, or add --force to replace it.")


def size_of(path):
    """Return the bytes of a file, or of the readable files of a folder; 0 for a stream."""
    files = [path, *(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)]
    total = 0
    for file in [] if sinks.is_standard(path) else files:
        with contextlib.suppress(OSError):  # another process may remove it
            total += os.path.getsize(file) if os.path.isfile(file) else 0
    return total


def format_size(size):
    """Format a number of bytes."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:.3g} kB"


def takes_stdout(path, as_json=False):
    """Return True if a table goes to standard output; remarks then go to stderr.

    ParameterError if --json also prints there.
    """
    is_stdout = path is not None and sinks.is_standard(path)
    if is_stdout and as_json:
        raise ParameterError(f"--json prints on standard output, where {path} goes too: leave one out.")
    return is_stdout


def check_plot(path):
    """Raise ParameterError if matplotlib is missing or the suffix is unsupported."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"--plot {path}: a picture's name must end in .png, .pdf or .svg.")
    if importlib.util.find_spec("matplotlib") is None:
        raise ParameterError("--plot needs matplotlib, which is not installed: pip install 'gpukit[plot]'.")


def write_csv(path, names, blocks):
    """Write blocks of rows (see io/tables.py) to a file atomically; None: standard output."""
    from gpukit.io import tables

    with sinks.open_sink(path or "-") as file:
        tables.write_blocks(file, names, blocks)


@contextlib.contextmanager
def picture(path, width, height=3.6, **subplots):
    """Yield the axes of a figure that is written to path atomically.

    path: png, pdf or svg; width, height: inches; subplots: arguments of Figure.subplots.
    """
    with canvas(path, width, height) as figure:
        yield figure.subplots(**subplots)


@contextlib.contextmanager
def canvas(path, width, height):
    """Yield an empty figure that is written to path atomically.

    path: png, pdf or svg; width, height: inches.
    """
    from matplotlib.figure import Figure

    from gpukit.persist import atomic_write

    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    with atomic_write(path) as aside:
        figure.savefig(aside, dpi=150, format=Path(path).suffix.lower().lstrip("."))
