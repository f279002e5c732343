"""What files keep of fitted models, and checkpoints (gpukit.persist writes them)."""

import zlib
from typing import NamedTuple

import numpy as np

from gpukit import persist
from gpukit.errors import ModelError
from gpukit.factorization.arrays import History, Scale
from gpukit.factorization.model.state import State

STATE, HISTORY, BEST = "state", "rated", "best"
FACTS = ("history", "timings", "device", "random_share")


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
        "parameters": persist.lasting(estimator),
        "epochs_done": done,
        "history": estimator.history_,
        "data": data,
    }
    arrays = persist.spread(STATE, state) | ({} if best is None else persist.spread(BEST, best))
    persist.save_arrays(path, header, arrays)


def load_checkpoint(path, estimator, data):
    """The Checkpoint of the same estimator, parameters and data, or ModelError."""
    header, arrays = persist.load_arrays(path)
    if header.get("class") != "checkpoint" or header.get("of") != type(estimator).__name__:
        raise ModelError(
            f"{path} is not a checkpoint of a {type(estimator).__name__}. Leave --resume out to begin anew."
        )
    mine = persist.lasting(estimator)
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
    arrays = persist.Arrays(path, arrays)
    best = arrays.gathered(State, BEST) if f"{BEST}.{State._fields[0]}" in arrays else None
    return Checkpoint(arrays.gathered(State, STATE), header["epochs_done"], header["history"], best)


def packed(model):
    """(facts, arrays) of a fitted model."""
    facts = {name: getattr(model, f"{name}_") for name in FACTS if hasattr(model, f"{name}_")}
    arrays = persist.spread(STATE, model._state) | persist.spread(HISTORY, model._rated)
    ids = {"user_ids": model.user_ids_, "item_ids": model.item_ids_}
    return {"standard": list(model._scale), "kept": facts}, arrays | ids


def unpack(model, facts, arrays):
    """Give a model what `packed` took from one."""
    model.set_fitted(
        arrays.gathered(State, STATE),
        arrays.gathered(History, HISTORY),
        Scale(*facts["standard"]),
        arrays["user_ids"],
        arrays["item_ids"],
    )
    for name, value in facts["kept"].items():
        setattr(model, f"{name}_", value)
