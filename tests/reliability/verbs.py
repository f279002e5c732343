"""Every verb that writes, with its output and arguments for the reliability tests."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from cli_support import CPU, NAMED, SMALL

from gpukit import read_letor, read_ratings
from gpukit.persist import load_arrays


class Case(NamedTuple):
    """arguments: with {in} for the folder of inputs and {out} for the file written, which is named `output`."""

    output: str
    arguments: tuple


LONG_TRAIN = ("train-lshmf", "{in}/r.csv", *map(str, SMALL), "--deterministic")
TRAIN = ("train-lshmf", "{in}/r.csv", *map(str, NAMED), "--deterministic")
RANK = ("ranksvm", "{in}/d.txt", "--c", "1", *CPU)
IMPUTE = ("impute", "{in}/g.npz", "--iterations", "3", "--weights", "common", "--center", "none", *CPU)
SYNTH = ("synth", "ratings", "--users", "50", "--items", "30", "--ratings", "400")
GRAPH = ("synth", "graph", "--vertices", "20", "--slice", "4x5", "--rank", "2")
TUNE = ("tune", "{in}/r.csv", "--grid", "factors=2 neighbors=0", "--cv", "2", "--epochs", "2", *CPU)
CASES = {
    "train-lshmf --model": Case("m.gpukit", (*TRAIN, "--model", "{out}")),
    "train-lshmf --plot": Case("p.png", (*TRAIN, "--plot", "{out}")),
    "train-lshmf --checkpoint": Case("ck", (*LONG_TRAIN, "--checkpoint", "{out}")),
    "tune --model": Case("m.gpukit", (*TUNE, "--model", "{out}")),
    "update --model": Case("u.gpukit", ("update", "{in}/m.gpukit", "{in}/new.csv", *CPU, "--model", "{out}")),
    "predict --output": Case("p.csv", ("predict", "{in}/m.gpukit", "{in}/r.csv", *CPU, "--output", "{out}")),
    "recommend --output": Case("r.csv", ("recommend", "{in}/m.gpukit", "--all", *CPU, "--output", "{out}")),
    "export OUT": Case("f.csv", ("export", "{in}/m.gpukit", "{out}")),
    "ranksvm --model": Case("m.gpukit", (*RANK, "--model", "{out}")),
    "ranksvm --scores": Case("s.txt", (*RANK, "--test", "{in}/d.txt", "--scores", "{out}")),
    "ranksvm --plot": Case("p.svg", (*RANK, "--plot", "{out}")),
    "rank --output": Case("s.txt", ("rank", "{in}/rank.gpukit", "{in}/d.txt", "--output", "{out}")),
    "rank --per-query": Case("q.csv", ("rank", "{in}/rank.gpukit", "{in}/d.txt", "--per-query", "{out}")),
    "impute --output": Case("o.npz", (*IMPUTE, "--output", "{out}")),
    "impute --plot": Case("p.png", (*IMPUTE, "--plot", "{out}")),
    "impute --save-model": Case("m.gpukit", (*IMPUTE, "--save-model", "{out}")),
    "convert OUT": Case("o.gkr", ("convert", "{in}/r.csv", "{out}")),
    "synth ratings OUT": Case("o.csv", (*SYNTH, "{out}")),
    "synth ratings --titles": Case("t.csv", (*SYNTH, "{out}.npz", "--titles", "{out}")),
    "synth letor OUT": Case("o.gkl", ("synth", "letor", "{out}", "--scale", "0.001")),
    "synth graph --output": Case("g.npz", (*GRAPH, "-o", "{out}")),
}
ELSE = {"bench --output": "rows are added to the file"}  # other output of commands
READ = {  # input of commands
    *("train-lshmf RATINGS", "train-lshmf --test", "predict MODEL", "predict PAIRS", "recommend MODEL"),
    *("recommend --titles", "similar MODEL", "similar --titles", "explain MODEL", "explain --titles", "export MODEL"),
    *("recommend --ratings", "recommend --categories"),
    *("update MODEL", "update NEW", "ranksvm PATH", "ranksvm --validation"),
    *(
        "ranksvm --test",
        "rank MODEL",
        "rank FILE",
        "rank --qrels",
        "impute [FILE]",
        "impute --edges",
        "impute --tensor",
        "impute --coordinates",
        "impute --model",
        "impute --distances",
        "impute --times",
    ),
    *("convert IN", "synth graph --edges", "tune RATINGS"),
    *("evaluate MODEL", "evaluate TEST", "evaluate --given"),
}


def arguments(name, inputs, out):
    """Return the arguments of a case as text."""
    return [str(word).replace("{in}", str(inputs)).replace("{out}", str(out)) for word in CASES[name].arguments]


def is_whole(path):
    """Return True if a written file is readable to its end."""
    path, content = Path(path), Path(path).read_bytes()
    if path.suffix in (".csv", ".txt"):
        return content.endswith(b"\n")
    if path.suffix in (".png", ".svg"):
        return content.endswith((b"IEND\xaeB`\x82", b"</svg>\n"))
    if path.suffix == ".gkr":
        return len(read_ratings(path)) > 0
    if path.suffix == ".gkl":
        return len(read_letor(path).y) > 0
    if path.suffix != ".npz":  # a model, a checkpoint
        return len(load_arrays(path)[1]) > 0
    with np.load(path) as archive:
        return all(archive[name] is not None for name in archive.files)
