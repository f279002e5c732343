"""Training over ranks, for either device."""

import sys

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.arrays import History
from gpukit.factorization.model.parts import row_positions
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

    local: that of this rank; own_users: rows of the users whose model a rank gets, those of its ratings in parts; None:
    all ranks get that of all users.
    """

    def __init__(self, local, training, parts, team, own_users=None):
        self.local, self.training, self.parts, self.team = local, training, parts, team
        self.own_users = own_users

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
        """Return the current State of all users, or of own_users."""
        self.training.gather()
        state = self.local.state()
        if self.own_users is not None:
            sides = state.user_factors[self.own_users], state.user_extras[self.own_users]
            return state._replace(user_factors=sides[0], user_extras=sides[1])
        for rank in range(self.team.size):
            users = self.parts.users_of(rank)
            for side in (state.user_factors, state.user_extras):
                side[users] = self.team.broadcast(side[users] if rank == self.team.rank else None, rank)
        return state

    @property
    def history(self):
        """Return the arrays.History of all users, or of own_users, on the host; gathered on each access."""
        local = History(*(fetch_array(array) for array in self.local.history))
        size = int(local.indptr[-1])
        if self.own_users is not None:  # the others have no ratings here
            indptr = np.append(local.indptr[self.own_users], [size, size])
            return History(indptr, local.items[:size], local.codes[:size], local.levels)
        counts = self.parts.counts[0]
        indptr = np.concatenate([[0], np.cumsum(counts), [counts.sum()]]).astype(np.int64)
        items, codes = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.uint8)
        for column, whole in ((local.items, items), (local.codes, codes)):
            for rank, part in enumerate(self.team.allgather(column[:size])):
                whole[row_positions(self.parts.users_of(rank), indptr)] = part
        return History(indptr, items, codes, local.levels)


def fetch_array(array):
    """Return an array on the host."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()
