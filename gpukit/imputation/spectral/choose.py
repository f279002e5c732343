"""Selection of weights and center for 'auto' on hidden values.

Trials on one split of the observed values, hidden in the pattern of the missing ones (run.split):

1. the mean that predicts the hidden values best by itself;
2. every weighting with that mean: 'slice' with its phase of fixed ranks, then 'common' and 'frequency' with
   exponents 1/2, 1 and 2. If 'slice' recovers the hidden values (to a tenth of the mean's error), no other is tried:
   the data are of low rank in every spectral slice;
3. the best three within 5 % of the best, on further splits. Errors are averaged by step over the splits, so that
   neither the weighting nor the stopping point depends on one split.

'common' and 'frequency' use neither momentum nor a phase of fixed ranks. Their lambda then falls by the same steps for
all data, so that a number of steps found on hidden data means the same lambda on all data. Their errors were lower
where whole road sensors are missing.

The fit then uses all observed values and stops where the averaged error was least, lambda relative to its start. A
path on hidden data ends early once its error only grows. A large tensor is sampled by rows and columns of its slices,
not by vertices: graph and ranks are unchanged.
"""

import itertools
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gpukit.graphs.adopt import reduce_mask
from gpukit.imputation.constants import (
    FEWEST_OBSERVED,
    FINALISTS,
    FREQUENCY_FLOOR,
    LEAST_SHARE,
    NEARLY_EQUAL,
    PATH_END,
    SAMPLE_NUMBERS,
)
from gpukit.imputation.inputs import Data
from gpukit.imputation.problem import CENTERS, Method, centre_tensor, mean_of, spread
from gpukit.imputation.spectral import run
from gpukit.imputation.spectral.path import Options, best_options, decay_of
from gpukit.imputation.spectral.run import Setting, impute
from gpukit.model_selection.splits import order_by_values
from gpukit.model_selection.trial import EarlyStopping, finalists
from gpukit.svt.plan import MOST

LAWS = (("slice", 1.0), ("common", 1.0), ("frequency", 0.5), ("frequency", 1.0), ("frequency", 2.0))
DEEP = 4 * PATH_END  # end of a path under 'common'; 'frequency' starts above the smoothest slices and ends lower


class Chosen(NamedTuple):
    """setting: run.Setting without 'auto'; trials: a Trial for each trial, the last round first."""

    setting: object
    trials: list


class Trial(NamedTuple):
    """Errors of a setting on hidden values.

    setting: run.Setting; curves: the mean absolute errors, an array (iterations,) per split.
    """

    setting: object
    curves: list

    @property
    def curve(self):
        """Errors averaged over the splits, up to the shortest one."""
        length = min(len(curve) for curve in self.curves)
        return np.mean([curve[:length] for curve in self.curves], axis=0)

    @property
    def error(self):
        """Least averaged error."""
        return float(self.curve.min())


class Search(NamedTuple):
    """Trials on one tensor: place (run.Place), tensor, mask, splits of it; progress: see choose.

    numbers: of trials, from 1.
    """

    place: object
    tensor: np.ndarray
    mask: np.ndarray
    splits: list
    progress: object
    numbers: object


def choose(place, setting, data, seed, progress=None):
    """Return a Chosen for data (inputs.Data): tensor (N, m, n), 0 where missing, and mask (N,) or (N, m, n).

    place: run.Place. setting: run.Setting whose weights or center, or both, are 'auto'; its options are kept except for
    the stopping point, and the decay if it is None. seed: of hidden values. progress: called as progress("choosing",
    done, None, {"weights", "error"}) after every trial on a split. With fewer than five observed vertices or entries
    there are no trials, and 'auto' is 'slice' with center 'none'.
    """
    if np.count_nonzero(data.mask) < FEWEST_OBSERVED:
        return Chosen(without_auto(setting), [])
    tensor, mask = reduce_size(data.tensor, data.mask, seed)
    search = Search(place, tensor, mask, splits(tensor, mask, seed), progress, itertools.count(1))
    center = select_center(tensor, search.splits[0], setting.center)
    trials = [Trial(candidate, []) for candidate in candidates(setting, center)]
    for number, trial in enumerate(trials):
        run_trial(search, trial)
        if trial.error <= goal(trial.setting, tensor, search.splits[0]):
            return Chosen(trial.setting, trials[: number + 1])
    final_trials = run_finals(search, trials)
    rest = [trial for trial in trials if len(trial.curves) == 1]
    return Chosen(stop_at_best(final_trials[0]), final_trials + rest)


def reduce_size(tensor, mask, seed):
    """Return tensor and mask, sampled if large.

    Rows and columns of the slices are sampled.
    """
    narrow = 16  # least rows and columns of a sampled slice
    count, m, n = tensor.shape
    if tensor.size <= SAMPLE_NUMBERS:
        return tensor, mask
    share = (SAMPLE_NUMBERS / tensor.size) ** 0.5
    rows = min(m, max(narrow, int(m * share)))
    columns = min(n, max(narrow, SAMPLE_NUMBERS // (count * rows)))
    rng = np.random.default_rng(seed)
    sample = np.ix_(range(count), *(np.sort(rng.permutation(side)[:size]) for side, size in ((m, rows), (n, columns))))
    return np.ascontiguousarray(tensor[sample]), mask if mask.ndim == 1 else np.ascontiguousarray(mask[sample])


def splits(tensor, mask, seed):
    """Return several run.Split that hide the missing share; they do not depend on the order of the vertices.

    Most observed values are kept.
    """
    order = order_by_values(np.where(spread(mask), tensor, np.nan).reshape(len(mask), -1).astype(np.float64))
    count, missing = 4, 1.0 - float(mask.mean())
    share = max(LEAST_SHARE, min(missing, (1.0 - missing) / 4))
    return [run.split(mask, share, count * seed + fold, order) for fold in range(count)]


def error_of_mean(tensor, split, center):
    """Return the mean absolute error of a mean on hidden values."""
    return float(
        np.abs(centre_tensor(tensor, split.hidden, mean_of(tensor, split.observed, center))[split.hidden]).mean()
    )


def select_center(tensor, split, center):
    """Return the center that is best by itself; a finer one must lower the error."""
    if center != "auto":
        return center
    errors = {name: error_of_mean(tensor, split, name) for name in CENTERS}
    best = CENTERS[0]
    for name in CENTERS[1:]:
        if errors[name] * NEARLY_EQUAL < errors[best]:
            best = name
    return best


def candidates(setting, center):
    """Return the settings to try with a center, the simplest first."""
    laws = LAWS if setting.weights == "auto" else ((setting.weights, setting.exponent),)
    return [with_path(setting._replace(weights=law, exponent=exponent, center=center)) for law, exponent in laws]


def with_path(setting):
    """Return a setting with the depth of path that its weighting needs.

    Only 'slice' has momentum and a phase of fixed ranks.
    """
    options = setting.options
    if setting.weights == "slice":
        return setting
    end = DEEP * (FREQUENCY_FLOOR**setting.exponent if setting.weights == "frequency" else 1.0)
    decay = decay_of(options, end)
    return setting._replace(options=options._replace(decay=decay, accelerate=False, rank_phase=False))


def run_trial(search, trial):
    """Run a Trial on its next split; append its errors."""
    setting, split = trial.setting, search.splits[len(trial.curves)]
    stopping = early_stopping(setting, goal(setting, search.tensor, split))
    impute(search.place, setting, search.tensor, search.mask, split.hidden, stopping=stopping)
    trial.curves.append(np.array(stopping.errors))
    if search.progress:
        law = f"{setting.weights} {setting.exponent:g}" if setting.weights == "frequency" else setting.weights
        info = {"weights": law, "error": float(np.min(stopping.errors))}
        search.progress("choosing", next(search.numbers), None, info)


def early_stopping(setting, error):
    """Return the EarlyStopping of a path at an error that is good enough.

    Rising errors end a path after its phase of ranks has begun, or half-way without such a phase.
    """
    steps, patience = setting.options.iterations, 6  # steps without a new least error that end it; chosen
    return EarlyStopping(patience, steps + patience if setting.options.rank_phase else steps // 2, error)


def goal(setting, tensor, split):
    """Return the error at which a setting recovers the data; 0 if the stopping point is needed too."""
    solved = 0.1  # times the error of the mean: the data are of low rank; test
    return solved * error_of_mean(tensor, split, setting.center) if setting.options.rank_phase else 0.0


def is_solved(trials):
    """Return True if the last trial of a Chosen recovers the data.

    The selection then ended after the first split.
    """
    return bool(trials) and trials[-1].setting.options.rank_phase and all(len(trial.curves) == 1 for trial in trials)


def run_finals(search, trials):
    """Run the trials close to the best on further splits; return them, the best first."""
    near = 1.05  # times the least error; chosen
    final = [trials[index] for index in finalists([trial.error for trial in trials], near, FINALISTS)]
    is_decided = len(final) == 1 and stop_at_best(final[0]) == final[0].setting
    for _ in search.splits[:0] if is_decided else search.splits[1:]:
        for trial in final:
            run_trial(search, trial)
    return sorted(final, key=lambda trial: trial.error)


def stop_at_best(trial):
    """Return the setting of a Trial, stopped at its least error; a phase of fixed ranks that ends well stays."""
    options, curve = trial.setting.options, trial.curve
    if options.rank_phase and curve[-1] <= NEARLY_EQUAL * trial.error:
        return trial.setting
    phase = np.where(np.arange(len(curve)) < options.iterations, "path", "rank")
    return trial.setting._replace(options=best_options(SimpleNamespace(error=curve, phase=phase), options))


def without_auto(setting):
    """Return a setting without 'auto', for too few data."""
    weights, center = (
        "slice" if setting.weights == "auto" else setting.weights,
        "none" if setting.center == "auto" else setting.center,
    )
    return setting._replace(weights=weights, center=center)


MOST_VERTICES = 8_000  # LAPACK takes minutes for the whole basis of more, on two cores
PROBE = ("frequency", 1.0, "entry")


def competes(problem):
    """Return True if 'spectral' is named, or is a candidate whose Fourier basis takes at most minutes."""
    method, basis = problem.options.method, problem.place.basis
    return method == "spectral" or (method == "auto" and (not basis.exact or basis.count <= MOST_VERTICES))


def note_left_out(problem):
    """Return [note] for a problem whose graph is too large for the whole basis, else []."""
    if problem.options.method != "auto" or competes(problem):
        return []
    return [
        f"the method spectral was not tried: the whole Fourier basis of {problem.place.basis.count:,} vertices would "
        "take long. basis_size=K (--basis-size K) tries it with the K smoothest eigenvectors."
    ]


def settings(problem):
    """Return a setting that suffices for a trial; choose.py finds the others."""
    return [pack_setting(with_path(Setting(*PROBE, problem.options.options)))]


def pack_setting(setting):
    """Return a Setting as a dict of plain values."""
    return setting._asdict() | {"options": setting.options._asdict()}


def unpack_setting(setting):
    """Return the Setting of `pack_setting`."""
    return Setting(**{**setting, "options": Options(**setting["options"])})


def fill(problem, setting):
    """Return the estimate of missing values, zeros elsewhere."""
    data, columns = as_data(problem), slices_of(problem)[0]
    out = np.zeros(data.tensor.shape)
    out[~data.mask] = impute(problem.place, unpack_setting(setting), data.tensor, data.mask).estimate
    result = np.empty(problem.values.shape)
    result[:, columns] = out.reshape(len(out), -1)
    return result


def as_data(problem):
    """Return inputs.Data of a problem, in slices."""
    columns, shape = slices_of(problem)
    tensor = problem.values[:, columns].reshape(len(problem.values), *shape).astype(problem.place.dtype)
    return Data(tensor, reduce_mask(problem.seen[:, columns].reshape(tensor.shape)), tensor.shape)


def slices_of(problem):
    """Return (columns, (m, n)) of the slices; vectors are cut into periods.

    An incomplete last row starts earlier, so some columns are in two rows.
    """
    columns, period = problem.values.shape[1], problem.period
    rows = -(-columns // period) if period else 0
    if 1 not in problem.shape or not 1 < rows or max(rows, period) > MOST:
        return np.arange(columns), problem.shape
    last = np.arange(columns - period, columns)
    return np.concatenate((np.arange((rows - 1) * period), last)), (rows, period)


def decide(problem, progress):
    """Return the setting selected by choose.py."""
    options = problem.options
    setting = Setting(options.weights, options.exponent, options.center, options.options)
    return pack_setting(choose(problem.place, setting, as_data(problem), options.seed, progress).setting)


METHOD = Method("spectral", competes, settings, fill, decide=decide)
