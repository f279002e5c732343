"""A fitted model put on a device: what Held holds, made of its State and History."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import ParameterError
from gpukit.factorization import run as runs
from gpukit.factorization.live.device_state import Held
from gpukit.factorization.live.hashing import SEARCHES, Hashes
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.update import inputs, merge
from gpukit.neighbors.columns import columns_of
from gpukit.ratings.orders.order import order_ratings


class Work(NamedTuple):
    """Where a live model works: Device; the factorization's steps, the live model's own and those of the orders; the
    side that is walked; layout.Layout; whether one result is wanted."""

    device: object
    steps: object
    own: object
    ordering: object
    walk: str
    layout: object
    deterministic: bool


def check_model(model):
    """ParameterError for a model that cannot be kept live."""
    model.check()
    if model.feedback_ != "explicit":
        raise ParameterError("A model of clicks cannot be kept live. Update it with partial_fit.")
    if model.neighbors_.shape[1] and (model.hash != "simlsh" or model.search not in SEARCHES):
        raise ParameterError(
            f"hash={model.hash!r} with search={model.search!r} cannot be kept live: nothing of it is additive. Use "
            f"hash='simlsh' with search={' or '.join(map(repr, SEARCHES))}, or update the model with partial_fit."
        )


def work_of(model, state, device=None):
    """The Work of what walks and is deterministic as a model or a run.Trainer, on a device (None: its own)."""
    device = model.device if device is None else device
    steps = engine(device, "gpukit.factorization")
    layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
    own, ordering = engine(device, __package__), engine(device, "gpukit.ratings.orders")
    return Work(device, steps, own, ordering, model.walk, layout, model.deterministic)


def held_of(state, history, scale, work, levels=None, item_starts=None):
    """The Held of a State, without hashes; levels and item_starts are needed where ratings are to enter."""
    held = Held(work, history, item_starts, levels, scale)
    held.keep(*packed(state, work))
    return held


def opened(model, device):
    """The Held of a fitted model on a Device. Raises DeviceMemoryError."""
    state, scale, work = model._state, model._scale, work_of(model, model._state, device)
    ratings = history_as_ratings(model)
    runs.check_memory(device, len(ratings), major_first(work.walk, *ratings.shape), work.layout)
    orders = order_ratings(ratings, device)
    columns, history = columns_of(orders), training_data.history_of(orders, scale, work.steps.preparing)
    starts = work.own.resident(np.concatenate((columns.indptr, columns.indptr[-1:])), np.int64)
    held = held_of(state, history, scale, work, orders.levels, starts)
    if state.neighbors.shape[1]:
        settings = model._hashing(state.neighbors.shape[1])
        held.hashes = Hashes(ratings.shape[1], settings, orders.levels, work)
        held.hashes.add(columns)
    held.reserve()
    return held


def packed(state, work):
    """(P, Q, neighbors, packed neighborhood or None) of a State, on the device and nobody else's."""
    own, layout = work.own, work.layout
    sides = [own.resident(table, np.float32) for table in states.pack_sides(state, layout, work.walk)]
    neighbors = own.resident(state.neighbors.copy(), np.int32) if layout.slots else state.neighbors
    neighborhood = None
    if layout.slots:
        base = state.item_extras[:, BASE]
        found = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
        neighborhood = tuple(own.resident(array, array.dtype) for array in found)
    return *sides, neighbors, neighborhood


def history_as_ratings(model):
    """The Ratings of a model's History, by user."""
    none = (np.empty(0, dtype) for dtype in (np.int32, np.int32, np.float32))
    part = inputs.NewRatings(*none, model.user_ids_, model.item_ids_)
    return merge.merged(model._rated, model._scale, part, "last").ratings
