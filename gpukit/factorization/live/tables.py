"""Growing rows on a device, with reserved memory, so that rows are seldom moved."""

GROWTH = 1.25  # reserved rows per needed row, when a table is moved


class GrowingTable:
    """Rows of one shape and type on a device; new rows are zero.

    all: a view of the current rows, invalid after growth.
    """

    def __init__(self, array, steps):
        """array (rows, ...): on the device, used by this table alone."""
        self._memory, self._steps, self.all = array, steps, array

    def grow(self, rows, most=0):
        """Grow to `rows` rows; reserve `most` rows, or GROWTH times the rows if memory is exceeded."""
        if max(rows, most) > self._memory.shape[0]:
            shape = max(int(GROWTH * rows), most), *self._memory.shape[1:]
            larger = self._steps.zeros(shape, self._memory.dtype)
            self._steps.copy(larger[: self.all.shape[0]], self.all)
            self._memory, self.all = larger, larger[:rows]
        elif rows != self.all.shape[0]:
            self.all = self._memory[:rows]
