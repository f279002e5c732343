"""Online learning: the new rows, and a run of Table 9."""

import numpy as np
import pytest
from factorization.inputs import planted

from gpukit.bench import Conditions, find, solvers
from gpukit.device import cpu
from gpukit.ratings import synth_ratings


def test_the_last_users_and_items_are_new():
    ratings = planted(300, 200, 0.2)
    late = (ratings.users >= 297) | (ratings.items >= 198)
    old, new = solvers.split_new(ratings)
    assert len(new) == late.sum() and len(old) == (~late).sum()
    assert old.user_ids.max() <= ratings.user_ids[296] and old.item_ids.max() <= ratings.item_ids[197]
    assert (old.user_ids[old.users] == ratings.user_ids[ratings.users[~late]]).all()
    assert set(old.users.tolist()) == set(range(old.shape[0]))


def test_the_fraction_of_new_ratings_is_the_papers():
    ratings = synth_ratings("ml-10m", 0.02)
    late = solvers.paper_rows(ratings, "ml-10m")
    users, items = (np.unique(rows[late]) for rows in (ratings.users, ratings.items))
    missing = np.setdiff1d(users, ratings.users[~late]), np.setdiff1d(items, ratings.items[~late])
    assert len(missing[0]) >= round(0.01 * ratings.shape[0]) and len(missing[1]) >= round(0.01 * ratings.shape[1])
    assert abs(late.mean() / (110_807 / 9_900_054) - 1) < 0.1
    assert solvers.similar_rows(np.array([5, 1, 9, 3, 7]), 2, 9).tolist() == [True, False, False, True, False]


@pytest.mark.nightly
def test_table_9_runs():
    rows = list(find("solvers.table9")(Conditions(cpu(), ("ml-10m",), 0.001)))
    assert [row.unit for row in rows] == ["RMSE"] * 3 and all(row.data == "generated" for row in rows)
    assert "the paper: 69,180 users" in rows[0].note and "0.00040" in rows[1].note
    assert all(abs(row.samples[0]) < 0.1 for row in rows[1:])
