"""`gpukit ranksvm`: train on documents of queries; models, scores, a table and seconds."""

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

import click

from gpukit.base import check_real
from gpukit.cli import options, outputs, report, teams
from gpukit.cli.options import option
from gpukit.cli.ranking import steps, table
from gpukit.cli.teams import run_as_team
from gpukit.device import capability_of
from gpukit.documents.folds import find_folds
from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks

NAMING = options.Naming({"eps": "--eps"})
SCALES = ("auto", "none", "minmax", "deviation")
FEATURES = ("auto", "linear", "thresholds", "fourier")


@options.command()
@options.argument("path")
@option("--c c C", "Weight of a pair's loss, such as 0.5 or 2^-3; auto: chosen by --metric.  [default: auto]")
@option("--c-grid GRID", "Choose C on the validation set: 2^-15:2^8, or a list 0.1,1,10.")
@option("--metric NAME", "Metric that chooses C: pa, pa_ties, tau, map, mrr, mean_ndcg, ndcg@K, p@K or err@K.")
@options.scoring
@option("--fold N", "Train only this fold of the folder.", click.IntRange(0))
@option(
    "--folds N", "Cross-validate on a file: each of N parts of the queries is the test set once.", click.IntRange(2)
)
@option("--scale", "Scaling of features by the training set; auto: chosen with C.", SCALES)
@option("--features", "Scores in the features, their quantiles or random Fourier features.", FEATURES, "linear")
@option("--pair-weights", "Weight of a pair's loss: 1, or the difference of NDCG's gains.", ("equal", "gain"), "equal")
@option("--position-bias ETA", "Weigh clicks (labels above 0) by position^ETA, of a column or PATH.position.", float)
@options.null
@option("--eps", "Stop at this gradient, relative to that at 0, and f within eps / 10 of its minimum.", float, 1e-5)
@option("--solver", "Counting of pairs; auto: the fastest.", ("auto", "p-swx", "scan", "dcm", "ost"))
@option("--validation FILE", "Validation set of a training file.")
@option("--test FILE", "Test set of a training file.")
@option("--model FILE", "Save the model here; of several folds with .Fold1 before the suffix, or for {fold}.")
@option("--scores FILE", "Write the test set's scores here, one per line; names as --model's.")
@options.force
@option("--plot FILE", "Draw the metric by C, or the convergence: .png, .pdf or .svg.")
@options.device
@options.on_ranks
@options.dask
@options.printing
def ranksvm(ask, stages):
    """Learn to rank: a linear RankSVM with squared hinge loss, exact over all preference pairs of PATH.

    PATH is a LETOR folder (Fold1 to FoldN, each is trained), one fold's folder, or a training file: svmlight with
    qid:ID, or with FILE.query or FILE.group next to it, csv or Parquet with columns label and qid, compressed or not,
    or a binary copy (.gkl). FILE.weight may hold a weight per query or per document. C weighs each pair; it is not
    divided by their number. What --c and --scale leave open is chosen on the validation set, or on queries held out of
    the training set; without --metric by pa, the share of pairs in order. Small sets are trained on the CPU, where a
    GPU is slower, unless --device selects one; so are features beyond linear.

    --scale minmax maps features to 0..1 by the ranges of the training set, deviation to deviation 1 within its queries.
    --ndcg is LETOR's, the usual one, that without queries lacking relevant documents, or that with labels as gains.
    --folds with --c-grid chooses C on the part before the test set.

    \b
    gpukit ranksvm MQ2008
    gpukit ranksvm MQ2008 --c-grid 2^-10:2^8 --metric ndcg@10 --model mq.gpukit
    gpukit ranksvm train.txt --test test.txt --scores test.scores
    gpukit ranksvm train.txt --folds 5
    gpukit ranksvm MSLR-WEB30K --gpus 2
    """
    jobs = check(ask)
    capability = None
    if ask.device != "auto":  # no GPU is needed, and small sets do not use one
        capability = capability_of(ask.device)
    with NAMING.named():
        steps.build(ask).check()  # raises for invalid parameters before anything is read
    files = [path for job in jobs for path in job.sources.values()]
    with run_as_team(ask, files, lambda: teams.seconds_of_documents([job.train for job in jobs], ask.grid)) as team:
        report.compile_ahead(ask, team, "documents", capability=capability, reads=files)
        stages.done("start")
        done = []
        whole = None if ask.folds is None else steps.load(ask, jobs[0])["train"]
        for job in jobs:
            done.append(steps.run(ask, job, stages, team, whole))
            steps.keep_in_mind(done, len(jobs))
    if team.rank:  # the first rank prints and writes
        return
    if ask.plot is not None:
        table.draw(ask, done)
        stages.done("writing")
    table.show(ask, done, stages)


def check(ask):
    """Return the jobs; raise for contradictory options and unwritable files."""
    if ask.c is not None and ask.c_grid is not None:
        raise ParameterError("--c and --c-grid exclude each other: give C, or a grid to choose it from.")
    if ask.metric is not None and ask.c_grid is None and ask.c not in (None, "auto"):
        raise ParameterError(f"--metric {ask.metric} chooses C, and --c {ask.c} names it. Leave out one of them.")
    if ask.position_bias is not None:
        check_real("--position-bias", ask.position_bias, 0.0)
    ask.metric = ask.metric or "pa"
    steps.check_metrics(ask, ask.metric)
    ask.grid = None if ask.c_grid is None else numbers(ask.c_grid)
    ask.c = "auto" if ask.c in (None, "auto") else one_number(ask.c)
    check_auto(ask)
    jobs = list_jobs(ask)
    check_outputs(ask, jobs)
    return jobs


def check_auto(ask):
    """Raise ParameterError for --scale auto and --features auto next to an option for C."""
    naming = f"--c-grid {ask.c_grid}" if ask.grid is not None else f"--c {ask.c}"
    for name in ("scale", "features"):
        if getattr(ask, name) == "auto" and (ask.grid is not None or ask.c != "auto"):
            options.refuse_unused(name, f"auto is chosen together with C, and {naming} is for C alone. Leave out one.")


def numbers(grid):
    """Return the values of a grid of C, ascending."""
    from gpukit.ranking.path import parse_grid

    return parse_grid(grid).tolist()


def one_number(text):
    """Return C from a number or a power (2^-3), or raise ParameterError."""
    with contextlib.suppress(ParameterError):
        if len(values := numbers(text)) == 1:
            return values[0]
    raise ParameterError(f"--c {text}: C must be one number above 0, such as 0.5 or 2^-3, or auto.")


class Job(NamedTuple):
    """A training with its input and output files.

    Validation, test and outputs may be None. part: number of the part of --folds that is the test set, or None.
    """

    name: str
    train: Path
    validation: Path | None
    test: Path | None
    model: str | None
    scores: str | None
    part: int | None = None

    @property
    def sources(self):
        """Return the input files by part."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {part: path for part, path in parts.items() if path is not None}


def list_jobs(ask):
    """Return the [Job] of the options.

    PATH is a LETOR folder of all folds, one fold, or a file with --validation and --test. DataError for a folder
    without folds or a missing fold; ParameterError for options that do not fit PATH.
    """
    if not Path(ask.path).is_dir():
        return [_file_job(ask)] if ask.folds is None else _parts_of_file(ask)
    reason = f"is for a training file, and {ask.path} is a folder with folds. Leave it out."
    options.refuse_unused("validation test folds", reason)
    folds = find_folds(ask.path)
    if ask.fold is not None:
        folds = [_chosen(folds, ask)]
    return [_job(ask, *fold, several=len(folds) > 1) for fold in folds]


def _job(ask, name, *sources, several):
    """Return the Job of a fold, one of several, or of a file; sources: train, validation, test."""
    return Job(name, *sources, *(path_of_fold(path, name, several) for path in (ask.model, ask.scores)))


def _file_job(ask):
    if ask.fold is not None:
        raise ParameterError(f"--fold {ask.fold} goes with a LETOR folder, and {ask.path} is none. Leave it out.")
    if ask.grid is not None and ask.validation is None:
        raise ParameterError("--c-grid chooses C on a validation set: give --validation FILE, or a LETOR folder.")
    if ask.scores is not None and ask.test is None:
        raise ParameterError("--scores writes the scores of the test set: give --test FILE, or a LETOR folder.")
    sources = (path and Path(path) for path in (ask.path, ask.validation, ask.test))
    return _job(ask, Path(ask.path).stem, *sources, several=False)


def _parts_of_file(ask):
    """Return a Job for each part of --folds."""
    for name in ("validation", "test", "fold", "model", "scores"):
        if getattr(ask, name) is not None:
            raise ParameterError(f"--folds {ask.folds} and --{name} exclude each other: leave one out.")
    if ask.grid is not None and ask.folds == 2:
        raise ParameterError("--c-grid chooses C on a part of its own: --folds must be at least 3.")
    return [Job(f"Fold{part + 1}", Path(ask.path), *[None] * 4, part) for part in range(ask.folds)]


def _chosen(folds, ask):
    """Return the fold whose name ends in the number --fold."""
    numbers = {int(match[0]): fold for fold in folds if (match := re.search(r"\d+$", fold.name))}
    if ask.fold not in numbers:
        available = ", ".join(map(str, numbers)) or "no numbered fold"
        raise DataError(f"--fold {ask.fold}: {ask.path} has no such fold; it has {available}.")
    return numbers[ask.fold]


def path_of_fold(path, fold, several):
    """Return path with {fold} replaced by the fold's name.

    With several folds and no {fold}, .NAME is inserted before the suffix. A pipe or a device (/dev/stdout) receives the
    output of all folds.
    """
    if path is None or "{fold}" in path:
        return path and path.replace("{fold}", fold)
    if not several or sinks.is_stream(path):
        return path
    path = Path(path)
    return str(path.with_name(f"{path.stem}.{fold}{path.suffix}"))


def check_outputs(ask, folds):
    """Raise for output files that are unwritable, are inputs, or occur twice."""
    outputs.takes_stdout(ask.scores, ask.as_json)
    reads = [path for job in folds for path in job.sources.values()]
    targets = [(name, getattr(job, name)) for job in folds for name in ("model", "scores")]
    for name, path in [*targets, ("plot", ask.plot)]:
        if path is None:
            continue
        outputs.check_output(path, f"--{name}", reads, ask.force, text=name == "scores" and "plain")
    outputs.check_plot(ask.plot)
