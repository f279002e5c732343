"""Fitted models and checkpoints as files: plain arrays and a JSON header (gpukit.persist)."""

import zlib
from typing import NamedTuple

import numpy as np

from gpukit import persist
from gpukit.errors import ModelError
from gpukit.factorization.model.state import State
from gpukit.factorization.prepare import History, Scale

STATE, HISTORY, BEST = "state.", "rated.", "best."


class Checkpoint(NamedTuple):
    """Where training stands: the State after epochs_done epochs, the history so far, and the best State (None: not
    kept)."""

    state: State
    epochs_done: int
    history: list
    best: State | None


def fingerprint(ratings):
    """A checksum of the ratings, so that a checkpoint is not resumed on other data."""
    total = 0
    for array in (ratings.users, ratings.items, ratings.values):
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total


def save_checkpoint(path, estimator, state, best, done, data):
    """Write what training needs to go on after `done` epochs: State, best State or None, parameters, the history so
    far."""
    header = {
        "class": "checkpoint",
        "of": type(estimator).__name__,
        "parameters": lasting(estimator),
        "epochs_done": done,
        "history": estimator.history_,
        "data": data,
    }
    kept = [(STATE, state)] + ([] if best is None else [(BEST, best)])
    persist.save_arrays(
        path, header, {prefix + name: array for prefix, one in kept for name, array in one._asdict().items()}
    )


def load_checkpoint(path, estimator, data):
    """The Checkpoint of the same estimator, parameters and data, or ModelError."""
    header, arrays = persist.load_arrays(path)
    if header.get("class") != "checkpoint" or header.get("of") != type(estimator).__name__:
        raise ModelError(
            f"{path} is not a checkpoint of a {type(estimator).__name__}. Leave --resume out to begin anew."
        )
    mine = lasting(estimator)
    other = [name for name in mine if name != "n_epochs" and header["parameters"].get(name) != mine[name]]
    if other:
        name = other[0]
        raise ModelError(
            f"{path} was made with {name}={header['parameters'].get(name)!r}, not {mine[name]!r}. "
            "Resume with the same settings, or leave --resume out."
        )
    if header["data"] != data:
        raise ModelError(
            f"{path} was made from other ratings (or another split of them). Leave --resume out to begin anew."
        )
    best = _gather(State, BEST, arrays, path) if BEST + State._fields[0] in arrays else None
    return Checkpoint(_gather(State, STATE, arrays, path), header["epochs_done"], header["history"], best)


def lasting(estimator):
    """The parameters that shape the result: all but the device."""
    return {name: value for name, value in estimator.get_params().items() if name != "device"}


def save_model(path, estimator):
    """Write a fitted estimator."""
    header = {
        "class": type(estimator).__name__,
        "parameters": lasting(estimator),
        "scale": list(estimator.z_scale_),
        "history": estimator.history_,
        "timings": estimator.timings_,
        "device": estimator.device_,
        "random_share": getattr(estimator, "random_share_", None),
    }
    arrays = {STATE + name: array for name, array in estimator.state_._asdict().items()}
    arrays |= {HISTORY + name: array for name, array in estimator.rated_._asdict().items()}
    persist.save_arrays(path, header, {**arrays, "user_ids": estimator.user_ids_, "item_ids": estimator.item_ids_})


def load_model(path, cls):
    """The fitted estimator of class cls in a file; device is 'auto' again, whatever it was trained on."""
    header, arrays = persist.load_arrays(path)
    if header.get("class") != cls.__name__:
        raise ModelError(f"{path} holds a {header.get('class')}, not a {cls.__name__}.")
    estimator = cls(**header["parameters"])
    for name in ("user_ids", "item_ids"):
        if name not in arrays:
            raise ModelError(f"{path} lacks {name!r}: it is damaged. Train again, or copy the file again.")
    estimator.set_fitted(
        _gather(State, STATE, arrays, path),
        _gather(History, HISTORY, arrays, path),
        Scale(*header["scale"]),
        arrays["user_ids"],
        arrays["item_ids"],
    )
    estimator.history_, estimator.timings_, estimator.device_ = header["history"], header["timings"], header["device"]
    if header.get("random_share") is not None:
        estimator.random_share_ = header["random_share"]
    return estimator


def _gather(kind, prefix, arrays, path):
    missing = [name for name in kind._fields if prefix + name not in arrays]
    if missing:
        raise ModelError(f"{path} lacks {missing[0]!r}: it is damaged. Train again, or copy the file again.")
    return kind(**{name: arrays[prefix + name] for name in kind._fields})
