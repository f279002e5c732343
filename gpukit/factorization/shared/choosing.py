"""Open settings, chosen once for all ranks."""

import json

import numpy as np

from gpukit.factorization.choose.chosen import kept_choice


def chosen(choose, checked, n_epochs, team):
    """Return the Choice of choose() on rank 0, where it may depend on the number of threads.

    checked, n_epochs: see kept_choice.
    """
    if team.size == 1:
        return choose()
    text = np.frombuffer(json.dumps(choose().kept()).encode(), np.uint8) if team.rank == 0 else None
    return kept_choice(json.loads(bytes(team.broadcast(text))), checked, n_epochs)
