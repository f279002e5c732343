"""Rows of the benchmark table, and the file that holds them."""

import csv
import os
import subprocess
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit._version import __version__

COLUMNS = ("what", "shape", "data", "device", "versions", "commit", "p20", "p50", "p80", "unit", "samples", "note")


class Row(NamedTuple):
    """Samples of a quantity; data: 'real', 'real graph' or 'generated'."""

    what: str
    shape: str
    data: str
    samples: list
    unit: str
    note: str = ""


def versions():
    """Return the versions of gpukit, numba, numba-cuda and numpy as text."""
    return " ".join(
        [f"gpukit {__version__}", *(f"{name} {metadata.version(name)}" for name in ("numba", "numba-cuda", "numpy"))]
    )


def commit():
    """Return $GPUKIT_COMMIT, or git's commit with a + if files have changed."""
    if os.environ.get("GPUKIT_COMMIT"):
        return os.environ["GPUKIT_COMMIT"]
    git = ["git", "-C", Path(__file__).parent]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changed.strip() else "")


def line(row, device):
    """Return the row as the file has it, with percentiles 20, 50 and 80 of the samples."""
    percentiles = (f"{value:.5g}" for value in np.percentile(row.samples, (20, 50, 80)))
    start = row.what, row.shape, row.data, str(device), versions(), commit()
    return *start, *percentiles, row.unit, len(row.samples), row.note


def append(path, lines):
    """Add lines to the file, after a heading if it is new."""
    is_new = not Path(path).exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerows(lines)
