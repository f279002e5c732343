"""`Live`: a model that stays on its device between updates, for either device."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from gpukit import device as devices
from gpukit import interrupt
from gpukit.errors import GpukitError, ParameterError
from gpukit.factorization.online import device_state, inputs, run
from gpukit.factorization.online.device_state import SEARCHES, DeviceState
from gpukit.factorization.online.inputs import IdLookup, check_options
from gpukit.timing import Clock

if TYPE_CHECKING:
    from gpukit.factorization.estimator import LSHMF, MatrixFactorization
    from gpukit.factorization.lists.recommending import UnknownUsers
    from gpukit.factorization.serve import Predicted
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
        check_model(model)
        self._device, self._model = devices.resolve(device), copy.copy(model)
        self._model.device = f"cuda:{self._device.index}" if self._device.is_cuda else "cpu"
        with devices.translate_memory_errors(self._device, "Keeping a model live"):
            self._state = DeviceState(model, self._device)
            self._keep_hashes(self._state)
            self._state.reserve()
        self.user_ids_, self.item_ids_ = model.user_ids_, model.item_ids_
        self.updates_ = list(getattr(model, "updates_", []))
        self._serving, self._lookups = None, (IdLookup(), IdLookup())

    def __len__(self) -> int:
        """Number of ratings in the history."""
        return len(self._get_state().ratings)

    def add(
        self, X: RatingsLike, y: ArrayLike | None = None, *, duplicates: Rule = "last", widen_scale: bool = False
    ) -> dict[str, Any] | None:
        """Learn from new ratings of known and new users and items; return the new entry of updates_, None without any.

        X, y, duplicates, widen_scale: as in partial_fit. Ratings of known users for known items only enter the history.
        Repeated pairs, new rating values and corrections by 'mean' are processed on the host; new values take as long
        as the creation of the live model. Raises ParameterError and DataError, after which the model is unchanged;
        DeviceMemoryError, after which it must be created anew.
        """
        options, clock = check_options("frozen", duplicates, widen_scale), Clock()
        state = self._get_state()
        with (
            devices.translate_memory_errors(self._device, "Updating"),
            interrupt.defer(),
        ):  # an interrupt waits for the update
            with state.ratings.steps.attached():
                batch, changes = self._find_changes((X, y), options, state, clock)
                if batch is None:
                    return None
                self._state = None  # until the update is complete
                self.updates_.append(self._update(state, batch, changes, options, clock))
        self._state, self._serving = state, None
        self.user_ids_, self.item_ids_ = batch.user_ids, batch.item_ids
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
        state, model = self._get_state(), copy.copy(self._model)
        model.device_, model.updates_ = str(self._device), list(self.updates_)
        stored = state.ratings
        model.set_fitted(state.parameters(), stored.download(), stored.scale, self.user_ids_, self.item_ids_)
        return model

    def _get_state(self):
        """Return the DeviceState; raise GpukitError after an incomplete update."""
        if self._state is None:
            raise GpukitError("The last update failed before its end. Create the live model again.")
        return self._state

    def _keep_hashes(self, state):
        """Compute the sums of simLSH of a DeviceState, if the model has neighbours."""
        if state.layout.slots:
            state.keep_hashes(self._model._hashing(state.neighbors.all.shape[1]))

    def _find_changes(self, arguments, options, state, clock):
        """Return (NewRatings, device_state.Changes) of the arguments of `add`; (None, None) without ratings."""
        known, stored, new = (self.user_ids_, self.item_ids_), state.ratings, None
        where = known, stored.steps, self._lookups
        with clock("reading"):
            batch = inputs.in_rows(inputs.read_unchecked(*arguments, known, stored.scale), *where)
        if batch is not None and not len(batch):
            return None, None
        with clock("orders"):
            new = batch and device_state.sort_batch(batch, stored)
        if new is None or new.has_repeats or new.has_unknown:
            with clock("reading"):
                batch = inputs.in_rows(inputs.read_batch(*arguments, options, self._model)[0], *where)
            with clock("orders"):
                new = device_state.sort_batch(batch, stored)
        levels = stored.levels
        with clock("orders"):
            changes = device_state.find_changes(batch, new, stored, options.duplicates)
        if stored.levels is not levels:  # other codes, and sums of other weights
            self._serving = None
            self._model._scale, self._model.scale_ = stored.scale, (stored.scale.low, stored.scale.high)
            self._keep_hashes(state)
        return batch, changes

    def _update(self, state, batch, changes, options, clock):
        """Learn device_state.Changes; return the entry of updates_."""
        full_count = inputs.last_full_count(self.updates_, len(state.ratings))
        if not len(changes):
            return inputs.new_entry((0, 0), (0, 0), options.rows, 0, full_count, clock.seconds)
        return run.update(state, run.Update(self._model, batch[3:], changes, options, full_count, clock))

    def _get_estimator(self):
        """Return the estimator whose sessions are on the device state."""
        if self._serving is None:
            state, model = self._get_state(), copy.copy(self._model)
            model.user_ids_, model.item_ids_, model._history = self.user_ids_, self.item_ids_, state.ratings.history
            model._sessions = {"ratings": (self._device, state.session())}
            self._serving = model
        return self._serving


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
