"""A table read by one rank is equal on all of them."""

import numpy as np
import pytest
from parallel.test_team import together

from gpukit.errors import DataError
from gpukit.ratings import Ratings
from gpukit.ratings import read as reading
from gpukit.ratings.table import DISTINCT, SOUND, set_state

TEXTS = np.array(["", "b" * 10**5, "ça"])


def table(ids, n=50, **more):
    rng = np.random.default_rng(0)
    sides = rng.integers(0, 3, n).astype(np.int32), rng.integers(0, 4, n).astype(np.int32)
    return Ratings(*sides, rng.random(n, np.float32), ids, np.arange(4) * 10**15, **more)


TABLES = [
    set_state(table(np.arange(3)), SOUND),
    table(TEXTS, times=np.arange(50), weights=np.ones(50, np.float32)),
    set_state(table(TEXTS, counts=np.arange(50, dtype=np.int32)), DISTINCT),
    table(np.arange(3), 0),
]


@pytest.mark.parametrize("sent", TABLES, ids=repr)
def test_all_ranks_have_it(sent):
    def read():
        assert team_of_reader.pop() == 0
        return sent

    team_of_reader = [0]  # it is read once
    for got in together(3, lambda team: reading.read_by_first(read, team)):
        assert isinstance(got, Ratings), got
        assert got._state == sent._state
        for name, column in {**sent.columns(), "user_ids": sent.user_ids, "item_ids": sent.item_ids}.items():
            assert getattr(got, name).dtype == column.dtype, name
            np.testing.assert_array_equal(getattr(got, name), column, name)
        assert got.columns().keys() == sent.columns().keys()


def test_what_reading_raises_ends_all():
    def read():
        raise DataError("line 3 has no rating.")

    done = together(2, lambda team: reading.read_by_first(read, team))
    assert [str(error) for error in done] == ["line 3 has no rating."] * 2
    assert done[1].exit_code == DataError.exit_code
