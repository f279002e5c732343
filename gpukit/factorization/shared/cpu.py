"""A rank's walks and its blocks' journeys on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import runner
from gpukit.factorization.cpu import RATINGS_A_THREAD, most_workers
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.shared import damping, twins
from gpukit.factorization.shared.block_schedule import in_parts, part_of
from gpukit.factorization.solvers.sgd.twins import sgd_epoch
from gpukit.runtime.thread_count import limited

PARTS = 16  # of an epoch, after which ranks with copies meet
MEASURING = 16  # parts of the rows that tell how long factors are, whatever the threads
run = runner(twins)


most_beside = most_workers


class BlockPipeline:
    """Blocks of items that a Session walks and that travel, for parts.Parts and a parallel.Team.

    A block that is under way is received when it is wanted. Two ranks' messages keep their order, so all receive in the
    order in which all send.
    """

    def __init__(self, session, parts, team, device):
        self.session, self.team, parameters = session, team, session.parameters
        by_item = (parameters.P, parameters.influence) if session.layout.slots else (parameters.P,)
        self.tables = by_item if session.walk == "items" else (parameters.Q,)
        self.rows = [parts.rows(block) for block in range(parts.blocks)]
        self.coming = []

    def walk(self, number, lap, blocks, rates, turn):
        """Learn from a Lap's part of chunk table `number` once these blocks are here."""
        self.arrive(blocks)
        session = self.session
        with limited(max(1, len(session.batch.minor) // RATINGS_A_THREAD)):
            table = part_of(session.tables[number], lap)
            sgd_epoch(table, session.batch, session.parameters, rates, turn, lap.workers)

    def send_off(self, moves):
        """Send what is this rank's of block_schedule.Moves, and expect what comes here."""
        for move in moves:
            if move.source == self.team.rank:
                for table in self.tables:
                    self.team.send(move.target, table[self.rows[move.block]])
        self.coming += [move for move in moves if move.target == self.team.rank]

    def arrive(self, blocks):
        """Return when these blocks are here."""
        while any(move.block in blocks for move in self.coming):
            move = self.coming.pop(0)
            for table in self.tables:
                table[self.rows[move.block]] = self.team.receive(move.source)

    def finish(self):
        """Return when all is walked and no block is under way, so that the Team is free for other messages."""
        self.arrive(range(len(self.rows)))

    def everywhere(self, walkers):
        """Give all blocks to all ranks; walkers {block: the rank that has walked it last}."""
        for block, rank in sorted(walkers.items()):
            for table in self.tables:
                own = table[self.rows[block]] if rank == self.team.rank else None
                table[self.rows[block]] = np.asarray(self.team.broadcast(own, rank))


class CopiedRows:
    """Rows of the minor side that each rank of a parallel.Team walks in a copy of its own; the sum of what all ranks
    have changed is what all go on from."""

    def __init__(self, session, settings, parts, team, device):
        self.session, self.team = session, team
        self.common = session.parameters.Q.copy()
        self.paces = damping.paces(settings, session.walk, parts.counts, team.size, PARTS, PARTS)
        self.counts, self.every = damping.sample(parts, team.rank)
        self.shares = np.ones(len(self.common), np.float32)  # the row of the unknown stays

    def walk(self, workers, rates, turn, epoch):
        """Learn from all chunks, and meet the others after each of PARTS."""
        session = self.session
        with limited(max(1, len(session.batch.minor) // RATINGS_A_THREAD)):
            for part, table in enumerate(in_parts(session.tables[0], PARTS, workers)):
                quarter, late = divmod(part * damping.QUARTERS, PARTS)
                if not (late or (epoch and quarter)):
                    self.damp(epoch, quarter)
                sgd_epoch(table, session.batch, session.parameters, rates, turn, workers)
                self.meet(self.shares)

    def damp(self, epoch, quarter):
        """Set the shares of an epoch, or of its quarter, by how long factors of the major side are now."""
        paces = self.paces[damping.turn_of(epoch, quarter, len(self.paces))]
        sums, factors = np.empty((MEASURING, 2)), self.session.layout.n_factors
        run("factor_squares", self.session.parameters.P, self.counts, factors, self.every, sums)
        run("damp", self.team.allreduce(sums), paces, self.team.size, self.shares[:-1])

    def meet(self, shares):
        """Add what the others have changed since the last time, shares of the sums."""
        Q = self.session.parameters.Q
        changes = self.team.allreduce(Q - self.common)
        whole = changes[:, SQUARES - EXTRA].copy()
        changes *= shares[:, None]
        changes[:, SQUARES - EXTRA] = whole
        self.common += changes
        Q[...] = self.common

    def finish(self):
        """Return when all ranks' changes are there: `walk` does."""

    def align(self):
        """Let all ranks' copies be one, that of the first: they are, but where rows were set from outside."""
        Q = self.session.parameters.Q
        Q[...] = self.team.broadcast(Q)
        self.common = Q.copy()


class Meeting:
    """Rows of tables that ranks of a parallel.Team have made, each some, given to all."""

    def __init__(self, team, device):
        self.team = team

    def everywhere(self, table, spans):
        """Let a table have all ranks' rows: spans [(first, last + 1)], those of each rank."""
        for span, rows in zip(spans, self.team.allgather(table[slice(*spans[self.team.rank])])):
            table[slice(*span)] = rows
