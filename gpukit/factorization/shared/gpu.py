"""A rank's walks and its blocks' journeys on the GPU; cpu.py has the same names. Nothing is waited for but `finish`.

What is walked and what travels are queued on streams of their own, which wait for each other's events alone. The
default stream waits for all of them, and they for it, so that all else needs no thought.
"""

import functools
import warnings

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import Repeated, device_array, launch, zeros
from gpukit.device.gpu_arrays import processors, runner
from gpukit.device.upload import to_device
from gpukit.factorization.gpu import BLOCK
from gpukit.factorization.prepare import kernels as preparing
from gpukit.factorization.shared import damping, kernels
from gpukit.factorization.shared.block_schedule import in_parts, part_of
from gpukit.factorization.solvers.sgd import schedule
from gpukit.parallel.nccl import device_lines, recorded, wait_for

WALKS_AT_ONCE = 1  # kernels of one rank: a second one would begin in the tail of the first
PACKING = 264, 128  # blocks and threads that copy rows
QUAD = 4
PARTS = damping.QUARTERS  # of an epoch with copies of rows
ROOM = 12  # processors that the walk leaves free: with eight NCCL is late at first, with four training diverged
FIRST, LATER = 16, 6  # that ranks meet while a part of the first epoch is walked, of a later one, at most
POPULAR, EVERY = 8, 3  # one row of so many meets every time, all rows every so many times
STEP = 0.8e-3  # ms that a worker takes for a rating beside all others, F = 32; F = 128: 0.87e-3; one H200
MEASURING = 64, 256  # blocks and threads that tell how long factors are
COPYING = 128, 256  # blocks and threads that read and add changes
MOST_THREADS, LEAST_THREADS = 768, 256  # of a block of the walk: with 80 registers a thread, with 255
FEW_FACTORS = 8  # of a lane: with more the walk takes all registers
run = runner(kernels)


class BlockPipeline:
    """See cpu.BlockPipeline. Rows of a block are packed into a buffer of its own, and that is sent."""

    def __init__(self, session, parts, team, device):
        self.session, self.team = session, team
        self.lines = lines_of(team, device)
        self.tables = travelling(session)
        places = None if session.walk == "items" else session.places.copy_to_host()
        rows = [parts.rows(block) for block in range(parts.blocks)]
        self.rows = [to_device(np.int32(own if places is None else places[own])) for own in rows]
        self.buffers = [[device_array((len(own), table.shape[1]), np.float32) for table in self.tables] for own in rows]
        self.walks, self.journeys = [cuda.stream() for _ in range(WALKS_AT_ONCE)], cuda.stream()
        self.done, self.count, self.here = {}, 0, {}  # of each stream, of each block: the event to wait for

    def walk(self, number, lap, blocks, rates, turn):
        """Queue chunk table `number`, as much as a block_schedule.Lap says, of these blocks, for when they are here."""
        session, which = self.session, self.count % len(self.walks)
        stream, self.count = self.walks[which], self.count + 1
        for block in blocks:
            if block in self.here:
                self.here.pop(block).wait(stream)
        grid = -(-lap.workers * session.layout.lanes // BLOCK)
        table = part_of(session.tables[number], lap)
        if table.shape[0]:
            arguments = table, session.batch, session.parameters, rates, turn, lap.workers
            launch(session.sgd_epoch, grid, BLOCK, *arguments, stream=stream)
        self.done[which] = recorded(stream)

    def send_off(self, moves):
        """Queue what is this rank's of block_schedule.Moves behind what is walked."""
        leaving = [move for move in moves if move.source == self.team.rank]
        coming = [move for move in moves if move.target == self.team.rank]
        self._pack(move.block for move in leaving)
        if leaving or coming:
            with self.lines.together():
                for move in leaving:
                    for buffer in self.buffers[move.block]:
                        self.lines.send(move.target, buffer, self.journeys)
                for move in coming:
                    for buffer in self.buffers[move.block]:
                        self.lines.receive(move.source, buffer, self.journeys)
        self._unpack([move.block for move in coming])

    def finish(self):
        """Return when all is walked; TeamError when another rank has ended, or does not come."""
        for event in self.done.values():
            wait_for(event, self.lines)

    def everywhere(self, walkers):
        """See cpu.BlockPipeline."""
        mine = [block for block, rank in walkers.items() if rank == self.team.rank]
        self._pack(mine)
        with self.lines.together():
            for block, rank in sorted(walkers.items()):
                for buffer in self.buffers[block]:
                    self.lines.broadcast(buffer, rank, self.journeys)
        self._unpack([block for block in walkers if block not in mine])
        wait_for(recorded(self.journeys), self.lines)

    def _pack(self, blocks):
        """Queue copies of blocks' rows into their buffers, behind what is walked."""
        for event in self.done.values():
            event.wait(self.journeys)
        for block in blocks:
            for table, buffer in zip(self.tables, self.buffers[block]):
                launch(preparing.take_rows, *PACKING, table, self.rows[block], buffer, stream=self.journeys)

    def _unpack(self, blocks):
        """Queue copies of buffers into blocks' rows; `walk` waits for them."""
        for block in blocks:
            for table, buffer in zip(self.tables, self.buffers[block]):
                launch(preparing.move_rows, *PACKING, buffer, self.rows[block], table, stream=self.journeys)
            self.here[block] = recorded(self.journeys)


class CopiedRows:
    """See cpu.CopiedRows. Changes travel while rows are walked: the walk leaves processors to what adds and sends.

    The popular rows' changes, which the most steps hang on, travel more often than all rows'.
    """

    def __init__(self, session, settings, parts, team, device):
        self.session, self.team, self.lines = session, team, lines_of(team, device)
        layout, n = session.layout, len(parts.block)
        places, order = session.places.copy_to_host(), np.argsort(-parts.counts[1], kind="stable")
        self.rows = to_device(np.int32(places[order]))
        width = QUAD * -(-layout.n_factors // QUAD) + QUAD
        self.common = zeros((n, width), np.float32)
        popular = -(-n // POPULAR)
        whole, self.shares = (to_device(np.ones(n, np.float32)) for _ in ("whole", "shares"))
        self.walking, self.journeys = cuda.stream(), cuda.stream()
        own, sums = (device_array((n, width), np.float32) for _ in ("own", "sums"))
        self.all, self.same = Exchange(self, own, sums, self.shares), Exchange(self, own, own, whole)
        self.popular = Exchange(self, own[:popular], sums[:popular], self.shares)
        self.off = False  # whether all ranks have set off
        self.align()
        self.often = meetings(parts.counts[0].sum() / (team.size * PARTS * session.workers), self.meeting_time())
        self.paces = [to_device(np.ascontiguousarray(each)) for each in self.paces_of(settings, parts, order)]
        counts, self.every = damping.sample(parts, team.rank)
        self.counts, self.sums = to_device(counts), device_array((MEASURING[0], 2), np.float64)

    def paces_of(self, settings, parts, order):
        """damping.paces of rows in an order by falling popularity."""
        parts_met = np.full(len(order), PARTS / EVERY)
        parts_met[order[: len(self.popular.own)]] = PARTS
        times = (times * parts_met for times in self.often)
        return damping.paces(settings, self.session.walk, parts.counts, self.team.size, *times)[:, order]

    @functools.cached_property
    def tables(self):
        """The chunk tables of an epoch's parts."""
        return in_parts(self.session.tables[0], PARTS, self.session.workers)

    def walk(self, workers, rates, turn, epoch):
        """See cpu.CopiedRows; queued. Ranks meet while a part is walked, and the next but one waits for that."""
        if not self.off:
            self.set_off(rates, turn)
        started, met = [], []
        for part in range(PARTS):
            if part > 1:
                met[part - 2].wait(self.walking)
            started.append(recorded(self.walking))
            self.walk_table(self.tables[part], workers, rates, turn)
            if part:  # walks are queued a part ahead, so that they do not wait for the host
                met.append(self.met_beside(started[part - 1], part - 1, epoch))
        self.met_beside(started[-1], PARTS - 1, epoch)
        recorded(self.walking).wait(self.journeys)
        self.all.meet()

    def set_off(self, rates, turn):
        """Return when all ranks are about to walk, their kernels compiled or loaded, by chunks without ratings: who
        walked meanwhile would have half of its first epoch behind it before it met anybody."""
        self.walk_table(zeros((schedule.QUAD, 3), np.int64), schedule.QUAD, rates, turn)
        self.damp(0, 0)
        self.popular.meet()
        self.finish()
        self.off = True

    def walk_table(self, table, workers, rates, turn):
        """Queue the walk of a chunk table."""
        session, threads = self.session, threads_beside(self.session.layout)
        grid = -(-workers * session.layout.lanes // threads)
        arguments = table, session.batch, session.parameters, rates, turn, workers
        launch(session.sgd_epoch, grid, threads, *arguments, stream=self.walking)

    def met_beside(self, started, part, epoch):
        """Queue the meetings of a part whose walk has started by an event; the event behind them."""
        started.wait(self.journeys)
        if not (epoch and part):  # behind the walk, which waits for nothing
            self.damp(epoch, part)
        self.meet(self.often[min(epoch, 1)])
        return recorded(self.journeys)

    def meet(self, times):
        """Queue so many meetings."""
        for number in range(times):
            (self.popular if (number + 1) % EVERY else self.all).meet()

    def meeting_time(self):
        """Milliseconds from one meeting to the next where nothing is walked, in the mean, on the slowest rank."""
        for _ in range(2):  # at first ranks wait for each other, and launches are read
            begun = recorded(self.journeys)
            self.meet(2 * EVERY)
        ended = recorded(self.journeys)
        wait_for(ended, self.lines)
        return float(self.team.allreduce(np.array(begun.elapsed_time(ended) / (2 * EVERY)), "max"))

    def damp(self, epoch, quarter):
        """See cpu.CopiedRows; queued."""
        paces = self.paces[damping.turn_of(epoch, quarter, len(self.paces))]
        given = self.session.parameters.P, self.counts, self.session.layout.n_factors, self.every, self.sums
        launch(kernels.factor_squares, *MEASURING, *given, stream=self.journeys)
        self.lines.allreduce(self.sums, stream=self.journeys)
        launch(kernels.damp, *COPYING, self.sums, paces, self.team.size, self.shares, stream=self.journeys)

    def finish(self):
        """Return when all is walked and added; TeamError when another rank has ended, or does not come."""
        wait_for(recorded(self.journeys), self.lines)

    def align(self):
        """Let all ranks' copies be one: they are, but for the rounding of additions."""
        self.lines.broadcast(self.session.parameters.Q, 0, self.journeys)
        self.same.take()
        self.same.add()
        wait_for(recorded(self.journeys), self.lines)


class Exchange:
    """The way of so many rows' changes, own and sums (rows, width) float32 of CopiedRows, from each rank's copy to all
    others', shares (rows or more,) float32 of the sums. Its launches are read once: the host queues hundreds in an
    epoch of some milliseconds."""

    def __init__(self, copies, own, sums, shares):
        self.lines, self.stream, self.own, self.sums = copies.lines, copies.journeys, own, sums
        session, rows, common = copies.session, copies.rows, copies.common
        half, table = session.layout.minor.half, session.parameters.Q
        take, add = kernels.make_take_changes(half), kernels.make_add_changes(half, session.vector)
        self.take = Repeated(take, *COPYING, table, rows, common, own, stream=self.stream)
        self.add = Repeated(add, *COPYING, own, sums, shares, rows, table, common, stream=self.stream)

    def meet(self):
        """Add what the others have changed since the last time; queued."""
        self.take()
        self.lines.allreduce(self.own, stream=self.stream, out=self.sums)
        self.add()


def meetings(steps, each):
    """(first epoch's, later epochs') meetings while a worker takes so many steps of a part: as many as find the time,
    of `each` milliseconds, and one of all rows at least. Those that came later would not meet the walk, and damping
    counts on all."""
    return tuple(min(most, max(EVERY, int(STEP * steps / max(each, STEP)))) for most in (FIRST, LATER))


def threads_beside(layout):
    """Threads of a block of the walk beside which nothing else fits on a processor: see CopiedRows."""
    return MOST_THREADS if layout.factors <= FEW_FACTORS else LEAST_THREADS


def most_beside(layout):
    """Workers that walk at once, some processors left free."""
    return threads_beside(layout) // layout.lanes * max(1, processors() - ROOM)


class Meeting:
    """See cpu.Meeting; table on the device, its rows made in the order of the default stream."""

    def __init__(self, team, device):
        self.lines = lines_of(team, device)

    def everywhere(self, table, spans):
        """See cpu.Meeting."""
        with self.lines.together():
            for rank, (first, last) in enumerate(spans):
                if first < last:
                    self.lines.broadcast(table[first:last], rank)
        wait_for(recorded(), self.lines)


def lines_of(team, device):
    """The lines of a Team's device arrays; a UserWarning where they are slow."""
    return device_lines(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=3))


def travelling(session):
    """The tables of a Session whose rows are items'."""
    parameters = session.parameters
    if session.walk == "users":
        return (parameters.Q,)
    return (parameters.P, parameters.influence) if session.layout.slots else (parameters.P,)
