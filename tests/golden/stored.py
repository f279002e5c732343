"""Binary files of a released form, kept for later versions: how each was made.

`python -m golden.stored FOLDER`, run in tests/, makes them in golden/stored/FOLDER, which must not exist. Nothing else
writes them, GPUKIT_GOLDEN=write neither: a file stays as the version that made it wrote it.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "stored"
RATED = [(u, i) for u in range(8) for i in range(6) if (u**3 + 3 * i * i + u * i + u) % 7 % 3]
METHODS = (
    *("vertex-mean", "vertex-median", "time-mean", "two-way-mean", "interpolation", "akima", "last-value", "seasonal"),
    *("neighbors", "tikhonov", "tikhonov-normalized", "feature-propagation", "soft-impute", "kriging"),
    *("regularized-em", "smoothness", "local", "spectral"),
)
WAVE = (12.0, 15.5, 18.25, 20.0, 19.5, 16.0, 13.75, 11.5)
SENSORS = "time,a,b,c,d\n" + "".join(
    f"2024-01-{1 + row // 8:02d} {3 * (row % 8):02d}:00,"
    + ",".join("" if (row + 3 * s) % 7 == 0 else f"{WAVE[(row + s) % 8] + s / 4 + row / 16}" for s in range(4))
    + "\n"
    for row in range(24)
)
INPUTS = {
    "ratings.csv": "user,item,rating\n" + "".join(f"u{u},{i:03d},{1 + (u * i + u + i) % 5}\n" for u, i in RATED),
    "clicks.csv": "user,item\n" + "".join(f"u{u},{i:03d}\n" for u, i in RATED),
    "new.csv": "user,item,rating\nu1,001,5\nnew,002,4\n",
    "all.csv": 'user,item,rating,timestamp,weight,count\n007,"a,b",5,30,1,2\n1e5," lead",3,20,.5,1\n'
    "007, \u0131,4.5,10,2,7\n",
    "documents.csv": "qid,label,doc_id,weight,length,clicks\na,2,d1,1.5,.5,1\na,0,d2,1.5,.1,0\nb,1,d3,1,.7,0\n"
    "b,0,d4,1,0,3\n",
    "documents.txt": "2 qid:1 1:.5 4:1 # d1\n0 qid:1 1:.1\n1 qid:2 2:.7\n0 qid:2 1:3 # d4\n",
    "table.csv": SENSORS,
    "edges.csv": "a,b,1\nb,c,2\nc,d,1\nd,a,.5\n",
}
TRAIN = "train-lshmf {} --factors 2 --epochs 2 --lsh-q 4 --seed 1 --quiet --deterministic --device cpu --model"
MADE = {  # file -> commands that make it
    "ratings.gkr": ("convert all.csv ratings.gkr --columns user,item,rating,timestamp,weight,count --times",),
    "ratings.npz": ("convert all.csv ratings.npz --columns user,item,rating,timestamp,weight,count --times",),
    "clicks.gkr": ("convert clicks.csv clicks.gkr",),
    "documents.gkl": ("convert documents.csv documents.gkl",),
    "sparse.gkl": ("convert documents.txt sparse.gkl",),
    "lshmf.gpukit": (f"{TRAIN.format('ratings.csv')} lshmf.gpukit --neighbors 3",),
    "lists.gpukit": (f"{TRAIN.format('ratings.csv')} lists.gpukit --neighbors 3 --lists",),
    "factorization.gpukit": (f"{TRAIN.format('ratings.csv')} factorization.gpukit --neighbors 0",),
    "als.gpukit": (f"{TRAIN.format('ratings.csv')} als.gpukit --neighbors 0 --solver als",),
    "updated.gpukit": (
        f"{TRAIN.format('ratings.csv')} before.gpukit --neighbors 3",
        "update before.gpukit new.csv --model updated.gpukit --rows frozen --device cpu",
    ),
    "clicks.gpukit": (f"{TRAIN.format('clicks.csv')} clicks.gpukit --neighbors 0 --solver ials",),
    "clicks-auto.gpukit": ("train-lshmf clicks.csv --model clicks-auto.gpukit --seed 1 --quiet --device cpu",),
    "clicks-bpr.gpukit": (f"{TRAIN.format('clicks.csv')} clicks-bpr.gpukit --neighbors 0 --solver sampled --loss bpr",),
    "ranksvm.gpukit": ("ranksvm documents.csv --c 1 --model ranksvm.gpukit --device cpu",),
    "ranksvm-scaled.gpukit": ("ranksvm documents.txt --c 1 --scale minmax --model ranksvm-scaled.gpukit --device cpu",),
    **{
        f"{method}.gpukit": (
            f"impute table.csv --edges edges.csv --method {method} --save-model {method}.gpukit --device cpu",
        )
        for method in (*METHODS, "auto")
    },
}


def make(name):
    """The bytes of a file, made by its commands in a folder of its own."""
    from gpukit.cli.main import run

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file, content in INPUTS.items():
            Path(file).write_text(content, encoding="utf-8")
        for command in MADE[name]:
            if code := run(command.split()):
                raise SystemExit(f"{command} ended with {code}.")
        return Path(name).read_bytes()


def main(folder):
    """Make all files in a new folder."""
    os.mkdir(FOLDER / folder)
    for name in MADE:
        (FOLDER / folder / name).write_bytes(make(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
