"""How much of the history an update walks."""

import pytest

from gpukit.factorization.update.plan import FEW, LATE, walk_of


@pytest.mark.parametrize("before, new", [(700_000, 78_172), (685_077, 65_636), (49, 49), (3, 1), (10**8, 10**7 + 3)])
def test_the_whole_history_is_walked_when_it_is_time(before, new):
    """Whatever the quotient of old and new ratings rounds to."""
    walk = walk_of(None, before, before + new, before, 12)
    assert walk.is_whole and walk.epochs == pytest.approx((0, 2.4, 4.8, 7.2, 9.6))


@pytest.mark.parametrize(
    "epochs, walked", [(1, (0,)), (3, (0,)), (4, (0, 2)), (8, (0, 8 / 3, 16 / 3)), (50, (0, 10, 20, 30, 40))]
)
def test_few_epochs_where_few_were_chosen(epochs, walked):
    """Ratings that a training of three epochs has learned are not to be learned by heart in five."""
    assert walk_of(None, 100, 120, 100, epochs).epochs == pytest.approx(walked)


def test_whole_walks_of_many_sizes():
    assert all(walk_of(None, before, before + before // 7 + 1, before, 12).is_whole for before in range(10_000, 10_500))


def test_little_growth_walks_what_is_new():
    walk = walk_of(None, 1_000_000, 1_010_000, 1_000_000, 12)
    assert not walk.is_whole and walk.share == FEW * 0.01 and walk.epochs == tuple(range(12 - LATE, 12))
    assert walk_of(None, 1_000_000, 1_010_000, 960_000, 12).is_whole  # growth since the last whole walk counts


def test_replay_is_obeyed():
    assert walk_of(3.0, 1000, 1100, 0, 12).share == pytest.approx(0.3)
    assert walk_of(0.0, 1000, 5000, 1000, 12).share == 0.0
    assert walk_of(10.0, 1000, 1100, 1000, 12).is_whole
