"""Benchmarks of the imputation's accuracy.

On METR-LA's roads and Molene's weather stations (real), sensors, readings, or points and faults are hidden; the
defaults are compared with baselines and single methods at their best setting, chosen by the truth. The intervals are
evaluated as well.

`ends`: values at the ends of series, in blocks and at points, compared with eight rivals. The tables are series that
statsmodels and vega_datasets (extra 'bench') hold, and generated ramps. The rivals take a line of pandas or
scikit-learn, or a minute to install; the best of them is known with the truth, which favours them.
"""

import functools
import importlib.util
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.measurement import QUANTILE, Row, absolute_error, crps, require_data
from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency, laplacian, normalized_adjacency, normalized_laplacian
from gpukit.imputation.auto.judging import finite_estimate
from gpukit.imputation.auto.plan import BY_NAME
from gpukit.imputation.estimator import GraphImputer

SEEDS = range(5)
METHODS = (  # that use time or what the sensors have in common
    *("interpolation", "seasonal", "kriging", "regularized-em", "local", "smoothness"),
    "vertex-median",
)
WEEK = (7, 288)  # days and readings a day of a METR-LA sensor
CONSTANTS = np.geomspace(0.2, 2.0, 25)  # candidates for the best constant deviation, relative to the RMS error
HIDDEN = {"sensors": "20 % of sensors", "readings": "20 % of readings", "blocks": "points and faults"}


def check_observed(completed, tensor, mask):
    """Raise DataError unless a completed tensor has the observed values."""
    if not np.array_equal(completed[mask], tensor[mask]):
        raise DataError("the benchmark's completed tensor differs from the observed values.")


def list_seeds(values):
    """Return the values as text for a note."""
    return "by seed " + " ".join(f"{value:.3g}" for value in values)


class Sensors(NamedTuple):
    """Complete series; values (N, m, n) float32; faults: shortest and longest, in readings."""

    name: str
    unit: str
    adjacency: object
    values: np.ndarray
    faults: tuple
    seeds: range


class Evaluation(NamedTuple):
    """Results on the hidden values.

    methods : {name: (mean absolute error, setting)}, the defaults first
    coverage : fraction within 90 % intervals
    crps : continuous ranked probability score, relative to that of the best constant deviation
    ranks (2, sensors) : mean deviation and mean error of each sensor with hidden values
    """

    methods: dict
    coverage: float
    crps: float
    ranks: np.ndarray


def read_metr_la(folder):
    """Read the Sensors of METR-LA: a week of each, a row a day."""
    path = require_data(folder, "metr-la")
    speeds = np.loadtxt(path / "speed.csv", delimiter=",", skiprows=1, dtype=np.float32)
    adjacency = as_adjacency(np.loadtxt(path / "adjacency.csv", delimiter=","))
    values = np.ascontiguousarray(speeds.T).reshape(len(speeds.T), *WEEK)
    name = "METR-LA " + "x".join(map(str, WEEK))
    return Sensors(name, "mph", adjacency, values, (12, 48), SEEDS)


def read_molene(folder):
    """Read the Sensors of Molene: hourly temperatures of weather stations."""
    path = require_data(folder, "molene")
    lines = [np.loadtxt(path / name, str, delimiter=",", skiprows=1) for name in ("temperature.csv", "adjacency.csv")]
    values, adjacency = (np.ascontiguousarray(part[:, 1:].astype(np.float32).T) for part in lines)
    return Sensors("Molene hourly", "kelvin", as_adjacency(adjacency), values[:, None], (24, 24), range(2 * len(SEEDS)))


def sensor_benchmark(conditions, read):
    """Measure errors and intervals for each kind of hidden values of the Sensors that a function reads."""
    sensors = read(conditions.data)
    for kind in HIDDEN:
        evaluations = [evaluate(sensors, kind, seed, conditions.device) for seed in sensors.seeds]
        methods = [evaluation.methods for evaluation in evaluations]
        check_best(methods, kind)
        yield from method_rows(sensors, methods, kind)
        yield from interval_rows(sensors, evaluations, kind)


impute_metr_la, impute_molene = (functools.partial(sensor_benchmark, read=read) for read in (read_metr_la, read_molene))


def hide(sensors, kind, seed):
    """Return a mask that hides 20 % of sensors (N,), random readings, or points and faults."""
    missing = 0.2
    points, faults = 0.05, 0.0015  # fractions of readings that are missing alone, and at which a fault begins
    shape, rng = sensors.values.shape, np.random.default_rng(seed)
    if kind == "sensors":
        mask = np.ones(shape[0], bool)
        mask[rng.permutation(shape[0])[: round(missing * shape[0])]] = False
        return mask
    if kind == "readings":
        return rng.random(shape) >= missing
    flat = (shape[0], int(np.prod(shape[1:])))
    mask, (shortest, longest) = rng.random(flat) >= points, sensors.faults
    for vertex, first in zip(*np.nonzero(rng.random(flat) < faults)):
        mask[vertex, first : first + rng.integers(shortest, longest + 1)] = False
    return mask.reshape(shape)


def evaluate(sensors, kind, seed, device):
    """Return the Evaluation of the defaults, single methods and baselines on a kind of hidden values."""
    mask = hide(sensors, kind, seed)
    tensor = np.where(broadcast_mask(mask, sensors.values), sensors.values, np.float32(0))
    model = GraphImputer(device=str(device).split()[0])
    run = model.prepare(sensors.adjacency, tensor, mask)
    model.fit(sensors.adjacency, tensor, mask)
    check_observed(model.completed_, tensor, mask)
    results = {"defaults": (absolute_error(model.completed_, sensors.values, mask), describe_choice(model))}
    problem = run.problem()
    for name in METHODS:
        if name in BY_NAME and BY_NAME[name].suits(problem):
            fields = (finite_estimate(BY_NAME[name], problem, setting) for setting in BY_NAME[name].settings(problem))
            results[name] = min(absolute_error(f.reshape(tensor.shape), sensors.values, mask) for f in fields), ""
    for name, setting, completed in baselines(sensors.adjacency, tensor, mask):
        error = absolute_error(completed, sensors.values, mask)
        if name not in results or error < results[name][0]:
            results[name] = error, setting
    return Evaluation(results, *evaluate_intervals(model, sensors.values, mask))


def baselines(adjacency, tensor, mask):
    """Yield (name, setting, completed tensor) of the last value, the mean, and two methods that smooth on the graph.

    These are Tikhonov regularization (Belkin, Matveeva, Niyogi 2004) and feature propagation (Rossi et al. 2021), of
    values less the mean of each column.
    """
    seen = broadcast_mask(mask, tensor).reshape(len(tensor), -1)
    values = np.where(seen, tensor.reshape(seen.shape), 0.0).astype(np.float64)
    mean = values.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    rest = np.where(seen, values - mean, 0.0)
    if seen.any(axis=1).all():
        last = np.maximum.accumulate(np.where(seen, np.arange(seen.shape[1]), -1), axis=1)
        places = np.where(last < 0, seen.argmax(axis=1)[:, None], last)
        yield "last-value", "", np.take_along_axis(values, places, axis=1).reshape(tensor.shape)
    yield "vertex mean", "", np.broadcast_to(mean, values.shape).reshape(tensor.shape)
    weights = np.where(seen, 1.0, 1e-12)  # an isolated vertex has the mean
    for name, form in (("Tikhonov", laplacian), ("Tikhonov, normalized", normalized_laplacian)):
        L = form(adjacency).toarray()
        for tau in (10.0, 3.0, 1.0, 0.3, 0.1, 0.01):
            solved = [np.linalg.solve(np.diag(w) + tau * L, column) for w, column in zip(weights.T, rest.T)]
            yield name, f"tau {tau:g}", (np.transpose(solved) + mean).reshape(tensor.shape)
    step = normalized_adjacency(adjacency)
    for steps in (2, 5, 10, 40):
        x = rest
        for _ in range(steps):
            x = np.where(seen, rest, step @ x)
        yield "feature propagation", f"iterations {steps}", (x + mean).reshape(tensor.shape)


def broadcast_mask(mask, values):
    """Return a mask of the shape of values."""
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values.shape)


def evaluate_intervals(model, truth, mask):
    """Return (coverage, crps, ranks) of an Evaluation."""
    hidden = ~broadcast_mask(mask, truth).reshape(len(truth), -1)
    parts = model.completed_ - truth, model.deviation_
    errors, deviations = (part.reshape(hidden.shape).astype(np.float64) for part in parts)
    residuals, sizes = errors[hidden], deviations[hidden]
    constant = min(crps(residuals, share * np.sqrt(np.square(residuals).mean())) for share in CONSTANTS)
    rows = hidden.any(axis=1)
    means = [np.where(hidden, part, 0.0).sum(axis=1)[rows] for part in (deviations, np.abs(errors))]
    coverage = float((np.abs(residuals) <= QUANTILE * sizes).mean())
    return coverage, crps(residuals, sizes) / constant, np.array(means) / hidden.sum(axis=1)[rows]


def describe_choice(model):
    """Return the methods that the defaults combine, or the setting of the spectral method, as text."""
    if model.plan_ is not None:
        return "+".join(name for name, _ in model.plan_.members)
    law = f"{model.weights_} {model.exponent_:g}" if model.weights_ == "frequency" else model.weights_
    return f"spectral {law}, {model.center_}"


def check_best(methods, kind):
    """Raise DataError unless the defaults beat the mean over vertices, which uses no graph."""
    for seed, results in enumerate(methods):
        ours, mean = results["defaults"][0], results["vertex mean"][0]
        if not ours < mean:
            raise DataError(f"the benchmark's error on {kind} of seed {seed} is {ours:.3g}; the mean's is {mean:.3g}.")


def method_rows(sensors, methods, kind):
    """Yield the rows of errors by seed of each method that suits all seeds."""
    for name in (name for name in methods[0] if all(name in results for results in methods)):
        values, settings = zip(*(results[name] for results in methods), strict=True)
        label = name if name == "defaults" else f"{name}, best setting"
        chosen = f"; {'; '.join(dict.fromkeys(settings))}" if any(settings) else ""
        note = f"mean {np.mean(values):.4g}, {list_seeds(values)}{chosen}"
        note += count_wins(methods) if name == "defaults" else ""
        what, unit = f"{HIDDEN[kind]} missing: {label}", f"{sensors.unit}, mean absolute error"
        yield Row(what, sensors.name, "real", list(values), unit, note)


def count_wins(methods):
    """Return the note on the seeds on which the defaults beat every other method."""
    best = [min(error for key, (error, _) in results.items() if key != "defaults") for results in methods]
    ratios = [results["defaults"][0] / other for results, other in zip(methods, best)]
    wins = sum(ratio < 1 for ratio in ratios)
    text = f"; less than every other's on {wins} of {len(methods)} seeds"
    return f"{text}, at most {max(ratios):.3f} times the best of them"


def interval_rows(sensors, evaluations, kind):
    """Yield the rows of the coverage, the CRPS and the rank correlation of the deviations."""
    from scipy import stats

    parts = [
        ("90 % intervals", [evaluation.coverage for evaluation in evaluations], "share within"),
        ("deviations", [evaluation.crps for evaluation in evaluations], "CRPS, times the best constant's"),
    ]
    if kind == "sensors":
        pooled = stats.spearmanr(*np.concatenate([evaluation.ranks for evaluation in evaluations], axis=1)).statistic
        parts.append(("deviations by sensor", [abs(float(pooled))], "rank correlation with the error"))
    for name, values, unit in parts:
        note = f"mean {np.mean(values):.3f}, {list_seeds(values)}"
        yield Row(f"{HIDDEN[kind]} missing: {name}", sensors.name, "real", values, unit, note)


TABLE_SEEDS = range(3)
PATTERNS = ("points", "blocks", "ends")


class Comparison(NamedTuple):
    """Errors of one table, pattern and seed.

    errors : {name: mean absolute error}, gpukit's default under OURS
    coverage : fraction of the hidden values within the 90 % intervals
    crps : continuous ranked probability score of the deviations, relative to the mean absolute error
    """

    errors: dict
    coverage: float
    crps: float

    @property
    def best(self):
        """Name of the rival with the least error."""
        return min((name for name in self.errors if name != OURS), key=self.errors.get)

    @property
    def ratio(self):
        """Error of gpukit's default over that of the best rival."""
        return self.errors[OURS] / self.errors[self.best]


OURS = "gpukit"


def read_statsmodels(name, columns=slice(None)):
    """Return (a slice of) the columns of a data set of statsmodels."""
    from statsmodels import datasets

    return getattr(datasets, name).load_pandas().data.iloc[:, columns]


def read_vega(name):
    """Return a data frame of vega_datasets."""
    import pandas

    [folder] = importlib.util.find_spec("vega_datasets").submodule_search_locations
    return pandas.read_csv(Path(folder) / "_data" / name)


def read_fertility():
    """Return the births per woman by year and country, without countries that lack years."""
    years = read_statsmodels("fertility").select_dtypes("number").dropna(axis=1, how="all").dropna()
    return years.T.iloc[:, ::8]


def read_stocks():
    """Return the prices of stocks by month, since all are traded."""
    frame = read_vega("stocks.csv").assign(month=lambda table: np.arange(len(table)))
    frame["month"] = frame.groupby("symbol")["month"].rank(ascending=False)
    return frame.pivot(index="month", columns="symbol", values="price").dropna().iloc[::-1]


def read_temperatures():
    """Return the temperatures of two cities in the hours of two months."""
    return np.column_stack([read_vega(f"{city}-temps.csv")["temp"][:1440] for city in ("seattle", "sf")])


def make_ramps(noise):
    """Return straight lines of different slopes with noise, relative to their range."""
    rng, time = np.random.default_rng(0), np.linspace(0.0, 1.0, 80)[:, None]
    return 10.0 * rng.random(9) + rng.normal(size=9) * 5.0 * (time + noise * rng.normal(size=(80, 9)))


TABLES = {  # columns are series, rows are times
    "macrodata": lambda: read_statsmodels("macrodata", slice(2, None)),
    "elnino": lambda: read_statsmodels("elnino", slice(1, None)),
    "danish": lambda: read_statsmodels("danish_data", slice(1, 6)),
    "longley": lambda: read_statsmodels("longley", slice(0, 6)),
    "copper": lambda: read_statsmodels("copper", slice(0, 5)),
    "interest": lambda: read_statsmodels("interest_inflation", slice(2, None)),
    "fertility": read_fertility,
    "grunfeld": lambda: read_statsmodels("grunfeld").pivot(index="year", columns="firm", values="invest"),
    "employment": lambda: read_vega("us-employment.csv").select_dtypes("number"),
    "stocks": read_stocks,
    "electricity": lambda: read_vega("iowa-electricity.csv").pivot(
        index="year", columns="source", values="net_generation"
    ),
    "weather": lambda: read_vega("seattle-weather.csv").select_dtypes("number"),
    "temperatures": read_temperatures,
    "ramps": lambda: make_ramps(0.01),
    "noisy ramps": lambda: make_ramps(0.05),
}


def hide_cells(shape, pattern, seed):
    """Return (T, N) bool, True for hidden values of a pattern; every series keeps values."""
    rng, hidden = np.random.default_rng(seed), np.zeros(shape, bool)
    missing = 0.1  # fraction of the values that are hidden, as points or in blocks
    times, series = shape
    if pattern == "points":
        hidden = rng.random(shape) < missing
    elif pattern == "blocks":
        length = max(2, round(missing * times))
        for column in rng.permutation(series)[: -(-series // 2)]:
            for start in rng.integers(1, max(2, times - length), size=2 if times > 4 * length else 1):
                hidden[start : start + length, column] = True
    else:
        chosen = rng.permutation(series)[: max(1, round(series / 3))]  # a third misses the last fifth of the times
        hidden[times - max(1, round(0.2 * times)) :, chosen] = True
    hidden[0] = False
    return hidden


def impute_by(name, **parameters):
    """Return a function that imputes by one of scikit-learn's imputers."""

    def impute(table):
        from sklearn import impute as imputers
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401

        return getattr(imputers, name)(**parameters).fit_transform(table)

    return impute


def interpolate(table):
    """Return linear interpolations in time."""
    return table.interpolate(limit_direction="both")


def extrapolate(table, forecast):
    """Return interpolations, with forecast(values, steps) of each series after its last value."""
    out = interpolate(table).to_numpy(copy=True)
    for column, series in enumerate(table.to_numpy().T):
        last = int(np.flatnonzero(~np.isnan(series))[-1]) + 1
        if last < len(series):
            out[last:, column] = forecast(out[:last, column], len(series) - last)
    return out


def drift(values, steps):
    """Continue a series by its mean change."""
    return values[-1] + np.arange(1, steps + 1) * (values[-1] - values[0]) / max(1, len(values) - 1)


def damped_trend(values, steps):
    """Forecast a series by exponential smoothing with a damped trend, of statsmodels."""
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    model = ExponentialSmoothing(values, trend="add", damped_trend=True, initialization_method="estimated")
    return model.fit().forecast(steps)


def regress(table):
    """Return least-squares predictions from the other series, interpolated."""
    from sklearn.linear_model import LinearRegression

    whole, out = interpolate(table).to_numpy(), table.to_numpy(copy=True)
    for column in np.flatnonzero(np.isnan(out).any(axis=0)):
        others, missing = np.delete(whole, column, axis=1), np.isnan(out[:, column])
        out[missing, column] = LinearRegression().fit(others[~missing], out[~missing, column]).predict(others[missing])
    return out


RIVALS = {  # functions of a data frame
    "last value": lambda table: table.ffill().bfill(),
    "interpolation": interpolate,
    "column mean": lambda table: table.fillna(table.mean()),
    "IterativeImputer": impute_by("IterativeImputer", random_state=0),
    "KNNImputer": impute_by("KNNImputer", n_neighbors=5),
    "drift": lambda table: extrapolate(table, drift),
    "damped trend": lambda table: extrapolate(table, damped_trend),
    "regression": regress,
}


def ends(conditions):
    """Measure errors and intervals on hidden values of each table."""
    if not all(importlib.util.find_spec(name) for name in ("statsmodels", "vega_datasets", "sklearn")):
        return
    names = list(TABLES)[: max(1, round(conditions.scale * len(TABLES)))]
    for pattern in PATTERNS:
        results = {
            name: [compare_rivals(name, pattern, seed, conditions.device) for seed in TABLE_SEEDS] for name in names
        }
        yield from pattern_rows(pattern, results)


def compare_rivals(name, pattern, seed, device):
    """Return the Comparison of a table, a pattern and a seed."""
    import pandas

    truth = np.array(TABLES[name](), np.float64)
    hidden = hide_cells(truth.shape, pattern, seed)
    observed = pandas.DataFrame(np.where(hidden, np.nan, truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, of few values
        completed = {rival: np.asarray(impute(observed)) for rival, impute in RIVALS.items()}
        errors = {rival: absolute_error(table, truth, ~hidden) for rival, table in completed.items()}
        model = GraphImputer(device=str(device).split()[0])
        completed = model.fit_transform(None, observed, times=np.arange(len(observed)))
    residuals, deviations = (completed.to_numpy() - truth)[hidden], model.deviation_.to_numpy()[hidden]
    errors[OURS] = float(np.abs(residuals).mean())
    coverage = float((np.abs(residuals) <= QUANTILE * deviations).mean())
    return Comparison(errors, coverage, crps(residuals, deviations) / max(errors[OURS], 1e-300))


def pattern_rows(pattern, results):
    """Yield the rows of {table: [Comparison]}: of each table, and the geometric mean over the tables."""
    from scipy import stats

    ratios = {name: stats.gmean([part.ratio for part in parts]) for name, parts in results.items()}
    for name, parts in results.items():
        errors = {rival: np.mean([part.errors[rival] for part in parts]) for rival in parts[0].errors}
        text = ", ".join(f"{rival} {error:.4g}" for rival, error in sorted(errors.items(), key=lambda pair: pair[1]))
        winners = ", ".join(part.best for part in parts)
        kind = "generated" if "ramps" in name else "real"
        what, unit = f"{pattern} missing: default over the best rival", "times its mean absolute error"
        yield Row(what, name, kind, [part.ratio for part in parts], unit, f"best rivals {winners}; means {text}")
        yield Row(f"{pattern} missing: 90 % intervals", name, kind, [part.coverage for part in parts], "share within")
    all_parts = [part for parts in results.values() for part in parts]
    shape, note = f"{len(results)} tables", f"worst {max(ratios, key=ratios.get)} {max(ratios.values()):.3f}"
    what = f"{pattern} missing: default over the best rival, geometric mean"
    yield Row(what, shape, "real", [float(stats.gmean(list(ratios.values())))], "times its mean absolute error", note)
    covered = float(np.mean([part.coverage for part in all_parts]))
    yield Row(f"{pattern} missing: 90 % intervals", shape, "real", [covered], "share within", "mean over tables")
    score = float(np.mean([part.crps for part in all_parts]))
    yield Row(f"{pattern} missing: CRPS", shape, "real", [score], "times the mean absolute error", "mean over tables")
