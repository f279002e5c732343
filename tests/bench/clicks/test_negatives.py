"""Epochs with sampled negatives on a handful of clicks."""

import numpy as np
import pytest

from gpukit.bench import ratings
from gpukit.bench.clicks import negatives
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu


@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_an_epoch_of_each_model_and_loss(monkeypatch):
    monkeypatch.setattr(ratings, "check_finite", lambda session: None)  # on so few clicks factors hardly move
    rows = list(negatives.negatives(Conditions(cpu(), ("ml-10m",), 0.0003)))
    assert len({row.what for row in rows}) == len(rows) == 6
    assert all("4 negatives" in row.note and min(row.samples) > 0 for row in rows)


def test_clicks_are_ones():
    table = negatives.as_clicks(ratings.generated("ml-10m", 0.0003)[0])
    assert (np.asarray(table.values) == 1).all() and len(table)
