"""`Live`: a model at work on its device, to which ratings are added. Written once, for either device."""

import copy

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.errors import GpukitError
from gpukit.factorization.live import ingest, learning, merge, upload
from gpukit.factorization.live.id_lookup import Finder
from gpukit.factorization.model.state import State
from gpukit.factorization.settings import of_model
from gpukit.factorization.update import settings as updating
from gpukit.factorization.update import update_log
from gpukit.timing import Clock


class Live:
    """A fitted model kept on a device, to which new ratings, users and items are added at the cost of what is new;
    made by the estimators' `live`.

    Rows that had ratings stay as they are, bit by bit (Algorithm 4); new ones learn all of theirs. The estimator that
    it was made of is left alone. Use it from one thread at a time. user_ids_ (M,), item_ids_ (N,): those it knows;
    updates_: as the estimators', a dict for each call of `add`.
    """

    def __init__(self, model, device="auto"):
        """model: a fitted MatrixFactorization or LSHMF (hash 'simlsh', search 'hamming' or 'buckets') of ratings.

        Raises ParameterError, DeviceError, DeviceMemoryError.
        """
        upload.check_model(model)
        self._device = devices.resolve(device)
        self._take(model)

    def _take(self, model):
        """Begin with a fitted model."""
        self._model = copy.copy(model)
        self._model.device = f"cuda:{self._device.index}" if self._device.is_cuda else "cpu"
        with devices.reported(self._device, "Keeping a model live"):
            self._held = upload.opened(self._model, self._device)
        self.user_ids_, self.item_ids_ = model.user_ids_, model.item_ids_
        self.updates_ = list(getattr(model, "updates_", []))
        self._serving, self._finders = None, (Finder(), Finder())

    def __len__(self):
        """Ratings in the history."""
        return len(self._opened())

    def add(self, X, y=None, *, duplicates="last", widen_scale=False):
        """Learn from new ratings, of known users and items, of new ones, in any mix; the new entry of updates_.

        X, y, duplicates, widen_scale: as partial_fit takes them. Ratings of known users for known items enter the
        history alone. A part with a pair twice, a rating of a value that no rating had, or a correction by 'mean', goes
        by way of the host and costs as much as opening. Raises ParameterError, DataError, and the model is as it was;
        DeviceMemoryError, after which it has to be made anew.
        """
        updating.check("frozen", "recount", duplicates, None, widen_scale)
        clock = Clock()
        with devices.reported(self._device, "Updating"), interrupt.deferred():  # a request waits for the whole part
            with (own := self._opened().work.own).attached():
                with clock("reading"):
                    part = ingest.part_of(X, y, (self.user_ids_, self.item_ids_), self._finders, own)
                if not len(part):
                    return None
                added = self._added(part, duplicates, clock)
            if not added:
                how = {"rows": "frozen", "duplicates": duplicates, "widen_scale": widen_scale}
                self._take(self.model().partial_fit(X, y, **how))
        return self.updates_[-1]

    def predict(self, X, unknown="warn"):
        """(n,) float32 predicted ratings of pairs X, as the estimators' predict."""
        return self._answering().predict(X, unknown)

    def evaluate(self, X, y=None):
        """{'rmse', 'mae'} on ratings X, or on ratings y of pairs X."""
        return self._answering().evaluate(X, y)

    def recommend(self, users=None, n=10, exclude_seen=True, *, unknown="error"):
        """(item ids (B, n), scores (B, n) float32) for user ids (None: all), by predicted ratings, as the estimators'
        recommend(by='rating'); unknown: as there."""
        return self._answering().recommend(users, n, exclude_seen, by="rating", unknown=unknown)

    def model(self):
        """A fitted estimator that is equal to what is live now, on the host."""
        held, fetch = self._opened(), self._held.work.own.fetch
        state = State(*(np.array(array) for array in held.session().state()))
        history = type(held.history)(*(np.array(fetch(array)) for array in held.history))
        model = copy.copy(self._model)
        model.device_, model.updates_ = str(self._device), list(self.updates_)
        model.set_fitted(state, history, held.scale, self.user_ids_, self.item_ids_)
        return model

    def _opened(self):
        """The Held; GpukitError where the last part failed midway."""
        if self._held is None:
            raise GpukitError("The last part was not added as a whole. Make the live model anew.")
        return self._held

    def _added(self, part, duplicates, clock):
        """Add inputs.NewRatings; False, with nothing done, where a pair comes twice in it, a rating's value is new, or
        a mean is asked for."""
        held = self._opened()
        with clock("orders"):
            new = merge.sort_part(part, held)
            if new.repeated or new.unknown:
                return False
            found = merge.look_up(new, held)
            if found[2] < len(part) and duplicates != "last":
                if duplicates == "error":
                    merge.refuse_known(found, new, part, held)
                return False
        self._held = None  # until all is done
        counts = self._learned(held, (new, found), clock)
        self._held, self._serving = held, None
        self.user_ids_, self.item_ids_ = part.user_ids, part.item_ids
        self.updates_.append({**counts, "rows": "frozen", "seconds": clock.seconds})
        return True

    def _learned(self, held, part, clock):
        """Have a Sorted part and what `look_up` found in the Held; the counts of the entry of updates_."""
        (new, found), before, own = part, len(held), held.work.own
        with clock("merge"):
            held.grow(new.shape)
            entered = merge.enter(new, found, held)
        plan = of_model(self._model, len(held))
        with clock("neighbours"):
            fresh = learning.prepared(entered, new, held, plan.damping)
        with clock("training"):
            walked = learning.learn(fresh, held, plan) if fresh else 0
            own.finish()
        rows = merge.flagged(fresh.flags, own) if fresh else (0, 0)
        counts = new.keys.size - entered.corrected, entered.corrected, *rows, walked
        entry = dict(zip(("ratings", "corrected", "users", "items", "walked"), counts))
        return {**entry, "settled": update_log.last_full_count(self.updates_, before)}

    def _answering(self):
        """The estimator whose sessions are those of what is held."""
        if self._serving is None:
            held, model = self._opened(), copy.copy(self._model)
            model.user_ids_, model.item_ids_, model._history = self.user_ids_, self.item_ids_, held.history
            model._serving = self._device, held.session()
            self._serving = model
        return self._serving
