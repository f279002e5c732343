"""Files that commands write: checked before the work begins, csv rows written aside and renamed."""

import contextlib
import csv
import importlib.util
import sys
from pathlib import Path

from gpukit.errors import DataError, ParameterError


def check_output(path, option, inputs=(), force=False):
    """Raise DataError unless path (None passes) can be written, is none of the files that are read, and, without force,
    no file that is there already. An empty one counts as none: who makes temporary names makes such files."""
    if path is None:
        return
    from gpukit.persist import check_writable

    target = check_writable(path)
    for source in inputs:
        if target.is_file() and Path(source).exists() and target.samefile(source):
            raise DataError(f"{option} {path} would overwrite a file that this command reads. Name another file.")
    if target.is_file() and target.stat().st_size and not force:
        raise DataError(
            f"{option} {path} is there already and is kept. Name another file, or add --force to replace it."
        )


def check_plot(path):
    """Raise ParameterError when a picture cannot be made: no matplotlib, or an ending unknown to it."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"--plot {path}: a picture's name must end in .png, .pdf or .svg.")
    if importlib.util.find_spec("matplotlib") is None:
        raise ParameterError("--plot needs matplotlib, which is not installed: pip install 'gpukit[plot]'.")


@contextlib.contextmanager
def csv_rows(path, header):
    """A csv writer with the header written, to the file path (whole or not at all) or to stdout when path is None."""
    if path is None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(header)
        yield writer
        sys.stdout.flush()
        return
    from gpukit.persist import atomic_write

    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        yield writer
