"""The container of learning to rank: documents with features and a relevance, grouped by query; LETOR's folds."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError

PARTS = ("train", "vali", "test")
SUFFIXES = (".txt", ".gkl", ".txt.gz", ".txt.xz")
FOLD = re.compile(r"fold\D?(\d+)$", re.IGNORECASE)


class Documents(NamedTuple):
    """l documents of m queries with n features, each query's documents together, in the file's order.

    X (l, n) float32, C-contiguous, or a scipy CSR matrix of float32; y (l,) float64 the relevance; offsets (m+1,)
    int64: query t is the rows offsets[t]:offsets[t+1]; qids (m,) int64 or str, the ids as in the file; comments (l,)
    str, the text after each line's '#', or None when the file has none.
    """

    X: object
    y: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    comments: np.ndarray | None = None


class Fold(NamedTuple):
    """One fold of a LETOR folder: its name and the Paths of its files."""

    name: str
    train: Path
    vali: Path
    test: Path


def take_queries(documents, queries):
    """The Documents of the queries at an index array (q,), in that order."""
    queries = np.asarray(queries, dtype=np.int64)
    sizes = np.diff(documents.offsets)[queries]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = np.repeat(documents.offsets[queries] - offsets[:-1], sizes) + np.arange(offsets[-1])
    comments = None if documents.comments is None else documents.comments[rows]
    return Documents(documents.X[rows], documents.y[rows], offsets, documents.qids[queries], comments)


def find_folds(path):
    """[Fold] of a LETOR folder (Fold1 to FoldN, in the order of their numbers), or the one fold that a folder is.

    Each fold has train, vali and test, as .txt, .txt.gz, .txt.xz or binary copy (.gkl). Raises DataError, naming what
    is missing.
    """
    path = Path(path)
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise DataError(f"{path} {what}; a LETOR folder holds Fold1, Fold2, ... with train.txt, vali.txt and test.txt.")
    numbered = sorted((int(found[1]), entry) for entry in path.iterdir()
                      if entry.is_dir() and (found := FOLD.match(entry.name)))
    if numbered:
        return [_fold(entry) for _, entry in numbered]
    if any(_part(path, name) for name in PARTS):
        return [_fold(path.resolve() if not path.name else path)]
    raise DataError(f"The folder {path} holds no folds: Fold1, Fold2, ... or train.txt, vali.txt and test.txt are "
                    "expected. Name the folder that holds them, or a file.")


def _fold(folder):
    files = {name: _part(folder, name) for name in PARTS}
    missing = [f"{name}.txt" for name, file in files.items() if file is None]
    if missing:
        raise DataError(f"The fold {folder} has no {' and no '.join(missing)}; each fold needs train.txt, vali.txt and "
                        "test.txt (or .txt.gz, .txt.xz, .gkl).")
    return Fold(folder.name, **files)


def _part(folder, name):
    """The file of a fold's part, None when it is not there."""
    return next((file for suffix in SUFFIXES if (file := folder / (name + suffix)).is_file()), None)
