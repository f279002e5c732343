"""Blocks of arrays that travel to a GPU from page-locked memory through a few buffers; products.Resident has others.

Copies to the device, computation and copies back overlap by three streams: block i + 1 arrives and block i - 1 leaves
while block i is computed.
"""

import numpy as np

from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import copy_rows
from gpukit.svt.products import Resident

BUFFERS = 3  # one arrives, one is computed, one leaves
ALIGNED = 256  # bytes between the starts of arrays in a buffer


def side_stream():
    """Return (a stream parallel to the default one, as numba's; its owner)."""
    if SIMULATED:
        return cuda.stream(), None
    import cupy

    result = cupy.cuda.Stream(non_blocking=True)
    return cuda.external_stream(result.ptr), result


class Travelling(Resident):
    """Arrays in page-locked memory, whose blocks travel to the device, and back if written.

    library: cupy; size: bytes of a buffer, which holds the blocks of a part; columns, slices: the most of a block.
    """

    def __init__(self, library, size, columns, slices):
        self.columns, self.slices, most_arrays = columns, slices, 5
        self.buffers = [library.empty(size + most_arrays * ALIGNED, np.uint8) for _ in range(BUFFERS)]
        self.inward, self.outward = side_stream(), side_stream()
        self.arrived, self.left = ([cuda.event() for _ in range(BUFFERS)] for _ in range(2))
        self.computed = cuda.event()

    @staticmethod
    def empty(shape, dtype):
        """Return an uninitialized page-locked array."""
        size = int(np.prod(shape))
        return cuda.pinned_array(max(1, size), dtype)[:size].reshape(shape)

    def place(self, array):
        """Return a page-locked copy."""
        result = self.empty(array.shape, array.dtype)
        result[...] = array
        return result

    def zeros(self, shape, dtype):
        """Return a page-locked array of zeros."""
        return self.place(np.broadcast_to(np.zeros((), dtype), shape))

    def views(self, number, part, *arrays):
        """See Resident. An array that occurs twice has one block."""
        buffer, first, blocks = self.buffers[number % BUFFERS], 0, {}
        for array in arrays:
            if id(array) not in blocks:
                block = array[part]
                end = first + block.nbytes
                blocks[id(array)] = buffer[first:end].view(block.dtype).reshape(block.shape)
                first = end + -end % ALIGNED
        return [blocks[id(array)] for array in arrays]

    def each(self, parts, reads=(), writes=()):
        """See Resident. Blocks of writes are stored when the next block is taken, all of them at the end."""
        (inward, _), (outward, _) = self.inward, self.outward
        self.computed.record()
        self.computed.wait(inward)

        def load(number):
            blocks = self.views(number, parts[number], *reads, *writes)
            self.left[number % BUFFERS].wait(inward)
            for array, block in zip(reads, blocks):
                copy_rows(array[parts[number]], block, inward)
            self.arrived[number % BUFFERS].record(inward)
            return blocks

        try:
            following = load(0)
            for number, part in enumerate(parts):
                blocks = following
                if number + 1 < len(parts):
                    following = load(number + 1)
                self.arrived[number % BUFFERS].wait()
                yield part, *blocks
                self.computed.record()
                self.computed.wait(outward)
                for array, block in zip(writes, blocks[len(reads) :]):
                    copy_rows(block, array[part], outward)
                self.left[number % BUFFERS].record(outward)
        finally:
            inward.synchronize()
            outward.synchronize()
