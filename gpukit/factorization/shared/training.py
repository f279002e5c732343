"""Training over ranks, written once for either device."""

from gpukit.device.engine import engine
from gpukit.factorization.shared.block_schedule import Copies, Lap, travels
from gpukit.factorization.solvers.sgd import schedule


class Training:
    """Epochs of a rank of a Team at the rates of settings.Settings: its stops of a block_schedule over a
    BlockPipeline (cpu.py, gpu.py); laps: the block_schedule.Laps of the first epoch."""

    def __init__(self, settings, block_schedule, pipeline, team, laps):
        self.settings, self.schedule, self.pipeline = settings, block_schedule, pipeline
        self.team, self.laps = team, laps
        self.walkers = {}  # of each block, the rank that has walked it last

    def epoch(self, number):
        """One pass over all ratings; returns when this rank's are done."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        stops = self.schedule.stops(number)
        laps = [Lap(0.0, 1.0, self.pipeline.session.workers)] if number else self.laps
        journeys = travels(stops * len(laps), self.schedule.stops(number + 1))
        for (lap, stop), moves in zip(((lap, stop) for lap in laps for stop in stops), journeys):
            blocks = [block for block, rank in stop.walkers.items() if rank == self.team.rank]
            if blocks:
                self.pipeline.walk(stop.tables[self.team.rank], lap, blocks, rates, turn)
            self.pipeline.send_off(moves)
            self.walkers.update(stop.walkers)
        self.pipeline.finish()
        if len(stops[0].tables) < self.team.size:
            self.team.barrier()  # who walks nothing runs ahead else, and ranks are waited for ten minutes, not for good

    def gather(self):
        """Let every rank have all blocks as they are."""
        self.pipeline.everywhere(self.walkers)


class Copied:
    """Epochs of a rank that walks all rows of the minor side in a copy of its own (own_steps.CopiedRows), to which the
    others' changes are added while it walks."""

    def __init__(self, settings, copies, laps):
        self.settings, self.copies, self.laps = settings, copies, laps

    def epoch(self, number):
        """One pass over all ratings; returns when all ranks' changes are there."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        workers = self.copies.session.workers if number else self.laps[0].workers
        self.copies.walk(workers, rates, turn, number)
        self.copies.finish()

    def gather(self):
        """Let every rank have the same copy."""
        self.copies.align()


def training_of(settings, session, parts, laps, team, device):
    """The Training or Copied of a rank."""
    own_steps = engine(device, __package__)
    if isinstance(parts.schedule, Copies):
        return Copied(settings, own_steps.CopiedRows(session, settings, parts, team, device), laps)
    return Training(settings, parts.schedule, own_steps.BlockPipeline(session, parts, team, device), team, laps)
