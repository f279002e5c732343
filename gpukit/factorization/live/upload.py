"""Upload of a fitted model: its State and History as a DeviceState."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import ParameterError
from gpukit.factorization import run as runs
from gpukit.factorization.live.device_state import DeviceState
from gpukit.factorization.live.hashing import SEARCHES, Hashes
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.update import inputs, merge
from gpukit.neighbors.columns import columns_of
from gpukit.ratings.orders.order import order_ratings


class Context(NamedTuple):
    """Device and settings of a live model.

    device: Device; steps: of the factorization; live_steps: of this package; ordering: of ratings.orders; walk: major
    side; layout: layout.Layout; deterministic.
    """

    device: object
    steps: object
    live_steps: object
    ordering: object
    walk: str
    layout: object
    deterministic: bool


def check_model(model):
    """Raise ParameterError for a model that cannot be live."""
    model.check()
    if model.feedback_ != "explicit":
        raise ParameterError("A model of clicks cannot be kept live. Update it with partial_fit.")
    if model.neighbors_.shape[1] and (model.hash != "simlsh" or model.search not in SEARCHES):
        raise ParameterError(
            f"hash={model.hash!r} with search={model.search!r} cannot be kept live: it has no additive sums. Use "
            f"hash='simlsh' with search={' or '.join(map(repr, SEARCHES))}, or update the model with partial_fit."
        )


def create_context(model, state, device=None):
    """Return the Context of a model or a run.Trainer on a device (None: its own)."""
    device = model.device if device is None else device
    steps = engine(device, "gpukit.factorization")
    layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
    live_steps, ordering = engine(device, __package__), engine(device, "gpukit.ratings.orders")
    return Context(device, steps, live_steps, ordering, model.walk, layout, model.deterministic)


def create_device_state(state, history, scale, context, levels=None, item_starts=None):
    """Return the DeviceState of a State, without hashes.

    levels, item_starts: needed for adding ratings.
    """
    device_state = DeviceState(context, history, item_starts, levels, scale)
    device_state._set(*pack_parameters(state, context))
    return device_state


def upload_model(model, device):
    """Return the DeviceState of a fitted model on a Device. Raises DeviceMemoryError."""
    state, scale, context = model._state, model._scale, create_context(model, model._state, device)
    ratings = history_as_ratings(model)
    runs.check_memory(device, len(ratings), major_first(context.walk, *ratings.shape), context.layout)
    orders = order_ratings(ratings, device)
    columns, history = columns_of(orders), training_data.history_of(orders, scale, context.steps.preparing)
    starts = context.live_steps.resident(np.concatenate((columns.indptr, columns.indptr[-1:])), np.int64)
    device_state = create_device_state(state, history, scale, context, orders.levels, starts)
    if state.neighbors.shape[1]:
        settings = model._hashing(state.neighbors.shape[1])
        device_state.hashes = Hashes(ratings.shape[1], settings, orders.levels, context)
        device_state.hashes.add(columns)
    device_state.reserve()
    return device_state


def pack_parameters(state, context):
    """Return (P, Q, neighbors, packed neighborhood or None) of a State, as new arrays on the device."""
    steps, layout = context.live_steps, context.layout
    sides = [steps.resident(table, np.float32) for table in states.pack_sides(state, layout, context.walk)]
    neighbors = steps.resident(state.neighbors.copy(), np.int32) if layout.slots else state.neighbors
    neighborhood = None
    if layout.slots:
        base = state.item_extras[:, BASE]
        arrays = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
        neighborhood = tuple(steps.resident(array, array.dtype) for array in arrays)
    return *sides, neighbors, neighborhood


def history_as_ratings(model):
    """Return the Ratings of a model's History, by user."""
    none = (np.empty(0, dtype) for dtype in (np.int32, np.int32, np.float32))
    part = inputs.NewRatings(*none, model.user_ids_, model.item_ids_)
    return merge.merged(model._rated, model._scale, part, "last").ratings
