"""How much of the history is walked again, and at which rates.

Found by trial on MovieLens 1M, in 20 parts and by the paper's split; docs/factorization.md has what else was tried.
"""

import math
from typing import NamedTuple

KEPT = 0.5  # of what factors were, when the whole history is walked again
FASTER = 3  # power of a row's known share that its sum of squared errors is times then: what has grown learns faster
AGAIN, MOST = 0.4, 5  # of a training's epochs, that many are walked then: few where few were chosen, 5 at most
FEW = 0.0  # earlier ratings walked again for each new one, while the history has hardly grown: they are learned already
LATE = 2  # epochs then, a training's last ones, or earlier ones:
FALLEN = 0.45  # the first begins where the factors' rate is still this share of what it began with. Many ratings anneal
# fast: at a hundred million the last epochs' rates are 0.005 of the first, and rows would not move
SETTLED = 25  # the whole history is walked again once it has grown by a SETTLED-th since that was done last


class Walk(NamedTuple):
    """share of the earlier ratings that are walked again; epochs: the numbers, as of a training from the beginning,
    whose rates are taken."""

    share: float
    epochs: tuple

    @property
    def is_whole(self):
        """Whether the whole history is walked."""
        return self.share == 1.0


def walk_of(replay, before, now, settled, plan):
    """The Walk of an update.

    replay: earlier ratings for every new one, None: FEW, or all of them when it is time; before, now: ratings before
    the update and after it; settled: ratings when the whole history was last walked; plan: a training's
    settings.Settings.
    """
    new = max(now - before, 1)
    due = replay is None and has_grown(settled, now)
    replay = FEW if replay is None else replay
    if due or replay * new >= before:
        count = max(1, min(round(AGAIN * plan.epochs), MOST))
        return Walk(1.0, tuple(place * plan.epochs / count for place in range(count)))
    return Walk(replay * new / before, late_epochs(plan.epochs, plan.annealing))


def has_grown(settled, now):
    """Whether the ratings have grown by a SETTLED-th of what they are now, from so many."""
    return (now - settled) * SETTLED >= now


def late_epochs(epochs, annealing):
    """The LATE last of so many epochs (all of fewer), moved forward to where the rate is still FALLEN times the first;
    annealing: the factor of the rate from epoch to epoch, 1 where it falls otherwise."""
    first, count = max(0, epochs - LATE), min(LATE, epochs)
    if annealing < 1:
        first = min(first, math.log(FALLEN) / math.log(annealing))
    return tuple(first + place for place in range(count))
