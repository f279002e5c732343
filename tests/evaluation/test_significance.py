"""Significance of differences: against all choices of signs for few users, and for equal models."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.errors import DataError
from gpukit.evaluation import significance
from gpukit.evaluation.significance import compare


@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_all_choices_of_signs(seed):
    change = np.random.default_rng(seed).integers(-3, 5, 11) / 4
    found = compare(change, np.zeros(11), seed)
    assert found.p == pytest.approx(naive.flipped(change), abs=0.02)


def test_the_interval_is_normal():
    random = np.random.default_rng(0)
    ours, theirs = random.random(400), random.random(400)
    found, change = compare(ours, theirs), ours - theirs
    half = 1.959964 * change.std(ddof=1) / 20
    assert found[:3] == pytest.approx((change.mean(), change.mean() - half, change.mean() + half), abs=1e-7)
    assert found.users == 400


def test_one_user_has_no_interval():
    found = compare([0.5], [0.25])
    assert (found.mean, found.p, found.users) == (0.25, 1, 1) and np.isnan([found.low, found.high]).all()


def test_alike_and_far_apart():
    ours = np.random.default_rng(1).random(300)
    assert compare(ours, ours) == (0, 0, 0, 1, 300)
    assert compare(ours + 1, ours).p == pytest.approx(1 / (1 + significance.FLIPS))
    assert compare(ours, ours[::-1]).p > 0.05


def test_models_that_are_alike_seldom_differ():
    """For pairs from one distribution, p is below 0.1 in about every tenth case."""
    random = np.random.default_rng(7)
    below = sum(compare(*(random.random((2, 200)) < 0.3), seed).p < 0.1 for seed in range(300))
    assert 12 <= below <= 48


def test_the_seed_decides(monkeypatch):
    ours, theirs = np.random.default_rng(3).random((2, 50))
    assert compare(ours, theirs, 1) == compare(ours, theirs, 1)
    monkeypatch.setattr(significance, "DRAWS", 50 * 1500)
    assert round(1 / compare(ours + 9, theirs).p) == 1501


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [1.0, 2.0]), ([[1.0]], [[2.0]])])
def test_values_that_do_not_pair(ours, theirs):
    with pytest.raises(DataError, match="two values of each user"):
        compare(ours, theirs)
