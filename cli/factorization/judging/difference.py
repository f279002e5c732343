"""Two models beside each other: the difference over users, its interval, its p."""

import numpy as np

from gpukit.cli import report
from gpukit.evaluation.lists.significance import compare

COLUMNS = {"metric": "", "difference": "difference", "interval": "95 % interval", "p": "p", "users": "users"}


def line(metric, found):
    """A row of significance.Difference for tables and JSON."""
    return {"metric": metric, **found._asdict()}


def of_lists(found, ask, label=""):
    """Rows for the metrics that people compare lists by: the model less the other one."""
    metrics = [name for name in ("hr", "recall", "ndcg") if name in found.judged[0].values[found.cuts[0]]]
    return [
        line(f"{label}{name.upper() if name != 'recall' else name}@{k}", found.difference(name, k, seed=ask.seed))
        for k in found.cuts
        for name in metrics
    ]


def of_ratings(users, errors, ask):
    """The row for a user's mean squared error: the other model's less the model's, so that above 0 is better."""
    counts = np.bincount(users)
    ours, theirs = (np.bincount(users, one)[counts > 0] / counts[counts > 0] for one in errors)
    return line("squared error a user, less", compare(theirs, ours, ask.seed))


def show(rows, ask):
    """Print the rows of the differences, where there are any."""
    if rows:
        texts = [
            {**row, "difference": signed(row["mean"]), "interval": interval(row), "p": spelled(row["p"])}
            for row in rows
        ]
        report.print_table(texts, COLUMNS, f"{ask.model} less {ask.against}, paired over users")


def signed(value):
    """A difference with its sign."""
    return report.Figure(f"{value:+.4f}")


def interval(row):
    """The interval of a row as text."""
    return report.Figure(f"{row['low']:+.4f} to {row['high']:+.4f}")


def spelled(p):
    """p as it can be told."""
    return report.Figure("< 0.0002" if p < 0.0002 else f"{p:.4f}")
