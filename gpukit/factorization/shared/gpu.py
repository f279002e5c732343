"""A rank's part of an epoch and transfers of rows on the GPU; cpu.py has the same names. Only `finish` waits.

Training and transfers are queued on streams of their own, which wait for each other's events alone. The default stream
waits for all of them, and they for it, so that no other code has to synchronize.
"""

import functools
import warnings

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import Repeated, device_array, launch, zeros
from gpukit.device.gpu_arrays import processors, runner
from gpukit.device.upload import to_device
from gpukit.factorization.constants import RULES
from gpukit.factorization.prepare import kernels as preparing
from gpukit.factorization.shared import kernels, partition
from gpukit.factorization.shared.partition import in_parts, part_of, tables_of_items
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import BLOCK
from gpukit.parallel.nccl import make_gpu_transport, record_event, wait_for_event

PACKING = 264, 128  # blocks and threads that copy rows
PARTS = partition.QUARTERS  # of an epoch with copies of rows
MEASURING = 64, 256  # blocks and threads that measure the length of factors
COPYING = 128, 256  # blocks and threads that read and add changes
MOST_THREADS, LEAST_THREADS = 768, 256  # of a block of the epoch: with 80 registers a thread, with 255
run = runner(kernels)


class BlockPipeline:
    """See cpu.BlockPipeline. Rows of a block are packed into a buffer for transfer."""

    def __init__(self, session, parts, team, device):
        self.session, self.team = session, team
        self.lines = lines_of(team, device)
        self.tables = tables_of_items(session)
        rows = [parts.rows(block) for block in range(parts.blocks)]
        self.rows = [to_device(np.int32(block_rows)) for block_rows in rows]
        self.buffers = [
            [device_array((len(block_rows), table.shape[1]), np.float32) for table in self.tables]
            for block_rows in rows
        ]
        self.stream, self.transfer_stream = cuda.stream(), cuda.stream()
        self.done, self.arrived = None, {}  # event after the queued training; of the arrival of each block

    def process(self, number, lap, blocks, rates, turn):
        """Queue a Lap's part of chunk table `number`, to run after these blocks have arrived."""
        session = self.session
        for block in blocks:
            if block in self.arrived:
                self.arrived.pop(block).wait(self.stream)
        grid = -(-lap.workers * session.layout.lanes // BLOCK)
        table = part_of(session.tables[number], lap)
        if table.shape[0]:
            arguments = table, session.batch, session.parameters, rates, turn, lap.workers
            launch(session.sgd_epoch, grid, BLOCK, *arguments, stream=self.stream)
        self.done = record_event(self.stream)

    def send_blocks(self, moves):
        """Queue this rank's transfers of the Moves after the queued training."""
        outgoing = [move for move in moves if move.source == self.team.rank]
        incoming = [move for move in moves if move.target == self.team.rank]
        self._pack(move.block for move in outgoing)
        if outgoing or incoming:
            with self.lines.group():
                for move in outgoing:
                    for buffer in self.buffers[move.block]:
                        self.lines.send(move.target, buffer, self.transfer_stream)
                for move in incoming:
                    for buffer in self.buffers[move.block]:
                        self.lines.receive(move.source, buffer, self.transfer_stream)
        self._unpack([move.block for move in incoming])

    def finish(self):
        """Wait for the training; raise TeamError if another rank has ended or does not respond."""
        if self.done is not None:
            wait_for_event(self.done, self.lines)

    def broadcast_blocks(self, block_ranks):
        """See cpu.BlockPipeline."""
        processed = [block for block, rank in block_ranks.items() if rank == self.team.rank]
        self._pack(processed)
        with self.lines.group():
            for block, rank in sorted(block_ranks.items()):
                for buffer in self.buffers[block]:
                    self.lines.broadcast(buffer, rank, self.transfer_stream)
        self._unpack([block for block in block_ranks if block not in processed])
        wait_for_event(record_event(self.transfer_stream), self.lines)

    def _pack(self, blocks):
        """Queue copies of blocks' rows into their buffers, after the queued training."""
        if self.done is not None:
            self.done.wait(self.transfer_stream)
        for block in blocks:
            for table, buffer in zip(self.tables, self.buffers[block]):
                launch(preparing.take_rows, *PACKING, table, self.rows[block], buffer, stream=self.transfer_stream)

    def _unpack(self, blocks):
        """Queue copies of buffers into blocks' rows; `process` waits for them."""
        for block in blocks:
            for table, buffer in zip(self.tables, self.buffers[block]):
                launch(preparing.move_rows, *PACKING, buffer, self.rows[block], table, stream=self.transfer_stream)
            self.arrived[block] = record_event(self.transfer_stream)


class CopiedRows:
    """See cpu.CopiedRows. Exchanges run during training, which leaves some processors free for them.

    Popular rows take the most steps and are exchanged more often than all rows.
    """

    def __init__(self, session, settings, parts, team, device):
        quad = 4
        self.session, self.team, self.lines = session, team, lines_of(team, device)
        layout, n = session.layout, len(parts.block)
        places, order = session.places.copy_to_host(), np.argsort(-parts.counts[1], kind="stable")
        self.rows = to_device(np.int32(places[order]))
        width = quad * -(-layout.n_factors // quad) + quad
        self.common = zeros((n, width), np.float32)
        popular = -(-n // RULES.popular_part)
        whole, self.shares = (to_device(np.ones(n, np.float32)) for _ in ("whole", "shares"))
        self.epoch_stream, self.transfer_stream = cuda.stream(), cuda.stream()
        changes, sums = (device_array((n, width), np.float32) for _ in range(2))
        self.all, self.same = Exchange(self, changes, sums, self.shares), Exchange(self, changes, changes, whole)
        self.popular = Exchange(self, changes[:popular], sums[:popular], self.shares)
        self.synchronized = False  # True after synchronize_start
        self.align()
        steps = parts.counts[0].sum() / (team.size * PARTS * session.workers)
        self.n_exchanges = exchange_counts(steps, self.measure_exchange())
        self.paces = [to_device(np.ascontiguousarray(turn)) for turn in self.paces_of(settings, parts, order)]
        counts, self.every = partition.sample_rows(parts, team.rank)
        self.counts, self.sums = to_device(counts), device_array((MEASURING[0], 2), np.float64)

    def paces_of(self, settings, parts, order):
        """Return partition.paces of rows in an order by falling popularity."""
        factors = np.full(len(order), PARTS / RULES.whole_exchange)
        factors[order[: len(self.popular.changes)]] = PARTS
        exchanges = (count * factors for count in self.n_exchanges)
        return partition.paces(settings, self.session.walk, parts.counts, self.team.size, *exchanges)[:, order]

    @functools.cached_property
    def tables(self):
        """Chunk tables of an epoch's parts."""
        return in_parts(self.session.tables[0], PARTS, self.session.workers)

    def process(self, workers, rates, turn, epoch):
        """Queue cpu.CopiedRows.process. Exchanges run during each part; the part after the next waits for them."""
        if not self.synchronized:
            self.synchronize_start(rates, turn)
        started, exchanged = [], []
        for part in range(PARTS):
            if part > 1:
                exchanged[part - 2].wait(self.epoch_stream)
            started.append(record_event(self.epoch_stream))
            self.process_table(self.tables[part], workers, rates, turn)
            if part:  # training is queued a part ahead, so that it does not wait for the host
                exchanged.append(self.queue_exchanges(started[part - 1], part - 1, epoch))
        self.queue_exchanges(started[-1], PARTS - 1, epoch)
        record_event(self.epoch_stream).wait(self.transfer_stream)
        self.all.run()

    def synchronize_start(self, rates, turn):
        """Wait until all ranks have compiled or loaded their kernels, by chunks without ratings.

        A rank that started earlier would complete half of its first epoch before its first exchange.
        """
        self.process_table(zeros((schedule.QUAD, 3), np.int64), schedule.QUAD, rates, turn)
        self.damp(0, 0)
        self.popular.run()
        self.finish()
        self.synchronized = True

    def process_table(self, table, workers, rates, turn):
        """Queue training on a chunk table."""
        session, threads = self.session, epoch_threads(self.session.layout)
        grid = -(-workers * session.layout.lanes // threads)
        arguments = table, session.batch, session.parameters, rates, turn, workers
        launch(session.sgd_epoch, grid, threads, *arguments, stream=self.epoch_stream)

    def queue_exchanges(self, started, part, epoch):
        """Queue the exchanges of a part, which starts at an event; return the event after them."""
        started.wait(self.transfer_stream)
        if not (epoch and part):  # after the start of the part, which waits for nothing
            self.damp(epoch, part)
        self.exchange(self.n_exchanges[min(epoch, 1)])
        return record_event(self.transfer_stream)

    def exchange(self, times):
        """Queue `times` exchanges."""
        for number in range(times):
            (self.popular if (number + 1) % RULES.whole_exchange else self.all).run()

    def measure_exchange(self):
        """Return the mean milliseconds of an exchange on an idle GPU, on the slowest rank."""
        for _ in range(2):  # the first time includes waiting for the other ranks and preparing the launches
            start = record_event(self.transfer_stream)
            self.exchange(2 * RULES.whole_exchange)
        end = record_event(self.transfer_stream)
        wait_for_event(end, self.lines)
        return float(self.team.allreduce(np.array(start.elapsed_time(end) / (2 * RULES.whole_exchange)), "max"))

    def damp(self, epoch, quarter):
        """Queue cpu.CopiedRows.damp."""
        paces = self.paces[partition.pace_index(epoch, quarter, len(self.paces))]
        table, n_factors = self.session.parameters.P, self.session.layout.n_factors
        arguments = table, self.counts, n_factors, self.every, self.sums
        launch(kernels.factor_squares, *MEASURING, *arguments, stream=self.transfer_stream)
        self.lines.allreduce(self.sums, stream=self.transfer_stream)
        launch(kernels.damp, *COPYING, self.sums, paces, self.team.size, self.shares, stream=self.transfer_stream)

    def finish(self):
        """Wait for training and exchanges; raise TeamError if another rank has ended or does not respond."""
        wait_for_event(record_event(self.transfer_stream), self.lines)

    def align(self):
        """Replace all copies by that of the first rank; they differ by the rounding of additions."""
        self.lines.broadcast(self.session.parameters.Q, 0, self.transfer_stream)
        self.same.take()
        self.same.add()
        wait_for_event(record_event(self.transfer_stream), self.lines)


class Exchange:
    """Sum of the ranks' changes to some rows of CopiedRows.

    changes, sums (rows, width) float32: of this rank, of all; shares (rows or more,) float32: weights of the sums. The
    launches are prepared once, because the host queues hundreds of them per epoch of a few milliseconds.
    """

    def __init__(self, copies, changes, sums, shares):
        self.lines, self.stream, self.changes, self.sums = copies.lines, copies.transfer_stream, changes, sums
        session, rows, common = copies.session, copies.rows, copies.common
        half, table = session.layout.minor.half, session.parameters.Q
        take, add = kernels.make_take_changes(half), kernels.make_add_changes(half, session.vector)
        self.take = Repeated(take, *COPYING, table, rows, common, changes, stream=self.stream)
        self.add = Repeated(add, *COPYING, changes, sums, shares, rows, table, common, stream=self.stream)

    def run(self):
        """Queue an exchange of the changes since the last one."""
        self.take()
        self.lines.allreduce(self.changes, stream=self.stream, out=self.sums)
        self.add()


def exchange_counts(steps, milliseconds):
    """Return the exchanges in a part of the first epoch and of a later one; a part takes `steps` steps of a worker.

    milliseconds: time of an exchange. The part is filled with exchanges, at least one of all rows. Later ones would not
    overlap with training, and damping assumes that all do.
    """
    step = 0.8e-3  # ms of a worker per rating with all workers busy, F = 32; F = 128: 0.87e-3; one H200
    return tuple(
        min(most, max(RULES.whole_exchange, int(step * steps / max(milliseconds, step))))
        for most in (RULES.first_exchanges, RULES.later_exchanges)
    )


def epoch_threads(layout):
    """Return the threads of a block of the epoch's kernel, one block for each processor: see CopiedRows."""
    few_factors = 8  # of a lane; with more the epoch takes all registers
    return MOST_THREADS if layout.factors <= few_factors else LEAST_THREADS


def most_copy_workers(layout):
    """Return the number of concurrent workers if some processors stay free."""
    free_processors = 12  # left free by the epoch: with eight NCCL starts late, with four training diverged
    return epoch_threads(layout) // layout.lanes * max(1, processors() - free_processors)


class RowGather:
    """See cpu.RowGather; the table is on the device, its rows are computed on the default stream."""

    def __init__(self, team, device):
        self.lines = lines_of(team, device)

    def gather(self, table, spans):
        """See cpu.RowGather."""
        with self.lines.group():
            for rank, (first, last) in enumerate(spans):
                if first < last:
                    self.lines.broadcast(table[first:last], rank)
        wait_for_event(record_event(), self.lines)


def lines_of(team, device):
    """Return the transport of a Team's device arrays; warn if it is slow."""
    return make_gpu_transport(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=3))
