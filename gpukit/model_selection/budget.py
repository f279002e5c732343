"""A limit of work for a search, in units that the search defines.

Seconds would make the choice depend on the machine and on what else runs there.
"""


class Budget:
    """Units of work: `limit` in all, `left` of them."""

    def __init__(self, limit):
        self.limit, self.left = limit, limit

    @property
    def is_spent(self):
        """Return True if no further candidate is to be tried."""
        return self.left <= 0

    def spend(self, units):
        """Subtract units of work."""
        self.left -= units
