"""Clicks on a device with their weights; weights between items; trainings; candidates judged on held-out clicks."""

from typing import NamedTuple

import numpy as np

from gpukit.device import available_memory, free_memory, require_host
from gpukit.device.engine import engine
from gpukit.evaluation.lists import metrics_of_hits
from gpukit.evaluation.splits import mask_before_last
from gpukit.factorization import run as runs
from gpukit.factorization.arrays import UNSCALED
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.model.state import combine_states, start_state, with_popularity, with_weights
from gpukit.factorization.prepare import training_data
from gpukit.factorization.shared.partition import share_of
from gpukit.factorization.solvers import Task, ease, training_of
from gpukit.factorization.solvers.ease import best_columns
from gpukit.model_selection.trial import EarlyStopping, Trial
from gpukit.parallel import ALONE
from gpukit.ratings.orders.order import order_ratings
from gpukit.streams import Numpy


def matrix_of(clicks):
    """Return Ratings as a scipy.sparse.csr_array of ones (M, N)."""
    return ease.matrix_of(*clicks.csr()[:2], clicks.shape[1])


def fits(n_items, device):
    """Return True if all weights between items fit main memory, and half of a GPU's for the lists."""
    free = free_memory(device)
    is_served = free is None or 2 * 4 * n_items**2 <= free
    return is_served and ease.memory_of(n_items) <= available_memory()


def solve(clicks, decay, device):
    """Return weights between the items of Ratings: (N, N) float32, or a csr_array of lists if these do not fit.

    decay: regularization; device: a Device.
    """
    n_items, most = clicks.shape[1], RULES.weight_neighbors
    if not fits(n_items, device):
        needed = ease.memory_of_lists(n_items, most)
        require_host(needed, f"Solving for {most} weights of each of {n_items:,} items")
        return ease.solve_lists(clicks, decay, most, device)
    matrix = matrix_of(clicks)
    solved = ease.solve_on_gpu(matrix, decay, device) if device.is_cuda else None
    return ease.solve_weights(matrix, decay) if solved is None else solved


def add_item_weights(state, clicks, plan, device, solve=solve):
    """Return the State with the item weights of settings.Settings, if it has any; clicks: Ratings to learn."""
    if not plan.ease:
        return state
    return with_weights(state, solve(clicks, plan.item_decay, device) * np.float32(plan.ease))


class Resolution:
    """Solution of an update, by a correction of the inverse that the last update has left if that is less work.

    inverse: (P (n, n), lambda) of the last update, or None; users: rows with new clicks. Afterwards `inverse` is that
    of the new clicks, None if it has not been needed.
    """

    def __init__(self, model, users, inverse=None):
        self.inverse, self.users, rated = inverse, np.unique(users), model._rated
        self.X = ease.matrix_of(rated.indptr[:-1], rated.items, len(model.item_ids_))  # the clicks before

    def solve(self, clicks, decay, device):
        """Return the weights of `solve`."""
        (inverse, known_decay), self.inverse = self.inverse or (None, None), None
        matrix, result = matrix_of(clicks), None
        if device.is_cuda or not fits(clicks.shape[1], device) or ease.uses_users(matrix.shape, matrix.nnz):
            return solve(clicks, decay, device)
        old = self.users[self.users < self.X.shape[0]]
        work = ease.work_of_correction(len(self.users) + len(old), matrix.shape[1])
        if known_decay == decay and work <= ease.work_of(matrix.shape, matrix.nnz):
            result = ease.correct_inverse(inverse, self.X[old], matrix[self.users], decay)
        if result is None or ease.inverse_error(matrix.T.tocsr(), result, decay) > RULES.inverse_error:
            result = ease.inverse_of(matrix.T.tocsr(), decay)
        self.inverse = result, decay
        return ease.weights_of(result.copy())


def weigh_clicks(clicks, settings):
    """Return clicks as Ratings whose values are weights by settings.Settings: 1 + log(count) if counted, else 1."""
    weights = np.ones(len(clicks), np.float32)
    if settings.counted and clicks.counts is not None:
        weights += np.log(np.maximum(clicks.counts, 1)).astype(np.float32)
    return clicks.with_columns(users=clicks.users, items=clicks.items, values=weights)


class PreparedClicks:
    """Clicks on a Device for trainings of an estimator.

    clicks: Ratings whose values are 1; orders: the clicks in two orders with their weights as values, if these exist;
    team: the parallel.Team whose ranks solve for rows together.
    """

    def __init__(self, estimator, clicks, device, orders=None, team=ALONE):
        self.estimator, self.clicks, self.device, self.team = estimator, clicks, device, team
        self.steps, self.made = engine(device, "gpukit.factorization"), {}
        self.given = orders

    @property
    def counts(self):
        """(clicks of each user (M,), of each item (N,))."""
        sides = self.clicks.users, self.clicks.items
        return tuple(np.bincount(rows, minlength=size) for rows, size in zip(sides, self.clicks.shape))

    def once(self, key, make):
        """Return the result of make(), which is called once for a key."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def orders(self, plan):
        """Return the clicks in two orders, with the weights of settings.Settings."""
        if self.given is not None:
            return self.given
        key = "orders", plan.counted
        return self.once(key, lambda: order_ratings(weigh_clicks(self.clicks, plan), self.device))

    def ready(self, plan, walk, near):
        """Return TrainingData of the clicks; walk, near: see PreparationOptions."""
        key = "ready", plan.counted, walk, near
        return self.once(key, lambda: make_training_data(self.orders(plan), walk, plan.seed, near, self.steps))

    def neighbors(self, plan, progress=None):
        """Return (N, K) int32 on the host, K the neighbours in training; the search is run once.

        progress: see fit; None for no reports.
        """
        return self.once(("neighbors", plan.learned_neighbors), lambda: self._find_neighbors(plan, progress))

    def _find_neighbors(self, plan, progress):
        if not plan.learned_neighbors:
            return np.zeros((self.clicks.shape[1], 0), np.int32)
        options = self.orders(plan), self.steps, plan.learned_neighbors
        result = self.estimator.searched(*options, progress)() if progress else self.estimator.find_neighbors(*options)
        return result if isinstance(result, np.ndarray) else result.copy_to_host()

    def data(self, plan):
        """Return (the major side, layout.Layout, TrainingData) for settings.Settings; raise DeviceMemoryError."""
        walk = "users" if plan.solver == "ials" else self.estimator.walk
        layout = self.steps.layout(plan.n_factors, plan.learned_neighbors)
        runs.check_memory(self.device, len(self.clicks), major_first(walk, *self.clicks.shape), layout)
        return walk, layout, self.ready(plan, walk, plan.learned_neighbors > 0)

    def begin(self, plan, state=None, progress=None):
        """Return (session, its solver's Training) for settings.Settings, from a State or None for the start.

        progress: of the search for neighbours, see fit.
        """
        walk, layout, data = self.data(plan)
        if state is None:
            state = start_state(self.counts, plan.n_factors, self.neighbors(plan, progress), plan.seed)
        solver, exact = training_of(plan.solver), self.estimator.deterministic
        share = share_of(self.clicks, plan.n_factors, self.team, self.device)
        task = Task(self.orders(plan), UNSCALED, data, plan, layout, self.steps, self.device, exact, share)
        arranged = solver.arrange(task)
        session = self.steps.DeviceModel(state, layout, walk, data.history)
        return session, solver.begin(session, task, arranged)


def make_training_data(orders, walk, seed, near, steps):
    """Return TrainingData of clicks in orders, without biases.

    walk, near: see PreparationOptions.
    """
    history = training_data.history_of(orders, UNSCALED, steps)
    side = training_data.side_of(orders, walk, UNSCALED, seed, steps)
    query = training_data.training_query(history, orders, side, walk, steps) if near else None
    biases = tuple(steps.zeros(rows, np.float64) for rows in orders.shape)
    return training_data.TrainingData(history, side, query, UNSCALED, biases)


REPORTED = ("solver", "loss", "n_factors", "n_neighbors", "regularization", "unobserved_weight")
ADDED = ("counted", "popular", "mixed", "ease", "ease_decay")


def times_differ(clicks):
    """Return True if times order most clicks of the users."""
    if clicks.times is None:
        return False
    order = np.lexsort((clicks.times, clicks.users))
    users, times = clicks.users[order], clicks.times[order]
    pairs = users[1:] == users[:-1]
    return bool(pairs.any() and (times[1:] > times[:-1])[pairs].mean() > 0.5)


class Judges(NamedTuple):
    """Held-out clicks: user rows (n,) int32 and item rows (n,) int32; whether they are the latest."""

    users: np.ndarray
    items: np.ndarray
    latest: bool


def hold_out_draws(clicks, seed, draws):
    """Return a list of (training clicks, Judges): one by time if clicks have times, else `draws` at random."""
    return [hold_out(clicks, seed, draw) for draw in range(1 if times_differ(clicks) else draws)]


def hold_out(clicks, seed, draw):
    """Return (training clicks, Judges): the last held_out_share of each user's clicks, by time if they have times.

    Without times they are in a random order; draw: its number. RULES.ranked_pairs limits the Judges.
    """
    latest = times_differ(clicks)
    seeds = seed, Numpy.CLICK_JUDGES[0], draw
    ranks = clicks.ranks_in_time("user-time") if latest else clicks.ranks_by_chance(list(seeds))
    train, held_out = clicks.parted(mask_before_last(*ranks, RULES.held_out_share))
    users = np.unique(held_out.users)[: max(RULES.least_judges, RULES.ranked_pairs // clicks.shape[1])]
    chosen = np.isin(held_out.users, users)
    return train, Judges(held_out.users[chosen], held_out.items[chosen], latest)


def measure_lists(lists, judges):
    """Return (3, users) float64: NDCG, and HR and NDCG of the first ten items, of lists (users, n).

    judges: Judges, whose users in rising order have the lists.
    """
    users, owners, counts = np.unique(judges.users, return_inverse=True, return_counts=True)
    hits, depth = np.zeros(lists.shape, np.bool_), lists.shape[1]
    rows, places = np.nonzero(lists[owners] == judges.items[:, None])
    hits[owners[rows], places] = True
    whole, short = (metrics_of_hits(hits, counts, min(k, depth)) for k in (RULES.judged_length, RULES.reported_length))
    return np.stack((whole["ndcg"], short["hr"], short["ndcg"]))


def make_trial(settings, values, curve, predictor):
    """Return the Trial of settings.Settings, None for a baseline; values (3, users): see `measures_of`."""
    plan = {**settings._asdict(), "n_epochs": settings.epochs} if settings else {}
    row = {"predictor": predictor, **{name: plan.get(name) for name in (*REPORTED, "n_epochs")}}
    row |= {name: plan[name] for name in ADDED if plan.get(name)}
    row |= zip(("ndcg", "hr@10", "ndcg@10"), values.mean(axis=1).tolist())
    row |= {"users": values.shape[1], "curve": curve}
    return Trial(settings, values[0], row)


def units(plan, n_clicks, shape):
    """Return the work of an epoch, in multiplications; one takes about 2.5 ns on a core."""
    if plan.solver == "sampled":
        return 1.5 * n_clicks * (1 + plan.n_negatives) * (plan.n_factors + 3 * plan.learned_neighbors)
    return n_clicks * plan.n_factors + 0.65 * sum(shape) * plan.n_factors**2


class Evaluator:
    """Training clicks and Judges on a device, for any number of candidates.

    estimator: finds neighbours and has the order of training; budget: the model_selection Budget that candidates spend.
    """

    def __init__(self, estimator, clicks, judges, device, budget):
        self.prepared, self.judges = PreparedClicks(estimator, clicks, device), judges
        self.users, self.budget, self.states, self.weights = np.unique(judges.users), budget, {}, {}

    def measure(self, session):
        """Return the measures of a session's lists."""
        depth, step, lists = min(RULES.judged_length, session.item_rows), session.tile_users(), []
        worth = np.zeros(session.item_rows, np.float32)
        for first in range(0, len(self.users), step):
            rows, scores = session.best(self.users[first : first + step], depth, worth, True)
            lists.append(np.where(np.isnan(scores), -1, rows))
        self.budget.spend(RULES.ranking_work * len(self.users) * session.item_rows)
        return measure_lists(np.concatenate(lists), self.judges)

    def measure_scores(self, scores):
        """Return the measures of lists by scores (users, N) float32, which are changed; known clicks are left out."""
        clicks = self.prepared.clicks
        is_judged = np.isin(clicks.users, self.users)
        scores[np.searchsorted(self.users, clicks.users[is_judged]), clicks.items[is_judged]] = -np.inf
        best, values = best_columns(scores, min(RULES.judged_length, scores.shape[1]))
        self.budget.spend(RULES.ranking_work * scores.size)
        return measure_lists(np.where(np.isneginf(values), -1, best), self.judges)

    def train(self, plan, patience=0):
        """Return (measures, epochs, curve, State) of settings.Settings.

        patience: epochs without a better one that end the training; the measures are then those of the best epoch. 0:
        all epochs are trained, and the measures are those of the last. A training of fewer epochs is continued. There
        are at most as many neighbours as other items in these clicks.
        """
        plan = plan._replace(n_neighbors=min(plan.n_neighbors, self.prepared.clicks.shape[1] - 1))
        bare = plan._replace(epochs=0)
        done, state = (0, None) if patience else self.states.get(bare, (0, None))
        if done >= plan.epochs:
            done, state = 0, None
        session, training = self.prepared.begin(plan, state)
        curve, stopping = [], EarlyStopping(-(-patience // 2))  # every second epoch is judged
        for epoch in range(done, plan.epochs):
            training.epoch(epoch)
            self.budget.spend(units(plan, len(self.prepared.clicks), self.prepared.clicks.shape))
            if epoch + 1 < plan.epochs and (not patience or epoch % 2 == 0):  # judging takes about as long
                continue
            values = self.measure(session)
            curve.append({"epoch": epoch + 1, "ndcg": float(values[0].mean())})
            if stopping.is_over(-curve[-1]["ndcg"], values):
                break
        self.states[bare] = epoch + 1, session.state()
        return stopping.result, curve[stopping.best]["epoch"], curve, self.states[bare][1]

    def item_weights(self, decay):
        """Return the weights between items, see `solve`, for a regularization; the last ones are kept."""
        if decay not in self.weights:
            self.weights = {decay: solve(self.prepared.clicks, decay, self.prepared.device)}
        return self.weights[decay]

    def deviation_of_weights(self, decay):
        """Return the root mean square of the judged users' scores by item weights."""
        scores = matrix_of(self.prepared.clicks)[self.users] @ self.item_weights(decay)
        return float(np.sqrt((scores * scores).sum(dtype=np.float64) / np.prod(scores.shape)))

    def measure_with_additions(self, plan, state):
        """Return the measures of a trained State with the additions of settings.Settings.

        state: of least squares; if `mixed` is not 0, a pair of it and of the second model.
        """
        if plan.mixed:
            state = combine_states(*state, plan.mixed)
        elif plan.popular:
            state = with_popularity(state, self.prepared.counts[1], plan.popular)
        if plan.ease:
            state = with_weights(state, self.item_weights(plan.item_decay) * np.float32(plan.ease))
        steps = self.prepared.steps
        layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
        history = self.prepared.ready(plan, "users", False).history
        return self.measure(steps.DeviceModel(state, layout, "items", history))
