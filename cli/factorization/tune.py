"""`gpukit tune`: choose factors, neighbours, regularization and epochs by cross-validation."""

import shlex

import click
import numpy as np

from gpukit.cli import options, outputs, report
from gpukit.cli.factorization import steps
from gpukit.cli.factorization.table import OPTIONS, spoken
from gpukit.cli.main import set_interrupt_message
from gpukit.cli.options import option
from gpukit.device import capability_of
from gpukit.errors import ParameterError
from gpukit.factorization.implicit.feedback import warn_of_columns
from gpukit.parallel import ALONE
from gpukit.runtime.start import import_reader

NAMES = {OPTIONS[name][2:]: name for name in ("n_factors", "n_neighbors", "regularization", "learning_rate")}
SHOWN = 15  # rows of the printed table
COLUMNS = {name: name.removeprefix("n_").replace("_", " ") for name in (*NAMES.values(), "n_epochs")}
COLUMNS |= {"rmse": "RMSE", "spread": "+-", "folds": "folds", "mark": ""}
PASSED = {"file_format": "--format", **{name: f"--{name}" for name in "columns sep duplicates device seed".split()}}


@options.command()
@options.argument("ratings")
@option("--grid TEXT", "Settings to try: 'factors=16,64 regularization=0.03'.  [default: by the data]", multiple=True)
@option("--cv N", "Folds.  [default: 5; of many ratings some of 10]", click.IntRange(2, 255))
@option("--budget SECONDS", "Begin no training after this time; 0: no limit.", click.FloatRange(0), 900.0)
@option("--epochs", "Maximum number of passes over the ratings.", click.IntRange(min=1))
@options.split
@option("--model FILE", "Save the winner, trained on RATINGS, here.")
@options.force
@options.ratings_file
@options.shared_options
def tune(ask, stages):
    """Find the options of train-lshmf that suit RATINGS, by cross-validation.

    Parts of the ratings (folds) are held out alternately. A setting has the mean RMSE on them after its best epoch.
    With many ratings only settings close to the best one on the first fold are tried on the others. With --split time
    and user-time each fold is later than its training ratings.
    Parameters that --grid does not name have their defaults.

    \b
    gpukit tune ratings.csv
    gpukit tune ratings.csv --grid "factors=32,128 regularization=0.03,0.05" --model best.gpukit
    gpukit evaluate best.gpukit test.csv
    """
    ask.test, ask.test_fraction = None, 0.0
    ask.grid = parse_grid(" ".join(ask.grid)) if ask.grid else None
    outputs.check_output(ask.model, "--model", [ask.ratings], ask.force)
    import_reader(ask.ratings)
    report.compile_ahead(ask, ALONE, "ratings", capability=capability_of(ask.device), reads=(ask.ratings,))
    stages.done("start")
    train, _ = steps.load(ask, stages, steps.describe_as_ratings)
    with report.collect_warnings(ask.silent, spoken) as messages:
        search_result = search(ask, train)
        stages.done("tuning")
        if ask.model is not None:
            with report.Progress(ask.quiet) as progress:
                search_result.estimator().fit(train, progress=progress).save(ask.model)
            stages.done("training")
    if ask.as_json:
        report.print_result({**result(ask, search_result, train), "warnings": messages}, stages)
    else:
        show(ask, search_result, train, stages)


def parse_grid(text):
    """Return {estimator parameter: [values]} of 'factors=16,32 regularization=0.1'.

    ParameterError for invalid text.
    """
    grid = {}
    for word in text.split():
        name, equals, values = word.partition("=")
        name = name.replace("_", "-")
        if name not in NAMES or not equals:
            raise ParameterError(f"--grid {word}: write NAME=VALUE,VALUE with {', '.join(NAMES)} as names.")
        if NAMES[name] in grid:
            raise ParameterError(f"--grid names {name} twice: give all its values in one list.")
        grid[NAMES[name]] = [number(name, value) for value in values.split(",") if value]
    if not grid:
        raise ParameterError(f"--grid is empty: write NAME=VALUE,VALUE with {', '.join(NAMES)} as names.")
    from gpukit.factorization.tuning import check_grid

    return check_grid(grid, {parameter: f"--grid {name}" for name, parameter in NAMES.items()})


def number(name, text):
    """Return the number of a grid value; ParameterError if invalid."""
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ParameterError(f"--grid {name}: {text!r} is no number.") from None


def search(ask, train):
    """Return the Tuned of Ratings; Ctrl-C prints the results so far."""
    from gpukit.factorization import LSHMF
    from gpukit.factorization.tuning import Tuning

    rules = {"cv": ask.cv, "epochs": ask.epochs, "budget": ask.budget or None, "by": ask.split}
    estimator = LSHMF(device=ask.device, random_state=ask.seed)
    if ask.model is None:  # fit warns
        warn_of_columns(estimator, train)
    with report.Progress(ask.quiet) as progress:
        work = Tuning(train, ask.grid, estimator, progress, **rules)
        try:
            work.run_rounds()
        except KeyboardInterrupt:
            set_interrupt_message(so_far(ask, work))
            raise
    return work.found()


def so_far(ask, work):
    """Describe the results so far after Ctrl-C."""
    if not any(np.isfinite(trial.mean) for trial in work.trials):
        return "Nothing had been tried yet."
    searched = work.found()
    best = searched.table[0]
    where = f"RMSE {best['rmse']:.4f} on {best['folds']} fold(s)"
    return f"{len(searched.table)} settings were tried; the best so far, {where}: {command(ask, searched.best)}"


def command(ask, parameters):
    """Return the command line that trains with the parameters of a Tuned."""
    words = ["gpukit", "train-lshmf", ask.ratings]
    for name, value in parameters.items():
        words += [] if value is None else [OPTIONS[name], f"{value:g}"]
    usual = {parameter.name: parameter.default for parameter in tune.params}
    for name, flag in PASSED.items():
        value = getattr(ask, name)
        words += [] if value is None or value == usual[name] else [flag, str(value)]
    return shlex.join([*words, "--model", ask.model or "my.gpukit"])


def show(ask, search_result, train, stages):
    """Print the table, the choice, the seconds and the remarks."""
    rows = mark_choice(search_result)
    columns = {key: heading for key, heading in COLUMNS.items() if any(row[key] is not None for row in rows)}
    title = f"{len(rows)} settings, {search_result.folds} fold(s) of {len(train):,} ratings; RMSE on what was held out"
    report.print_table(rows[:SHOWN], columns, title)
    report.echo(f"Best:     {command(ask, search_result.best)}")
    if search_result.simplest != search_result.best:
        report.echo(f"Simplest: {command(ask, search_result.simplest)}")
    report.echo(stages.line())
    report.remark_all(remarks(ask, search_result), ask.quiet)


def mark_choice(search_result):
    """Return the table's rows with the choice marked."""
    rows = []
    for row in search_result.table:
        setting = {name: row[name] for name in search_result.best}
        marks = ["left open"] if row["n_factors"] is None else []
        if setting == search_result.best:
            marks.append("best")
        elif setting == search_result.simplest:
            marks.append("simplest within one standard error")
        rows.append({**row, "mark": ", ".join(marks)})
    return rows


def remarks(ask, search_result):
    """Yield the remarks below the table."""
    means, best = search_result.means["rmse"], search_result.table[0]["rmse"]
    if means is not None:
        none_is_better = "which no setting beats: the ratings hold too little information"
        yield f"User and item means alone: RMSE {means:.4f}, {none_is_better if means <= best else 'for comparison'}."
    if len(search_result.table) > SHOWN:
        yield f"{len(search_result.table) - SHOWN} more settings were worse; --json lists all."
    if search_result.stopped:
        left = f"; {search_result.untried} settings were not tried" if search_result.untried else ""
        yield f"The budget of {ask.budget:g} seconds ended the search{left}. Give more with --budget."
    if ask.model is not None:
        yield f"The best is saved in {ask.model}."


def result(ask, search_result, train):
    """Return the --json object."""
    facts = {"users": train.shape[0], "items": train.shape[1], "ratings": len(train)}
    facts |= report.pick(search_result, "folds best simplest means untried stopped")
    return facts | {"results": search_result.table, "train": command(ask, search_result.best), "model": ask.model}
