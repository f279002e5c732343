"""First runs of commands: fresh processes with an empty cache of compiled code."""

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from gpukit.bench.checks import require_data
from gpukit.bench.process import environment
from gpukit.bench.ratings import MOVIELENS, MOVIELENS_FILE
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds
from gpukit.runtime.thread_count import get_num_threads

SAMPLES = 3


def first_run(conditions):
    """Time the first run of the commands of each job, and the second one."""
    ratings, documents = (require_data(conditions.data, name) for name in (MOVIELENS_FILE, "MQ2008"))
    device = "cpu" if not conditions.device.is_cuda else f"cuda:{conditions.device.index}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph, model = folder / "graph.npz", folder / "model.gpukit"
        run(["synth", "graph", "--like", "random", "--slice", "20x20", "--rank", "2", "--output", graph])
        train = ["train-lshmf", ratings, "--model", model, "--force"]
        ranking = ["ranksvm", documents, "--fold", "1", "--c", "1"]
        jobs = (
            ("train-lshmf", MOVIELENS, "real", [train]),
            ("recommend after train-lshmf", MOVIELENS, "real", [train, ["recommend", model, "--user", "1"]]),
            ("ranksvm --c 1, a fold", "mq2008", "real", [ranking]),
            ("impute", "random", "generated", [["impute", graph, "--output", folder / "out.npz", "--force"]]),
        )
        for what, shape, data, commands in jobs:
            yield from rows_of(folder, what, shape, data, [[*words, "--device", device] for words in commands])


def rows_of(folder, what, shape, data, commands):
    """Yield the Rows of the first and of the second run of the last one of some commands, after the others."""
    samples = []
    for number in range(SAMPLES):
        with environment(GPUKIT_CACHE=str(folder / f"{what.split()[0]}-{number}")):
            *before, last = commands
            for words in before:
                run(words)
            samples.append([*seconds(functools.partial(run, last), 2, warm_up=0)])
    note = f"fresh process, {get_num_threads()} threads"
    for run_name, column in zip(("first", "second"), zip(*samples)):
        yield Row(f"the {run_name} run of {what}", shape, data, list(column), "s", note)


def run(words):
    """Run a command of gpukit."""
    subprocess.run([sys.executable, "-m", "gpukit", *map(str, words), "--quiet"], check=True, capture_output=True)
