"""The steps of `gpukit train-lshmf`. ask: its options, by name."""

from pathlib import Path

import click

from gpukit.cli import report
from gpukit.cli.evaluation import count_unknown
from gpukit.cli.main import survived

COLUMNS = {"predictor": "", "train_rmse": "train RMSE", "train_mae": "MAE", "test_rmse": "test RMSE", "test_mae": "MAE"}


def load(ask, stages):
    """(train, test): Ratings, test None where nothing is held out."""
    from gpukit.datasets import read_ratings

    def read(path):
        return read_ratings(path, ask.file_format, ask.columns, ask.duplicates, ask.sep)

    train, test = read(ask.ratings), None if ask.test is None else read(ask.test)
    low, high = train.scale
    remark = f"{ask.ratings}: {len(train):,} ratings from {low:g} to {high:g}, {train.shape[0]:,} users, {train.shape[1]:,} items"
    stages.done("reading")
    if ask.test_fraction:
        train, test = train.split(ask.test_fraction, ask.seed)
        remark += f"; {len(test):,} of the ratings are held out for testing"
    report.remark(remark + ".", ask.quiet or ask.as_json)
    stages.done("splitting")
    return train, test


def build(ask):
    """The estimator that the options describe, not fitted."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    params = {"n_factors": ask.factors, "device": ask.device, "random_state": ask.seed}
    if ask.epochs is not None:
        params["n_epochs"] = ask.epochs
    if ask.early_stop is not None:
        params.update(early_stopping=ask.early_stop, validation_fraction=0.1)
    if not ask.neighbors:
        return MatrixFactorization(**params)
    return LSHMF(n_neighbors=ask.neighbors, lsh_p=ask.lsh_p, lsh_q=ask.lsh_q, lsh_bits=ask.lsh_bits, search=ask.search, **params)


def fit(ctx, ask, train, test, stages):
    """The fitted estimator. Ctrl-C leaves the checkpoint, and says so."""
    model = build(ask)
    watched = None if ask.early_stop else test  # stopping early by the test set would flatter its RMSE
    try:
        with report.Progress(ask.quiet) as progress:
            model.fit(train, validation=watched, progress=progress, checkpoint=ask.checkpoint, resume=ask.resume)
    except KeyboardInterrupt:
        kept = ask.checkpoint is not None and Path(ask.checkpoint).is_file()
        survived(ctx, f"The checkpoint {ask.checkpoint} is whole: the same command with --resume goes on from it." if kept
                 else "Nothing was kept; --checkpoint FILE keeps the state of training." if ask.checkpoint is None
                 else f"The checkpoint {ask.checkpoint} had not been written yet.")
        raise
    parts = {name: model.timings_[name] for name in ("neighbours", "training") if name in model.timings_}
    stages.done("preparing", parts)
    return model


def draw(ask, model, table):
    """The picture that --plot asks for; the bias-only predictor is drawn beside a curve over the test set."""
    from gpukit.cli.plots import training_curve

    biased = table[1]
    beside = {} if ask.early_stop else {biased["predictor"]: biased["test_rmse"]}
    over = "held-out part of the training set" if ask.early_stop else "test set"
    training_curve(model.history_, f"{type(model).__name__}, {over}", beside, ask.plot)


def show(ask, model, train, test, table, stages):
    """Print the result: a JSON object, or the closing table and the seconds."""
    unknown = None if test is None else count_unknown(train, test)
    if ask.as_json:
        report.print_json(result(ask, model, train, test, table, stages, unknown))
        return
    heading = f"{type(model).__name__} on {model.device_}, {len(model.history_)} epochs, {len(train):,} ratings"
    report.print_table(table, {key: head for key, head in COLUMNS.items() if key in table[0]}, heading)
    click.echo(stages.line())
    if unknown and any(unknown):
        report.remark(f"Of {len(test):,} test ratings, {unknown[0]:,} are of users and {unknown[1]:,} of items without a training "
                      "rating; those were predicted from what is known.", ask.quiet)
    if ask.model is not None:
        user = train.user_ids[train.users[0]]
        report.remark(f"Model saved. Next: gpukit recommend {ask.model} --user {user}", ask.quiet)


def result(ask, model, train, test, table, stages, unknown):
    """What --json prints."""
    return {
        "command": "train-lshmf", "estimator": type(model).__name__, "parameters": model.get_params(), "device": model.device_,
        "users": train.shape[0], "items": train.shape[1], "train_ratings": len(train),
        "test_ratings": None if test is None else len(test),
        "unknown_in_test": None if unknown is None else {"users": unknown[0], "items": unknown[1]},
        "results": table, "epochs": len(model.history_), "history": model.history_, "seconds": stages.seconds,
        "model": ask.model, "checkpoint": ask.checkpoint, "plot": ask.plot,
    }
