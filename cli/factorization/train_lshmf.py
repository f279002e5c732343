"""`gpukit train-lshmf`: train a model on ratings or clicks."""

import glob
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import click

from gpukit.cli import options, outputs, report, teams
from gpukit.cli.factorization import steps
from gpukit.cli.factorization.table import options_named
from gpukit.cli.options import option
from gpukit.cli.teams import run_as_team
from gpukit.device import capability_of, start_driver, start_warm_up
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.model.layout import PRECISIONS, is_half
from gpukit.factorization.settings import ALL_SOLVERS, Rates
from gpukit.io.sources import is_pattern
from gpukit.neighbors.plan import CARDS, HASHES, SEARCHES
from gpukit.runtime.start import import_reader

AT_LEAST_1, SHARE = click.IntRange(min=1), click.FloatRange(0, 1, max_open=True)


@options.command()
@options.argument("ratings")
@option("--model FILE", "Save the model here, for predict, recommend and similar.")
@option("--factors", f"Length F of the factor vectors.  [{options.FROM_DATA}]", AT_LEAST_1)
@option("--neighbors", f"Neighbours K of an item.  [{options.FROM_DATA}]", click.IntRange(min=0))
@option("--no-neighbors", "Plain factorization (CUSGD++); the same as --neighbors 0.", bool)
@option("--epochs", f"Maximum number of passes over the ratings.  [{options.FROM_DATA}]", AT_LEAST_1)
@option("--solver", "Ratings: sgd, hogwild or als; clicks: ials, ease or sampled.", ALL_SOLVERS, "auto")
@options.implicit
@option("--lsh-p", "Hashings that make up one bucket code.", AT_LEAST_1, 3)
@option("--lsh-q", "Bucket codes of an item.", AT_LEAST_1, 100)
@option("--lsh-bits", "Bits of one hashing.", AT_LEAST_1, 8)
@option("--lsh-psi", "Exponent of Psi(r) = r^psi of simlsh: 1, 2 or 4.", click.IntRange(1, 4), 2)
@option("--rates", "Learning rates of sgd and sampled: adaptive, or the paper's Eq. (7).", get_args(Rates), "adaptive")
@option("--beta", "beta of Eq. (7): rates paper (0.3; sampled 0.05) and hogwild (0.05).", float)
@option("--influence-rate", "alpha_w of Table 5; of rates paper 0.057 times the learning rate.", float)
@option("--influence-regularization", "lambda_w of Table 5.  [default: 0.002]", float)
@option("--search", "Search of neighbours: all bits, the paper's buckets, GSM, or at random.", SEARCHES, "hamming")
@option("--hash", "Hash of an item, of its ratings or (minhash) of its users alone.", HASHES, "simlsh")
@option("--test FILE", "Test on these ratings and train on all of RATINGS.")
@option("--test-fraction SHARE", "Share of RATINGS to hold out for testing.  [default: 0.1 without --test]", SHARE)
@options.every_split
@option(
    "--early-stop N", "Stop after N epochs without a lower RMSE on held-out ratings; then train on all.", AT_LEAST_1
)
@option("--learning-rate", "Size of the steps.  [default: by the number of ratings]", float)
@option("--regularization", f"Weight of the penalty on parameters.  [{options.FROM_DATA}]", float)
@option("--deterministic", "The same result on every run, with any number of threads; slower.", bool)
@option("--precision", "Precision of the shared factors; half needs a GPU.", PRECISIONS, "auto")
@option("--no-refit", "Save the model of the printed errors; do not train again on all of RATINGS.", bool)
@option("--lists", "Train the ranking of lists now, not at the first recommend.", bool)
@option("--checkpoint FILE", "Save the state here during training.")
@option("--resume", "Continue from --checkpoint.", bool)
@option("--plot FILE", "Draw RMSE by epoch and by second: .png, .pdf or .svg.")
@options.force
@options.ratings_file
@options.shared_options
@options.on_ranks
@options.dask
def train_lshmf(ask, stages):
    """Train a model on RATINGS to predict ratings and to recommend items.

    If users and items have few ratings, options that are not given are chosen on held-out ratings; damped biases
    without factors are a candidate. The last lines report the choice and its reason. A column named weight by --columns
    weights each rating.

    Files without ratings, or with equal ratings, are clicks. Then the model learns lists, with settings that rank
    held-out clicks of each user best, and the final table compares them with popularity, item kNN and
    EASE.

    --split holds out random ratings, the last ones of all (time) or of each user (user-time), one of each user, the
    last (user-last) or any (user-one), or all ratings of some users (users). Solvers hogwild (batch-Hogwild, cuSGD's)
    and als (alternating least squares, cuALS's) have no neighbours.

    The errors belong to a model trained without the held-out ratings. The saved model is then trained again on all of
    RATINGS with the same settings; --no-refit saves the first one.

    \b
    gpukit train-lshmf ratings.csv --model my.gpukit
    gpukit train-lshmf ratings.dat --factors 64 --early-stop 3 --plot curve.png
    gpukit train-lshmf ratings.csv --gpus 2
    gpukit train-lshmf 'ratings/*.parquet' --dask tcp://scheduler:8786
    gpukit train-lshmf clicks.csv --model lists.gpukit
    gpukit train-lshmf ratings.csv --positive-from 4 --model lists.gpukit
    """
    start_driver(ask.device)
    check(ask)
    import_reader(ask.ratings)
    capability = capability_of(ask.device)
    start_warm_up(ask.device)
    with options_named():
        is_half(ask.precision, capability is not None, 0)  # this and check() raise for invalid options
        steps.build(ask).check()
    with run_as_team(ask, seconds=lambda: teams.seconds_of_ratings(ask.ratings, steps.build(ask))) as team:
        if team.size > 1:
            steps.check_shared(ask)
        reads = None if is_pattern(ask.ratings) else ask.ratings, ask.test
        report.compile_ahead(ask, team, "ratings", "clicks", capability=capability, reads=reads)
        stages.done("start")
        times = "auto" if ask.feedback == "implicit" or ask.positive_from is not None else False  # the latest clicks
        train, test = steps.load(ask, stages, steps.describe_input, times, team)
        steps.check_test(ask, train, test)
        report.compile_ahead(ask, team, steps.job_of(ask, train), capability=capability)
        model, messages = steps.fit(ask, train, test, stages, team)
        table, unknown = steps.evaluate(ask, model, train, test, team)
        run, saved = SimpleNamespace(model=model, train=train, test=test, stages=stages), model
        run.table, run.unknown, run.warnings = table, unknown, messages
        stages.done("evaluating")
        if not team.rank:
            steps.show_table(ask, run)
        if ask.model is not None and ask.test_fraction and not ask.no_refit:
            saved = steps.refit(ask, model, steps.concatenate_ratings(train, test), stages, team)
        if ask.model is not None:
            steps.save(ask, run, saved, team)
    if team.rank:  # the first rank prints and draws
        return
    if ask.plot is not None:
        steps.draw(ask, run)
        stages.done("writing")
    steps.show_rest(ask, run)


def check(ask):
    """Raise for contradictory options and unwritable files, before the computation."""
    if ask.no_neighbors or ask.solver in ("hogwild", "als"):
        flag = "--no-neighbors" if ask.no_neighbors else f"--solver {ask.solver}"
        if ask.neighbors:
            raise ParameterError(f"{flag} and --neighbors {ask.neighbors} exclude each other: leave one out.")
        ask.neighbors = 0
    if ask.hash != "simlsh" and not CARDS[ask.search].reads_codes:
        raise ParameterError(f"--search {ask.search} reads no hash: leave --hash {ask.hash} out, or search by hamming.")
    if ask.test is not None and ask.test_fraction:
        raise ParameterError("--test and --test-fraction exclude each other: test on a file, or on a share of RATINGS.")
    if ask.split in steps.ONE_EACH and ask.test_fraction is not None:
        raise ParameterError(f"--split {ask.split} holds one rating of each user out: leave --test-fraction out.")
    if ask.test_fraction is None:
        ask.test_fraction = 0.1 if ask.test is None else 0.0
    if ask.split != "random" and not ask.test_fraction:
        raise ParameterError(f"--split {ask.split} says what --test-fraction holds out, and that is nothing here.")
    if ask.lists and ask.model is None:
        raise ParameterError("--lists learns what ranks lists and keeps it in the model: it needs --model FILE.")
    if ask.resume and ask.checkpoint is None:
        raise ParameterError("--resume needs --checkpoint FILE, the file to go on from.")
    check_files(ask)
    if ask.plot is not None and not (ask.test or ask.test_fraction or ask.early_stop):
        raise ParameterError("--plot draws RMSE on ratings held out: it needs --test, --test-fraction or --early-stop.")


def check_files(ask):
    """Raise DataError for files that are unwritable or exist without --force."""
    reads = [path for path in (ask.ratings, *glob.glob(ask.ratings), ask.test) if path is not None]
    for name in ("model", "plot"):
        outputs.check_output(getattr(ask, name), f"--{name}", reads, ask.force)
    outputs.check_output(ask.checkpoint, "--checkpoint", reads, force=True)
    outputs.check_plot(ask.plot)
    if ask.resume and not Path(ask.checkpoint).is_file():
        raise DataError(f"--resume: there is no checkpoint {ask.checkpoint} yet. Leave --resume out to begin.")
    if ask.checkpoint is not None and not (ask.resume or ask.force) and Path(ask.checkpoint).is_file():
        raise DataError(f"--checkpoint {ask.checkpoint} exists. Add --resume to continue it, or --force to start anew.")
