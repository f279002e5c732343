"""Comparison of two models: the difference over users, its interval, its p."""

import numpy as np

from gpukit.cli import report
from gpukit.evaluation.lists.significance import compare

COLUMNS = {"metric": "", "difference": "difference", "interval": "95 % interval", "p": "p", "users": "users"}


def line(metric, found):
    """Return the row of a significance.Difference for tables and JSON."""
    return {"metric": metric, **found._asdict()}


def of_lists(found, ask, label=""):
    """Return rows of HR, recall and NDCG: the model less the other one."""
    metrics = [name for name in ("hr", "recall", "ndcg") if name in found.judged[0].values[found.cuts[0]]]
    return [
        line(f"{label}{name.upper() if name != 'recall' else name}@{k}", found.difference(name, k, seed=ask.seed))
        for k in found.cuts
        for name in metrics
    ]


def of_ratings(users, errors, ask):
    """Return the row of the mean squared error per user.

    The difference is the other model's error less the model's: positive if the model is better.
    """
    counts = np.bincount(users)
    ours, theirs = (np.bincount(users, one)[counts > 0] / counts[counts > 0] for one in errors)
    return line("squared error a user, less", compare(theirs, ours, ask.seed))


def show(rows, ask):
    """Print the rows of the differences, if any."""
    if rows:
        texts = [
            {**row, "difference": signed(row["mean"]), "interval": interval(row), "p": spelled(row["p"])}
            for row in rows
        ]
        report.print_table(texts, COLUMNS, f"{ask.model} less {ask.against}, paired over users")


def signed(value):
    """Format a difference with its sign."""
    return report.Figure(f"{value:+.4f}")


def interval(row):
    """Format the interval of a row."""
    return report.Figure(f"{row['low']:+.4f} to {row['high']:+.4f}")


def spelled(p):
    """Format p; very small values as an upper bound."""
    return report.Figure("< 0.0002" if p < 0.0002 else f"{p:.4f}")
