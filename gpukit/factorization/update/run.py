"""One update: what `partial_fit` does between checking its arguments and keeping the result; on any device."""

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
from gpukit.factorization.update.plan import walk_of
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import Clock

GROWN = 1.1  # an item has changed when it has so many times its ratings


class Model(NamedTuple):
    """What an update begins with: a state.State, arrays.History on the host, arrays.Scale, how many ratings there were
    when the whole history was last walked."""

    state: object
    history: object
    scale: object
    settled: int


class Trainer(NamedTuple):
    """How a model learns: the side it walks, Device, the factorization's steps for it, a function that gives its
    settings.Settings for so many ratings, a function that searches neighbours (None without them), whether without
    conflicts."""

    walk: str
    device: object
    steps: object
    settings: object
    search: object
    deterministic: bool


class Updated(NamedTuple):
    """The model afterwards, and the entry of `updates_`."""

    state: object
    history: object
    scale: object
    told: dict


class Facts(NamedTuple):
    """What is known once the ratings are in order: Merged, ((M,), (N,)) bool of the rows without ratings before, the
    Orders of the ratings of these rows (None without any), the share of each row's ratings that were there before (1
    for rows without any), bool of rows in which something is new, baseline biases, neighbours, History, Scale."""

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
    """The Updated of a Model that takes inputs.NewRatings, as update.settings.Settings say; None where it is better
    trained anew (retrain.py).

    Raises DataError, DeviceMemoryError. An interrupt takes effect between two epochs, and the model is as it was.
    """
    clock = Clock()
    progress("merging", 0, 1, {})
    with clock("merge"):
        merged = merge.merged(model.history, model.scale, part, settings.duplicates)
        before = counts_before(model.history, merged.ratings.shape)
        now = merge.counts_of(merged.ratings)
    plan = trainer.settings(len(merged.ratings))
    walk = walk_of(settings.replay, len(model.history.items), len(merged.ratings), model.settled, plan)
    facts = learned_facts(model, merged, (before, now), (walk, settings, trainer), clock)
    share = drift.share(model, merged, facts.fresh, trainer) if walk.is_whole else 1.0
    if share < drift.LEAST and retrain.is_free(settings):
        return None
    state = grow.grown_state(model.state, facts.fresh, facts.base, facts.neighbors, plan.biases, plan.seed)
    state = grow.at_baseline(state) if plan.held else state
    with clock("training"), interrupt.deferred() as pressed:
        learner = Learner(state, facts, plan, trainer, pressed, progress)
        if plan.epochs:
            learner.learn_fresh()
        if plan.epochs and settings.rows == "move":
            learner.learn_all(walk, max(share, drift.LEAST))
        state = learner.state if plan.epochs else states.without_factors(learner.state)
    whole = settings.rows == "move" and walk.is_whole
    told = {
        "ratings": len(part) - merged.corrected,
        "corrected": merged.corrected,
        "users": int(np.count_nonzero(facts.fresh[0] & (now[0] > 0))),
        "items": int(np.count_nonzero(facts.fresh[1] & (now[1] > 0))),
        "rows": settings.rows,
        "walked": learner.walked,
        "settled": len(merged.ratings) if whole else model.settled,
        "seconds": clock.seconds,
    }
    return Updated(state, facts.history, facts.scale, told)


def counts_before(history, shape):
    """(ratings of each user (M,), of each item (N,)) that a History has, in the rows of a grown model."""
    users = np.zeros(shape[0], np.int64)
    counts = np.diff(history.indptr)[:-1]
    users[: len(counts)] = counts
    return users, np.bincount(history.items, minlength=shape[1])


def learned_facts(model, merged, counts, how, clock):
    """The Facts of an update; counts: (before, now) of both sides; how: (plan.Walk, Settings, Trainer)."""
    (before, now), (walk, settings, trainer) = counts, how
    fresh = tuple(was == 0 for was in before)
    touched = touched_rows(merged)
    known = tuple(np.maximum(was, 1) / np.maximum(is_now, 1) for was, is_now in zip(before, now))
    steps = trainer.steps.preparing
    with clock("orders"):
        orders = order_ratings(merged.ratings, trainer.device)
        scale = widened(model.scale, merged.ratings.values[merged.new])
        history = training_data.history_of(orders, scale, steps)
        history = type(history)(*map(steps.fetch, history))
        own, plan = orders_of_fresh(merged, fresh, trainer), trainer.settings(len(merged.ratings))
        if settings.rows == "move":
            base = training_data.baseline_of(orders, scale, steps, plan.damping, trend=plan.trend)
        else:
            base = kept_baseline(model.state, fresh, own, (scale, plan.damping), trainer)
        base = tuple(np.asarray(steps.fetch(side), np.float32) for side in base)
    with clock("neighbours"):
        changed = changed_items(before[1], now[1], touched[1], walk, settings)
        neighbors = found_neighbors(model.state.neighbors, orders, changed, trainer)
    return Facts(merged, fresh, own, known, touched, base, neighbors, history, scale)


def touched_rows(merged):
    """((M,), (N,)) bool: rows with a rating that is new or corrected."""
    rows = merged.ratings.users[merged.new], merged.ratings.items[merged.new]
    return tuple(np.bincount(own, minlength=n) > 0 for own, n in zip(rows, merged.ratings.shape))


def widened(scale, values):
    """The Scale with bounds that hold new ratings too; its mean and deviation stay, so that z means what it meant."""
    if not len(values):
        return scale
    return scale._replace(low=min(scale.low, float(values.min())), high=max(scale.high, float(values.max())))


def orders_of_fresh(merged, fresh, trainer):
    """The Orders of the ratings that rows without any before have now, None where there are no such rows."""
    ratings, (users, items) = merged.ratings, fresh
    own = np.flatnonzero(merged.new)
    own = own[users[ratings.users[own]] | items[ratings.items[own]]]
    return order_ratings(ratings.take(own), trainer.device) if len(own) else None


def kept_baseline(state, fresh, own, how, trainer):
    """Baseline biases ((M,), (N,)) float64 in z on the device: of fresh rows by Orders of their ratings, of the others
    as they were; how: (Scale, damping)."""
    context, base = upload.create_context(trainer, state), []
    for extras, new in zip(grow.extras_of(state), fresh):
        base.append(np.zeros(len(new)))
        base[-1][: len(extras)] = extras[:, BASE]
    base = tuple(context.live_steps.resident(side, np.float64) for side in base)
    flags = tuple(context.live_steps.resident(new, np.uint8) for new in fresh)
    return base if own is None else learning.baseline_of_new_rows(own, flags, base, *how, context)


def changed_items(before, now, touched, walk, settings):
    """(N,) bool: items whose neighbours are looked for: new ones; where rows may move, those that have GROWN, and all
    that have new ratings when the whole history is walked."""
    new = (before == 0) & (now > 0)
    if settings.rows == "frozen" or settings.hashes == "kept":
        return new
    return (now >= GROWN * before) & touched | (touched & walk.is_whole) | new


def found_neighbors(known, orders, changed, trainer):
    """(N, K) int32: those known, and for changed items those that are found now."""
    if trainer.search is None:
        return np.zeros((len(changed), 0), np.int32)
    neighbors = np.zeros((len(changed), known.shape[1]), np.int32)
    neighbors[: len(known)] = known
    if changed.any():
        found = trainer.search(orders)
        neighbors[changed] = np.asarray(found)[changed]
    return neighbors


class Learner:
    """A State that learns of parts of the history. state: as it stands; walked: ratings walked so far."""

    def __init__(self, state, facts, plan, trainer, pressed, progress):
        self.state, self.facts, self.plan, self.trainer = state, facts, plan, trainer
        self.pressed, self.progress, self.walked = pressed, progress, 0
        layout = trainer.steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
        ratings = facts.merged.ratings
        runs.check_memory(trainer.device, len(ratings), major_first(trainer.walk, *ratings.shape), layout)
        self.layout = layout

    def learn_fresh(self):
        """Algorithm 4, lines 10 to 15: rows that had no ratings learn all of theirs, the others stay as they are."""
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
        """Before an epoch, and after the last: tell of it, and end where that is asked for."""
        if self.pressed.requested is not None:
            raise interrupt.Interrupted(self.pressed.requested)
        if turn:
            self.progress("training", turn, turns, {"rmse": None})

    def learn_all(self, walk, share):
        """All rows learn of the new ratings, and again of a share of those before; share: what they confirm."""
        merged, state = self.facts.merged, self.state
        again = np.random.default_rng([self.plan.seed, len(merged.new)]).random(len(merged.new)) < walk.share
        if walk.is_whole:
            state = grow.forgotten(state, self.facts, share)
        self.state = self.walk(state, merged.new | again, walk.epochs)

    def walk(self, state, which, epochs):
        """The State after walking some ratings of the history (a mask) at the rates of these epochs."""
        some = self.facts.merged.ratings.take(which)
        if not len(some):
            return state
        training = self.training_on(state, some)
        for turn, epoch in enumerate(epochs):
            self.report(turn, len(epochs))
            training.step(self.plan.epoch_rates(epoch), schedule.turn_key(self.plan.seed, turn))
        self.report(len(epochs), len(epochs))
        self.walked += len(some) * len(epochs)
        return training.session.state()

    def training_on(self, state, some):
        """The Training of a State that walks some Ratings."""
        trainer, steps = self.trainer, self.trainer.steps
        orders, scale = order_ratings(some, trainer.device), self.facts.scale
        in_strata = conflict_free_blocks.uses_strata(trainer.device, trainer.deterministic)
        way = training_data.PreparationOptions(trainer.walk, self.plan.seed, in_strata, self.layout.slots > 0)
        made = training_data.prepare_ratings(orders, scale, way, steps.preparing)
        task = Task(orders, scale, made, self.plan, self.layout, steps, trainer.device, trainer.deterministic)
        session = steps.Session(state, self.layout, trainer.walk, self.facts.history)
        return descent.begin(session, task, descent.arrange(task))


def trainer_of(estimator, device, search):
    """The Trainer of an estimator that works on a device; search: see Trainer."""
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
