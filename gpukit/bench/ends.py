"""Benchmark of imputation at the ends of series, in blocks and at points, compared with eight rivals.

The tables are series that statsmodels and vega_datasets (extra 'bench') hold, and generated ramps. The rivals take a
line of pandas or scikit-learn, or a minute to install; the best of them is known with the truth, which favours them.
"""

import importlib.util
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.measurement import QUANTILE, Row, absolute_error, crps
from gpukit.bench.process import map_in_processes
from gpukit.imputation.estimator import GraphImputer

SEEDS = range(3)
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


def hide(shape, pattern, seed):
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


def iterate(table):
    """Impute by scikit-learn's IterativeImputer."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(random_state=0).fit_transform(table)


def impute_knn(table):
    """Impute by scikit-learn's KNNImputer."""
    from sklearn.impute import KNNImputer

    return KNNImputer(n_neighbors=5).fit_transform(table)


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
    "IterativeImputer": iterate,
    "KNNImputer": impute_knn,
    "drift": lambda table: extrapolate(table, drift),
    "damped trend": lambda table: extrapolate(table, damped_trend),
    "regression": regress,
}


def ends(conditions):
    """Measure errors and intervals on hidden values of each table."""
    if not all(importlib.util.find_spec(name) for name in ("statsmodels", "vega_datasets", "sklearn")):
        return
    names = list(TABLES)[: max(1, round(conditions.scale * len(TABLES)))]
    tasks = [(name, pattern, seed, conditions.device) for pattern in PATTERNS for name in names for seed in SEEDS]
    results = map_in_processes(evaluate, tasks, conditions.workers)
    for pattern in PATTERNS:
        table = {name: [next(results) for _ in SEEDS] for name in names}
        yield from pattern_rows(pattern, table)


def evaluate(name, pattern, seed, device):
    """Return the Comparison of a table, a pattern and a seed."""
    import pandas

    truth = np.array(TABLES[name](), np.float64)
    hidden = hide(truth.shape, pattern, seed)
    observed = pandas.DataFrame(np.where(hidden, np.nan, truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, of few values
        errors = {
            rival: absolute_error(np.asarray(impute(observed)), truth, ~hidden) for rival, impute in RIVALS.items()
        }
        model = GraphImputer(device=str(device).split()[0])
        completed = model.fit_transform(None, observed, times=np.arange(len(observed)))
    residuals, deviations = (completed.to_numpy() - truth)[hidden], model.deviation_.to_numpy()[hidden]
    errors[OURS] = float(np.abs(residuals).mean())
    coverage = float((np.abs(residuals) <= QUANTILE * deviations).mean())
    return Comparison(errors, coverage, crps(residuals, deviations) / max(errors[OURS], 1e-300))


def pattern_rows(pattern, results):
    """Yield the rows of {table: [Comparison]}: of each table, and the geometric mean over the tables."""
    ratios = {name: geometric_mean([part.ratio for part in parts]) for name, parts in results.items()}
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
    yield Row(what, shape, "real", [geometric_mean(list(ratios.values()))], "times its mean absolute error", note)
    covered = float(np.mean([part.coverage for part in all_parts]))
    yield Row(f"{pattern} missing: 90 % intervals", shape, "real", [covered], "share within", "mean over tables")
    score = float(np.mean([part.crps for part in all_parts]))
    yield Row(f"{pattern} missing: CRPS", shape, "real", [score], "times the mean absolute error", "mean over tables")


def geometric_mean(values):
    """Return the geometric mean of positive values."""
    return float(np.exp(np.log(np.maximum(values, 1e-300)).mean()))
