"""Training over ranks, for either device."""

import sys

import numpy as np

from gpukit.device.cpu_arrays import array_in_file
from gpukit.device.engine import engine
from gpukit.factorization.arrays import History
from gpukit.factorization.shared.partition import Copies, Lap, plan_moves
from gpukit.factorization.solvers.sgd import schedule


class Training:
    """Epochs of a rank of a Team over a BlockPipeline; laps: Laps of the first epoch."""

    def __init__(self, settings, block_schedule, pipeline, team, laps):
        self.settings, self.schedule, self.pipeline = settings, block_schedule, pipeline
        self.team, self.laps = team, laps
        self.block_ranks = {}  # rank that processed each block last

    def epoch(self, number):
        """Make one pass over all ratings; return when this rank's are done."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        steps = self.schedule.steps(number)
        laps = [Lap(0.0, 1.0, self.pipeline.session.workers)] if number else self.laps
        transfers = plan_moves(steps * len(laps), self.schedule.steps(number + 1))
        for (lap, step), moves in zip(((lap, step) for lap in laps for step in steps), transfers):
            blocks = [block for block, rank in step.block_ranks.items() if rank == self.team.rank]
            if blocks:
                self.pipeline.process(step.tables[self.team.rank], lap, blocks, rates, turn)
            self.pipeline.send_blocks(moves)
            self.block_ranks.update(step.block_ranks)
        self.pipeline.finish()
        if len(steps[0].tables) < self.team.size:
            self.team.barrier()  # an idle rank would run ahead and time out after ten minutes of waiting

    def gather(self):
        """Copy the current blocks to every rank."""
        self.pipeline.broadcast_blocks(self.block_ranks)


class Copied:
    """Epochs of a rank on its copy of the minor rows (own_steps.CopiedRows), exchanged during training."""

    def __init__(self, settings, copies, laps):
        self.settings, self.copies, self.laps = settings, copies, laps

    def epoch(self, number):
        """Make one pass over all ratings; return when all ranks' changes are added."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        workers = self.copies.session.workers if number else self.laps[0].workers
        self.copies.process(workers, rates, turn, number)
        self.copies.finish()

    def gather(self):
        """Make the copies of all ranks equal."""
        self.copies.align()


def training_of(settings, session, parts, laps, team, device):
    """Return the Training or Copied of a rank."""
    own_steps = engine(device, __package__)
    if isinstance(parts.schedule, Copies):
        return Copied(settings, own_steps.CopiedRows(session, settings, parts, team, device), laps)
    return Training(settings, parts.schedule, own_steps.BlockPipeline(session, parts, team, device), team, laps)


class SharedModel:
    """The DeviceModel (factorization/cpu.py) of a team, as far as training needs it.

    local: that of this rank; is_divided: the ratings are in parts, so only rank 0 gets the history of all users.
    """

    def __init__(self, local, training, parts, team, is_divided=False):
        self.local, self.training, self.parts, self.team = local, training, parts, team
        self.is_divided = is_divided

    def pairs_at_once(self):
        """See cpu.DeviceModel; the same on all ranks."""
        return sys.maxsize

    def ask(self, users, items):
        """See cpu.DeviceModel; each rank asks for its users, rank 0 also for unknown ones."""
        self.mask = np.append(self.parts.owner, 0)[users] == self.team.rank
        return (self.local.ask(users[self.mask], items[self.mask]) if self.mask.any() else None,)

    def truth(self, values):
        """See cpu.DeviceModel; of the pairs of the last `ask`."""
        return self.local.truth(values[self.mask]) if self.mask.any() else None

    def errors(self, pairs, truth, scale):
        """See cpu.DeviceModel; summed over ranks."""
        self.training.gather()
        sums = (0.0, 0.0) if truth is None else self.local.errors(*pairs, truth, scale)
        return tuple(map(float, self.team.allreduce(np.array(sums))))

    def state(self):
        """Return the current State, complete on every rank."""
        self.training.gather()
        state = self.local.state()
        for rank in range(self.team.size):
            users = self.parts.users_of(rank)
            for side in (state.user_factors, state.user_extras):
                side[users] = self.team.broadcast(side[users] if rank == self.team.rank else None, rank)
        return state

    @property
    def history(self):
        """Return the arrays.History of all users on the host of every rank, gathered on each access.

        Of ratings in parts rank 0 gets it in temporary files, other ranks have that of their users.
        """
        local = History(*(fetch_array(array) for array in self.local.history))
        if self.is_divided and self.team.rank:
            for first, last, _ in self._history_pieces(self.team.rank):
                for column in (local.items, local.codes):
                    self.team.send(0, column[first:last])
            return local
        counts, size = self.parts.counts[0], int(local.indptr[-1])
        empty = array_in_file if self.is_divided else np.empty
        indptr = np.zeros(len(counts) + 2, np.int64)
        indptr[1:-1] = np.cumsum(counts)
        indptr[-1] = indptr[-2]
        items, codes = empty(indptr[-1], np.int32), empty(indptr[-1], np.uint8)
        if self.is_divided:
            self._receive_history(local, indptr, items, codes)
            return History(indptr, items, codes, local.levels)
        for column, whole in ((local.items, items), (local.codes, codes)):
            for rank, part in enumerate(self.team.allgather(column[:size])):
                whole[row_positions(self.parts.users_of(rank), indptr)] = part
        return History(indptr, items, codes, local.levels)

    def _receive_history(self, local, indptr, items, codes):
        """Fill items and codes with the histories of all ranks, a piece at a time."""
        for rank in range(self.team.size):
            for first, last, users in self._history_pieces(rank):
                places = row_positions(users, indptr)
                for column, whole in ((local.items, items), (local.codes, codes)):
                    whole[places] = self.team.receive(rank) if rank else column[first:last]

    def _history_pieces(self, rank):
        """Yield (first, last + 1, users) of pieces of a rank's history, of 2**18 ratings or a user's."""
        piece = 1 << 18
        users = self.parts.users_of(rank)
        ends = np.cumsum(self.parts.counts[0][users])
        cuts = np.unique(np.searchsorted(ends, np.arange(piece, ends[-1], piece))) if len(users) else []
        for rows in np.split(np.arange(len(users)), cuts):
            if len(rows):
                counts = self.parts.counts[0][users[rows]]
                yield int(ends[rows[0]] - counts[0]), int(ends[rows[-1]]), users[rows]


def fetch_array(array):
    """Return an array on the host."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def row_positions(rows, indptr):
    """Return the positions of the ratings of rows, row by row, in the order given by indptr."""
    counts = np.diff(indptr)[rows]
    before = np.cumsum(counts) - counts
    return np.repeat(indptr[rows] - before, counts) + np.arange(int(counts.sum()))
