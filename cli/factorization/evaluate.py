"""`gpukit evaluate`: evaluate a model's predictions and lists on a test, with baselines."""

import click
import numpy as np

from gpukit.cli import models, options, report
from gpukit.cli.factorization import list_evaluation, table
from gpukit.cli.factorization.list_evaluation import difference_row, show_differences
from gpukit.cli.options import option
from gpukit.cli.teams import run_as_team
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.significance import compare
from gpukit.factorization.lists.recommending import BY
from gpukit.factorization.online.inputs import check_ratings

COLUMNS = {"predictor": "", "test_rmse": "test RMSE", "test_mae": "MAE"}
SEQUENTIAL = {"earlier": "earlier ratings of the user", "ratings": "ratings", "rmse": "RMSE", "mae": "MAE"}
SEQUENTIAL |= {"biases_rmse": "RMSE of biases", "biases_mae": "MAE of biases"}


@options.command()
@options.argument("model")
@options.argument("test")
@option("--lists of_lists", "Evaluate lists; always, for a model of clicks.", bool)
@option("-k cuts", "Length of the lists; may be given several times.", click.IntRange(min=1), (10,), multiple=True)
@option("--against MODEL", "Another model; report whether the difference is significant.")
@option("--given FILE", "Evaluate users that MODEL need not know, by lists made from FILE.")
@option("--sequential", "Predict each rating from the user's earlier ones, then learn it.", bool)
@option("--positive-from RATING", "Least rating that counts, in lists.", float)
@option("--by", "Ranking of lists, as in recommend.", BY)
@option("--no-baselines", "Leave out popularity, item kNN and EASE.", bool)
@options.ratings_file
@options.shared_options
@options.on_ranks
def evaluate(ask, stages):
    """Evaluate MODEL on TEST: ratings, or clicks, that it was not trained on.

    Predicted ratings have RMSE and MAE. Lists are compared with the later clicks of their users, over all items except
    those that a user has already clicked.

    \b
    gpukit evaluate my.gpukit later.csv
    gpukit evaluate my.gpukit later.csv --lists -k 10 -k 50 --against other.gpukit
    gpukit evaluate my.gpukit later.csv --sequential
    gpukit evaluate my.gpukit later.csv --lists --gpus 2
    """
    if ask.against == ask.model:
        raise ParameterError(f"--against {ask.against} is the evaluated model itself: name another one.")
    source = click.get_current_context().get_parameter_source("cuts")
    ask.usual_cuts = source is click.core.ParameterSource.DEFAULT
    sources = (ask.model, ask.test, ask.against, ask.given)
    with run_as_team(ask, [path for path in sources if path is not None]) as team:
        run(ask, stages, team)


def run(ask, stages, team):
    """Run one rank of a Team: all evaluate, the first one prints."""
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    other = models.open_model(ask.against, ask.device, stages)[0] if ask.against else None
    if ask.usual_cuts:  # a longer list than all items is refused if it is asked for
        ask.cuts = (min(*ask.cuts, *(len(model.item_ids_) for model in (fitted, other) if model is not None)),)
    ask.of_lists = bool(ask.of_lists or fitted.feedback_ == "implicit")
    check(ask, other)
    if team.size > 1 and not ask.of_lists:
        raise ParameterError("Ranks (--ranks, --gpus, mpiexec) divide lists: add --lists, or start one process.")
    if ask.of_lists:
        result = list_evaluation.evaluate_lists(ask, fitted, other, stages, team)
    else:
        result = (evaluate_sequentially if ask.sequential else evaluate_ratings)(ask, fitted, other, stages)
    if team.rank:
        return
    if ask.as_json:
        facts = {"model": ask.model, "test": ask.test, "device": str(chosen)}
        return report.print_result({**facts, **(list_evaluation.facts_of(result) if ask.of_lists else result)}, stages)
    (list_evaluation.show if ask.of_lists else show_ratings)(ask, result)
    models.closing_remark(chosen, stages, ask.quiet)


def check(ask, other):
    """Raise for list options without --lists, and for --sequential with it.

    other: the model of --against or None; without --lists it must predict ratings.
    """
    if ask.of_lists:
        if ask.sequential:
            raise ParameterError("--sequential is about predicted ratings, and lists are evaluated here: leave it out.")
        return
    reason = "is about lists, and predicted ratings are evaluated here: add --lists."
    options.refuse_unused("given positive_from no_baselines cuts by", reason)
    if other is not None and other.feedback_ == "implicit":
        raise ParameterError(f"--against {ask.against} is a model of clicks without ratings: add --lists to compare.")


def read_test(ask, stages):
    """Return the Ratings of the test, with times for --sequential."""
    test = table.read_table(ask, ask.test, times="auto" if ask.sequential else False)
    stages.done("reading")
    if not len(test):
        raise DataError(f"{ask.test} holds no ratings to evaluate with.")
    return test


def evaluate_ratings(ask, fitted, other, stages):
    """Return the --json output of predicted ratings.

    unknown: numbers of ratings of unknown users and of unknown items. trained: {model: number of ratings that it was
    trained on}.
    """
    test = check_ratings(read_test(ask, stages), fitted._scale)
    rows, pairs = table.closing_table(fitted, None, test), (test.user_ids[test.users], test.item_ids[test.items])
    unknown = dict(zip(("users", "items"), table.unknown_pairs(fitted, *pairs)))
    trained, differences = {ask.model: table.count_trained(fitted, test)}, []
    if other is not None:
        trained[ask.against] = table.count_trained(other, test)
        predicted = [model.predict(test, unknown="baseline") for model in (fitted, other)]
        rows.append({**table.closing_table(other, None, test)[-1], "predictor": ask.against})
        differences = [difference_of(test, predicted, ask)]
    stages.done("evaluating")
    facts = {"judged": "ratings", "rows": rows, "ratings": len(test), "unknown": unknown}
    facts |= {"range": [*fitted.scale_], "outside_range": table.count_outside(fitted, test)}
    return {**facts, "differences": differences, "trained": trained}


def evaluate_sequentially(ask, fitted, other, stages):
    """Return the --json output of ratings that are predicted one after the other.

    by_time: whether they have times; trained: as in evaluate_ratings.
    """
    sequence, rows, test = fitted._sequential(read_test(ask, stages))
    trained, differences = {ask.model: table.count_trained(fitted, test)}, []
    if other is not None:
        trained[ask.against] = table.count_trained(other, test)
        predicted = [predictions.predicted for predictions in (sequence, other._sequential(test)[0])]
        differences = [difference_of(test, predicted, ask)]
    stages.done("evaluating")
    facts = {"judged": "ratings in sequence", "rows": rows, "ratings": len(test)}
    return {**facts, "by_time": test.times is not None, "differences": differences, "trained": trained}


def difference_of(test, predicted, ask):
    """Return the row of the mean squared error per user of two models' predictions.

    The difference is the other model's error less the model's: positive if the model is better.
    """
    counts = np.bincount(test.users)
    sums = (np.bincount(test.users, (values - test.values) ** 2)[counts > 0] for values in predicted)
    ours, other_means = (squares / counts[counts > 0] for squares in sums)
    return difference_row("squared error a user, less", compare(other_means, ours, ask.seed))


def show_ratings(ask, results):
    """Print the table and the remarks."""
    columns, title = COLUMNS, f"{ask.model} on {results['ratings']:,} ratings of {ask.test}"
    if ask.sequential:
        columns, title = SEQUENTIAL, f"{ask.model} on {ask.test}, each rating before it is learned"
        lines = [f"{ask.test} has no times: a user's ratings are in the order of the file."][results["by_time"] :]
    else:
        lines = [*table.unknown_lines(results["ratings"], *results["unknown"].values(), "ratings")]
        lines += table.range_lines(results["ratings"], results["outside_range"], results["range"])
    lines += table.trained_lines(results["ratings"], results["trained"])
    report.print_table(results["rows"], columns, title)
    show_differences(results["differences"], ask)
    report.remark_all(lines, ask.quiet)
