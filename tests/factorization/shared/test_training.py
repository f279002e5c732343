"""Epochs of ranks: none is ahead of the others."""

import time
from types import SimpleNamespace

from parallel.test_team import together

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.settings import check
from gpukit.factorization.shared.block_schedule import Lap, Strata
from gpukit.factorization.shared.training import Training


class Slow:
    """A BlockPipeline without rows, on which every walk takes a while; walked: of all ranks."""

    def __init__(self, walked):
        self.walked, self.session = walked, SimpleNamespace(workers=1)

    def walk(self, number, lap, blocks, rates, turn):
        time.sleep(0.02)
        self.walked.append(blocks)

    def send_off(self, moves):
        """Nothing travels."""

    def finish(self):
        """Nothing is queued."""


def test_a_rank_that_walks_nothing_waits_for_every_epoch():
    """Ranks are waited for ten minutes: the others' last epoch would be later than that."""
    tour, walked, plan = Strata((0, 1), True, 7), [], check(MatrixFactorization(n_factors=8), 1000)

    def counted(team):
        training, seen = Training(plan, tour, Slow(walked), team, [Lap(0.0, 1.0, 1)]), []
        for epoch in range(4):
            training.epoch(epoch)
            seen.append(len(walked))
        return seen

    assert [count >= 4 * epoch for epoch, count in enumerate(together(3, counted)[2], 1)] == [True] * 4
