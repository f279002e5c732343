"""Benchmarks: each checks its answer, warms up, times, and makes a row of docs/benchmarks.csv.

record.py    a row, the machine and versions it was measured with, the file
timing.py    samples of a GPU or CPU step
conditions.py   where and on how much
ratings.py   CUSGD++, CULSH-MF, simLSH and the paper's own way, on the papers' shapes (generated) and MovieLens 1M
             (real)
similarity.py   similar items and users, judged by held-out ratings      lists.py   what lists cost
sorting.py   the segmented sort beside torch's, at a shape of queries and over lengths
ranking.py   RankSVM: whole trainings, one product, the paper's way, a path over C, on the paper's shapes (generated)
letor.py     MQ2008 (real), the CPU's solvers, reading documents, the whole command
svt.py       singular-value thresholding beside numpy's and torch's decompositions, on the paper's shapes
imputation.py      whole imputations and their memory, on the paper's shapes (generated; ego-Facebook's graph is real
                   where it is there)
decompositions.py  the imputation paper's ladder: one SVD after another, batched, ours
recovery.py        the imputation's accuracy: generated tensors; METR-LA and Molene (real) beside baselines
clicks/      clicks: epochs of iALS and with sampled negatives; the paper's Table 10, beside networks in torch and
             implicit's ALS, on NCF's MovieLens 1M (real)
ranks/       two GPUs, or processes, beside one
defaults.py  the factorizations' defaults beside other packages (predictors.py), on real ratings, whole and thinned
             (sparse_ratings.py)
deterministic.py   deterministic training beside plain training
reproduce/   the papers' tables and figures, a function each, printed values beside
process.py   what runs in fresh processes: readers and commands
kernels.py   the ladder: kernels as the papers describe them      twins.py   their CPU twins

    gpukit bench [NAME ...] [--device cuda] [--output docs/benchmarks.csv]
"""

import importlib

FILES = {
    "ratings": (
        "reading",
        "preparation",
        "epochs",
        "convergence",
        "hashing",
        "ladder",
        "memory",
        "accuracy",
        "updates",
        "command",
    ),
    "similarity": ("similar",),
    "lists": ("lists",),
    "sorting": ("sorting", "lengths"),
    "ranking": ("ranking", "product", "rungs", "path"),
    "letor": ("mq2008", "solvers", "letor"),
    "svt": ("thresholding",),
    "imputation": ("impute-speed",),
    "decompositions": ("impute-ladder",),
    "recovery": ("impute-accuracy", "impute-metr-la", "impute-molene"),
    "ranks.launcher": ("ranks",),
    "reproduce.online": ("table9", "stream"),
    "reproduce.live": ("live",),
    "reproduce.solvers": ("agreement", "table4", "table6", "fig6"),
    "reproduce.noise": ("table8",),
    "clicks.epochs": ("ials",),
    "clicks.table10": ("clicks", "gmf", "mlp", "neumf"),
    "clicks.implicit_als": ("implicit",),
    "clicks.quality": ("quality",),
    "clicks.head": ("head",),
    "clicks.negatives": ("negatives",),
    "defaults": ("defaults",),
    "deterministic": ("deterministic",),
    "reproduce.neighbors": ("table7", "fig7", "fig8", "fig9", "fig10"),
}  # file -> what it measures: the keys of its BENCHES
NAMES = tuple(name for names in FILES.values() for name in names)


def find(name):
    """The benchmark of a name: a function of conditions.Conditions that yields record.Rows."""
    file = next(file for file, names in FILES.items() if name in names)
    return importlib.import_module(f"gpukit.bench.{file}").BENCHES[name]
