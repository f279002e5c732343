"""Choose the part of the history to replay and its learning rates.

Found by trial on MovieLens 1M, in 20 parts and by the paper's split; docs/factorization.md lists the alternatives.
"""

import math
from typing import NamedTuple

KEPT = 0.5  # factor of the factors before an epoch over the whole history
FASTER = 3  # power of a row's known share, which scales its sum of squared errors: grown rows learn faster
AGAIN, MOST = 0.4, 5  # epochs then: share of a training's epochs, and their maximum
LATE = 2  # epochs then: a training's last ones, or earlier ones by FALLEN
FALLEN = 0.45  # the first starts where the rate is still this share of the initial rate: at a hundred million ratings
# the last epochs' rates are 0.005 of the first, and rows would not move
SETTLED = 25  # the whole history is replayed once it has grown by a SETTLED-th since the last time


class Replay(NamedTuple):
    """share: fraction of the earlier ratings to replay; epochs: epoch numbers that set the learning rates."""

    share: float
    epochs: tuple

    @property
    def is_whole(self):
        """Return True if the whole history is replayed."""
        return self.share == 1.0


def plan_replay(replay, before, now, settled, plan):
    """Return the Replay of an update.

    replay: earlier ratings per new one; None: none, or all of them when due. before, now: number of ratings before and
    after the update; settled: their number at the last epoch over the whole history; plan: a training's
    settings.Settings.
    """
    new = max(now - before, 1)
    due = replay is None and has_grown(settled, now)
    replay = 0.0 if replay is None else replay
    if due or replay * new >= before:
        count = max(1, min(round(AGAIN * plan.epochs), MOST))
        return Replay(1.0, tuple(number * plan.epochs / count for number in range(count)))
    return Replay(replay * new / before, late_epochs(plan.epochs, plan.annealing))


def has_grown(settled, now):
    """Return True if the growth from `settled` ratings is at least a SETTLED-th of those now."""
    return (now - settled) * SETTLED >= now


def late_epochs(epochs, annealing):
    """Return the last LATE epochs, moved to where the rate is still FALLEN times the first.

    annealing: factor of the rate per epoch, 1 if the rate falls otherwise.
    """
    first, count = max(0, epochs - LATE), min(LATE, epochs)
    if annealing < 1:
        first = min(first, math.log(FALLEN) / math.log(annealing))
    return tuple(first + number for number in range(count))
