"""How a training on clicks goes: HR and NDCG after each epoch, and the seconds up to it."""

from typing import NamedTuple

import numpy as np


class Course(NamedTuple):
    """found [(HR, NDCG)] after each epoch; times: seconds of training up to it; parts {name: seconds} before it; final
    (HR, NDCG, HR and NDCG over the full ranking or None, None) of what is kept."""

    found: list
    times: list
    parts: dict
    final: tuple

    def reached(self, target):
        """The number, from 0, of the first epoch after which HR is at least a target; None where none is."""
        return next((epoch for epoch, (hit, _) in enumerate(self.found) if hit >= target), None)


def run(epochs, judged, seconds, clock, patience=float("inf")):
    """([(HR, NDCG)], [seconds up to it]) of an iterable of epochs, each a step when it is advanced; judged() is not
    counted. Ends when the epochs do, after so many seconds, or when HR has not risen for `patience` epochs. clock: a
    function that gives seconds when all work is done."""
    found, times, spent, begun = [], [], 0.0, clock()
    for _ in epochs:
        spent += clock() - begun
        times.append(spent)
        found.append(judged())
        if spent >= seconds or len(found) - 1 - best(found) >= patience:
            break
        begun = clock()
    return found, times


def best(found):
    """The place of the epoch with the highest HR."""
    return int(np.argmax([hit for hit, _ in found]))
