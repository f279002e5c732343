"""How much of the history is walked again, and at which rates.

Found by trial on MovieLens 1M, in 20 parts and by the paper's split; docs/factorization.md has what else was tried.
"""

from typing import NamedTuple

KEPT = 0.5  # of what factors were, when the whole history is walked again
FASTER = 3  # power of a row's known share that its sum of squared errors is times then: what has grown learns faster
AGAIN, MOST = 0.4, 5  # of a training's epochs, that many are walked then: few where few were chosen, 5 at most
FEW = 0.0  # earlier ratings walked again for each new one, while the history has hardly grown: they are learned already
LATE = 2  # epochs then, at the rates of a training's last ones
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


def walk_of(replay, before, now, settled, epochs):
    """The Walk of an update.

    replay: earlier ratings for every new one, None: FEW, or all of them when it is time; before, now: ratings before
    the update and after it; settled: ratings when the whole history was last walked; epochs: a training's.
    """
    new = max(now - before, 1)
    due = replay is None and (now - settled) * SETTLED >= now
    replay = FEW if replay is None else replay
    if due or replay * new >= before:
        count = max(1, min(round(AGAIN * epochs), MOST))
        return Walk(1.0, tuple(place * epochs / count for place in range(count)))
    return Walk(replay * new / before, tuple(range(max(0, epochs - LATE), epochs)))
