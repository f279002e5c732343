"""Evaluation of predicted ratings for `gpukit evaluate`."""

import numpy as np

from gpukit.cli import report
from gpukit.cli.factorization.judging.lists import difference_row, show_differences
from gpukit.cli.factorization.table import closing_table, count_trained, trained_line, unknown_line, unknown_pairs
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.lists.significance import compare

COLUMNS = {"predictor": "", "test_rmse": "test RMSE", "test_mae": "MAE"}
SEQUENTIAL = {"earlier": "earlier ratings of the user", "ratings": "ratings", "rmse": "RMSE", "mae": "MAE"}
SEQUENTIAL |= {"biases_rmse": "RMSE of biases", "biases_mae": "MAE of biases"}


def judge(ask, fitted, other, stages, team):
    """Return {rows, ratings, unknown, differences, trained} of the test.

    unknown: numbers of ratings of unknown users and of unknown items. trained: {model: number of ratings that it was
    trained on}.
    """
    if team.size > 1:
        raise ParameterError(
            "Ranks (--ranks, --gpus, mpiexec) share lists out, and predicted ratings are judged here: add --lists, or "
            "start one."
        )
    from gpukit.factorization.online.inputs import check_ratings
    from gpukit.ratings import read_ratings

    layout = ask.file_format, ask.columns, ask.duplicates, ask.sep
    test = read_ratings(ask.test, *layout, times="auto" if ask.sequential else False)
    stages.done("reading")
    if not len(test):
        raise DataError(f"{ask.test} holds no ratings to judge by.")
    if ask.sequential:
        return judge_sequentially(ask, fitted, other, test, stages)
    check_ratings(test, fitted._scale)
    rows, pairs = closing_table(fitted, None, test), (test.user_ids[test.users], test.item_ids[test.items])
    unknown = dict(zip(("users", "items"), unknown_pairs(fitted, *pairs)))
    results = {"rows": rows, "ratings": len(test), "unknown": unknown, "differences": []}
    results["trained"] = {ask.model: count_trained(fitted, test)}
    if other is not None:
        results["trained"][ask.against] = count_trained(other, test)
        errors = [(model.predict(test, unknown="baseline") - test.values) ** 2 for model in (fitted, other)]
        rows.append({**closing_table(other, None, test)[-1], "predictor": ask.against})
        results["differences"] = [difference_of(test.users, errors, ask)]
    stages.done("evaluating")
    return results


def judge_sequentially(ask, fitted, other, test, stages):
    """Return {rows, ratings, by times or not, differences} of the test's ratings, one after the other."""
    sequence, rows, test = fitted._sequential(test)
    differences = []
    if other is not None:
        errors = [(predictions.predicted - test.values) ** 2 for predictions in (sequence, other._sequential(test)[0])]
        differences = [difference_of(test.users, errors, ask)]
    stages.done("evaluating")
    return {"rows": rows, "ratings": len(test), "by_time": test.times is not None, "differences": differences}


def difference_of(users, errors, ask):
    """Return the row of the mean squared error per user.

    The difference is the other model's error less the model's: positive if the model is better.
    """
    counts = np.bincount(users)
    ours, other_means = (np.bincount(users, squares)[counts > 0] / counts[counts > 0] for squares in errors)
    return difference_row("squared error a user, less", compare(other_means, ours, ask.seed))


def show(ask, results):
    """Print the table and the remarks."""
    if ask.sequential:
        report.print_table(results["rows"], SEQUENTIAL, f"{ask.model} on {ask.test}, each rating before it is learned")
        if not results["by_time"]:
            report.remark(f"{ask.test} has no times: a user's ratings are in the order of the file.", ask.quiet)
        show_differences(results["differences"], ask)
        return
    report.print_table(results["rows"], COLUMNS, f"{ask.model} on {results['ratings']:,} ratings of {ask.test}")
    show_differences(results["differences"], ask)
    unknown = unknown_line(results["ratings"], *results["unknown"].values(), "ratings")
    trained = (trained_line(results["ratings"], count, name) for name, count in results["trained"].items())
    for line in filter(None, (unknown, *trained)):
        report.remark(line, ask.quiet)


def result(ask, results):
    """Return the --json output."""
    return {"judged": "ratings in sequence" if ask.sequential else "ratings", **results}
