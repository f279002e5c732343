"""A rank's share of a tensor on any device: completion.Part and gpu.GpuPart combine it with a TensorCompletion.

A rank has some columns of the estimate (of the m n entries, all incomplete vertices) and some whole spectral slices.
Transforming its columns gives a piece of all slices. The pieces are sent to the slices' ranks, and back after the
thresholding. They are sent in chunks, those of other ranks first, while the rank computes its own.
"""

from typing import NamedTuple

import numpy as np

from gpukit.svt.plan import Resident

FEWEST = 1 << 16  # numbers in a tensor; smaller ones cost more to send than to compute
LEAST = 2  # columns, and slices, of a rank
CHUNKS = 4  # of slices; one is sent while the next is multiplied


class Parts(NamedTuple):
    """Edges (R + 1,) int64 of R ranks' columns and slices.

    They rise; there are m n columns and K slices. Rank r has edges[r] to edges[r + 1].
    """

    columns: np.ndarray
    slices: np.ndarray


def can_share(shape, slices, size):
    """Return True if a tensor is large enough for `size` ranks.

    shape (N, m, n); slices: number of spectral slices.
    """
    N, m, n = shape
    return size > 1 and N * m * n >= FEWEST and min(m * n, slices) >= LEAST * size


def equal_parts(columns, slices, size):
    """Return Parts of equal size for `size` ranks."""
    return Parts(*(total * np.arange(size + 1) // size for total in (columns, slices)))


def part_of_rank(edges, rank):
    """Return the part of a rank, a slice."""
    return slice(int(edges[rank]), int(edges[rank + 1]))


def chunk(size, number, count):
    """Return chunk `number` of `count` of `size` slices, a slice."""
    return slice(size * number // count, size * (number + 1) // count)


def in_chunks(whole, for_transport):
    """Return [{rank: part of its array}], CHUNKS of slices in the transports' form, of {rank: (slices, columns)}."""
    parts = [
        {rank: array[chunk(len(array), number, CHUNKS)] for rank, array in whole.items()} for number in range(CHUNKS)
    ]
    return [{rank: for_transport(part) for rank, part in one.items() if part.size} for one in parts]


class Share:
    """Common part of completion.Part and gpu.GpuPart.

    They define: product(a, b, out, add=False), out = a b or added to out; for_transport; journeys, a stream or None.
    Other operations of the device are those of their TensorCompletion.
    """

    def __init__(self, worker, shape, rows):
        self.workspace, self.arrays = worker.workspace, Resident(self.xp)
        self.shape, self.rows = shape, rows

    def join(self, worker, parts, vectors, hidden, dtype):
        """Initialize the share of a rank.

        vectors (N, K) on the device, hidden (rows, own columns) or None on the host.
        """
        self.worker, self.team, self.lines, self.ranges = worker, worker.team, worker.lines, parts
        self.vectors, self.dtype, self.waits = vectors, np.dtype(dtype), []
        self.hidden = None if hidden is None else self.xp.asarray(hidden)
        self.make_pieces()

    @property
    def own_columns(self):
        """This rank's columns, a slice."""
        return part_of_rank(self.ranges.columns, self.team.rank)

    @property
    def own_slices(self):
        """This rank's spectral slices, a slice."""
        return part_of_rank(self.ranges.slices, self.team.rank)

    @property
    def others(self):
        """Other ranks, starting with the next one.

        So ranks start with different ones.
        """
        size = self.team.size
        return [(self.team.rank + step) % size for step in range(1, size)]

    def make_pieces(self):
        """Allocate exchange buffers.

        `away`: other ranks' slices of own columns; `home`: own slices of others' columns.
        """
        columns, slices = (np.diff(edges) for edges in self.ranges)
        mine = self.team.rank
        self.away = {rank: self.empty(slices[rank], columns[mine]) for rank in self.others}
        self.home = {rank: self.empty(slices[mine], columns[rank]) for rank in self.others}
        self.away_chunks, self.home_chunks = (in_chunks(part, self.for_transport) for part in (self.away, self.home))

    def empty(self, *shape):
        """Return an uninitialized array of the computation's dtype on the device."""
        return self.xp.empty(tuple(map(int, shape)), self.dtype)

    def begin(self, observed, rows):
        """Compute C and a zero estimate from observed values.

        observed: own columns, (N, columns) on the device. rows: indices of the incomplete vertices.
        """
        self.U = self.vectors[self.xp.asarray(rows)]
        self.C = self.xp.zeros((self.own_slices.stop - self.own_slices.start, int(self.ranges.columns[-1])), self.dtype)
        self.forward(self.vectors, observed, None, self.C)
        self.allocate_buffers(observed.shape[1])
        self.seconds["exchange"], self.wanted = 0.0, None
        self.agreed = all(self.team.allgather_json(bool(self.thresholds.is_warm)))

    def forward(self, U, flat, base, out):
        """Compute out = the own slices of U' flat, + base; flat: own columns."""
        for number in range(CHUNKS):
            for other in self.others:
                target, whole = part_of_rank(self.ranges.slices, other), self.away[other]
                block = chunk(len(whole), number, CHUNKS)
                self.product(U[:, target][:, block].T, flat, whole[block])
            self.lines.alltoall(self.away_chunks[number], self.home_chunks[number], self.journeys)
        self.product(U[:, self.own_slices].T, flat, out[:, self.own_columns])
        if base is not None:
            out[:, self.own_columns] += base[:, self.own_columns]
        self.arrive()
        for other in self.others:
            place = part_of_rank(self.ranges.columns, other)
            if base is None:
                out[:, place] = self.home[other]
            else:
                self.xp.add(base[:, place], self.home[other], out=out[:, place])

    def backward(self, new):
        """Compute new = own columns of U Z."""
        for number in range(CHUNKS):
            for other in self.others:
                block = chunk(len(self.Z), number, CHUNKS)
                self.home[other][block] = self.Z[block, part_of_rank(self.ranges.columns, other)]
            self.lines.alltoall(self.home_chunks[number], self.away_chunks[number], self.journeys)
        self.product(self.U[:, self.own_slices], self.Z[:, self.own_columns], new)
        self.arrive()
        for other in self.others:
            self.product(self.U[:, part_of_rank(self.ranges.slices, other)], self.away[other], new, add=True)

    def arrive(self):
        """Wait for the exchange and record the waiting time."""
        started = self.mark()
        self.lines.wait(self.journeys)
        self.waits.append((started, self.mark()))

    def width(self):
        """See cpu.TensorCompletion."""
        return self.now.shape[1]

    def transform(self, momentum):
        """See cpu.TensorCompletion."""
        self.extrapolate(self.now, self.before, momentum)
        self.forward(self.U, self.before, self.C, self.Z)

    def transform_back(self):
        """See cpu.TensorCompletion."""
        new, hidden = self.new.reshape(self.now.shape), self.all_hidden if self.hidden is None else self.hidden
        self.backward(new)
        return tuple(self.keep(new, 0, (hidden, self.now, self.before)).tolist())

    def expected(self):
        """See cpu.TensorCompletion."""
        return self.wanted

    def step(self, lam, cap=None, momentum=0.0):
        """See cpu.TensorCompletion. lam and cap are of all slices; the result is of own slices and own columns."""
        started = self.mark()
        self.wanted = cap
        if self.thresholds.is_warm and cap is None:
            self.wanted = self.thresholds.expected_ranks(lam[self.own_slices])
            if self.agreed:
                self.wanted = np.concatenate(self.team.allgather(self.wanted))
        self.waits.append((started, self.mark()))
        waited, self.waits = self.waits, []
        result = super().step(lam[self.own_slices], None if cap is None else cap[self.own_slices], momentum)
        inside = sum(self.between(*wait) for wait in self.waits)
        self.seconds["transform"] -= inside
        self.seconds["exchange"] += inside + sum(self.between(*wait) for wait in waited)
        self.waits = []
        return result
