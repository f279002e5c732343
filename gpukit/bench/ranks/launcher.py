"""Benchmarks over ranks. Each is a function of Conditions that yields record.Rows."""

import json
import tempfile
from pathlib import Path

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.ratings import generated
from gpukit.bench.record import Row
from gpukit.device.place import gpu_count
from gpukit.errors import GpukitError
from gpukit.parallel.devices import settings_of_ranks
from gpukit.parallel.launch import launch

OF_RATINGS, MORE = ("netflix",), ("yahoo", "ml-10m")
MODELS = ("CUSGD++", 32), ("CUSGD++", 128), ("CULSH-MF", 32)
OF_DOCUMENTS = ("mslr-web30k",)
OF_TENSORS = {True: ("512x512x2600", "64x64x2100"), False: ("64x64x2100", "512x512x2600")}  # on GPUs, the usual first
COMMAND = "from gpukit.bench.ranks.worker import main; main()"


def ranks(conditions):
    """Epochs, convergence, products with the Hessian and steps of the imputation over two ranks beside one, and over
    four and more where there are as many GPUs."""
    for like in conditions.among(OF_RATINGS, MORE):
        with tempfile.TemporaryDirectory() as folder:
            save(generated(like, conditions.scale), folder)
            for model, factors in MODELS:  # ranks of their own for each, so that rows are told as they come
                yield from told_by_all(conditions, like, "factorization", folder, like, model, factors)
    for like in conditions.among(OF_DOCUMENTS):
        with tempfile.TemporaryDirectory() as folder:
            yield from told_by_all(conditions, like, "ranking", folder, like, conditions.scale)
    usual, more = OF_TENSORS[conditions.device.is_cuda]
    for like in conditions.among((usual,), (more,)):
        with tempfile.TemporaryDirectory() as folder:
            yield from told_by_all(conditions, like, "imputation", folder, like, conditions.scale)


def save(parts, folder):
    """Write (train, test) Ratings for work.load."""
    for name, part in zip(("train", "test"), parts):
        for column in ("users", "items", "values"):
            np.save(Path(folder, f"{name}.{column}.npy"), getattr(part, column))
    np.save(Path(folder, "shape.npy"), parts[0].shape)


def sizes(device):
    """How many ranks are measured: two, and each power of two of the GPUs that there are."""
    most = max(2, gpu_count()) if device.is_cuda else 2
    return [2**n for n in range(1, most.bit_length())]


def told_by_all(conditions, like, *work):
    """The Rows that a function of work.py tells with each of sizes."""
    for size in sizes(conditions.device):
        yield from told(conditions, like, size, *work)


def told(conditions, like, size, *work):
    """The Rows that a function of work.py tells with so many ranks; its arguments: a folder that ranks share, and
    more."""
    cuda = conditions.device.is_cuda
    arguments = [*map(str, work), "cuda" if cuda else "cpu"]
    if launch(arguments, size, settings_of_ranks(size, cuda), COMMAND):
        raise GpukitError(f"the benchmark's ranks failed at {' '.join(work[:1])}; what they said is above.")
    for entry in json.loads(Path(work[1], "told.json").read_text()):
        what, note = f"{entry['what']}, {size} ranks", entry["note"]
        yield Row(what, shape_name(like, conditions.scale), "generated", entry["samples"], "ms", note)


BENCHES = {"ranks": ranks}
