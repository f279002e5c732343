"""Training over ranks, written once for either device."""

from gpukit.factorization.shared.tour import travels
from gpukit.factorization.solvers.sgd import schedule


class Training:
    """Epochs of a rank at the rates of settings.Settings: its stops of a tour over a Road (cpu.py, gpu.py)."""

    def __init__(self, settings, tour, road, rank):
        self.settings, self.tour, self.road, self.rank = settings, tour, road, rank
        self.walkers = {}  # of each block, the rank that has walked it last

    def epoch(self, number):
        """One pass over all ratings; returns when this rank's are done."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        stops = self.tour.stops(number)
        for stop, moves in zip(stops, travels(stops, self.tour.stops(number + 1))):
            blocks = [block for block, rank in stop.walkers.items() if rank == self.rank]
            self.road.walk(stop.tables[self.rank], blocks, rates, turn)
            self.road.send_off(moves)
            self.walkers.update(stop.walkers)
        self.road.finish()

    def gather(self):
        """Let every rank have all blocks as they are."""
        self.road.everywhere(self.walkers)
