"""A rank's part of an epoch and transfers of rows on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import runner
from gpukit.factorization.constants import RULES
from gpukit.factorization.cpu import most_workers
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.shared import partition, twins
from gpukit.factorization.shared.partition import in_parts, part_of, tables_of_items
from gpukit.factorization.solvers.sgd.twins import sgd_epoch
from gpukit.runtime.thread_count import limit_threads

PARTS = 16  # of an epoch; each ends with an exchange of the copies
MEASURING = 16  # partial sums of the factors' lengths, for any number of threads
run = runner(twins)
most_copy_workers = most_workers


class BlockPipeline:
    """Processing and transfers of the blocks of items of a DeviceModel, for parts.Parts and a parallel.Team.

    A block is received when it is needed. Messages between two ranks keep their order, so all ranks receive in the
    order of sending.
    """

    def __init__(self, session, parts, team, device):
        self.session, self.team, self.tables = session, team, tables_of_items(session)
        self.rows = [parts.rows(block) for block in range(parts.blocks)]
        self.incoming = []

    def process(self, number, lap, blocks, rates, turn):
        """Train on a Lap's part of chunk table `number` after these blocks have arrived."""
        self.wait_for_blocks(blocks)
        session = self.session
        with limit_threads(max(1, len(session.batch.minor) // RULES.ratings_a_thread)):
            table = part_of(session.tables[number], lap)
            sgd_epoch(table, session.batch, session.parameters, rates, turn, lap.workers)

    def send_blocks(self, moves):
        """Send this rank's blocks of the Moves, and note those to receive."""
        for move in moves:
            if move.source == self.team.rank:
                for table in self.tables:
                    self.team.send(move.target, table[self.rows[move.block]])
        self.incoming += [move for move in moves if move.target == self.team.rank]

    def wait_for_blocks(self, blocks):
        """Receive until these blocks have arrived."""
        while any(move.block in blocks for move in self.incoming):
            move = self.incoming.pop(0)
            for table in self.tables:
                table[self.rows[move.block]] = self.team.receive(move.source)

    def finish(self):
        """Receive all blocks, so that the Team is free for other messages."""
        self.wait_for_blocks(range(len(self.rows)))

    def broadcast_blocks(self, block_ranks):
        """Copy all blocks to all ranks; block_ranks {block: rank that processed it last}."""
        for block, rank in sorted(block_ranks.items()):
            for table in self.tables:
                rows = table[self.rows[block]] if rank == self.team.rank else None
                table[self.rows[block]] = np.asarray(self.team.broadcast(rows, rank))


class CopiedRows:
    """Rows of the minor side, with a copy on each rank of a parallel.Team.

    The ranks continue from the weighted sum of all changes.
    """

    def __init__(self, session, settings, parts, team, device):
        self.session, self.team = session, team
        self.common = session.parameters.Q.copy()
        self.paces = partition.paces(settings, session.walk, parts.counts, team.size, PARTS, PARTS)
        self.counts, self.every = partition.sample_rows(parts, team.rank)
        self.shares = np.ones(len(self.common), np.float32)  # 1 for the unknown row

    def process(self, workers, rates, turn, epoch):
        """Train on all chunks, with an exchange after each of PARTS."""
        session = self.session
        with limit_threads(max(1, len(session.batch.minor) // RULES.ratings_a_thread)):
            for part, table in enumerate(in_parts(session.tables[0], PARTS, workers)):
                quarter, remainder = divmod(part * partition.QUARTERS, PARTS)
                if not (remainder or (epoch and quarter)):
                    self.damp(epoch, quarter)
                sgd_epoch(table, session.batch, session.parameters, rates, turn, workers)
                self.exchange(self.shares)

    def damp(self, epoch, quarter):
        """Set the weights of the changes for an epoch or its quarter, from the length of the major side's factors."""
        paces = self.paces[partition.pace_index(epoch, quarter, len(self.paces))]
        sums, factors = np.empty((MEASURING, 2)), self.session.layout.n_factors
        run("factor_squares", self.session.parameters.P, self.counts, factors, self.every, sums)
        run("damp", self.team.allreduce(sums), paces, self.team.size, self.shares[:-1])

    def exchange(self, shares):
        """Add the weighted sum of all ranks' changes since the last exchange."""
        Q = self.session.parameters.Q
        changes = self.team.allreduce(Q - self.common)
        whole = changes[:, SQUARES - EXTRA].copy()
        changes *= shares[:, None]
        changes[:, SQUARES - EXTRA] = whole
        self.common += changes
        Q[...] = self.common

    def finish(self):
        """Do nothing: `process` returns after the last exchange."""

    def align(self):
        """Replace all copies by that of the first rank; they differ only after rows were set from outside."""
        Q = self.session.parameters.Q
        Q[...] = self.team.broadcast(Q)
        self.common = Q.copy()


class RowGather:
    """Exchange of rows that the ranks of a parallel.Team have computed."""

    def __init__(self, team, device):
        self.team = team

    def gather(self, table, spans):
        """Complete a table on all ranks; spans: (first, last + 1) of each rank's rows."""
        for span, rows in zip(spans, self.team.allgather(table[slice(*spans[self.team.rank])])):
            table[slice(*span)] = rows
