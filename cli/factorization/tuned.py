"""Steps and output of `gpukit tune`. ask: its options, by name."""

import shlex
from typing import NamedTuple

import numpy as np

from gpukit.cli import report
from gpukit.cli.factorization import steps
from gpukit.cli.factorization.plot import tuning_picture
from gpukit.cli.factorization.words import spoken
from gpukit.cli.main import survived

SHOWN = 15  # rows of the printed table
COLUMNS = {
    "n_factors": "factors",
    "n_neighbors": "neighbors",
    "regularization": "regularization",
    "learning_rate": "learning rate",
    "n_epochs": "epochs",
    "rmse": "RMSE",
    "spread": "+-",
    "folds": "folds",
    "mark": "",
}
OPTIONS = {
    "n_factors": "--factors",
    "n_neighbors": "--neighbors",
    "regularization": "--regularization",
    "learning_rate": "--learning-rate",
    "n_epochs": "--epochs",
}
PASSED = {"file_format": ("--format", "auto"), "columns": ("--columns", None), "sep": ("--sep", None),
          "duplicates": ("--duplicates", "last"), "device": ("--device", "auto"), "seed": ("--seed", 0)}  # fmt: skip


class Done(NamedTuple):
    """Result of tuning.

    search.Tuned, {'rmse', 'mae'} on the test set or None, training and test Ratings, texts.
    """

    found: object
    tested: dict | None
    train: object
    test: object
    warnings: list


def run(ctx, ask, train, test, stages):
    """Return the Done of training ratings and test ratings (or None)."""
    with report.collect_warnings(ask.quiet or ask.as_json, spoken) as messages:
        found = search(ctx, ask, train)
        stages.done("tuning")
        tested = finish(ask, found, train, test, stages)
    if ask.plot is not None:
        tuning_picture(found.table, found.means["rmse"], ask.plot)
        stages.done("writing")
    return Done(found, tested, train, test, messages)


def search(ctx, ask, train):
    """Return the search.Tuned of Ratings; Ctrl-C prints the results so far."""
    from gpukit.factorization import LSHMF
    from gpukit.factorization.tuning.search import Rules, Search

    rules = Rules(ask.cv, ask.repeat, ask.epochs, ask.budget or None, ask.exhaustive or None, ask.split)
    estimator = LSHMF(device=ask.device, random_state=ask.seed)
    with report.Progress(ask.quiet) as progress:
        work = Search(train, ask.grid, rules, estimator, progress)
        try:
            work.run()
        except KeyboardInterrupt:
            survived(ctx, so_far(ask, work))
            raise
    return work.found()


def so_far(ask, work):
    """Describe the results so far after Ctrl-C."""
    if not any(entry.outcomes and np.isfinite(entry.rmse) for entry in work.entries):
        return "Nothing had been tried yet."
    found = work.found()
    best = found.table[0]
    return (
        f"{len(found.table)} settings were tried; the best so far, RMSE {best['rmse']:.4f} on {best['folds']} fold(s): "
        f"{command(ask, found.best)}"
    )


def finish(ask, found, train, test, stages):
    """Train, test and save the best setting as requested.

    Returns {'rmse', 'mae'} on the test set, or None.
    """
    if test is None and ask.model is None:
        return None
    with report.Progress(ask.quiet) as progress:
        model = found.estimator().fit(train, progress=progress)
        stages.done("training")
        tested = None if test is None else model.evaluate(test)
        stages.done("evaluating")
        if ask.test_fraction and ask.model is not None:
            model = model.refit(steps.together(train, test), progress=progress)
            stages.done(steps.REFIT)
    if ask.model is not None:
        model.save(ask.model)
        stages.done("writing")
    return tested


def command(ask, parameters):
    """Return the command line that trains with the parameters of a Tuned."""
    words = ["gpukit", "train-lshmf", ask.ratings]
    for name, option in OPTIONS.items():
        if parameters[name] is not None:
            words += [option, f"{parameters[name]:g}"]
    for name, (option, usual) in PASSED.items():
        if getattr(ask, name) != usual:
            words += [option, str(getattr(ask, name))]
    return shlex.join([*words, "--model", ask.model or "my.gpukit"])


def show(ask, done, stages):
    """Print the result: a JSON object, or the table, the choice and the seconds."""
    if ask.as_json:
        report.print_json(result(ask, done, stages))
        return
    rows, found = marked(done.found), done.found
    columns = {key: heading for key, heading in COLUMNS.items() if any(row[key] is not None for row in rows)}
    title = f"{len(rows)} settings, {found.folds} fold(s) of {len(done.train):,} ratings; RMSE on what was held out"
    report.print_table(rows[:SHOWN], columns, title)
    if done.tested is not None:
        report.echo(f"The best, trained on all but the test set: test RMSE {done.tested['rmse']:.4f}.")
    report.echo(f"Best:     {command(ask, found.best)}")
    if found.simplest != found.best:
        report.echo(f"Simplest: {command(ask, found.simplest)}")
    report.echo(stages.line())
    for text in remarks(ask, done, stages):
        report.remark(text, ask.quiet)


def marked(found):
    """Return the table's rows with the choice marked."""
    rows = []
    for row in found.table:
        setting = {name: row[name] for name in found.best}
        marks = ["left open"] if row["n_factors"] is None else []
        if setting == found.best:
            marks.append("best")
        elif setting == found.simplest:
            marks.append("simplest within one standard error")
        rows.append({**row, "mark": ", ".join(marks)})
    return rows


def remarks(ask, done, stages):
    """Yield the remarks below the table."""
    found = done.found
    if found.means["rmse"] is not None:
        means, best = found.means["rmse"], found.table[0]["rmse"]
        better = (
            "which no setting beats: the ratings hold too little information" if means <= best else "for comparison"
        )
        yield f"User and item means alone: RMSE {means:.4f}, {better}."
    if len(found.table) > SHOWN:
        yield f"{len(found.table) - SHOWN} more settings were worse; --json lists all."
    if found.stopped:
        left = f"; {found.untried} settings were not tried" if found.untried else ""
        yield f"The budget of {ask.budget:g} seconds ended the search{left}. Give more with --budget."
    if ask.plot is not None:
        yield f"Picture drawn in {ask.plot}."
    if (line := steps.refit_line(ask, done.train, done.test, stages)) is not None:
        yield line
    if ask.model is not None:
        yield f"The best is saved in {ask.model}."


def result(ask, done, stages):
    """Return the --json object."""
    found = done.found
    users, items = done.train.shape
    return {
        "command": "tune",
        "users": users,
        "items": items,
        "ratings": len(done.train),
        "folds": found.folds,
        "best": found.best,
        "simplest": found.simplest,
        "results": found.table,
        "means": found.means,
        "untried": found.untried,
        "stopped": found.stopped,
        "test": done.tested,
        "train": command(ask, found.best),
        "refit": steps.refit_facts(done.train, done.test, stages),
        "warnings": done.warnings,
        "seconds": stages.seconds,
        "model": ask.model,
        "plot": ask.plot,
    }
