"""`gpukit tune`: choose factors, neighbours, regularization and epochs by cross-validation."""

from types import SimpleNamespace

import click

from gpukit.cli import options, outputs, report
from gpukit.cli.factorization import steps, tuned
from gpukit.cli.options import option
from gpukit.cli.report import Stages
from gpukit.cli.sections import Sectioned
from gpukit.device import capability_of
from gpukit.errors import ParameterError
from gpukit.factorization.implicit.feedback import check_test
from gpukit.parallel import ALONE

NAMES = {
    "factors": "n_factors",
    "neighbors": "n_neighbors",
    "regularization": "regularization",
    "learning-rate": "learning_rate",
}
BUDGET = 900.0
AT_LEAST_1 = click.IntRange(min=1)


@click.command(cls=Sectioned)
@click.argument("ratings")
@option(
    "--grid TEXT",
    "What to try, e.g. 'factors=16,64 neighbors=0,32 regularization=0.03,0.05 learning-rate=0.2'; what is not "
    "named stays at the defaults.  [default: by how dense RATINGS are]",
    multiple=True,
)
@option("--cv N", "Folds.  [default: 5; of many ratings some of 10]", click.IntRange(2, 255))
@option("--repeat", "Times the ratings are dealt into folds.", AT_LEAST_1, 1)
@option(
    "--budget SECONDS",
    "Begin no training after so long and take the best so far; 0: no end.",
    click.FloatRange(0),
    BUDGET,
)
@option(
    "--exhaustive",
    "Every setting on every fold; else, with many ratings, only those that come near the best on the first.",
    bool,
)
@option("--epochs", "Passes over the ratings, at most; the best number is found.", AT_LEAST_1)
@option("--test FILE", "Train the winner on all of RATINGS and test it on these.")
@option(
    "--test-fraction SHARE",
    "Hold out this share of RATINGS, which the search does not see, and test the winner on it.",
    click.FloatRange(0, 1, max_open=True),
    0.0,
)
@options.split
@option("--model FILE", "Save the winner, trained on all of RATINGS, here.")
@option("--plot FILE", "Draw RMSE by regularization and by epoch: .png, .pdf or .svg.")
@options.force
@options.table_file
@options.duplicates
@options.shared
@click.pass_context
def tune(ctx, **values):
    """Find the options of train-lshmf that suit RATINGS, by cross-validation.

    Parts of the ratings (folds) are held out in turn; a setting is judged by the mean RMSE on them, after the epoch at
    which that is least. --split time and user-time are for these too: each fold is later than what is trained on.

    \b
    gpukit tune ratings.csv
    gpukit tune ratings.csv --grid "factors=32,128 regularization=0.03,0.05" --model best.gpukit
    gpukit tune ratings.csv --test-fraction 0.1 --plot tuning.png
    """
    ask, stages = SimpleNamespace(**values), Stages()
    check(ask)
    report.compile_ahead(ask, ALONE, "ratings", capability=capability_of(ask.device), reads=(ask.ratings, ask.test))
    stages.done("start")
    train, test = steps.load(ask, stages, steps.of_ratings)
    if ask.test is not None:
        check_test("explicit", test)
    tuned.show(ask, tuned.run(ctx, ask, train, test, stages), stages)


def check(ask):
    """Raise for invalid grids and unwritable files; parse ask.grid to a dict or None."""
    ask.grid = parsed(" ".join(ask.grid)) if ask.grid else None
    if ask.test is not None and ask.test_fraction:
        raise ParameterError("--test and --test-fraction exclude each other: test on a file, or on a share of RATINGS.")
    if ask.split != "random" and ask.repeat > 1:
        raise ParameterError(f"--repeat deals anew at random, which --split {ask.split} does not: leave one out.")
    reads = [path for path in (ask.ratings, ask.test) if path is not None]
    for name in ("model", "plot"):
        outputs.check_output(getattr(ask, name), f"--{name}", reads, ask.force)
    outputs.check_plot(ask.plot)


def parsed(text):
    """Return {estimator parameter: [values]} of 'factors=16,32 regularization=0.1'.

    ParameterError for invalid text.
    """
    found = {}
    for word in text.split():
        name, equals, values = word.partition("=")
        name = name.replace("_", "-")
        if name not in NAMES or not equals:
            raise ParameterError(f"--grid {word}: write NAME=VALUE,VALUE with {', '.join(NAMES)} as names.")
        if NAMES[name] in found:
            raise ParameterError(f"--grid names {name} twice: give all its values in one list.")
        found[NAMES[name]] = [number(name, value) for value in values.split(",") if value]
    if not found:
        raise ParameterError(f"--grid is empty: write NAME=VALUE,VALUE with {', '.join(NAMES)} as names.")
    from gpukit.factorization.tuning import grid as grids

    return grids.checked(found, {theirs: f"--grid {name}" for name, theirs in NAMES.items()})


def number(name, text):
    """Return the number of a grid value; ParameterError if invalid."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ParameterError(f"--grid {name}: {text!r} is no number.")
