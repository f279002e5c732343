"""A basis's vectors on a GPU, in a run's Workspace: brought there once, or kept where they were computed."""

import numpy as np

NAME = "basis vectors"


class Copies:
    """The copy of vectors (N, K) float64 on the device, of the type last asked for. there: a copy that exists."""

    def __init__(self, vectors, there=None):
        self.vectors, self.there = vectors, there

    def of(self, dtype, bring):
        """The copy of that type, made from the one before it, which is let go; bring: see vectors_on_gpu."""
        if self.there is None:
            self.there = bring(self.vectors, dtype)
        elif self.there.dtype != dtype:
            self.there = self.there.astype(dtype)
        return self.there


def keep_vectors(vectors, there, workspace):
    """vectors (N, K) were computed on the current GPU: `there` is a cupy array of the same numbers."""
    workspace.keep(NAME, lambda copies: copies.vectors is vectors, lambda: Copies(vectors, there))


def vectors_on_gpu(vectors, dtype, bring, workspace):
    """A basis's vectors (N, K) float64 as a cupy array of dtype on the current GPU; bring(vectors, dtype) makes one.

    The workspace keeps one copy, the last; vectors are known by being the same array, not by their numbers.
    """
    copies = workspace.keep(NAME, lambda copies: copies.vectors is vectors, lambda: Copies(vectors))
    return copies.of(np.dtype(dtype), bring)
