"""One update: the computation of `partial_fit`, on any device."""

from typing import NamedTuple

import numpy as np

from gpukit import interrupt
from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.live import learning, upload
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, major_first
from gpukit.factorization.prepare import conflict_free_blocks, training_data
from gpukit.factorization.settings import of_model
from gpukit.factorization.solvers import Task
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.factorization.update import drift, grow, merge, retrain
from gpukit.factorization.update.plan import plan_replay
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import Clock

GROWN = 1.1  # growth of an item's ratings that calls for a new search of its neighbours


class Model(NamedTuple):
    """Input of an update: state.State, arrays.History on the host, arrays.Scale.

    settled: number of ratings at the last epoch over the whole history.
    """

    state: object
    history: object
    scale: object
    settled: int


class Trainer(NamedTuple):
    """Training of a model.

    walk: major side; device: Device; steps: of the factorization; settings: function from the number of ratings to
    settings.Settings; search: function that searches neighbours, None without them; deterministic.
    """

    walk: str
    device: object
    steps: object
    settings: object
    search: object
    deterministic: bool


class Updated(NamedTuple):
    """Result of an update; entry: of `updates_`."""

    state: object
    history: object
    scale: object
    entry: dict


class Facts(NamedTuple):
    """Merged ratings and what follows from them.

    merged: MergedHistory; fresh ((M,), (N,)) bool: rows without earlier ratings; orders: Orders of their ratings, None
    without any; known: share of earlier ratings of each row, 1 without ratings; touched: rows with new or corrected
    ratings; base: baseline biases; neighbors; history: History; scale: Scale.
    """

    merged: object
    fresh: tuple
    orders: object
    known: tuple
    touched: tuple
    base: tuple
    neighbors: np.ndarray
    history: object
    scale: object


def update(model, part, settings, trainer, progress):
    """Return the Updated of a Model with inputs.NewRatings; None if it should be retrained (retrain.py).

    settings: update.settings.Settings. Raises DataError, DeviceMemoryError. An interrupt takes effect between epochs
    and leaves the model unchanged.
    """
    clock = Clock()
    progress("merging", 0, 1, {})
    with clock("merge"):
        merged = merge.merged(model.history, model.scale, part, settings.duplicates)
        before = counts_before(model.history, merged.ratings.shape)
        now = merge.counts_of(merged.ratings)
    plan = trainer.settings(len(merged.ratings))
    replay = plan_replay(settings.replay, len(model.history.items), len(merged.ratings), model.settled, plan)
    facts = collect_facts(model, merged, (before, now), (replay, settings, trainer), clock)
    share = drift.fit_share(model, merged, facts.fresh, trainer) if replay.is_whole else 1.0
    if share < drift.LEAST and retrain.is_free(settings):
        return None
    state = grow.grow_state(model.state, facts.fresh, facts.base, facts.neighbors, plan.biases, plan.seed)
    state = grow.reset_biases(state) if plan.held else state
    with clock("training"), interrupt.deferred() as pressed:
        learner = Learner(state, facts, plan, trainer, pressed, progress)
        if plan.epochs:
            learner.train_new_rows()
        if plan.epochs and settings.rows == "move":
            learner.train_all_rows(replay, max(share, drift.LEAST))
        state = learner.state if plan.epochs else states.without_factors(learner.state)
    whole = settings.rows == "move" and replay.is_whole
    entry = {
        "ratings": len(part) - merged.corrected,
        "corrected": merged.corrected,
        "users": int(np.count_nonzero(facts.fresh[0] & (now[0] > 0))),
        "items": int(np.count_nonzero(facts.fresh[1] & (now[1] > 0))),
        "rows": settings.rows,
        "walked": learner.walked,
        "settled": len(merged.ratings) if whole else model.settled,
        "seconds": clock.seconds,
    }
    return Updated(state, facts.history, facts.scale, entry)


def counts_before(history, shape):
    """Return the History's (ratings of each user (M,), of each item (N,)), in the rows of a grown model."""
    users = np.zeros(shape[0], np.int64)
    counts = np.diff(history.indptr)[:-1]
    users[: len(counts)] = counts
    return users, np.bincount(history.items, minlength=shape[1])


def collect_facts(model, merged, counts, options, clock):
    """Return the Facts of an update; counts: (before, now) of both sides; options: (plan.Replay, Settings, Trainer)."""
    (before, now), (replay, settings, trainer) = counts, options
    fresh = tuple(old == 0 for old in before)
    touched = touched_rows(merged)
    known = tuple(np.maximum(old, 1) / np.maximum(new, 1) for old, new in zip(before, now))
    steps = trainer.steps.preparing
    with clock("orders"):
        orders = order_ratings(merged.ratings, trainer.device)
        scale = extend_scale(model.scale, merged.ratings.values[merged.new])
        history = training_data.history_of(orders, scale, steps)
        history = type(history)(*map(steps.fetch, history))
        new_orders, plan = order_new_rows(merged, fresh, trainer), trainer.settings(len(merged.ratings))
        if settings.rows == "move":
            base = training_data.baseline_of(orders, scale, steps, plan.damping, trend=plan.trend)
        else:
            base = update_baseline(model.state, fresh, new_orders, (scale, plan.damping), trainer)
        base = tuple(np.asarray(steps.fetch(side), np.float32) for side in base)
    with clock("neighbours"):
        changed = find_changed_items(before[1], now[1], touched[1], replay, settings)
        neighbors = update_neighbors(model.state.neighbors, orders, changed, trainer)
    return Facts(merged, fresh, new_orders, known, touched, base, neighbors, history, scale)


def touched_rows(merged):
    """Return the rows with new or corrected ratings, ((M,), (N,)) bool."""
    rows = merged.ratings.users[merged.new], merged.ratings.items[merged.new]
    return tuple(np.bincount(side, minlength=n) > 0 for side, n in zip(rows, merged.ratings.shape))


def extend_scale(scale, values):
    """Return the Scale with bounds that include new ratings; mean and deviation stay, so that z keeps its meaning."""
    if not len(values):
        return scale
    return scale._replace(low=min(scale.low, float(values.min())), high=max(scale.high, float(values.max())))


def order_new_rows(merged, fresh, trainer):
    """Return the Orders of the ratings of rows without earlier ratings, None without any."""
    ratings, (users, items) = merged.ratings, fresh
    places = np.flatnonzero(merged.new)
    places = places[users[ratings.users[places]] | items[ratings.items[places]]]
    return order_ratings(ratings.take(places), trainer.device) if len(places) else None


def update_baseline(state, fresh, orders, options, trainer):
    """Return baseline biases ((M,), (N,)) float64 in z on the device, recomputed for new rows.

    orders: Orders of the new rows' ratings or None; options: (Scale, damping).
    """
    context, base = upload.create_context(trainer, state), []
    for extras, new in zip(grow.extras_of(state), fresh):
        base.append(np.zeros(len(new)))
        base[-1][: len(extras)] = extras[:, BASE]
    base = tuple(context.live_steps.resident(side, np.float64) for side in base)
    flags = tuple(context.live_steps.resident(new, np.uint8) for new in fresh)
    return base if orders is None else learning.baseline_of_new_rows(orders, flags, base, *options, context)


def find_changed_items(before, now, touched, replay, settings):
    """Return the items whose neighbours are searched, (N,) bool.

    These are new items. If rows may move, also items that have GROWN, and all with new ratings if the whole history is
    replayed.
    """
    new = (before == 0) & (now > 0)
    if settings.rows == "frozen" or settings.hashes == "kept":
        return new
    return (now >= GROWN * before) & touched | (touched & replay.is_whole) | new


def update_neighbors(known, orders, changed, trainer):
    """Return the neighbours (N, K) int32: searched for changed items, else as known."""
    if trainer.search is None:
        return np.zeros((len(changed), 0), np.int32)
    neighbors = np.zeros((len(changed), known.shape[1]), np.int32)
    neighbors[: len(known)] = known
    if changed.any():
        neighbors[changed] = np.asarray(trainer.search(orders))[changed]
    return neighbors


class Learner:
    """Training of a State on parts of the history; walked: ratings times epochs so far."""

    def __init__(self, state, facts, plan, trainer, pressed, progress):
        self.state, self.facts, self.plan, self.trainer = state, facts, plan, trainer
        self.pressed, self.progress, self.walked = pressed, progress, 0
        layout = trainer.steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
        ratings = facts.merged.ratings
        runs.check_memory(trainer.device, len(ratings), major_first(trainer.walk, *ratings.shape), layout)
        self.layout = layout

    def train_new_rows(self):
        """Train rows without earlier ratings, with the others fixed: Algorithm 4, lines 10 to 15."""
        facts = self.facts
        if facts.orders is None:
            return
        context = upload.create_context(self.trainer, self.state)
        device_state = upload.create_device_state(self.state, facts.history, facts.scale, context)
        flags = tuple(context.live_steps.resident(new, np.uint8) for new in facts.fresh)
        rows = learning.NewRows(facts.orders, flags, learning.read_baseline(device_state))
        self.walked += learning.train_new_rows(rows, device_state, self.plan, self.report)
        self.state = states.State(*map(np.asarray, device_state.session().state()))

    def report(self, turn, turns):
        """Report progress before each epoch and after the last; raise Interrupted on request."""
        if self.pressed.requested is not None:
            raise interrupt.Interrupted(self.pressed.requested)
        if turn:
            self.progress("training", turn, turns, {"rmse": None})

    def train_all_rows(self, replay, share):
        """Train all rows on the new ratings and on a share of the earlier ones; share: of drift.fit_share."""
        merged, state = self.facts.merged, self.state
        replayed = np.random.default_rng([self.plan.seed, len(merged.new)]).random(len(merged.new)) < replay.share
        if replay.is_whole:
            state = grow.shrink_factors(state, self.facts, share)
        self.state = self.run_epochs(state, merged.new | replayed, replay.epochs)

    def run_epochs(self, state, mask, epochs):
        """Return the State after epochs over the ratings of a mask, at the rates of these epoch numbers."""
        ratings = self.facts.merged.ratings.take(mask)
        if not len(ratings):
            return state
        training = self.training_on(state, ratings)
        for turn, epoch in enumerate(epochs):
            self.report(turn, len(epochs))
            training.step(self.plan.epoch_rates(epoch), schedule.turn_key(self.plan.seed, turn))
        self.report(len(epochs), len(epochs))
        self.walked += len(ratings) * len(epochs)
        return training.session.state()

    def training_on(self, state, ratings):
        """Return the Training of a State on Ratings."""
        trainer, steps = self.trainer, self.trainer.steps
        orders, scale = order_ratings(ratings, trainer.device), self.facts.scale
        in_strata = conflict_free_blocks.uses_strata(trainer.device, trainer.deterministic)
        options = training_data.PreparationOptions(trainer.walk, self.plan.seed, in_strata, self.layout.slots > 0)
        data = training_data.prepare_ratings(orders, scale, options, steps.preparing)
        task = Task(orders, scale, data, self.plan, self.layout, steps, trainer.device, trainer.deterministic)
        session = steps.DeviceModel(state, self.layout, trainer.walk, self.facts.history)
        return descent.begin(session, task, descent.arrange(task))


def trainer_of(estimator, device, search):
    """Return the Trainer of an estimator on a device; search: see Trainer."""
    steps = engine(device, "gpukit.factorization")
    k = estimator.neighbors_.shape[1]
    return Trainer(
        estimator.walk,
        device,
        steps,
        lambda n_ratings: of_model(estimator, n_ratings),
        search if k else None,
        estimator.deterministic,
    )
