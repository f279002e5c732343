"""Lists over the full ranking against their definitions: clicks, metrics, exposure, the judge."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.lists import (
    FEW,
    NAMES,
    Clicks,
    check_cuts,
    click_mask,
    clicks_in_rows,
    clicks_of,
    gini,
    judge,
    list_properties,
    metrics_of_hits,
    select_judged_pairs,
)

USERS, ITEMS, LENGTH = 37, 23, 12


@pytest.fixture
def random():
    return np.random.default_rng(5)


@pytest.fixture
def relevant(random):
    """Clicks of 0 to all items per user."""
    mask = random.random((USERS, ITEMS)) < random.random(USERS)[:, None]
    mask[3], mask[4] = False, True
    return clicks_of(*np.nonzero(mask), mask.shape)


@pytest.fixture
def lists(random):
    """(USERS, LENGTH) item rows, with the last ones of some users missing."""
    out = np.array([random.permutation(ITEMS)[:LENGTH] for _ in range(USERS)], np.int32)
    out[5, 4:], out[6] = -1, -1
    return out


def rows_of(clicks):
    return [set(clicks.items[a:b].tolist()) for a, b in zip(clicks.indptr, clicks.indptr[1:])]


def test_clicks_are_sorted_and_once():
    clicks = clicks_of(np.array([2, 0, 2, 0, 0]), np.array([1, 4, 0, 4, 3]), (4, 5))
    assert clicks.indptr.tolist() == [0, 2, 2, 4, 4] and clicks.items.tolist() == [3, 4, 0, 1]
    assert clicks.counts().tolist() == [2, 0, 2, 0] and clicks.of_items(5).tolist() == [1, 1, 0, 1, 1]
    again = clicks_in_rows(np.array([0, 2, 2, 4, 4]), np.array([4, 3, 1, 0], np.int32))
    assert again.items.tolist() == [3, 4, 0, 1] and again.indptr.tolist() == [0, 2, 2, 4, 4]


def test_contained(relevant, lists):
    found, sets = click_mask(relevant, np.arange(USERS), lists), rows_of(relevant)
    assert found.tolist() == [[item in sets[user] for item in line] for user, line in enumerate(lists.tolist())]


@pytest.mark.parametrize("k", [1, 2, 10, LENGTH])
def test_metrics_are_their_definitions(relevant, lists, k):
    users = np.flatnonzero(relevant.counts())
    hits = click_mask(relevant, users, lists[users])
    found, sets = metrics_of_hits(hits, relevant.counts()[users], k), rows_of(relevant)
    for place, user in enumerate(users):
        expected = naive.list_metrics(lists[user].tolist(), sets[user], k)
        assert {name: found[name][place] for name in NAMES} == pytest.approx(expected, abs=1e-14)


def test_what_is_shown_is_its_definition(random):
    clicks, lists = random.integers(0, 3 * FEW, ITEMS), [random.permutation(ITEMS)[:3].tolist() for _ in range(9)]
    slots = np.bincount(np.ravel(lists), minlength=ITEMS)
    assert list_properties(slots, clicks) == pytest.approx(naive.shown_to_all(lists, clicks.tolist(), FEW), abs=1e-14)
    assert gini(np.full(7, 3)) == pytest.approx(0) and gini(np.eye(1, 10)[0]) == pytest.approx(0.9)
    assert gini(np.zeros(4)) == 0


def test_the_judge_sees_users_in_tiles(relevant, lists, random):
    users, clicks, cuts = np.flatnonzero(relevant.counts()), random.integers(0, 30, ITEMS), (1, 5)
    tiles = [(part, lists[part]) for part in (users[:7], users[7:])]
    found, sets = judge("any", tiles, relevant, clicks, cuts), rows_of(relevant)
    for k in cuts:
        each = [naive.list_metrics(lists[user].tolist(), sets[user], k) for user in users]
        row = found.row(k)
        for name in NAMES:
            assert row[name] == pytest.approx(np.mean([one[name] for one in each]), abs=1e-13)
        kept = [[item for item in lists[user, :k].tolist() if item >= 0] for user in users]
        facts = naive.shown_to_all(kept, clicks.tolist(), FEW)
        assert {name: row[name] for name in facts} == pytest.approx(facts, abs=1e-13)
    assert found.row(1)["predictor"] == "any"


def test_no_users_to_judge_by(relevant):
    with pytest.raises(DataError, match="no users to judge"):
        judge("any", [], relevant, np.ones(ITEMS), (10,))


def test_lengths_of_lists():
    assert check_cuts(10, 10) == (10,) and check_cuts([50, 5, 5], 60) == (5, 50)
    with pytest.raises(ParameterError, match="k=11 is no length of a list; the model knows 10 items"):
        check_cuts([3, 11], 10)
    with pytest.raises(ParameterError, match="k must be an integer"):
        check_cuts(0, 10)
    with pytest.raises(ParameterError, match="no length"):
        check_cuts([], 10)


def test_which_clicks_can_be_judged():
    known = Clicks(np.array([0, 1, 3]), np.array([2, 0, 1], np.int32))
    users = np.array([0, 0, 2, 1, 1, 0, 1, 0])
    items = np.array([2, 1, 1, 3, 0, 1, 2, -1])
    kept, left = select_judged_pairs(users, items, known, 3)
    assert kept.tolist() == [False, True, False, False, False, False, True, False]
    assert left == (8, 1, 2, 2, 1)
