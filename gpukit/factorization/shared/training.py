"""Training over ranks, for either device."""

from gpukit.device.engine import engine
from gpukit.factorization.shared.block_schedule import Copies, Lap, plan_moves
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
