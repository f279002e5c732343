"""The benchmark of networks: windows, what they are trained on, and rows, with a network that fills in ramps."""

import contextlib
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import device
from gpukit.bench import Conditions, deep
from gpukit.bench.recovery import Sensors
from gpukit.errors import DataError
from gpukit.graphs import synth_graph


class Network:
    """Fills a window by the straight line through each series' observed values."""

    best_epoch, during = 3, staticmethod(lambda: None)

    def __init__(self, n_steps, n_features, **options):
        assert n_steps == deep.WINDOW and options["device"] == "cpu"
        self.shape, self.model, self.hooks = (n_steps, n_features), self, []

    def register_forward_pre_hook(self, hook):
        self.hooks.append(hook)

    def fit(self, train, validation):
        assert train["X"].shape[1:] == self.shape == validation["X_ori"].shape[1:]
        held_out = np.isnan(validation["X"]) & ~np.isnan(validation["X_ori"])
        assert 0.02 < held_out.mean() < 0.1
        assert np.array_equal(train["X"][:: deep.WINDOW], validation["X"], equal_nan=True)
        with contextlib.suppress(KeyboardInterrupt):  # as PyPOTS does
            self.during()
            for hook in self.hooks:
                hook(self, ())

    def predict(self, data):
        out, place = data["X"].copy(), np.arange(deep.WINDOW)
        for window in out:
            for series in window.T:
                seen = ~np.isnan(series)
                series[~seen] = np.polyval(np.polyfit(place[seen], series[seen], 1), place[~seen])
        return {"imputation": out}


@pytest.fixture
def sensors(monkeypatch):
    """Ramps of nine sensors, 100 readings each, and a package with the network."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(manual_seed=lambda seed: None))
    networks = SimpleNamespace(imputation=SimpleNamespace(**dict.fromkeys(deep.SIZES, Network)))
    monkeypatch.setitem(sys.modules, "pypots", networks)
    graph = synth_graph("random", 9, (1, 1), 1, 0.0)
    values = np.arange(100) * np.linspace(-1, 2, 9)[:, None] + np.linspace(20, 50, 9)[:, None]
    return Sensors("ramps", "m", graph.adjacency, values.astype(np.float32)[:, None], (4, 8), range(1))


def test_windows_and_the_last_one():
    table = np.arange(100.0)[:, None] * [1, 2]
    parts = deep.windows(table, 24)
    assert parts.shape == (4, 24, 2) and np.array_equal(parts[3], table[72:96])
    echo = SimpleNamespace(predict=lambda data: {"imputation": data["X"]})
    assert np.array_equal(deep.fill_windows(echo, table), table)


def test_a_network_fills_in_the_units_of_the_data(sensors):
    mask = np.random.default_rng(0).random(sensors.values.shape) >= 0.2
    error, training, filling, note = deep.fill_by_network("SAITS", sensors, mask, device.cpu())
    assert error < 1e-4 and min(training, filling) >= 0 and note == "best of 100 epochs: 3"


def test_a_network_worse_than_the_mean_is_refused(sensors, monkeypatch):
    monkeypatch.setattr(Network, "predict", lambda self, data: {"imputation": np.full_like(data["X"], 9)})
    mask = np.random.default_rng(0).random(sensors.values.shape) >= 0.2
    with pytest.raises(DataError, match="BRITS"):
        deep.fill_by_network("BRITS", sensors, mask, device.cpu())


def test_a_request_to_stop_ends_the_benchmark(sensors, monkeypatch):
    monkeypatch.setattr(Network, "during", staticmethod(lambda: signal.raise_signal(signal.SIGINT)))
    mask = np.random.default_rng(0).random(sensors.values.shape) >= 0.2
    with pytest.raises(KeyboardInterrupt):
        deep.fill_by_network("BRITS", sensors, mask, device.cpu())


@pytest.mark.slow
def test_rows(sensors, monkeypatch):
    monkeypatch.setattr(deep, "read_molene", lambda folder: sensors)
    monkeypatch.setattr(deep, "read_metr_la", lambda folder: sensors._replace(name="other ramps"))
    find_spec = deep.importlib.util.find_spec
    monkeypatch.setattr(deep.importlib.util, "find_spec", lambda name: find_spec(name) if "." in name else True)
    rows = list(deep.deep(Conditions(device.cpu(), (), 0.7)))
    assert len({(row.what, row.shape) for row in rows}) == len(rows) == 2 * 2 * (2 + 3 * len(deep.SIZES))
    errors = [row for row in rows if row.unit == "m, mean absolute error"]
    assert len(errors) == 16 and all(len(row.samples) == 2 and max(row.samples) < 1 for row in errors)
