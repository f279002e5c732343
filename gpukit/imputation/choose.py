"""weights="auto", center="auto": how to threshold these data, decided on values that are hidden on purpose.

What is tried, on one split of what is observed, in the way in which the tensor itself misses (holdout.split):

1. the mean that predicts the hidden values best by itself; another one if it is nearly as good;
2. every law of thresholds with that mean: 'slice' with its phase of fixed ranks, then 'common' and 'frequency' with
   exponents 1/2, 1 and 2. Where 'slice' recovers the hidden values (to a tenth of the mean's error), nothing else is
   tried: the data are of low rank in every spectral slice. The winner is tried with the other mean too;
3. the best three, of those within 5 % of the best, on further splits. Errors are averaged by step over the splits, so
   that neither the law nor the stopping point hangs on one of them.

'common' and 'frequency' walk without momentum and without a phase of fixed ranks: their lambda then falls by the same
steps whatever the data, so a number of steps found on hidden data means the same lambda on all of them, and where
whole road sensors are missing they erred less so.

Everything observed is then fitted to where the averaged error was least, lambda counted as a share of its start. A path
on hidden data ends early once it only gets worse. Of a large tensor some rows and columns of the slices are taken, not
fewer vertices: the graph and the ranks stay what they are.
"""

import contextlib
import itertools
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import beside, on_host
from gpukit.imputation import holdout
from gpukit.imputation.centering import CENTERS, centred, mean_of
from gpukit.imputation.spectral.formulas import FLOOR, LAST
from gpukit.imputation.spectral.path import best_options, fit_path
from gpukit.imputation.spectral.run import start

LAWS = (("slice", 1.0), ("common", 1.0), ("frequency", 0.5), ("frequency", 1.0), ("frequency", 2.0))
FOLDS = 4
FEWEST = 5  # vertices or entries observed: with fewer, nothing is hidden
FINALISTS = 3
NEAR, EQUAL = 1.05, 1.01  # times the least error
SOLVED = 0.1  # of the error of the mean: low rank, no need to look further
PATIENCE = 6  # steps without a new least error that end a trial
DEEP = 4 * LAST  # where a path under 'common' ends; under 'frequency' it begins above the smoothest slices, so lower
NUMBERS = 1 << 21  # of a tensor that choices are made on
NARROW = 16  # rows and columns that a slice keeps at least


class Chosen(NamedTuple):
    """setting: run.Setting without 'auto'; trials: a Trial for all that was tried, the last round first."""

    setting: object
    trials: list


class Trial(NamedTuple):
    """setting (run.Setting) and the mean absolute errors on what was hidden, an array (iterations,) a fold."""

    setting: object
    curves: list

    @property
    def curve(self):
        """The errors averaged over the folds, as far as all of them go."""
        length = min(len(curve) for curve in self.curves)
        return np.mean([curve[:length] for curve in self.curves], axis=0)

    @property
    def error(self):
        """The least averaged error."""
        return float(self.curve.min())


class Enough(Exception):
    """A path on hidden data need not go on."""


class Watch:
    """Writes the hold-out errors down and ends a path that has shown what it can.

    goal: an error that is good enough. sure: steps before which nothing is concluded from errors that rise.
    """

    def __init__(self, judge, goal, sure):
        self.judge, self.goal, self.sure, self.errors = judge, goal, sure, []

    def __call__(self, session):
        self.errors.append(self.judge(session))
        done, since = len(self.errors), len(self.errors) - 1 - int(np.argmin(self.errors))
        if self.errors[-1] <= self.goal or (done > self.sure and since >= PATIENCE):
            raise Enough
        return self.errors[-1]


class Contest(NamedTuple):
    """What settings are tried on: place (run.Place), tensor and mask, its splits; progress: see choose; count: of the
    walks, from 1; kept: {(number of a split, center): Prepared}, of the last one asked for."""

    place: object
    tensor: np.ndarray
    mask: np.ndarray
    folds: list
    progress: object
    count: object
    kept: dict


class Prepared(NamedTuple):
    """A split with a mean taken off, the same for all laws: observed (N, m, n), 0 where missing or hidden; judge of a
    session (holdout.watcher); known: spectral.steps.Known of its sessions, None before the first."""

    observed: np.ndarray
    judge: object
    known: object = None


def choose(place, setting, data, seed, progress=None):
    """A Chosen for data (inputs.Data): tensor (N, m, n), 0 where missing, and mask (N,) or (N, m, n).

    place: run.Place. setting: run.Setting, of which weights or center, or both, are 'auto'; its options are
    kept but for the stopping point, and the decay where none is given. seed: of what is hidden. progress: called as
    progress("choosing", done, None, {"weights", "error"}) after every trial on a split. With fewer than five vertices
    or entries observed nothing is tried, and 'auto' is 'slice' with center 'none'.
    """
    if np.count_nonzero(data.mask) < FEWEST:
        return Chosen(plain(setting), [])
    tensor, mask = reduced(data.tensor, data.mask, seed)
    contest = Contest(place, tensor, mask, splits(mask, seed), progress, itertools.count(1), {})
    centers = worthwhile(tensor, contest.folds[0], setting.center)
    trials = [Trial(candidate, []) for candidate in candidates(setting, centers[0])]
    for at, trial in enumerate(trials):
        run(contest, trial)
        if solved(trial, tensor, contest.folds[0]):
            return Chosen(trial.setting, trials[: at + 1])
    best = min(trials, key=lambda trial: trial.error)
    others = [Trial(best.setting._replace(center=center), []) for center in centers[1:]]
    for trial in others:
        run(contest, trial)
    last = finals(contest, trials + others)
    return Chosen(stopped(last[0]), last + [trial for trial in trials + others if len(trial.curves) == 1])


def reduced(tensor, mask, seed):
    """tensor and mask with some rows and columns of every slice, where the tensor is large; on the host."""
    count, m, n = tensor.shape
    if tensor.size <= NUMBERS:
        return on_host(tensor), mask
    share = (NUMBERS / tensor.size) ** 0.5
    rows = min(m, max(NARROW, int(m * share)))
    columns = min(n, max(NARROW, NUMBERS // (count * rows)))
    rng = np.random.default_rng(seed)
    some = np.ix_(range(count), *(np.sort(rng.permutation(side)[:kept]) for side, kept in ((m, rows), (n, columns))))
    part = on_host(tensor[tuple(beside(side, tensor) for side in some)])
    return np.ascontiguousarray(part), mask if mask.ndim == 1 else np.ascontiguousarray(mask[some])


def splits(mask, seed):
    """FOLDS of holdout.Split: as large a share is hidden as is missing, but leaving most of what is observed."""
    missing = 1.0 - float(mask.mean())
    share = max(0.05, min(missing, (1.0 - missing) / 4))
    return [holdout.split(mask, share, FOLDS * seed + fold) for fold in range(FOLDS)]


def error_of_mean(tensor, parts, center):
    """The mean absolute error of a mean on what is hidden."""
    return float(np.abs(centred(tensor, parts.hidden, mean_of(tensor, parts.kept, center))[parts.hidden]).mean())


def worthwhile(tensor, parts, center):
    """The centers to try, the best by itself first: a finer one must lower the error, another one be nearly as good."""
    if center != "auto":
        return [center]
    errors = {how: error_of_mean(tensor, parts, how) for how in CENTERS}
    best = CENTERS[0]
    for how in CENTERS[1:]:
        if errors[how] * EQUAL < errors[best]:
            best = how
    others = [how for how in CENTERS[1:] if how != best and best != CENTERS[0] and errors[how] < 1.5 * errors[best]]
    return [best, *others]


def candidates(setting, center):
    """The settings to try with that center, the simplest first."""
    laws = LAWS if setting.weights == "auto" else ((setting.weights, setting.exponent),)
    return [with_path(setting._replace(weights=law, exponent=exponent, center=center)) for law, exponent in laws]


def with_path(setting):
    """A setting with a path as deep as its law needs; only 'slice' has momentum and a phase of fixed ranks."""
    options = setting.options
    if setting.weights == "slice":
        return setting
    end = DEEP * (FLOOR**setting.exponent if setting.weights == "frequency" else 1.0)
    decay = end ** (1.0 / options.iterations) if options.decay is None else options.decay
    return setting._replace(options=options._replace(decay=decay, accelerate=False, rank_phase=False))


def run(contest, trial):
    """Walk the path of a Trial on the first split that it has not seen; its errors become another curve of it."""
    setting, fold = trial.setting, len(trial.curves)
    parts, now = contest.folds[fold], prepared(contest, fold, setting.center)
    session, first = start(contest.place, setting, now.observed, parts.kept, now.known)
    contest.kept[fold, setting.center] = now._replace(known=session.known())
    steps, enough = setting.options.iterations, goal(setting, contest.tensor, parts)
    watch = Watch(now.judge, enough, steps + PATIENCE if setting.options.rank_phase else steps // 2)
    with contextlib.suppress(Enough):
        fit_path(session, first, setting.options, watch)
    trial.curves.append(np.array(watch.errors))
    if contest.progress:
        law = f"{setting.weights} {setting.exponent:g}" if setting.weights == "frequency" else setting.weights
        told = {"weights": law, "error": float(np.min(watch.errors))}
        contest.progress("choosing", next(contest.count), None, told)


def prepared(contest, fold, center):
    """The Prepared of a split and a center; the one before, which takes memory of the device, is let go."""
    if (fold, center) not in contest.kept:
        contest.kept.clear()
        parts = contest.folds[fold]
        mean = mean_of(contest.tensor, parts.kept, center)
        judge = holdout.watcher(centred(contest.tensor, contest.mask, mean), parts)
        contest.kept[fold, center] = Prepared(centred(contest.tensor, parts.kept, mean), judge)
    return contest.kept[fold, center]


def goal(setting, tensor, parts):
    """The error at which a setting has shown that it recovers the data; 0 where the stopping point is wanted too."""
    return SOLVED * error_of_mean(tensor, parts, setting.center) if setting.options.rank_phase else 0.0


def solved(trial, tensor, parts):
    """Whether the trial has reached its goal."""
    return trial.error <= goal(trial.setting, tensor, parts)


def is_solved(trials):
    """Whether the trials of a Chosen ended with one that recovers the data: no splits but the first were looked at."""
    return bool(trials) and trials[-1].setting.options.rank_phase and all(len(trial.curves) == 1 for trial in trials)


def finals(contest, trials):
    """The trials that come near the best, on further folds too, the best first."""
    order = sorted(trials, key=lambda trial: trial.error)
    near = [trial for trial in order if trial.error <= NEAR * order[0].error][:FINALISTS]
    alone = len(near) == 1 and stopped(near[0]) == near[0].setting  # neither law nor stopping point is in question
    for _ in contest.folds[:0] if alone else contest.folds[1:]:
        for trial in sorted(near, key=lambda trial: trial.setting.center):  # those that share what is prepared
            run(contest, trial)
    return sorted(near, key=lambda trial: trial.error)


def stopped(trial):
    """The setting of a Trial, to be stopped where its error was least; a phase of fixed ranks that ends well stays."""
    options, curve = trial.setting.options, trial.curve
    if options.rank_phase and curve[-1] <= EQUAL * trial.error:
        return trial.setting
    phase = np.where(np.arange(len(curve)) < options.iterations, "path", "rank")
    return trial.setting._replace(options=best_options(SimpleNamespace(error=curve, phase=phase), options))


def plain(setting):
    """A setting without 'auto' for data of which nothing can be hidden."""
    weights, center = (
        "slice" if setting.weights == "auto" else setting.weights,
        "none" if setting.center == "auto" else setting.center,
    )
    return setting._replace(weights=weights, center=center)
