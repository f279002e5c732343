"""The steps of `gpukit train-lshmf`.

ask: its options, by name; run: estimator `model`, Ratings `train` and `test` (or None), rows of the closing `table`,
numbers of `unknown` users and items, texts of `warnings`, Stages `stages`.
"""

import contextlib
import functools
import shlex
import warnings
from pathlib import Path

import numpy as np

from gpukit._cores import cores
from gpukit.cli import report
from gpukit.cli.factorization import list_evaluation, table
from gpukit.cli.main import set_interrupt_message
from gpukit.cli.options import given_options
from gpukit.cli.outputs import picture
from gpukit.device import resolve
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.implicit.feedback import check_test as check_kind
from gpukit.factorization.implicit.feedback import resolve_feedback
from gpukit.factorization.model.parts import collect_model
from gpukit.io.sources import is_pattern
from gpukit.neighbors.plan import CARDS
from gpukit.parallel import ALONE
from gpukit.ratings.check import are_clicks, are_pairs, number_lines
from gpukit.ratings.chunk_reader import concatenate
from gpukit.ratings.parts import RatingsPart, split_by_pair
from gpukit.ratings.read import read_ratings

BY_TIME, ONE_EACH = ("time", "user-time", "user-last"), ("user-last", "user-one")  # values of --split
CURVE = 1 << 20  # test ratings whose RMSE has a standard error of about .0005
HASHING = ("lsh_p", "lsh_q", "lsh_bits", "lsh_psi")
NEIGHBORHOOD = (*HASHING, "neighbors", "hash", "search", "influence_rate", "influence_regularization")
REFIT = "refit"  # the stage of a second training, on all ratings
COLUMNS = {"predictor": "", "train_rmse": "train RMSE", "train_mae": "MAE", "test_rmse": "test RMSE", "test_mae": "MAE"}


def load(ask, stages, described, times=False, team=ALONE):
    """Return (train, test) as Ratings; test is None if nothing is held out.

    described(ask, Ratings): describes the data in words; times: read times even if the split does not need them; team:
    the parallel.Team; see read_parts.read_on_all."""

    def read(path, times=False):
        return reader_of(team)(path, ask.file_format, ask.columns, ask.duplicates, ask.sep, times)

    in_parts = team.size > 1 and can_be_divided(ask, team) and can_be_in_parts(ask)
    train = read_in_parts(ask, team) if in_parts else read(ask.ratings, True if ask.split in BY_TIME else times)
    test = None if ask.test is None else read(ask.test)
    remark = described(ask, train)
    stages.done("reading")
    if ask.test_fraction:
        what, all_clicks = "clicks" if are_pairs(train) else "ratings", are_clicks(train)
        if ask.split == "random" and is_pattern(ask.ratings):  # the same in any order of the parts
            train, test = split_by_pair(train, ask.test_fraction, ask.seed)
        else:
            train, test = train.split(ask.test_fraction, ask.seed, ask.split)
        check_parts(ask, train, test)
        if ask.feedback == "auto" and ask.positive_from is None and are_clicks(train) and not all_clicks:
            ask.feedback = "explicit"  # equal ratings remain ratings where those held out differ
        remark += f"; {len(test):,} of the {what}{describe_split(ask, test)} are held out for testing"
    report.remark(remark + ".", ask.silent)
    stages.done("splitting")
    return train, test


def reader_of(team):
    """Return read_ratings for the ranks of a Team."""
    if team.size == 1:
        return read_ratings
    from gpukit.ratings.read_parts import read_on_all

    return functools.partial(read_on_all, team)


def can_be_divided(ask, team):
    """Return True for a pattern of files, or a .gkr."""
    from gpukit.ratings.read_parts import is_copy

    return is_pattern(ask.ratings) or is_copy(ask.ratings, ask.file_format, team)


def read_in_parts(ask, team):
    """Return the RatingsPart of this rank; Ratings, with a remark, if rank 0 must read all."""
    from gpukit.ratings.read_parts import read_parts

    ratings = read_parts(ask.ratings, team, ask.file_format, ask.columns, ask.duplicates, ask.sep)
    if not isinstance(ratings, RatingsPart):
        remark_whole(ask, "Ratings in parts are text or Parquet with user, item and rating")
    return ratings


def can_be_in_parts(ask):
    """Return True if the options work on ratings in parts; else print which one does not."""
    wrong = {
        "--solver": ask.solver not in ("auto", "sgd"),
        "--feedback": ask.feedback == "implicit",
        "--positive-from": ask.positive_from is not None,
        "--split": bool(ask.test_fraction) and ask.split != "random",
        "--test": ask.test is not None,
        "--early-stop": ask.early_stop is not None,
        "--checkpoint": ask.checkpoint is not None,
        "--no-refit": ask.no_refit and ask.model is not None,
        "--lists": ask.lists,
        "--duplicates": ask.duplicates == "error",
    }
    if (name := next(filter(wrong.get, wrong), None)) is not None:
        remark_whole(ask, f"{name} does not work on ratings in parts")
    return name is None


def remark_whole(ask, reason):
    """Print why rank 0 reads all files of a pattern."""
    report.remark(f"{reason}: rank 0 reads all ratings.", ask.silent or not is_pattern(ask.ratings))


def check_parts(ask, train, test):
    """Raise DataError if all ratings are on one side of the split."""
    if not len(test) and ask.split in ONE_EACH:
        raise DataError(f"--split {ask.split} holds nothing out: no user has two ratings. Split in another way.")
    parts = {"user-time": "each user's ratings", "users": "the users"}
    whose = parts.get(ask.split, f"{len(train) + len(test):,} ratings")
    share = f"--test-fraction {ask.test_fraction} of {whose}"
    if not len(test):
        raise DataError(f"{share} is none at all. Use a larger share, or 0 to train on all.")
    if not len(train):
        raise DataError(f"{share} is all of them. Use a smaller share.")


def check_test(ask, train, test):
    """Raise DataError for a test file of clicks if the training is on ratings."""
    if ask.test is not None and are_pairs(test):
        with table.options_named():
            check_kind(resolve_feedback(build(ask), train)[0], test)


def describe_as_ratings(ask, ratings):
    """Describe input that must be ratings; DataError for clicks."""
    if are_pairs(ratings):
        raise DataError(
            f"{ask.ratings} holds {len(ratings):,} pairs without ratings, and settings are compared by RMSE here. "
            "gpukit train-lshmf chooses the settings for clicks by itself."
        )
    (low, high), (users, items) = ratings.scale, ratings.shape
    return f"{ask.ratings}: {len(ratings):,} ratings from {low:g} to {high:g}, {users:,} users, {items:,} items"


def describe_input(ask, ratings):
    """Describe the input, and its use as ratings or as clicks."""
    with table.options_named():
        feedback, clicks = resolve_feedback(build(ask), ratings)
    if feedback == "implicit":
        if ask.plot is not None:
            raise ParameterError("--plot draws RMSE on ratings held out, and these are clicks: leave it out.")
        return list_evaluation.describe_clicks(ask.ratings, clicks, ratings) + doubts(ask, ratings, True)
    if are_pairs(ratings):
        raise DataError(
            f"{ask.ratings} holds {len(ratings):,} pairs without ratings: --feedback explicit finds nothing to learn. "
            "Leave it out, or say which column is the rating with --columns (such as user,item,rating)."
        )
    return describe_as_ratings(ask, ratings) + doubts(ask, ratings, False)


def doubts(ask, ratings, clicks):
    """Return a remark on ratings whose kind --feedback auto may mistake, or ''; clicks: they are taken as clicks."""
    low, high = ratings.scale
    earliest = 1e8  # seconds: numbers that all are larger are times from 1973 on, or of milliseconds
    if ask.feedback != "auto" or ask.positive_from is not None:
        return ""
    if clicks:
        is_one_value = low == high != 1
        return f" (every rating is {low:g}; --feedback explicit takes them as ratings)" if is_one_value else ""
    if number_lines(ratings):
        return " (each user has one, ids number the lines: --columns -,user,item,rating leaves the first column out)"
    if low >= earliest:
        return " (these look like times: --columns user,item,timestamp takes the pairs as clicks)"
    if high == 1 and low in (0, -1) and bool(((ratings.values == low) | (ratings.values == high)).all()):
        return f" ({low:g} and 1 alone: if 1 is a click, --positive-from 1 learns lists)"
    return ""


def job_of(ask, ratings):
    """Return the job that Ratings are for, as compilation/signatures.txt names it."""
    is_named = ask.feedback == "implicit" or ask.positive_from is not None
    return "clicks" if is_named or ask.feedback == "auto" and are_clicks(ratings) else "ratings"


def describe_split(ask, test):
    """Describe the held-out ratings for the remark, '' if they are random."""
    if ask.split == "time":
        return f", the last ones, from {format_time(test.times.min())} on,"
    if ask.split == "users":
        return f", those of {len(np.unique(test.users)):,} users,"
    phrases = {"user-time": ", the last of each user,", "user-last": ", the last one of each user,"}
    return {**phrases, "user-one": ", one of each user,"}.get(ask.split, "")


def format_time(seconds):
    """Return a time of Ratings as a date, if it is one."""
    try:
        return f"{np.datetime64(int(seconds), 's').astype('datetime64[D]')}"
    except (OverflowError, ValueError):
        return str(seconds)


def build(ask):
    """Return the unfitted estimator of the options."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    params = report.pick(ask, "device learning_rate regularization deterministic precision feedback positive_from loss")
    params |= report.pick(ask, "solver unobserved_weight rates beta")
    params |= {"n_factors": ask.factors, "random_state": ask.seed}
    params |= {"n_epochs": ask.epochs, "early_stopping": ask.early_stop or 0}
    if ask.neighbors == 0:
        return MatrixFactorization(**params)
    names = "lsh_p lsh_q lsh_bits lsh_psi search hash influence_rate influence_regularization"
    return LSHMF(n_neighbors=ask.neighbors, **report.pick(ask, names), **params)


def check_shared(ask):
    """Raise ParameterError for options that ranks do not support, before reading."""
    from gpukit.factorization.shared.training import check_parameters

    model = build(ask)
    with table.options_named():
        check_parameters(model, model.check(), resolve(ask.device).is_cuda)


@contextlib.contextmanager
def training(ask, quiet):
    """Yield (texts of warnings, progress) for a training; Ctrl-C keeps the checkpoint and reports it."""
    with (
        report.collect_warnings(quiet, table.spoken) as messages,
        report.Progress(ask.quiet) as progress,
        table.options_named(),
    ):
        try:
            yield messages, progress
        except KeyboardInterrupt as stop:
            set_interrupt_message(describe_checkpoint(ask.checkpoint, stop.__cause__))
            raise


def fit(ask, train, test, stages, team=ALONE):
    """Return (fitted estimator, warning texts)."""
    model, validation = build(ask), None if ask.early_stop else curve_ratings(test)  # the test set must not stop it
    options = {"checkpoint": ask.checkpoint, "resume": ask.resume, "team": team}
    with training(ask, ask.silent) as (messages, progress):
        if (text := unused_options(ask)) is not None:
            warnings.warn(text, UserWarning, stacklevel=2)
        model.fit(train, validation=validation, progress=progress, **options)
    stages.done("preparing", {name: seconds for name, seconds in model.timings_.items() if name != "prepare"})
    return model, messages


def unused_options(ask):
    """Return a text on named options without effect, or None."""
    if ask.neighbors == 0 or ask.solver in ("ials", "ease"):
        names, why = NEIGHBORHOOD, "there are no neighbours"
    elif not CARDS[ask.search].reads_codes:
        names, why = HASHING, f"--search {ask.search} reads no hash"
    else:
        names, why = ("lsh_psi",) * (ask.hash != "simlsh"), f"--hash {ask.hash} takes no power of the ratings"
    if ask.no_refit and not (ask.model and ask.test_fraction):
        names, why = ("no_refit",), "no model is trained again"
    unused = given_options(lambda name: name in names and getattr(ask, name) != 0)
    return f"{unused}: no effect, as {why}." if unused else None


def curve_ratings(test):
    """Return the test Ratings to evaluate after each epoch, for the progress and the curve: one or two million."""
    is_small = test is None or isinstance(test, RatingsPart) or len(test) < 2 * CURVE
    return test if is_small else test.take(slice(None, None, len(test) // CURVE))


def refit(ask, model, ratings, stages, team=ALONE):
    """Return a model trained on all Ratings with a fitted model's settings."""
    with training(ask, True) as (_, progress):
        saved = model.refit(ratings, progress=progress, checkpoint=ask.checkpoint, resume=ask.resume, team=team)
    stages.done(REFIT)
    return saved


def concatenate_ratings(first, other):
    """Return the Ratings, or the RatingsPart, of two parts of one table."""
    if isinstance(first, RatingsPart):
        return first.together(other)
    parts = ((name, np.array_split(column, cores())) for name, column in first.columns().items())
    return first.with_columns(**{name: concatenate([*own, other.columns()[name]]) for name, own in parts})


def save(ask, run, saved, team):
    """Save the refitted model, or the reported one; of a pattern of files every rank saves its part.

    Lists of the reported model omit the held-out items.
    """
    if not team.rank and ask.test_fraction and saved is run.model:
        saved.mark_seen(run.test)
    if ask.lists and not team.rank:
        saved.fit_lists()
        run.stages.done("learning lists")
    if not is_pattern(ask.ratings):
        saved = collect_model(saved, team)
    saved.save(ask.model, team)
    run.stages.done("writing")


def describe_checkpoint(checkpoint, error=None):
    """Describe the checkpoint after Ctrl-C; error: why it could not be written."""
    if checkpoint is None:
        return "Nothing was kept; --checkpoint FILE keeps the state of training."
    is_there = Path(checkpoint).is_file()
    if error is not None:
        before = " The one of before is whole: --resume goes on from it." * is_there
        return f"The checkpoint could not be written: {error}{before}"
    if not is_there:
        return f"Training had not begun, so there is no checkpoint {checkpoint} yet."
    return f"The checkpoint {checkpoint} is whole: the same command with --resume goes on from it."


def evaluate(ask, model, train, test, team):
    """Return (closing table, numbers of test ratings of unknown users and items); None for ranks that do not print.

    The ranks of RatingsParts compute it together.
    """
    if team.rank and not isinstance(train, RatingsPart):
        return None, None
    implicit = model.feedback_ == "implicit"
    unknown = None if test is None or implicit and not ask.as_json else table.count_unknown(train, test)
    if implicit:
        return list_evaluation.closing_table(model, test, ask), unknown
    return table.closing_table(model, train, test), unknown


def draw(ask, run):
    """Draw RMSE by epoch and by seconds for --plot; a curve over the test set includes the bias-only predictor."""
    biased, over, curve = run.table[1], "test set", run.model.history_
    if ask.early_stop:
        over, trials = "held-out part of the training set", (row for row in run.model.trials_ if row["curve"])
        curve = min(trials, key=lambda row: row["rmse"])["curve"]
    with picture(ask.plot, 9, ncols=2, sharey=True) as axes:
        for axis, key, label in zip(axes, ("epoch", "seconds"), ("epochs", "seconds of training")):
            columns = ([row[name] for row in curve] for name in (key, "rmse"))
            axis.plot(*columns, marker="o", markersize=3, label=f"{type(run.model).__name__}, {over}")
            if not ask.early_stop:
                axis.axhline(biased["test_rmse"], linestyle="--", linewidth=1, color="C1", label=biased["predictor"])
            axis.set_xlabel(label)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("RMSE")
        axes[1].legend()


def show_table(ask, run):
    """Print the closing table, unless --json is given."""
    if ask.as_json:
        return
    if run.model.feedback_ == "implicit":
        list_evaluation.show_training(run)
        return
    model = run.model
    how = f"{len(model.history_)} epochs" if model.history_ else model.chosen_["predictor"]
    title = f"{type(model).__name__} on {model.device_}, {how}, {len(run.train):,} ratings"
    report.print_table(run.table, {key: heading for key, heading in COLUMNS.items() if key in run.table[0]}, title)


def show_rest(ask, run):
    """Print the seconds and the remarks, or the result as a JSON object."""
    implicit = run.model.feedback_ == "implicit"
    if ask.as_json:
        return report.print_result(result(ask, run), run.stages)
    report.echo(run.stages.line())
    chosen_line = list_evaluation.chosen_line if implicit else table.chosen_line
    texts = list_evaluation.remarks(run.table) if implicit else remarks(ask, run)
    report.remark_all((chosen_line(run.model.chosen_), *texts, *next_steps(ask, run)), ask.quiet)


def remarks(ask, run):
    """Yield unknown users and items of the test, better predictors, and written files."""
    if run.unknown:
        yield from table.unknown_lines(len(run.test), *run.unknown, "test ratings")
    if ask.test is not None and not isinstance(run.test, RatingsPart):
        yield from table.trained_lines(len(run.test), {"the model": table.count_trained(run.model, run.test)})
        yield from table.range_lines(len(run.test), table.count_outside(run.model, run.test), run.model.scale_)
    if run.test is not None:
        simpler = min(run.table[:-1], key=lambda row: row["test_rmse"])
        if round(simpler["test_rmse"], 4) < round(run.table[-1]["test_rmse"], 4):
            yield f"On these {len(run.test):,} test ratings '{simpler['predictor']}' has a lower error than the model."
    if ask.plot is not None:
        yield f"Curve drawn in {ask.plot}."


def next_steps(ask, run):
    """Yield the training data of the saved model, the source of the errors, and the next command."""
    if ask.model is None:
        return
    if REFIT in run.stages.seconds:
        n_ratings, seconds = len(run.train) + len(run.test), run.stages.seconds[REFIT]
        yield (
            f"The saved model was trained again on all {n_ratings:,} ratings in {seconds:.2f} s with the same "
            f"settings. The figures above are those of the model before, trained on {len(run.train):,}."
        )
    elif ask.test_fraction:
        held_out = f"{len(run.test):,} held-out ratings"
        yield f"The saved model was not trained on the {held_out}; its lists leave these items out."
    user = run.train.user_ids[next(iter(run.train.users[:1]), 0)]
    following = shlex.join(["gpukit", "recommend", ask.model, "--user", str(user)])
    yield f"Model saved in {ask.model}. Next: {following}"


def result(ask, run):
    """Return the --json output."""
    model, (users, items), seconds = run.model, run.train.shape, run.stages.seconds
    refit = {"ratings": len(run.train) + len(run.test), "seconds": seconds[REFIT]} if REFIT in seconds else None
    parts = {"users": users, "items": items, "train_ratings": len(run.train)}
    parts |= {"test_ratings": None if run.test is None else len(run.test)}
    parts |= {"unknown_in_test": run.unknown and dict(zip(("users", "items"), run.unknown))}
    results = run.table if isinstance(run.table, list | None) else run.table.rows(run.table.cuts[0])
    return {
        **{"estimator": type(model).__name__, "parameters": model.get_params(), **parts},
        **report.pick(model, "device chosen trials feedback history", "_"),
        **{"results": results, "epochs": len(model.history_), "warnings": run.warnings},
        **{"refit": refit, **report.pick(ask, "model checkpoint plot")},
    }
