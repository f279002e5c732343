"""Epochs on a GPU whose memory is too small for the ratings: packed blocks travel from the host.

The chunk table is that of an epoch in several parts (schedule.cut_table); a block is the ratings of a part, in the
order of its chunks. All epochs take the blocks in the same order, so that the first blocks of the next epoch travel
during the last ones of this. A block is unpacked to the arrays that sgd_epoch reads, which are used for all blocks.
Packed blocks are in page-locked memory or, if they are large for main memory, in a temporary file. From there each is
copied to page-locked memory while the GPU processes the block before.
"""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit._cuda import cuda
from gpukit._driver import copy_page_locked, device_array, launch, zeros
from gpukit.device import gpu_arrays, is_large, processors
from gpukit.device.engine import engine
from gpukit.device.memory import array_in_file
from gpukit.device.upload import to_device
from gpukit.factorization.arrays import Batch, WeightedBatch
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.factorization.plan import (
    BUFFERS,
    buffer_bytes,
    is_kept,
    kept_blocks,
    largest_block,
    packing_of,
    plan_blocks,
)
from gpukit.factorization.solvers.sgd import kernels, schedule
from gpukit.factorization.solvers.sgd.schedule import BLOCK, cut_table, pieces_of
from gpukit.scheduler import by_block

U8, U32, U64 = np.uint8, np.uint32, np.uint64


@by_block(lambda chunks: chunks.shape[0])
def pack_ratings(start, stop, chunks, slots, places, minor, values, z, sizes, packed):
    """packed[slot] = places[minor row] << level_bits | level, little-endian, for the ratings of chunks.

    chunks (n, 3) int64: major row, first rating, ratings; slots (n,) int64: where its ratings go; places (rows,)
    int32: position of each minor row; minor (all ratings,) int32, values float32; z (levels,) float32, ascending;
    sizes: level_bits, 0 packs rows alone, and width, the bytes of a number; packed (n_ratings * width,) uint8,
    overwritten.
    """
    level_bits, width = sizes
    for c in range(start, stop):
        first, slot = chunks[c, 1], slots[c]
        for t in range(chunks[c, 2]):
            number = U64(places[minor[first + t]])
            if level_bits > 0:
                low, high = 0, z.size - 1
                while low < high:
                    middle = (low + high) // 2
                    if z[middle] < values[first + t]:
                        low = middle + 1
                    else:
                        high = middle
                number = U64(U64(number << U64(level_bits)) | U64(low))
            for byte in range(width):
                packed[(slot + t) * width + byte] = U8((number >> U64(8 * byte)) & U64(255))


@by_block(lambda chunks: chunks.shape[0])
def pack_codes(start, stop, chunks, slots, codes, bits, packed):
    """Write the codes of chunks' ratings as bit planes; see kernels.unpack_codes.

    chunks, slots: see pack_ratings; codes (all ratings, K) uint8; bits: of a code; packed (n_ratings * K / 32 * bits,)
    uint32, overwritten.
    """
    groups, empty = codes.shape[1] // 32, U32((1 << bits) - 1)
    for c in range(start, stop):
        for t in range(chunks[c, 2]):
            line = codes[chunks[c, 1] + t]
            for g in range(groups):
                first = ((slots[c] + t) * groups + g) * bits
                for plane in range(bits):
                    packed[first + plane] = U32(0)
                for k in range(32):
                    code = empty if line[32 * g + k] == NO_NEIGHBOR else U32(line[32 * g + k])
                    for plane in range(bits):
                        packed[first + plane] |= U32(U32(U32(code >> U32(plane)) & U32(1)) << U32(k))


@by_block(lambda chunks: chunks.shape[0])
def pack_numbers(start, stop, chunks, slots, numbers, packed):
    """packed[slot] = number of each rating of chunks; see pack_ratings.

    numbers (all ratings,) and packed (n_ratings,) float32.
    """
    for c in range(start, stop):
        first, slot = chunks[c, 1], slots[c]
        for t in range(chunks[c, 2]):
            packed[slot + t] = numbers[first + t]


CHUNK_BYTES = 24


class Block(NamedTuple):
    """Block of ratings.

    n: ratings; chunks: its chunk table on the device; planes {name: packed array (any,)}: on the device if the block
    stays there, else in page-locked memory or in a file; kept: whether it stays.
    """

    n: int
    chunks: object
    planes: dict
    kept: bool


class BlockQueue:
    """Transfers of an endless cycle of blocks through BUFFERS buffers, by events of two streams.

    kept [bool]: blocks that do not travel; send(block, buffer): queues a transfer on `sending`; computing: stream that
    reads the buffers; new_event: makes an event.
    """

    def __init__(self, kept, send, sending, computing, new_event):
        self.send, self.sending, self.computing = send, sending, computing
        self.arrived, self.read = ([new_event() for _ in range(BUFFERS)] for _ in ("arrived", "read"))
        self.travelling, self.n_sent, self.n_taken = [block for block, stays in enumerate(kept) if not stays], 0, 0
        for _ in range(BUFFERS if self.travelling else 0):
            self._send_next()

    def take(self, block):
        """Return the buffer of the next block that travels; what is queued on `computing` afterwards may read it."""
        if self.travelling[self.n_taken % len(self.travelling)] != block:
            raise ValueError(f"block {block} is not the next one to arrive")
        buffer = self.n_taken % BUFFERS
        self.arrived[buffer].wait(self.computing)
        return buffer

    def give_back(self, buffer):
        """Fill a buffer with the block after next, once what is queued on `computing` has read it."""
        self.read[buffer].record(self.computing)
        self.read[buffer].wait(self.sending)
        self.n_taken += 1
        self._send_next()

    def _send_next(self):
        buffer = self.n_sent % BUFFERS
        self.send(self.travelling[self.n_sent % len(self.travelling)], buffer)
        self.arrived[buffer].record(self.sending)
        self.n_sent += 1


def planes_of(packing):
    """Return {name: (dtype, numbers of a rating)} of a packed block."""
    planes = {"ratings": (np.uint8, packing.width)}
    if not packing.level_bits:
        planes["values"] = np.float32, 1
    if packing.slots:
        planes["codes"] = np.uint32, packing.slots // 32 * packing.code_bits
    if packing.weighted:
        planes["weights"] = np.float32, 1
    return planes


class Source(NamedTuple):
    """Ratings on the host in the order of a Side, to pack.

    packing: plan.Packing; side: arrays.Side; places (rows + 1,) int32: position of each minor row; z (levels,)
    float32; codes (n, K) uint8.
    """

    packing: object
    side: object
    places: np.ndarray
    z: np.ndarray
    codes: np.ndarray

    def packed(self, chunks, slots, allocate):
        """Return {name: packed array} of the ratings of chunks; slots: where those of each chunk go."""
        n, packing, side = int(chunks[:, 2].sum()), self.packing, self.side
        planes = {name: allocate(max(1, n * count), dtype) for name, (dtype, count) in planes_of(packing).items()}
        sizes = packing.level_bits, packing.width
        arrays = self.places, side.minor, side.values, self.z
        pack_ratings(chunks, slots, *arrays, sizes, planes["ratings"])
        if "codes" in planes:
            pack_codes(chunks, slots, self.codes, packing.code_bits, planes["codes"])
        for name in {"values", "weights"} & planes.keys():
            pack_numbers(chunks, slots, getattr(side, name), planes[name])
        return planes


class Sender(NamedTuple):
    """Transfers of Blocks to the device.

    blocks; buffers, staging [{name: array}] on the device and in page-locked memory, the latter [] unless blocks are in
    a file; stream; sent: an event for each buffer.
    """

    blocks: list
    buffers: list
    staging: list
    stream: object
    sent: list

    def send(self, number, buffer):
        """Queue the transfer of a Block to a buffer."""
        if self.staging:
            self.sent[buffer].synchronize()  # the block before has left
        for name, plane in self.blocks[number].planes.items():
            if self.staging:
                plane, in_file = self.staging[buffer][name][: plane.size], plane
                plane[...] = in_file
            copy_page_locked(plane, self.buffers[buffer][name], 0, self.stream)
        self.sent[buffer].record(self.stream)


def allocator_in_file(size):
    """Return a function (n, dtype) that allocates consecutive arrays, at most 64 bytes apart, in a file of `size`."""
    memory, position = array_in_file(size), 0

    def allocate(n, dtype):
        nonlocal position
        first, position = position, position + n * np.dtype(dtype).itemsize
        array, position = memory[first:position].view(dtype), -(-position // 64) * 64
        return array

    return allocate


class StreamTraining(schedule.Epochs):
    """Epochs of a session on ratings that travel in blocks, at the rates of settings.Settings.

    task: solvers.Task with data on the host; order: see sgd.training.arrange.
    """

    def __init__(self, session, task, order):
        super().__init__(session, task.settings)
        self.computing = cuda.stream()
        side, z = task.data.side, session.levels.copy_to_host()[1:]
        self.n_ratings, self.rows = len(side.minor), session.parameters.Q.shape[0] - 1
        pace, levels, exact = order
        self.packing = packing_of(self.rows, levels, exact, session.layout.slots, side.weights is not None)
        self.z, self.host_z = to_device(np.append(z, np.float32(0))), z[:levels]
        session.looks_up_on_host = True
        self.workers, tables, is_kept, largest = self.plan(side, pace, task)
        counts = np.diff(side.minor_starts[: self.rows + 1])
        session.place_minor(side, np.argsort(-counts, kind="stable").astype(np.uint32))
        source = self.source(task, session.places.copy_to_host())
        self.in_file, allocate = self.place_of(tables, is_kept)
        blocks = [block_of(table, source, None if stays else allocate) for table, stays in zip(tables, is_kept)]
        self.hold(blocks, largest)
        self.move_minor()

    def source(self, task, places):
        """Return the Source of a solvers.Task; places (rows + 1,) int32: positions of the minor rows."""
        codes = self.session.host_codes(task.data.query, self.n_ratings)
        return Source(self.packing, task.data.side, places, self.host_z, codes)

    def place_of(self, tables, is_kept):
        """Return (True if the blocks that travel are in a file, function that allocates their planes)."""
        sizes = [int(table[:, 2].sum()) * self.packing.packed for table, stays in zip(tables, is_kept) if not stays]
        in_file = is_large(sum(sizes))
        planes = len(planes_of(self.packing))
        return in_file, allocator_in_file(sum(sizes) + 64 * planes * len(sizes)) if in_file else cuda.pinned_array

    def hold(self, blocks, largest):
        """Store blocks of up to `largest` ratings, allocate the buffers and start the transfers."""
        is_kept, n, packing = [block.kept for block in blocks], largest, self.packing
        planes, n_buffers, self.blocks = planes_of(packing).items(), 0 if all(is_kept) else BUFFERS, blocks
        self.buffers, staging = (
            [{name: make(n * count, dtype) for name, (dtype, count) in planes} for _ in range(number)]
            for make, number in ((device_array, n_buffers), (cuda.pinned_array, n_buffers * self.in_file))
        )
        self.minor, self.values = zeros(n, np.int32), device_array(n if packing.level_bits else 1, np.float32)
        self.codes = device_array((n, packing.slots // 4) if packing.slots else (1, 1), np.uint32)
        self.of_buffers = [self.batch_of(planes) for planes in self.buffers]
        self.of_blocks = [self.batch_of(block.planes) if block.kept else None for block in blocks]
        sending = cuda.stream()
        sender = Sender(blocks, self.buffers, staging, sending, [cuda.event() for _ in range(n_buffers)])
        self.queue = BlockQueue(is_kept, sender.send, sending, self.computing, cuda.event)
        self.report()

    def batch_of(self, planes):
        """Return the Batch of a block's planes on the device."""
        batch = Batch(self.minor, planes.get("values", self.values), self.codes, self.session.levels)
        return WeightedBatch(*batch, planes["weights"]) if "weights" in planes else batch

    def unpacked(self, order):
        """Queue the unpacking of blocks; yield (number, Batch), after which the caller queues what reads it."""
        for number in order:
            block = self.blocks[number]
            buffer = None if block.kept else self.queue.take(number)
            self.unpack(block.n, block.planes if block.kept else self.buffers[buffer])
            yield number, self.of_blocks[number] if block.kept else self.of_buffers[buffer]
            if buffer is not None:
                self.queue.give_back(buffer)

    def unpack(self, n, planes):
        """Queue the unpacking of n ratings."""
        shape, packing = (gpu_arrays.BLOCKS_A_PROCESSOR * processors(), gpu_arrays.BLOCK), self.packing
        arguments = planes["ratings"], n, packing.width, packing.level_bits, self.z, self.minor, self.values
        launch(kernels.unpack_ratings, *shape, *arguments, stream=self.computing)
        if packing.slots:
            arguments = planes["codes"], n * packing.slots // 4, packing.code_bits, self.codes.reshape(-1)
            launch(kernels.unpack_codes, *shape, *arguments, stream=self.computing)

    @property
    def bytes_sent(self):
        """Bytes that travel in an epoch."""
        return self.packing.packed * sum(block.n for block in self.blocks if not block.kept)

    def report(self):
        """Warn if ratings do not fit in GPU memory."""
        n_kept = sum(block.kept for block in self.blocks)
        if n_kept == len(self.blocks):
            return
        warnings.warn(
            f"The ratings do not fit in GPU memory: {self.bytes_sent / 1e9:.2f} GB an epoch stream from host memory, "
            f"at {self.packing.packed} bytes a rating; {n_kept} of {len(self.blocks)} blocks stay on the GPU.",
            UserWarning,
            stacklevel=3,
        )

    def slowed(self, counts, pace, spare):
        """Return (schedule.Pace, chunks, most blocks): fewer workers until blocks are small.

        counts: ratings of major rows; spare: bytes for chunk tables and blocks.
        """
        while True:
            chunks = int(pieces_of(counts, pace, 1).sum())
            most = max(1, chunks // (RULES.chunk_rounds * schedule.QUAD * max(1, pace.workers // schedule.QUAD)))
            needed = buffer_bytes(self.packing, largest_block(self.n_ratings, most)) + 2 * CHUNK_BYTES * chunks
            if pace.workers <= schedule.QUAD or (most >= RULES.least_blocks and needed <= spare):
                return pace, chunks, most
            pace = pace._replace(workers=pace.workers // 2 // schedule.QUAD * schedule.QUAD or schedule.QUAD)

    def plan(self, side, pace, task):
        """Return (workers, chunk table of each block, [True if a block stays on the device], ratings of the largest).

        The tables are on the host. Raises DeviceMemoryError if the buffers do not fit.
        """
        counts, packing = np.diff(side.indptr), self.packing
        spare = devices.spare_memory() - self.session.parameters.Q.nbytes
        pace, chunks, most = self.slowed(counts, pace, spare)
        blocks = plan_blocks(self.n_ratings, packing, spare - 2 * CHUNK_BYTES * chunks, most)
        host_steps = engine(devices.cpu(), "gpukit.factorization")
        table = cut_table(counts, side.starts, pace, task.settings.seed, host_steps, blocks)
        tables, budget = table.reshape(blocks, -1, 3), spare - table.nbytes
        largest = max(int(part[:, 2].sum()) for part in tables)
        needed = self.session.parameters.Q.nbytes + table.nbytes + buffer_bytes(packing, largest)
        devices.require_memory(task.device, needed, f"Streaming {self.n_ratings:,} ratings")
        n_kept = kept_blocks(blocks, largest, packing, budget)
        return pace.workers, tables, is_kept(blocks, n_kept), largest

    def move_minor(self):
        """Move the minor rows to their positions; the time of several places is measured with the first block."""
        first = next((number for number, block in enumerate(self.blocks) if block.kept), None)
        first = self.queue.travelling[0] if first is None else first
        planes = self.blocks[first].planes if self.blocks[first].kept else self.buffers[self.queue.take(first)]
        self.unpack(self.blocks[first].n, planes)
        self.finish()
        self.session.move_minor(self.minor[: self.blocks[first].n], self.n_ratings)

    def start(self, rates, turn):
        """Queue `step`."""
        session = self.session
        grid = -(-self.workers * session.layout.lanes // BLOCK)
        for number, batch in self.unpacked(range(len(self.blocks))):
            arguments = self.blocks[number].chunks, batch, session.parameters, rates, turn, self.workers
            launch(session.sgd_epoch, grid, BLOCK, *arguments, stream=self.computing)

    def finish(self):
        """Wait for the queued epochs, not for the blocks of the next one."""
        self.computing.synchronize()


def block_of(table, source, allocate):
    """Return the Block of a part (n, 3) of the chunk table; allocate: of its planes on the host, None: it stays."""
    chunks = np.ascontiguousarray(table[table[:, 2] > 0])
    slots = np.cumsum(chunks[:, 2]) - chunks[:, 2]
    device_table = table.copy()
    device_table[:, 1] = 0
    device_table[table[:, 2] > 0, 1] = slots
    planes, stays = source.packed(chunks, slots, allocate or np.empty), allocate is None
    planes = {name: to_device(plane) for name, plane in planes.items()} if stays else planes
    return Block(int(chunks[:, 2].sum()), to_device(device_table), planes, stays)
