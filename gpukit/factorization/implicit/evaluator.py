"""Settings tried: trained on clicks, judged by where a user's held-out click stands among all items."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.implicit import blend, mix, start
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.timing import work_clock

DEPTH, SHOWN = 100, 10  # a held-out click further down is worth nothing; the length of lists that is told
PATIENCE = 2


class Outcome(NamedTuple):
    """What came of a candidate: settings.Settings with the epochs that were best; places (b,) of the held-out clicks
    in the lists then, DEPTH where they are in none; a dict an epoch (epoch, seconds, ndcg)."""

    settings: object
    places: np.ndarray
    curve: list

    @property
    def gains(self):
        """(b,) float64: 1 / log2(2 + place), 0 beyond the list."""
        return gains(self.places)

    def row(self, predictor):
        """The candidate as a dict for people."""
        told = ("solver", "loss", "n_factors", "n_neighbors", "regularization", "unobserved_weight", "n_epochs")
        plan = {**self.settings._asdict(), "n_epochs": self.settings.epochs} if self.settings else {}
        besides = ("counted", "recency", "blend", "popular", "mixed")
        extra = {name: plan[name] for name in besides if plan.get(name)}
        shown = self.places < SHOWN
        return {
            "predictor": predictor,
            **{name: plan.get(name) for name in told},
            **extra,
            "ndcg": float(self.gains.mean()),
            "hr@10": float(shown.mean()),
            "ndcg@10": float(np.where(shown, self.gains, 0.0).mean()),
            "users": len(self.places),
            "curve": self.curve,
        }


def gains(places):
    """(b,) float64 worth of places in a list."""
    return np.where(places < DEPTH, 1.0 / np.log2(2.0 + places), 0.0)


def places_in(lists, items):
    """(b,) places of items (b,) in lists (b, n) of rows, DEPTH where they are not there."""
    found = lists == items[:, None]
    return np.where(found.any(axis=1), found.argmax(axis=1), DEPTH)


class Evaluator:
    """Clicks that train, hold_out.Judges that judge, on a device, for any number of candidates of an estimator."""

    def __init__(self, estimator, clicks, judges, device):
        self.prepared, self.judges, self.near = PreparedClicks(estimator, clicks, device), judges, {}

    def judged(self, session):
        """Places of the held-out clicks in a session's lists."""
        depth, step, places = min(DEPTH, session.item_rows), session.tile_users(), []
        worth = np.zeros(session.item_rows, np.float32)
        for first in range(0, len(self.judges.users), step):
            part = slice(first, first + step)
            rows, scores = session.best(self.judges.users[part], depth, worth, True)
            places.append(places_in(np.where(np.isnan(scores), -1, rows), self.judges.items[part]))
        return np.concatenate(places)

    def tried(self, plan, patience=0):
        """(the Outcome of settings.Settings, the State that it came to); patience: epochs without a better one that end
        it, 0: all epochs are trained and the last judges."""
        course, begun = Course(self.prepared, plan), work_clock()
        session, training = course.begin(course.first(self.neighbors(plan)))
        curve, best = [], (-1.0, 0, None)
        for epoch in range(plan.epochs):
            training.epoch(epoch)
            if epoch + 1 < plan.epochs and (not patience or epoch % 2 == 0):  # judging takes about as long
                continue
            places = self.judged(session)
            worth = float(gains(places).mean())
            curve.append({"epoch": epoch + 1, "seconds": work_clock() - begun, "ndcg": worth})
            if worth > best[0]:
                best = worth, epoch, places
            if patience and epoch - best[1] >= patience:
                break
        return Outcome(plan._replace(epochs=best[1] + 1), best[2], curve), session.state()

    def neighbors(self, plan):
        """The neighbours of a training, searched once."""
        if plan.learned_neighbors not in self.near:
            self.near[plan.learned_neighbors] = self.prepared.neighbors(plan)
        return self.near[plan.learned_neighbors]

    def mixes(self, plan, state, other, weights):
        """Yield the Outcome of a State that was trained, with each weight of another's score beside it."""
        steps = self.prepared.steps
        history, size = self.prepared.ready(plan, "users", False).history, other.user_factors.shape[1]
        for weight in weights:
            mixed = mix.joined(state, other, weight)
            layout = steps.layout(plan.n_factors + size, other.neighbors.shape[1])
            yield Outcome(plan._replace(mixed=weight), self.judged(steps.Session(mixed, layout, "items", history)), [])

    def populars(self, plan, state, shares):
        """Yield the Outcome of a State that was trained, with each share of popularity's score."""
        steps, layout = self.prepared.steps, self.prepared.steps.layout(plan.n_factors, 0)
        history = self.prepared.ready(plan, "users", False).history
        for share in shares:
            mixed = start.beside_popularity(state, self.prepared.counts[1], share)
            yield Outcome(plan._replace(popular=share), self.judged(steps.Session(mixed, layout, "items", history)), [])

    def blends(self, plan, state, shares):
        """Yield the Outcome of a State that was trained, with each share of a neighbourhood's score."""
        k = min(blend.MOST_NEIGHBORS, plan.n_neighbors)
        near, steps = blend.alike(self.prepared.clicks, k), self.prepared.steps
        history = self.prepared.ready(plan, "users", False).history
        for share in shares:
            mixed = blend.joined(state, *near, share)
            session = steps.Session(mixed, steps.layout(plan.n_factors, k), "items", history)
            yield Outcome(plan._replace(blend=share), self.judged(session), [])
