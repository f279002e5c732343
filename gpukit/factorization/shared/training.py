"""Training over ranks, written once for either device."""

from gpukit.factorization.shared.tour import travels
from gpukit.factorization.solvers.sgd import schedule


class Training:
    """Epochs of a rank at the rates of settings.Settings: its stops of a tour over a Road (cpu.py, gpu.py); first: the
    workers of the first epoch."""

    def __init__(self, settings, tour, road, rank, first):
        self.settings, self.tour, self.road, self.rank, self.first = settings, tour, road, rank, first
        self.walkers = {}  # of each block, the rank that has walked it last

    def epoch(self, number):
        """One pass over all ratings; returns when this rank's are done."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        stops, workers = self.tour.stops(number), self.road.session.workers if number else self.first
        for stop, moves in zip(stops, travels(stops, self.tour.stops(number + 1))):
            blocks = [block for block, rank in stop.walkers.items() if rank == self.rank]
            self.road.walk(stop.tables[self.rank], blocks, rates, turn, workers)
            self.road.send_off(moves)
            self.walkers.update(stop.walkers)
        self.road.finish()

    def gather(self):
        """Let every rank have all blocks as they are."""
        self.road.everywhere(self.walkers)
