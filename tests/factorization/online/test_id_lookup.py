"""Ratings that a live model accepts unchanged, and others."""

import copy

import numpy as np
import pytest

from factorization.inputs import make
from factorization.online.test_live import KNOWN, fitted, same_model, whole_and_parts
from gpukit.device.engine import common_steps
from gpukit.errors import DataError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.arrays import Scale
from gpukit.factorization.online import inputs
from gpukit.factorization.online.inputs import IdLookup
from gpukit.ratings import Ratings
from gpukit.ratings.adopt import adopt


def plain(users, items, user_ids, item_ids):
    """Unchecked Ratings."""
    users, items = (np.array(rows, np.int32) for rows in (users, items))
    return Ratings(users, items, np.ones(len(users), np.float32), np.array(user_ids), np.array(item_ids))


STEPS = common_steps("cpu", "gpukit.factorization.online")
SCALE = Scale(0.0, 1.0, 1.0, 1.0)
KNOWN_IDS = np.array([3, 5, 8]), np.array([1, 2])
AS_THEY_ARE = {
    "nothing new": plain([0, 2], [1, 0], [3, 5, 8], [1, 2]),
    "new users": plain([4, 0, 3], [1, 0, 1], [3, 5, 8, 9, 12], [1, 2]),
    "new ones of both, out of order": plain([4, 3], [0, 2], [3, 5, 8, 7, 6], [1, 2, 9]),
    "new ones without ratings": plain([4, 0, 6], [1, 0, 3], [3, 5, 8, 9, 12, 10, 4], [1, 2, 7, 9]),
}
NOT = {
    "other ids first": plain([0, 1], [0, 1], [5, 3, 8], [1, 2]),
    "fewer ids": plain([0, 1], [0, 1], [3, 5], [1, 2]),
    "none": plain([], [], [3, 5, 8], [1, 2]),
}
WRONG = {
    "an id twice": (plain([0, 3], [1, 0], [3, 5, 8, 5], [1, 2]), "5 twice"),
    "a new id twice": (plain([4, 3], [1, 0], [3, 5, 8, 9, 9], [1, 2]), "9 twice"),
    "a row beyond": (plain([0, 3], [1, 0], [3, 5, 8], [1, 2]), "user row 3, beyond"),
    "a row beyond, the known ids": (
        Ratings(*plain([0, 3], [1, 0], [0], [0]).columns().values(), *KNOWN_IDS),
        "row 3, bey",
    ),
    "a row below": (plain([0, 1], [1, -1], [3, 5, 8], [1, 2]), "item row -1, beyond"),
}


def read(ratings):
    """Return the NewRatings; of Ratings with a row out of range after all checks."""
    batch = inputs.in_rows(inputs.read_unchecked(ratings, None, KNOWN_IDS, SCALE), KNOWN_IDS, STEPS)
    return batch or inputs.in_rows(adopt(ratings), KNOWN_IDS, STEPS)


@pytest.mark.parametrize("name", [*AS_THEY_ARE, *NOT])
def test_ids_of_ratings_that_are_checked_and_that_are_not(name):
    """New ids are appended in the order of the table, those without ratings are left out."""
    ratings = {**AS_THEY_ARE, **NOT}[name]
    if len(ratings):
        assert inputs.is_well_formed(ratings, KNOWN_IDS) == (name in AS_THEY_ARE)
    before, batch = ratings.users.copy(), read(ratings)
    sides = (ratings.user_ids, ratings.users), (ratings.item_ids, ratings.items)
    for (ids, rows), known, now, extended in zip(sides, KNOWN_IDS, batch[:2], batch[3:]):
        occur = [one for one in ids.tolist() if one in ids[rows] and one not in known]
        assert extended.tolist() == [*known.tolist(), *occur]
        assert extended[now].tolist() == ids[rows].tolist()
    np.testing.assert_array_equal(ratings.users, before)


def test_ids_are_found_again():
    """By a table that grows with the known ids, and by another one for more ids than these."""
    find, known = IdLookup(), np.array([30, 10, 20])
    assert find(np.array([20, 5, 30]), known).tolist() == [2, -1, 0]
    assert find(np.array([40, 20, 5]), np.append(known, [5, 40])).tolist() == [4, 2, 3]
    assert find(np.array([10, 7, 40, 10, 30, 8]), np.append(known, [5, 40])).tolist() == [1, -1, 4, 1, 0, -1]
    assert find(np.array(["10", "x"]), known).tolist() == [1, -1]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    ratings, line = WRONG[name]
    with pytest.raises(DataError, match=line):
        read(ratings)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_ratings_that_are_no_numbers(value):
    _, old, _ = whole_and_parts()
    before = fitted(MatrixFactorization)
    live, values = before.live("cpu"), old.values[:9].copy()
    values[4] = value
    with pytest.raises(DataError, match="finite number"):
        live.add(Ratings(old.users[:9], old.items[:9], values, old.user_ids, old.item_ids))
    assert same_model(live.model(), before)


def test_an_unchecked_part():
    """Users and items after the known ones: the same as partial_fit."""
    whole, _, _ = whole_and_parts()
    new = np.flatnonzero((whole.users >= KNOWN[0]) | (whole.items >= KNOWN[1]))
    part = Ratings(*(one[new] for one in (whole.users, whole.items, whole.values)), whole.user_ids, whole.item_ids)
    before = make(LSHMF, n_epochs=2, n_factors=5).fit(whole_and_parts()[1])
    live = before.live("cpu")
    assert inputs.is_well_formed(part, (live.user_ids_, live.item_ids_))
    live.add(part)
    assert same_model(live.model(), copy.copy(before).partial_fit(part, rows="frozen"))
