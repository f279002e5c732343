"""Small planted ratings as files, options for fast training on the CPU, and terminals."""

import os
import select
import signal
import time

import numpy as np

SMALL = ("--device", "cpu", "--factors", 4, "--neighbors", 5, "--epochs", 3, "--lsh-q", 8)
NAMED = (*SMALL, "--regularization", 0.05)  # nothing is chosen from the data, which takes ten times as long as an epoch
CPU = ("--device", "cpu")
PATIENCE = 240  # seconds, including compilation


def planted(users=60, items=40, share=0.4, seed=0):
    """(n,) user numbers, item numbers and ratings 1..5 of rank one, so that any valid model beats the global mean."""
    random = np.random.default_rng(seed)
    rows, columns = np.nonzero(random.random((users, items)) < share)
    likes, quality = random.normal(size=users), random.normal(size=items)
    return rows, columns, np.clip(np.round(3 + likes[rows] * quality[columns]), 1, 5).astype(int)


def write_rows(path, rows):
    """Write a csv of the rows without a header."""
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def read_until(terminal, words):
    """Return the output of a program on a terminal up to and including the words."""
    seen, deadline = b"", time.monotonic() + PATIENCE
    while words not in seen:
        assert time.monotonic() < deadline and select.select([terminal], [], [], PATIENCE)[0], seen
        seen += os.read(terminal, 4096)
    return seen


def heed_ctrl_c():
    """Restore SIGINT, which a parent in the background passes on as ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
