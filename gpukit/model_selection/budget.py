"""A limit of work for a search, in multiplications of training.

Seconds would make the choice depend on the machine and on what else runs there. A multiplication takes 1 to 3 ns on a
core, so LITTLE takes about a second.
"""

TRAININGS = 10  # a choice costs at most what this number of trainings on its sample costs
LITTLE = 1e9  # work that is always allowed


class Budget:
    """Units of work: `limit` in all, `left` of them."""

    def __init__(self, limit):
        self.limit, self.left = limit, limit

    @classmethod
    def of_trainings(cls, units):
        """Return the Budget of a choice. units: work of one training on its sample."""
        return cls(max(LITTLE, TRAININGS * units))

    @property
    def is_spent(self):
        """Return True if no further candidate is to be tried."""
        return self.left <= 0

    def spend(self, units):
        """Subtract units of work."""
        self.left -= units
