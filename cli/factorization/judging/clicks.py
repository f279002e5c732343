"""Messages of a training on clicks: input, closing table, settings."""

import numpy as np

from gpukit.cli import report
from gpukit.cli.factorization.judging import lists
from gpukit.errors import DataError
from gpukit.ratings.clicks import clicks_after

CUT = 10  # length of the evaluated lists
KEPT = {"predictor": "", "hr": "HR", "recall": "recall", "ndcg": "NDCG", "coverage": "coverage"}


def read_line(path, clicks, ratings):
    """Describe the input and that it is taken as clicks.

    ratings: the Ratings whose clicks these are.
    """
    users, items = clicks.shape
    counts = clicks.counts if clicks.counts is not None else np.ones(1, np.int32)
    often = f", counted up to {counts.max():g} times" if counts.max() > 1 else ""
    of = f" of {len(ratings):,} ratings" if len(clicks) < len(ratings) else ""
    return f"{path}: {len(clicks):,} clicks (implicit feedback){of}{often}, {users:,} users, {items:,} items"


def closing_table(model, test, positive_from=None, split="random", seed=0):
    """Return the judging.Report of a model's lists on the clicks of a test.

    It includes popularity, item kNN and EASE. None without a test, or if the test cannot be evaluated. split: 'users'
    if the test's users are new to the model.
    """
    if test is None:
        return None
    try:
        clicks = clicks_after(test, positive_from)
        return lists.closing(model, clicks, split, seed, min(CUT, len(model.item_ids_)))
    except DataError as error:
        report.remark(f"The lists were not judged: {error}", False)
        return None


def show_table(run):
    """Print the closing table of steps.Done."""
    model = run.model
    epochs = f"{len(model.history_)} epochs, " if model.history_ else ""
    learned = f"{epochs}{model.rating_counts()[0].sum():,} clicks"
    title = f"{type(model).__name__} on {model.device_}, {learned}"
    if run.table is None:
        report.echo(f"{title}.")
    else:
        k = run.table.cuts[0]
        rows = [{name: row[name] for name in KEPT} for row in run.table.rows(k)]
        report.print_table(rows, KEPT, f"{title}; lists of {k} out of all items, {len(run.table.users):,} users")


def remarks(run):
    """Yield the settings and the comparison of the lists of steps.Done."""
    yield chosen_line(run.model.chosen_)
    yield from () if run.table is None else lists.remarks(run.table)


def chosen_line(chosen):
    """Describe the settings of a training on clicks and their reason in a line."""
    facts = [f"{chosen['solver']} ({chosen['loss']})"]
    if chosen["solver"] != "ease":
        facts += [f"F={chosen['n_factors']}", f"{chosen['n_epochs']} epochs"]
    facts.append(f"lambda {chosen['regularization']:.3g}")
    if chosen["solver"] == "ials":
        facts.append(f"unobserved weight {chosen['unobserved_weight']:.3g}")
    elif chosen["solver"] == "sampled":
        facts.append(f"{chosen['n_negatives']} negatives, K={chosen['n_neighbors']}")
    facts += ["weighed by counts"] * chosen["counted"] + ["the latest weighing more"] * (chosen["recency"] > 0)
    if chosen["mixed"]:
        facts.append(f"{chosen['mixed']:g} of cross-entropy with K={chosen['n_neighbors']} mixed in")
    if chosen.get("ease_decay"):
        facts.append(f"{chosen['ease']:g} of ease with lambda {chosen['ease_decay']:.3g} added")
    if chosen["popular"]:
        facts.append(f"{chosen['popular']:.0%} of popularity")
    return f"Settings: {', '.join(facts)} ({chosen['why']})."
