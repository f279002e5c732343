"""Benchmark of imputation compared with deep learning: SAITS, BRITS and ImputeFormer of PyPOTS (extra 'bench').

SAITS has the base settings of its authors for air quality, BRITS the size that others give it for traffic, ImputeFormer
its model's defaults; windows have 24 readings. Training ends after 10 epochs without gain on readings held out for it,
or after EPOCHS. All are timed on the device of the run. A scale below 1 takes fewer seeds of hidden readings.
"""

import contextlib
import importlib.util
import os
import time

import numpy as np

from gpukit import interrupt
from gpukit.bench.measurement import Row, absolute_error, check_error
from gpukit.bench.recovery import HIDDEN, check_observed, hide, read_metr_la, read_molene
from gpukit.imputation.estimator import GraphImputer

WINDOW, EPOCHS = 24, 100
SIZES = {
    "SAITS": dict(n_layers=2, d_model=256, n_heads=4, d_k=64, d_v=64, d_ffn=128, dropout=0.1),
    "BRITS": dict(rnn_hidden_size=64),
    "ImputeFormer": dict(n_layers=3, d_input_embed=24, d_learnable_embed=80, d_proj=10, d_ffn=256, n_temporal_heads=4),
}


def deep(conditions):
    """Measure errors and seconds on hidden readings, and on points and faults, of METR-LA and Molene."""
    if not importlib.util.find_spec("pypots"):
        return
    for read in (read_molene, read_metr_la):
        sensors = read(conditions.data)
        for kind in ("readings", "blocks"):
            masks = [hide(sensors, kind, seed) for seed in range(max(1, round(3 * conditions.scale)))]
            yield from rows_of(sensors, kind, masks, conditions.device)


def rows_of(sensors, kind, masks, device):
    """Yield the rows of gpukit's defaults and of each rival: errors by mask, seconds to train and to fill."""
    fillers = {"defaults": fill_by_default, **dict.fromkeys(SIZES, fill_by_network)}
    for name, fill in fillers.items():
        results = [fill(name, sensors, mask, device) for mask in masks]
        errors, *times, notes = zip(*results)
        what = f"{HIDDEN[kind]} missing, networks: {name}"
        yield Row(what, sensors.name, "real", list(errors), f"{sensors.unit}, mean absolute error", "; ".join(notes))
        for stage, samples in zip(("training", "filling"), times):
            if any(samples):
                yield Row(f"{what}, {stage}", sensors.name, "real", list(samples), "s")


def fill_by_default(name, sensors, mask, device):
    """Return (error, seconds of a fit after a first one, 0 seconds to fill, note) of GraphImputer."""
    tensor = np.where(mask, sensors.values, np.float32(0))
    for _ in range(2):
        start = time.perf_counter()
        model = GraphImputer(device=str(device).split()[0]).fit(sensors.adjacency, tensor, mask)
        seconds = time.perf_counter() - start
    check_observed(model.completed_, tensor, mask)
    return absolute_error(model.completed_, sensors.values, mask), seconds, 0.0, "a fit fills"


def fill_by_network(name, sensors, mask, device):
    """Return (error, seconds of training, seconds of filling, note) of a network of PyPOTS."""
    seen = mask.reshape(len(mask), -1).T
    truth = sensors.values.reshape(len(mask), -1).T
    table = np.where(seen, truth, np.nan)
    mean, deviation = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    table = ((table - mean) / np.where(deviation > 0, deviation, 1.0)).astype(np.float32)
    start = time.perf_counter()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # a banner
        model = train_network(name, table, device)
    filled_from = time.perf_counter()
    completed = np.where(np.isnan(table), fill_windows(model, table), table) * deviation + mean
    end = time.perf_counter()
    completed = np.where(seen, truth, completed)
    error = absolute_error(completed, truth, seen)
    check_error(f"completed table of {name}", error, float(np.abs(truth - mean)[~seen].mean()))
    return error, filled_from - start, end - filled_from, f"best of {EPOCHS} epochs: {model.best_epoch}"


def train_network(name, table, device):
    """Return a network of PyPOTS trained on the windows of a table (T, N).

    A twentieth of the readings is held out to end the training.
    """
    import torch
    from pypots import imputation

    torch.manual_seed(0)
    held_out = np.random.default_rng(1).integers(20, size=table.shape) == 0
    seen = np.where(held_out, np.nan, table).astype(np.float32)
    model = getattr(imputation, name)(
        n_steps=WINDOW,
        n_features=table.shape[1],
        epochs=EPOCHS,
        patience=10,
        **SIZES[name],
        device=str(device).split()[0],
        verbose=False,
    )
    validation = {"X": windows(seen, WINDOW), "X_ori": windows(table, WINDOW)}
    with end_training() as check:
        model.model.register_forward_pre_hook(lambda *_: check())
        model.fit({"X": windows(seen, 1)}, validation)
    return model


@contextlib.contextmanager
def end_training():
    """Yield a function that ends PyPOTS' training after a request to stop; training goes on after KeyboardInterrupt."""
    with interrupt.defer() as request:

        def check():
            if request.requested is not None:
                raise SystemExit

        try:
            yield check
        except SystemExit:
            raise interrupt.Interrupted(request.requested) from None


def windows(table, stride):
    """Return the windows (n, WINDOW, N) of a table (T, N) that begin every `stride` rows."""
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(table, WINDOW, 0)[::stride].swapaxes(1, 2))


def fill_windows(model, table):
    """Return a table (T, N) filled by a network window by window; the last window ends with the table."""
    *_, last = range(0, len(table) - WINDOW + 1)
    starts = np.minimum(np.arange(0, len(table), WINDOW), last)
    parts = model.predict({"X": np.stack([table[start : start + WINDOW] for start in starts])})["imputation"]
    out = np.empty(table.shape)
    for start, part in zip(starts, parts):
        out[start : start + WINDOW] = part
    return out
