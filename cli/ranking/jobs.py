"""Jobs of `gpukit ranksvm`: one per fold, or one for a file."""

import re
from pathlib import Path
from typing import NamedTuple

from gpukit.cli import outputs
from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks

FIELD = "{fold}"


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


def jobs(ask):
    """Return the [Job] of the options.

    PATH is a LETOR folder of all folds, one fold, or a file with --validation and --test. DataError for a folder
    without
    folds or a missing fold; ParameterError for options that do not fit PATH.
    """
    if not Path(ask.path).is_dir():
        return [_file_job(ask)] if ask.folds is None else _parts_of_file(ask)
    from gpukit.documents import find_folds

    for option in ("validation", "test", "folds"):
        if getattr(ask, option) is not None:
            raise ParameterError(
                f"--{option} goes with a training file, and {ask.path} is a folder, whose folds have "
                f"their own. Leave it out, or name a file."
            )
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
    for option in ("validation", "test", "fold", "model", "scores"):
        if getattr(ask, option) is not None:
            raise ParameterError(
                f"--folds {ask.folds} divides {ask.path} to measure, and --{option} goes with one training. "
                "Leave out one of them."
            )
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
    if path is None or FIELD in path:
        return path and path.replace(FIELD, fold)
    if not several or sinks.is_stream(path):
        return path
    path = Path(path)
    return str(path.with_name(f"{path.stem}.{fold}{path.suffix}"))


def check_outputs(ask, folds):
    """Raise for output files that are unwritable, are inputs, or occur twice."""
    outputs.takes_stdout(ask.scores, ask.as_json)
    reads, writes = [path for job in folds for path in job.sources.values()], {}
    targets = [(option, getattr(job, option)) for job in folds for option in ("model", "scores")]
    for option, path in [*targets, ("plot", ask.plot)]:
        if path is None:
            continue
        outputs.check_output(path, f"--{option}", reads, ask.force, text=option == "scores" and "plain")
        other = writes.setdefault(Path(path).resolve(), option)
        if other != option:
            raise ParameterError(f"--{other} and --{option} would both write {path}. Name two files.")
    outputs.check_plot(ask.plot)
