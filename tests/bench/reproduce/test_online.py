"""Online learning: the new rows, and a run of Table 9."""

import pytest
from factorization.inputs import planted

from gpukit.bench import Conditions, find, solvers
from gpukit.device import cpu


def test_the_last_users_and_items_are_new():
    ratings = planted(300, 200, 0.2)
    late = (ratings.users >= 297) | (ratings.items >= 198)
    old, new = solvers.split_new(ratings)
    assert len(new) == late.sum() and len(old) == (~late).sum()
    assert old.user_ids.max() <= ratings.user_ids[296] and old.item_ids.max() <= ratings.item_ids[197]
    assert (old.user_ids[old.users] == ratings.user_ids[ratings.users[~late]]).all()
    assert set(old.users.tolist()) == set(range(old.shape[0]))


@pytest.mark.nightly
def test_table_9_runs():
    rows = list(find("solvers.table9")(Conditions(cpu(), ("ml-10m",), 0.001)))
    assert [row.unit for row in rows] == ["RMSE"] * 3 and all(row.data == "generated" for row in rows)
    assert " new" in rows[0].note and "0.00040" in rows[1].note
    assert all(abs(row.samples[0]) < 0.1 for row in rows[1:])
