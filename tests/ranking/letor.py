"""A short reader of LETOR files without gpukit."""

import numpy as np


def read(path):
    """Return X (l, n) float64, y (l,), offsets (m + 1,) of an svmlight file with qid and features 1 ... n."""
    with open(path) as file:
        lines = [line.split("#")[0].split() for line in file]
    qid = np.array([words[1] for words in lines])
    X = np.array([[float(word.split(":")[1]) for word in words[2:]] for words in lines])
    cuts = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    return X, np.array([float(words[0]) for words in lines]), np.concatenate([[0], cuts, [len(qid)]])
