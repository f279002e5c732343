"""Training over ranks, written once for either device."""

from gpukit.factorization.shared.tour import travels
from gpukit.factorization.solvers.sgd import schedule

LAPS = 8  # in the first epoch; with 1 ranks learn apart for half an epoch or more, with 4 as well as one GPU


class Training:
    """Epochs of a rank at the rates of settings.Settings: its stops of a tour over a Road (cpu.py, gpu.py); first: the
    workers of the first epoch."""

    def __init__(self, settings, tour, road, rank, first):
        self.settings, self.tour, self.road, self.rank, self.first = settings, tour, road, rank, first
        self.walkers = {}  # of each block, the rank that has walked it last

    def epoch(self, number):
        """One pass over all ratings; returns when this rank's are done.

        Factors begin at random, and which directions mean what is settled as they grow. Ranks that grew theirs by
        themselves would have to unlearn them, so blocks go round LAPS times in the first epoch, a part of their ratings
        each time.
        """
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        stops, workers = self.tour.stops(number), self.road.session.workers if number else self.first
        laps = 1 if number else self.tour.laps(LAPS)
        parts = [(lap, laps) for lap in range(laps) for _ in stops]
        stops = stops * laps
        for stop, moves, part in zip(stops, travels(stops, self.tour.stops(number + 1)), parts):
            blocks = [block for block, rank in stop.walkers.items() if rank == self.rank]
            self.road.walk(stop.tables[self.rank], part, blocks, rates, turn, workers)
            self.road.send_off(moves)
            self.walkers.update(stop.walkers)
        self.road.finish()

    def gather(self):
        """Let every rank have all blocks as they are."""
        self.road.everywhere(self.walkers)
