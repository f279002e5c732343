"""Every verb that writes, as the tests of reliability call it: a name, the file it writes, its arguments."""

from typing import NamedTuple

from cli_support import CPU, SMALL


class Case(NamedTuple):
    """arguments: with {in} for the folder of inputs, and {out} for the file written, which has the name `output`."""

    output: str
    arguments: tuple


TRAIN = ("train-lshmf", "{in}/r.csv", *map(str, SMALL))
RANK = ("ranksvm", "{in}/d.txt", *CPU)
CASES = {
    "train-lshmf --model": Case("m.gpukit", (*TRAIN, "--model", "{out}")),
    "train-lshmf --plot": Case("p.png", (*TRAIN, "--plot", "{out}")),
    "train-lshmf --checkpoint": Case("ck", (*TRAIN, "--epochs", "20", "--checkpoint", "{out}")),
    "predict --output": Case("p.csv", ("predict", "{in}/m.gpukit", "{in}/r.csv", "--output", "{out}")),
    "recommend --output": Case("r.csv", ("recommend", "{in}/m.gpukit", "--all", "--output", "{out}")),
    "ranksvm --model": Case("m.gpukit", (*RANK, "--model", "{out}")),
    "ranksvm --scores": Case("s.txt", (*RANK, "--test", "{in}/d.txt", "--scores", "{out}")),
    "ranksvm --plot": Case("p.svg", (*RANK, "--plot", "{out}")),
    "rank --output": Case("s.txt", ("rank", "{in}/rank.gpukit", "{in}/d.txt", "--output", "{out}")),
    "impute --output": Case("o.npz", ("impute", "{in}/g.npz", "--iterations", "3", *CPU, "--output", "{out}")),
    "impute --plot": Case("p.png", ("impute", "{in}/g.npz", "--iterations", "3", *CPU, "--plot", "{out}")),
    "convert OUT": Case("o.gkr", ("convert", "{in}/r.csv", "{out}")),
    "convert OUT (documents)": Case("o.gkl", ("convert", "{in}/d.txt", "{out}")),
    "synth ratings OUT": Case("o.csv", ("synth", "ratings", "{out}", "--scale", "0.00001")),
    "synth ratings --titles": Case("t.csv", ("synth", "ratings", "{in}/o.npz", "--scale", "0.00001", "--titles", "{out}")),
    "synth letor OUT": Case("o.txt", ("synth", "letor", "{out}", "--scale", "0.001")),
    "synth graph --output": Case("g.npz", ("synth", "graph", "--vertices", "20", "--slice", "4x5", "-o", "{out}")),
}
ELSE = {  # what commands write otherwise, and why
    "bench --output": "rows are added to the file",
}


def line(name, inputs, out):
    """The arguments of a case as text."""
    return [word.replace("{in}", str(inputs)).replace("{out}", str(out)) for word in map(str, CASES[name].arguments)]
