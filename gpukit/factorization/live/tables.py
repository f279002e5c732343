"""Rows on a device with room for more, so that what grows by a part is seldom moved."""

ROOM = 1.25  # times the rows that are needed, once they have to be moved


class GrowingTable:
    """Rows of one shape and type on a device; rows that come are zero until they are written.

    all: the rows there are, a view, to be asked for anew once they have grown.
    """

    def __init__(self, array, steps):
        """array (rows, ...): on the device, not to be used by anybody else."""
        self._kept, self._steps, self.all = array, steps, array

    def grow(self, rows, most=0):
        """Have so many rows, and room for `most`, or ROOM where more is needed than there is."""
        if max(rows, most) > self._kept.shape[0]:
            wider = self._steps.zeros((max(int(ROOM * rows), most), *self._kept.shape[1:]), self._kept.dtype)
            self._steps.copy(wider[: self.all.shape[0]], self.all)
            self._kept, self.all = wider, wider[:rows]
        elif rows != self.all.shape[0]:
            self.all = self._kept[:rows]
