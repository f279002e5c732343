"""Settings that are left open, chosen once for all ranks."""

import json

import numpy as np

from gpukit.factorization.choose.chosen import kept_choice


def chosen(choose, checked, n_epochs, team):
    """The Choice that choose() gives on rank 0, where it may hang on threads; checked, n_epochs: see kept_choice."""
    if team.size == 1:
        return choose()
    told = np.frombuffer(json.dumps(choose().kept()).encode(), np.uint8) if team.rank == 0 else None
    return kept_choice(json.loads(bytes(team.broadcast(told))), checked, n_epochs)
