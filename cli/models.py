"""Loading and remarks of verbs that use a trained model."""

import os

from gpukit.cli import report
from gpukit.cli.options import option
from gpukit.device import resolve, start_driver
from gpukit.errors import ModelError
from gpukit.runtime.launcher_env import launched_ranks
from gpukit.runtime.thread_count import get_num_threads

RATINGS, RANKING = ("LSHMF", "MatrixFactorization"), ("RankSVM",)  # the possible kinds of data of a model
PRODUCTS = 200_000_000  # of factors: what a thread computes in the half second in which a GPU starts
USES = {
    **dict.fromkeys(RATINGS, "gpukit update, predict, evaluate, recommend, similar, explain and export"),
    **dict.fromkeys(RANKING, "gpukit rank and export"),
    "GraphImputer": "gpukit impute",
    "SimLSH": "gpukit.load_model in Python",
}

titles = option("--titles FILE", "Titles to show: a file of item and title.")


def open_model(path, device, stages, kinds=RATINGS):
    """Return (fitted estimator, its Device); ModelError for another kind of model."""
    from gpukit.persist import load_header, load_model

    kind = load_header(path).get("class")
    if kind in USES and kind not in kinds:
        raise ModelError(f"{path} holds a {kind}, which is for {USES[kind]}; here a {' or '.join(kinds)} is needed.")
    device = place_of(path, device)
    start_driver(device)
    chosen = resolve(device)
    stages.done("start")
    model = load_model(path).set_params(device=device)
    stages.done("reading")
    return model, chosen


def place_of(path, device):
    """Return "cpu" for "auto" if it computes all lists of a ratings model while a GPU starts, otherwise device."""
    from gpukit.persist import load_shapes

    if device != "auto" or launched_ranks()[0] > 1:
        return device
    shapes = load_shapes(path)
    factors = [shapes.get(f"state.{side}_factors", ()) for side in ("user", "item")]
    if not all(factors):
        return device
    (users, width), (items, _) = factors
    return "cpu" if users * items * width < PRODUCTS * get_num_threads() else device


def stamp(path):
    """Return an identification of a file that changes if it is replaced, or None."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def read_title_of(path):
    """Return {item id as text: title} of a titles file; empty without a file."""
    if path is None:
        return {}
    from gpukit.ratings import read_titles

    return {str(item): title for item, title in read_titles(path).items()}


def add_titles(rows, title_of):
    """Add the title of each row's item, '' for none, if there are titles."""
    for row in rows if title_of else ():
        row["title"] = title_of.get(str(row["item"]), "")


def closing_remark(device, stages, quiet):
    """Print the device and the seconds on stderr."""
    report.remark(f"On {device}. {stages.line()}", quiet)
