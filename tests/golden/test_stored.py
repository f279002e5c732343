"""Binary copies and models of released versions, kept in stored/: later versions must load them and answer the same."""

import io

import pandas as pd
import pytest

from golden.command import Case
from golden.stored import FOLDER, INPUTS, MADE, METHODS

LATER = "time,a,b,c,d\n2024-01-04 00:00,13,,14.5,15\n2024-01-04 03:00,,17,17.25,\n2024-01-04 06:00,19,20,,20.5\n"
UPDATE = "update {} new.csv --model after.gpukit --rows frozen"
RATINGS = (
    "predict {} pairs.csv --output predicted.csv",
    "recommend {} --user u1 --by rating -n 3",
    "recommend {} --user u2 -n 3",
    "similar {} --item 001 -n 3",
    "explain {} --user u1 --item 004 --by rating",
    "export {} exported.csv",
)
FILES = {
    "pairs.csv": "user,item\nu1,001\nu2,002\nnobody,003\nnew,nothing\n",
    "new.csv": INPUTS["new.csv"],
    "documents.csv": INPUTS["documents.csv"],
    "documents.txt": INPUTS["documents.txt"],
    "later.csv": LATER,
}
FILLED = ("impute later.csv --model {} --output filled.csv",)


def completed():
    """What the imputer of one table by itself, which keeps no graph, makes of the same table."""
    import gpukit

    tensor = pd.read_csv(io.StringIO(INPUTS["table.csv"]), index_col=0).to_numpy().T[:, None]
    return gpukit.load_model("spectral.gpukit").transform(tensor)[:, 0, ::5]


USES = {  # file -> commands with {} for it; MADE has the same files
    "ratings.gkr": ("convert {} out.csv --times",),
    "ratings.npz": ("convert {} out.csv --times",),
    "clicks.gkr": ("convert {} out.csv",),
    "documents.gkl": ("convert {} out.parquet",),
    "sparse.gkl": ("convert {} out.txt",),
    **dict.fromkeys(("lshmf.gpukit", "lists.gpukit", "updated.gpukit", "als.gpukit"), (*RATINGS, UPDATE)),
    "factorization.gpukit": (*RATINGS, UPDATE),
    **dict.fromkeys(("clicks.gpukit", "clicks-auto.gpukit", "clicks-bpr.gpukit"), RATINGS[1:]),
    "ranksvm.gpukit": ("rank {} documents.csv --output scores.txt",),
    "ranksvm-scaled.gpukit": ("rank {} documents.txt --output scores.txt",),
    **{f"{method}.gpukit": FILLED for method in (*METHODS, "auto")},
    "spectral.gpukit": (*FILLED, completed),
}
OUTPUTS = ("out.csv", "out.parquet", "out.txt", "predicted.csv", "exported.csv", "scores.txt", "filled.csv")


def used(path):
    """A case: a stored file is copied and used."""
    commands = tuple(c.format(path.name) if isinstance(c, str) else c for c in USES[path.name])
    outputs = tuple(
        name for name in OUTPUTS if any(name in command for command in commands if isinstance(command, str))
    )
    return Case(f"{path.parent.name}: {path.name}", commands, {**FILES, path.name: path.read_bytes()}, outputs=outputs)


CASES = tuple(map(used, sorted(FOLDER.glob("*/*"))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stored(check, case):
    check(case)


def test_each_file_that_can_be_made_is_used():
    assert USES.keys() == MADE.keys()
