"""Schedules of blocks over ranks.

Each rank processes each block once an epoch, one rank at a time, and blocks are moved to where they are needed.
"""

import numpy as np
import pytest

from gpukit.factorization.shared.partition import Lap, Ring, Strata, part_of, plan_moves

RINGS = [Ring(1), Ring(2), Ring(3), Ring(4)]
STRATA = [Strata((0, 0, 1, 1), True, 7), Strata((0, 1, 1, 2, 2), False, 7)]


@pytest.mark.parametrize("schedule", RINGS, ids=str)
def test_a_ring(schedule):
    stops = schedule.steps(0)
    for stop in stops:
        assert len(stop.block_ranks) == schedule.ranks == len(stop.tables)
        assert stop.block_ranks == {block: rank for rank, block in stop.tables.items()}
    for rank in range(schedule.ranks):
        assert sorted(stop.tables[rank] for stop in stops) == list(range(schedule.ranks))


@pytest.mark.parametrize("schedule", STRATA, ids=str)
def test_strata(schedule):
    """All blocks at each step, each with each block of users once an epoch."""
    orders = {tuple(stop.tables[0] for stop in schedule.steps(epoch)) for epoch in range(9)}
    assert len(orders) > 3
    met = [(block, rank) for stop in schedule.steps(2) for block, rank in stop.block_ranks.items()]
    for block in range(len(schedule.owners)):
        assert sorted(rank for other, rank in met if other == block) == sorted(schedule.owners)


@pytest.mark.parametrize("schedule", RINGS + STRATA, ids=str)
def test_blocks_are_on_the_rank_that_processes_them(schedule):
    place = {}
    for epoch in range(4):
        stops = schedule.steps(epoch)
        for stop, moves in zip(stops, plan_moves(stops, schedule.steps(epoch + 1)), strict=True):
            for block, rank in stop.block_ranks.items():
                assert place.setdefault(block, rank) == rank
            for move in moves:
                assert move.source == place[move.block] != move.target
                place[move.block] = move.target


@pytest.mark.parametrize("rows", [0, 4, 12, 400])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 0.1, 0.5, 1.0), tuple(share / 8 for share in range(9))], ids=str)
def test_laps_are_all_of_a_table_in_whole_quads(rows, bounds):
    table = np.arange(3 * rows).reshape(rows, 3)
    parts = [part_of(table, Lap(low, high, 4)) for low, high in zip(bounds, bounds[1:])]
    np.testing.assert_array_equal(np.concatenate(parts), table)
    assert all(len(part) % 4 == 0 for part in parts)
    for part, low, high in zip(parts, bounds, bounds[1:]):
        assert abs(len(part) - (high - low) * rows) <= 4
