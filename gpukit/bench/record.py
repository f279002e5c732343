"""A row of the benchmark table, and the file that holds them."""

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
    """What was measured, on which shape, whether the data is 'real' or 'generated', the samples, their unit and a
    remark."""

    what: str
    shape: str
    data: str
    samples: list
    unit: str
    note: str = ""


def versions():
    """gpukit, numba, numba-cuda and numpy, as one string."""
    found = [f"gpukit {__version__}"]
    for name in ("numba", "numba-cuda", "numpy"):
        found.append(f"{name} {metadata.version(name)}")
    return " ".join(found)


def commit():
    """The commit measured: $GPUKIT_COMMIT, or what git says, with a + where files have been changed."""
    if os.environ.get("GPUKIT_COMMIT"):
        return os.environ["GPUKIT_COMMIT"]
    root = Path(__file__).parent
    try:
        head = subprocess.run(
            ["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        ).stdout
        changed = subprocess.run(
            ["git", "-C", root, "status", "--porcelain", "-uno"], capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changed.strip() else "")


def line(row, device):
    """The row as the file has it: percentiles 20, 50 and 80 of the samples."""
    low, middle, high = (f"{value:.5g}" for value in np.percentile(row.samples, (20, 50, 80)))
    return (
        row.what,
        row.shape,
        row.data,
        str(device),
        versions(),
        commit(),
        low,
        middle,
        high,
        row.unit,
        len(row.samples),
        row.note,
    )


def append(path, lines):
    """Add lines to the file, with a heading where it is new."""
    fresh = not Path(path).exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(COLUMNS)
        writer.writerows(lines)
