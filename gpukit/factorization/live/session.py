"""`Live`: a model on its device that learns new ratings, for either device."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.errors import GpukitError
from gpukit.factorization.live import ingest, learning, merge, upload
from gpukit.factorization.model.state import State
from gpukit.factorization.settings import of_model
from gpukit.factorization.update import settings as updating
from gpukit.factorization.update import update_log
from gpukit.timing import Clock

if TYPE_CHECKING:
    from gpukit.factorization.estimator import LSHMF, MatrixFactorization
    from gpukit.factorization.lists.recommending import UnknownUsers
    from gpukit.factorization.lookup import Predicted
    from gpukit.ratings.repeats import Rule
    from gpukit.typing import ArrayLike, DeviceLike, Float32, Ids, IdsLike, RatingsLike


class Live:
    """A fitted model on a device, to which new ratings, users and items are added at the cost of the new ratings.

    Created by the estimators' `live`. Rows with earlier ratings stay bit-identical (Algorithm 4); new rows learn all of
    their ratings. The estimator is not changed. Not thread-safe. user_ids_ (M,), item_ids_ (N,): known ids; updates_:
    as the estimators', a dict for each call of `add`.
    """

    def __init__(self, model: LSHMF | MatrixFactorization, device: DeviceLike = "auto") -> None:
        """Upload a fitted MatrixFactorization or LSHMF (hash 'simlsh', search 'hamming' or 'buckets') of ratings.

        Raises ParameterError, DeviceError, DeviceMemoryError.
        """
        upload.check_model(model)
        self._device = devices.resolve(device)
        self._load(model)

    def _load(self, model):
        """Upload a fitted model."""
        self._model = copy.copy(model)
        self._model.device = f"cuda:{self._device.index}" if self._device.is_cuda else "cpu"
        with devices.reported(self._device, "Keeping a model live"):
            self._state = upload.upload_model(self._model, self._device)
        self.user_ids_, self.item_ids_ = model.user_ids_, model.item_ids_
        self.updates_ = list(getattr(model, "updates_", []))
        self._serving, self._finders = None, (ingest.IdLookup(), ingest.IdLookup())

    def __len__(self) -> int:
        """Number of ratings in the history."""
        return len(self._get_state())

    def add(
        self, X: RatingsLike, y: ArrayLike | None = None, *, duplicates: Rule = "last", widen_scale: bool = False
    ) -> dict[str, Any] | None:
        """Learn from new ratings of known and new users and items; return the new entry of updates_.

        X, y, duplicates, widen_scale: as in partial_fit. Ratings of known users for known items only enter the history.
        Repeated pairs, new rating values and corrections by 'mean' are processed on the host, at the cost of a new
        upload. Raises ParameterError and DataError, after which the model is unchanged; DeviceMemoryError, after which
        it must be created anew.
        """
        updating.check("frozen", "recount", duplicates, None, widen_scale)
        clock = Clock()
        with devices.reported(self._device, "Updating"), interrupt.deferred():  # an interrupt waits for the update
            with (steps := self._get_state().context.live_steps).attached():
                with clock("reading"):
                    part = ingest.part_of(X, y, (self.user_ids_, self.item_ids_), self._finders, steps)
                if not len(part):
                    return None
                added = self._add_part(part, duplicates, clock)
            if not added:
                options = {"rows": "frozen", "duplicates": duplicates, "widen_scale": widen_scale}
                self._load(self.model().partial_fit(X, y, **options))
        return self.updates_[-1]

    def predict(
        self, X: RatingsLike | IdsLike, items: IdsLike | None = None, *, unknown: Predicted = "warn"
    ) -> Float32:
        """Predict ratings of pairs X, or of users and items, (n,) float32, as the estimators' predict."""
        return self._get_estimator().predict(X, items, unknown=unknown)

    def evaluate(self, X: RatingsLike, y: ArrayLike | None = None) -> dict[str, float]:
        """Return {'rmse', 'mae'} on ratings X, or on ratings y of pairs X."""
        return self._get_estimator().evaluate(X, y)

    def recommend(
        self, users: IdsLike | None = None, n: int = 10, exclude_seen: bool = True, *, unknown: UnknownUsers = "error"
    ) -> tuple[Ids, Float32]:
        """Return (item ids (B, n), scores (B, n) float32) for user ids, None: all.

        As the estimators' recommend(by='rating').
        """
        return self._get_estimator().recommend(users, n, exclude_seen, by="rating", unknown=unknown)

    def model(self) -> LSHMF | MatrixFactorization:
        """Return a fitted estimator on the host, equal to the current state."""
        device_state, fetch = self._get_state(), self._state.context.live_steps.fetch
        state = State(*(np.array(array) for array in device_state.session().state()))
        history = type(device_state.history)(*(np.array(fetch(array)) for array in device_state.history))
        model = copy.copy(self._model)
        model.device_, model.updates_ = str(self._device), list(self.updates_)
        model.set_fitted(state, history, device_state.scale, self.user_ids_, self.item_ids_)
        return model

    def _get_state(self):
        """Return the DeviceState; raise GpukitError after an incomplete update."""
        if self._state is None:
            raise GpukitError("The last update failed before its end. Create the live model again.")
        return self._state

    def _add_part(self, part, duplicates, clock):
        """Add inputs.NewRatings; return False, without changes, if they must be processed on the host."""
        device_state = self._get_state()
        with clock("orders"):
            new = merge.sort_part(part, device_state)
            if new.repeated or new.unknown:
                return False
            lookup = merge.look_up_pairs(new, device_state)
            if lookup[2] < len(part) and duplicates != "last":
                if duplicates == "error":
                    merge.raise_known_pair(lookup, new, part, device_state)
                return False
        self._state = None  # until the update is complete
        counts = self._train_part(device_state, (new, lookup), clock)
        self._state, self._serving = device_state, None
        self.user_ids_, self.item_ids_ = part.user_ids, part.item_ids
        self.updates_.append({**counts, "rows": "frozen", "seconds": clock.seconds})
        return True

    def _train_part(self, device_state, part, clock):
        """Merge SortedRatings and train; return the counts of the entry of updates_."""
        (new, lookup), before, steps = part, len(device_state), device_state.context.live_steps
        with clock("merge"):
            device_state.grow(new.shape)
            merged = merge.merge_part(new, lookup, device_state)
        plan = of_model(self._model, len(device_state))
        with clock("neighbours"):
            new_rows = learning.prepare_new_rows(merged, new, device_state, plan.damping)
        with clock("training"):
            walked = learning.train_new_rows(new_rows, device_state, plan) if new_rows else 0
            steps.finish()
        rows = merge.count_flagged(new_rows.flags, steps) if new_rows else (0, 0)
        counts = new.keys.size - merged.corrected, merged.corrected, *rows, walked
        entry = dict(zip(("ratings", "corrected", "users", "items", "walked"), counts))
        return {**entry, "settled": update_log.last_full_count(self.updates_, before)}

    def _get_estimator(self):
        """Return the estimator whose sessions are on the device state."""
        if self._serving is None:
            device_state, model = self._get_state(), copy.copy(self._model)
            model.user_ids_, model.item_ids_, model._history = self.user_ids_, self.item_ids_, device_state.history
            model._serving = self._device, device_state.session()
            self._serving = model
        return self._serving
