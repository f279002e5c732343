"""Benchmark `ranks`: start ranks that run worker.py, and make rows of their results."""

import json
import tempfile
from pathlib import Path

from gpukit.bench import shape_name
from gpukit.bench.measurement import Row
from gpukit.bench.ratings import generate_split
from gpukit.device.place import gpu_count
from gpukit.errors import GpukitError
from gpukit.parallel.devices import make_rank_settings
from gpukit.parallel.launch import launch
from gpukit.ratings import write_ratings

RATINGS, MORE = ("netflix",), ("yahoo", "ml-10m")
MODELS = ("CUSGD++", 32), ("CUSGD++", 128), ("CULSH-MF", 32)
DOCUMENTS = ("mslr-web30k",)
TENSORS = {True: ("512x512x2600", "64x64x2100"), False: ("64x64x2100", "512x512x2600")}  # on GPUs, the usual first
COMMAND = "from gpukit.bench.ranks.worker import main; main()"


def ranks(conditions):
    """Time epochs, convergence, products with the Hessian and imputation steps over two ranks and more."""
    for name in conditions.select(RATINGS, MORE):
        with tempfile.TemporaryDirectory() as folder:
            for part, ratings in zip(("train", "test"), generate_split(name, conditions.scale)):
                write_ratings(ratings, Path(folder, f"{part}.gkr"))
            for model, factors in MODELS:  # new ranks for each, so that rows appear as they are measured
                yield from run_sizes(conditions, "factorization", folder, name, model, factors)
    usual, more = TENSORS[conditions.device.is_cuda]
    tasks = [("ranking", name) for name in conditions.select(DOCUMENTS)]
    tasks += [("imputation", name) for name in conditions.select((usual,), (more,))]
    for benchmark, name in tasks:
        with tempfile.TemporaryDirectory() as folder:
            yield from run_sizes(conditions, benchmark, folder, name, conditions.scale)


def list_sizes(device):
    """Return the numbers of ranks: two, and each power of two up to the number of GPUs."""
    most = max(2, gpu_count()) if device.is_cuda else 2
    return [2**n for n in range(1, most.bit_length())]


def run_sizes(conditions, benchmark, folder, name, *arguments):
    """Yield rows of a benchmark of worker.py on each number of ranks."""
    for size in list_sizes(conditions.device):
        yield from run_ranks(conditions, size, benchmark, folder, name, *arguments)


def run_ranks(conditions, size, benchmark, folder, name, *arguments):
    """Yield rows of a benchmark of worker.py on a shape by `size` ranks, which share a folder."""
    is_cuda = conditions.device.is_cuda
    words = [*map(str, (benchmark, folder, name, *arguments)), "cuda" if is_cuda else "cpu"]
    if launch(words, size, make_rank_settings(size, is_cuda), COMMAND):
        raise GpukitError(f"the benchmark's ranks failed in {benchmark}; their messages are above.")
    for entry in json.loads(Path(folder, "entries.json").read_text()):
        what = f"{entry['what']}, {size} ranks"
        yield Row(what, shape_name(name, conditions.scale), "generated", entry["samples"], "ms", entry["note"])
