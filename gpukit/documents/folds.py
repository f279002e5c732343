"""Find and write LETOR folders of train, vali and test files.

The queries are split into S1 to S5. Fold k trains on S_k to S_k+2, validates on S_k+3 and tests on S_k+4, cyclically.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.documents.copies import write_letor
from gpukit.documents.table import take_queries
from gpukit.errors import DataError
from gpukit.model_selection.splits import hash_floats, hash_groups, hash_rows
from gpukit.persist import check_writable
from gpukit.runtime.atomic_write import replace_atomically

if TYPE_CHECKING:
    from gpukit.typing import Path as PathLike

PARTS = ("train", "vali", "test")
SUFFIXES = (".txt", ".gkl", ".txt.gz", ".txt.xz")
FOLD = re.compile(r"fold\D?(\d+)$", re.IGNORECASE)
CUTS = 5


class Fold(NamedTuple):
    """Name and file Paths of one fold of a LETOR folder."""

    name: str
    train: Path
    vali: Path
    test: Path


def find_folds(path: PathLike) -> list[Fold]:
    """Return the folds of a LETOR folder, or its single one.

    Folds are Fold1 to FoldN, in numerical order. Each has train, vali and test, as .txt, .txt.gz, .txt.xz or binary
    copy (.gkl).

    Parameters
    ----------
    path : str or Path
        The folder, or one of its folds.

    Returns
    -------
    list of Fold
        name, train, vali, test: a str and three Paths.

    Raises
    ------
    DataError
        Files are missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gpukit import find_folds
    >>> Path("letor/Fold1").mkdir(parents=True)
    >>> for part in ("train", "vali", "test"):
    ...     _ = Path(f"letor/Fold1/{part}.txt").write_text("2 qid:7 1:0.5\\n")
    >>> [fold.name for fold in find_folds("letor")]
    ['Fold1']
    """
    path = Path(path)
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise DataError(f"{path} {what}; a LETOR folder holds Fold1, Fold2, ... with train.txt, vali.txt and test.txt.")
    numbered = sorted(
        (int(match[1]), entry) for entry in path.iterdir() if entry.is_dir() and (match := FOLD.match(entry.name))
    )
    if numbered:
        return [_fold(entry) for _, entry in numbered]
    if any(_part(path, name) for name in PARTS):
        return [_fold(path.resolve() if not path.name else path)]
    raise DataError(
        f"The folder {path} holds no folds: Fold1, Fold2, ... or train.txt, vali.txt and test.txt are "
        "expected. Name the folder that holds them, or a file."
    )


def _fold(folder):
    files = {name: _part(folder, name) for name in PARTS}
    missing = [f"{name}.txt" for name, file in files.items() if file is None]
    if missing:
        raise DataError(
            f"The fold {folder} has no {' and no '.join(missing)}; each fold needs train.txt, vali.txt and "
            "test.txt (or .txt.gz, .txt.xz, .gkl)."
        )
    return Fold(folder.name, **files)


def _part(folder, name):
    """Return the file of a fold's part, or None."""
    return next((file for suffix in SUFFIXES if (file := folder / (name + suffix)).is_file()), None)


def write_folds(documents, folder, folds=CUTS, suffix=".txt"):
    """Write Documents as a new LETOR folder of a five-fold split.

    The folder has Fold1 to Fold`folds` (1 to 5). suffix: of the files, .txt or .gkl. The folder is written atomically.
    Raises DataError for fewer than five queries and for a folder that exists or cannot be created, ParameterError for
    another number of folds.
    """
    folds = check_integer("folds", folds, 1, CUTS)
    queries = len(documents.qids)
    if queries < CUTS:
        raise DataError(f"{queries} queries cannot be cut into {CUTS} parts for folds. Take more (a larger scale).")
    cuts = np.array_split(np.arange(queries), CUTS)
    with replace_atomically(check_folder(folder), folder=True) as place:
        for fold in range(folds):
            parts = np.split(np.roll(np.arange(CUTS), -fold), [CUTS - 2, CUTS - 1])
            (place / f"Fold{fold + 1}").mkdir()
            for name, part in zip(PARTS, parts, strict=True):
                chosen = take_queries(documents, np.concatenate([cuts[index] for index in part]))
                write_letor(chosen, place / f"Fold{fold + 1}" / (name + suffix))


def assign_parts(documents, parts):
    """Return the part of each query, (m,) int64: parts of equal size that do not depend on the order of the queries.

    Raises DataError for fewer queries than parts.
    """
    if len(documents.qids) < parts:
        raise DataError(
            f"{len(documents.qids):,} queries cannot be divided into {parts:,} parts. Take fewer (--folds)."
        )
    keys = hash_groups(hash_rows(documents.X) ^ hash_floats(documents.y), documents.offsets)
    return np.argsort(np.argsort(keys, kind="stable"), kind="stable") % parts


def check_folder(folder):
    """Return a new folder's Path; DataError if it cannot be created."""
    folder = Path(folder)
    if folder.exists():
        raise DataError(f"{folder} exists already. Name a new folder, or a file that ends in .txt or .gkl.")
    return check_writable(folder)
