"""How much of the history is walked again, and at which rates.

Found by trial on MovieLens 1M, in 20 parts and by the paper's split; docs/factorization.md has what else was tried.
"""

from typing import NamedTuple

KEPT, NEAR_KEPT = 0.5, 0.7  # of what factors and influences were, when the whole history is walked again
FASTER = 3  # power of a row's known share that its sum of squared errors is times then: what has grown learns faster
WHOLE = (0.0, 0.2, 0.4, 0.6, 0.8)  # where in a training those epochs stand whose rates are taken then
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
    if replay is None:
        replay = before / new if (now - settled) * SETTLED >= now else FEW
    if replay * new >= before:
        return Walk(1.0, tuple(place * epochs for place in WHOLE))
    return Walk(replay * new / before, tuple(range(max(0, epochs - LATE), epochs)))
