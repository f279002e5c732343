"""Benchmarks in fresh processes: readers of csv files, first runs of commands, and whole commands."""

import functools
import importlib.util
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.measurement import MOVIELENS, MOVIELENS_FILE, Row, environment, require_data, seconds
from gpukit.errors import DataError, GpukitError
from gpukit.ratings import synth_ratings, write_ratings
from gpukit.runtime.thread_count import get_num_threads

SAMPLES = 3
READER = """
import sys, time
{reader}

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])

read(sys.argv[2])
before, start = peak(), time.perf_counter()
table = read(sys.argv[1])
print(time.perf_counter() - start, peak() - before, len(table))
"""


READERS = {
    "gpukit": "from gpukit import read_ratings as read",
    "pyarrow": """
import pyarrow
from pyarrow import csv
words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
types = {"user": words, "item": words, "rating": pyarrow.float32()}
def read(path):
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types)).unify_dictionaries()
""",
    "pandas": """
import pandas
def read(path):
    frame = pandas.read_csv(path, dtype={"rating": "float32"})
    return frame.assign(**{name: pandas.factorize(frame[name], sort=True)[0] for name in ("user", "item")})
""",
    "polars": """
import polars
def read(path):
    rows = [polars.col(name).rank("dense") for name in ("user", "item")]
    return polars.read_csv(path, schema_overrides={"rating": polars.Float32}).with_columns(*rows)
""",
}  # each converts users and items to row numbers, pyarrow in order of appearance


def reading(conditions):
    """Read 99 million ratings from csv files with numeric ids and with text ids, by gpukit and other packages."""
    ratings = synth_ratings("netflix", conditions.scale, 0)
    shape = f"{len(ratings) / 1e6:.1f} million rows"
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder) / "big.csv", Path(folder) / "small.csv"
        for kind, prefix in (("", ""), (", ids as text", "u")):
            if prefix:
                ids = [np.char.add(prefix, ids.astype(str)) for ids in (ratings.user_ids, ratings.item_ids)]
                ratings = replace(ratings, user_ids=ids[0], item_ids=ids[1])
            write_ratings(ratings, big)
            write_ratings(ratings.take(slice(100)), small)
            for name in filter(importlib.util.find_spec, READERS):
                yield from reading_rows(name, kind, shape, ratings, big, small)


def reading_rows(name, kind, shape, ratings, big, small):
    """Yield the rows of the time and the memory of one of READERS, in processes that read a small file first."""
    call = [sys.executable, "-c", READER.format(reader=READERS[name]), str(big), str(small)]
    outputs = [subprocess.run(call, check=True, capture_output=True, text=True).stdout for _ in range(1 + SAMPLES)]
    times, peaks, counts = zip(*(map(float, output.split()) for output in outputs[1:]))  # the first one warms up
    if set(counts) != {len(ratings)}:
        raise DataError(f"{name} read {counts[0]:.0f} of the csv file's {len(ratings)} ratings.")
    what = f"reading a csv file{kind}{'' if name == 'gpukit' else ' by ' + name}"
    yield Row(what, shape, "generated", list(times), "s")
    shares = [peak / ratings.nbytes for peak in peaks]
    yield Row(f"memory of {what}", shape, "generated", shares, "times the arrays", "peak above the start")


WHOLE = (  # command, its files and options, data, goal in seconds at scale 1 on a GPU with 16 cores
    ("train-lshmf", "ratings.csv --model model --force --device {}", "netflix, csv", 5.0),
    ("convert", "ratings.csv ratings.gkr --force", "netflix, csv to .gkr", 3.5),
    ("train-lshmf", "ratings.gkr --model model --force --device {}", "netflix, .gkr", 3.0),
    ("recommend --all -n 10", "model --output lists.csv --force --device {}", "netflix, lists kept", 2.8),
    ("ranksvm --c 1", "documents --device {}", "mslr-web30k, five folds", 4.0),
    ("impute", "graph.npz --output full.npz --force --device {}", "ego-facebook 50x50", 2.0),
)


def commands(conditions):
    """Time whole commands on generated data, each in a fresh process; code is compiled, files are in the cache."""
    scale, device = conditions.scale, str(conditions.device).split()[0]
    with tempfile.TemporaryDirectory() as folder:
        share, vertices = max(0.001, scale / 5), max(20, round(4039 * scale))  # the five folds have 2.9 GB
        for words in (
            f"ratings --like netflix --scale {scale} ratings.csv",
            f"letor --like mslr-web30k --scale {share} documents",
            f"graph --like ego-facebook --vertices {vertices} --output graph.npz",
        ):
            run(["synth", *words.split()], folder)
        for command, files, shape, goal in WHOLE:
            words = f"{command} {files.format(device)}".split()
            samples = seconds(functools.partial(run, words, folder), SAMPLES)
            note = f"fresh process, {get_num_threads()} threads{f'; goal {goal:g} s' * (scale == 1)}"
            yield Row(f"the whole command {command}, cached", shape_name(shape, scale), "generated", samples, "s", note)


def first_run(conditions):
    """Time the first run of the commands of each job, and the second one."""
    ratings, documents = (require_data(conditions.data, name) for name in (MOVIELENS_FILE, "MQ2008"))
    device = str(conditions.device).split()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph, model = folder / "graph.npz", folder / "model.gpukit"
        run(["synth", "graph", "--like", "random", "--slice", "20x20", "--rank", "2", "--output", graph])
        train = ["train-lshmf", ratings, "--model", model, "--force", "--device", device]
        ranking = ["ranksvm", documents, "--fold", "1", "--c", "1", "--device", device]
        imputing = ["impute", graph, "--output", folder / "out.npz", "--force", "--device", device]
        recommending = ["recommend", model, "--user", "1"]  # of a small model: on the CPU, if no device is named
        jobs = (
            ("train-lshmf", MOVIELENS, "real", [train]),
            ("recommend after train-lshmf", MOVIELENS, "real", [train, recommending]),
            ("ranksvm --c 1, a fold", "mq2008", "real", [ranking]),
            ("impute", "random", "generated", [imputing]),
        )
        for what, shape, data, commands in jobs:
            yield from rows_of(folder, what, shape, data, commands)


def rows_of(folder, what, shape, data, commands):
    """Yield the Rows of the first and of the second run of the last one of some commands, after the others."""
    samples = []
    for number in range(SAMPLES):
        with environment(GPUKIT_CACHE=str(folder / f"{what.split()[0]}-{number}")):
            *before, last = commands
            for words in before:
                run(words)
            samples.append(seconds(functools.partial(run, last), 2, warm_up=0))
    note = f"fresh process, {get_num_threads()} threads{'; no device named' * ('--device' not in commands[-1])}"
    for run_name, column in zip(("first", "second"), zip(*samples)):
        yield Row(f"the {run_name} run of {what}", shape, data, list(column), "s", note)


def run(words, folder=None):
    """Run a command of gpukit, in a folder if one is given."""
    command = [sys.executable, "-m", "gpukit", *map(str, words), "--quiet"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        raise GpukitError(f"the benchmark's command {' '.join(command[2:])} failed: {process.stderr.strip()}")
