"""Epochs over ranks: no rank is ahead of the others."""

import time
from types import SimpleNamespace

from parallel.test_team import together

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.settings import check
from gpukit.factorization.shared.partition import Lap, Strata
from gpukit.factorization.shared.training import Training


class Slow:
    """A BlockPipeline without rows and with slow processing; processed: blocks of all ranks."""

    def __init__(self, processed):
        self.processed, self.session = processed, SimpleNamespace(workers=1)

    def process(self, number, lap, blocks, rates, turn):
        time.sleep(0.02)
        self.processed.append(blocks)

    def send_blocks(self, moves):
        """Send nothing."""

    def finish(self):
        """Nothing is queued."""


def test_an_idle_rank_waits_for_every_epoch():
    """An idle rank waits for the last epoch of the others.

    Waiting ends after ten minutes; the last epoch would be later.
    """
    schedule, processed, plan = Strata((0, 1), True, 7), [], check(MatrixFactorization(n_factors=8), 1000)

    def counted(team):
        training, seen = Training(plan, schedule, Slow(processed), team, [Lap(0.0, 1.0, 1)]), []
        for epoch in range(4):
            training.epoch(epoch)
            seen.append(len(processed))
        return seen

    assert [count >= 4 * epoch for epoch, count in enumerate(together(3, counted)[2], 1)] == [True] * 4
