"""Training data of a rank: every rating once, in chunks of its block."""

import numpy as np
import pytest
from parallel.test_team import together

from factorization.shared.data import ratings
from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.factorization import cpu as preparing
from gpukit.factorization import cpu as steps
from gpukit.factorization.constants import USUAL
from gpukit.factorization.prepare.training_data import (
    PreparationOptions,
    fit_baseline,
    prepare_ratings,
    scale_of,
)
from gpukit.factorization.settings import check
from gpukit.factorization.shared import cpu as own_steps
from gpukit.factorization.shared import partition
from gpukit.factorization.shared.partition import Copies, Parts, Ring, parts_of
from gpukit.factorization.shared.training import ratings_of_rank
from gpukit.ratings.orders.order import order_ratings

WAY = PreparationOptions("users", 3, False, False, USUAL)


def prepared(table, walk, team, deterministic=False, trend=()):
    """Return (Parts, Orders, Scale, TrainingData, tables) of a rank."""
    way = WAY._replace(walk=walk, deterministic=deterministic, trend=trend)
    parts = parts_of(table, team.size, way, preparing)
    orders = order_ratings(ratings_of_rank(table, parts, team.rank), cpu(), team)
    ranks = partition.rank_means(orders, parts, team)
    scale = scale_of(orders, table.values)
    made = prepare_ratings(orders, scale, way, preparing, ranks=ranks, assignment=parts.assignment_on(team.rank, walk))
    plan = check(settings_like(walk), len(table))
    layout = steps.layout(8, 0)
    tables, *_ = partition.chunk_tables(made.side, parts, way, plan, layout, steps, own_steps)
    return parts, orders, made.scale, made, tables


def settings_like(walk):
    """An estimator with default parameters."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    return (MatrixFactorization if walk == "users" else LSHMF)(n_factors=8)


@pytest.mark.parametrize("size, deterministic", [(2, False), (2, True), (7, True)])
@pytest.mark.parametrize("walk", ["users", "items"])
def test_every_rating_is_processed_once_in_its_block(walk, size, deterministic, monkeypatch):
    table = ratings()
    monkeypatch.setattr(preparing, "GRAIN", 20)  # for several blocks of so few ratings: five
    done = together(size, lambda team: prepared(table, walk, team, deterministic))
    seen = set()
    for rank, (parts, _, scale, made, tables) in enumerate(done):
        for number, chunks in enumerate(tables):
            for row, first, length in chunks[chunks[:, 2] > 0]:
                for t in range(first, first + length):
                    user, item = (row, made.side.minor[t]) if walk == "users" else (made.side.minor[t], row)
                    user = parts.users_of(rank)[user]
                    assert parts.owner[user] == rank
                    if not deterministic:
                        assert parts.block[item] == number
                    value = made.side.values[t] * scale.deviation + scale.mean
                    assert (user, item) not in seen
                    seen.add((int(user), int(item), round(float(value), 3)))
    assert seen == {(int(u), int(i), round(float(v), 3)) for u, i, v in zip(table.users, table.items, table.values)}


@pytest.mark.parametrize("trend", [(), (0.3, 0.9)], ids=["mean", "trend"])
@pytest.mark.parametrize("size, deterministic", [(2, False), (4, False), (4, True)])
def test_levels_mean_and_baselines_are_those_of_all_ratings(size, deterministic, trend):
    """Also on ranks without ratings: deterministic training has one block of so few ratings."""
    table, way = ratings(), WAY._replace(trend=trend)
    orders = order_ratings(table, cpu())
    scale = scale_of(orders, table.values)
    level, users, items = fit_baseline(orders, scale, preparing, way)
    scale = scale._replace(mean=scale.mean + scale.deviation * level)
    done = together(size, lambda team: prepared(table, "users", team, deterministic, trend))
    for rank, (parts, own, its, made, _) in enumerate(done):
        np.testing.assert_array_equal(own.levels.values, orders.levels.values)
        np.testing.assert_array_equal(own.levels.counts, orders.levels.counts)
        np.testing.assert_allclose(its, scale, rtol=1e-12)
        mine = parts.users_of(rank)
        np.testing.assert_allclose(made.baseline[1], items, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(made.baseline[0], users[mine], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("deterministic", [False, True])
def test_values_that_a_rank_alone_has_are_levels_of_all(deterministic):
    """Values of one rank are levels of all.

    Also with too many values for levels, on one rank or on all together, and on a rank without ratings.
    """
    for values in (lambda n: np.arange(n) % 7, lambda n: np.arange(n) % 400, lambda n: np.arange(n) * 1e-3):
        table = ratings(values)
        whole = order_ratings(table, cpu())
        for _, own, *_ in together(2, lambda team, table=table: prepared(table, "users", team, deterministic)):
            np.testing.assert_array_equal(own.levels.values, whole.levels.values)
            assert own.levels.exact == whole.levels.exact
            np.testing.assert_array_equal(own.levels.counts, whole.levels.counts)


def test_no_ratings_on_any_rank_are_refused():
    none = ratings().take(slice(0))
    for error in together(2, lambda team: order_ratings(none, cpu(), team)):
        assert isinstance(error, DataError) and "There are no ratings" in str(error)


def test_workers_share_rows_no_more_than_on_one_gpu():
    """Workers on a row at Netflix shape, as on one GPU.

    The most popular item has 0.24% of the ratings.
    """
    items, users = np.full(17_770, 5_600), np.full(480_189, 207)
    items[0], users[0] = 237_000, 17_000
    parts = Parts(np.zeros(1), (users, items), np.arange(2), None, Ring(2))
    plan = check(settings_like("items"), int(users.sum()))
    found = partition.bound_workers(12_672, parts, "items", plan)
    assert found[0] == pytest.approx(12_672, rel=0.05) and found[1] == 12_672
    few = partition.bound_workers(2, parts, "items", plan)
    assert few == (2, 2)


@pytest.mark.parametrize("ranks, first", [(2, 1.0), (3, 1 / 3), (4, 0.25), (8, 0.125)])
def test_many_copies_of_a_row_step_as_often_as_one_gpu_at_first(ranks, first):
    """Two ranks each take the concurrent steps of one GPU.

    More ranks do so together.
    """
    items, users = np.full(17_770, 5_600), np.full(480_189, 207)
    items[0] = 237_000
    parts = Parts(np.zeros(1), (users, items), np.zeros(17_770, np.int32), None, Copies(ranks))
    plan = check(settings_like("users"), int(users.sum()))
    found = partition.bound_workers(11_520, parts, "users", plan)
    assert found[0] == pytest.approx(12_672 * first, rel=0.1) and found[1] == 11_520


@pytest.mark.parametrize(
    "asked, found",
    [((11_136, 11_136), (11_136, 11_136)), ((10_968, 11_136), (10_968, 10_968)), ((8_352, 11_136), (8_352, 8_352))]
    + [((8_348, 11_136), (5_568, 11_136)), ((2_000, 11_136), (1_856, 11_136)), ((1, 8), (1, 8)), ((2, 3), (1, 2))],
)
def test_the_first_workers_have_whole_shares_of_the_others(asked, found):
    """Never more than requested; whole warps if there are several."""
    first, workers = partition.match_workers(*asked)
    assert (first, workers) == found
    assert first <= asked[0] and workers <= asked[1] and workers % first == 0 and (first < 4 or first % 4 == 0)


def test_chunks_are_dealt_to_the_first_epochs_workers(monkeypatch):
    """If slightly fewer workers start the first epoch, later epochs use the same number."""
    monkeypatch.setattr(partition, "bound_workers", lambda *_: (10, 12))
    monkeypatch.setattr(own_steps, "most_copy_workers", lambda layout: 12)
    table, dealt_to = ratings(), []
    cut = partition.cut_table

    def noted(counts, starts, pace, *more):
        dealt_to.append(pace.workers)
        return cut(counts, starts, pace, *more)

    monkeypatch.setattr(partition, "cut_table", noted)
    together(2, lambda team: prepared(table, "users", team))
    assert dealt_to == [10, 10]
