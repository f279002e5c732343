"""A live model against code that partial_fit does not share.

partial_fit has frozen rows.
"""

import copy

import numpy as np
import pytest

from factorization.online.test_live import KNOWN, fitted, whole_and_parts
from gpukit.errors import DataError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE
from gpukit.factorization.model.state import start_factors
from gpukit.factorization.online import device_state as merge
from gpukit.factorization.online import twins
from gpukit.factorization.online.inputs import NewRatings
from gpukit.neighbors import cpu as simlsh
from gpukit.neighbors import run
from gpukit.neighbors.plan import columns_of
from gpukit.random import key
from gpukit.ratings.orders.order import order_ratings
from gpukit.streams import Keyed

DAMPING, SWEEPS = (3.0, 11.0), 3  # damping of users' and items' baseline biases; sweeps


def baselines(model):
    """Return biases (of users, of items) in float64."""
    return [np.array(extras[:, BASE], np.float64) for extras in (model._state.user_extras, model._state.item_extras)]


def test_baselines_of_new_rows_are_damped_means():
    """Alternately, the items' first; rows with earlier ratings are unchanged."""
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    before.chosen_ = {**before.chosen_, "damping": DAMPING}
    live, part = before.live("cpu"), parts[0]
    live.add(part)
    mine = [np.concatenate((own, np.zeros(n - len(own)))) for own, n in zip(baselines(before), part.shape)]
    z = (part.values - before._scale.mean) / before._scale.deviation
    sides = (1, part.items, part.users), (0, part.users, part.items)
    for _ in range(SWEEPS):
        for side, rows, others in sides:
            for row in range(KNOWN[side], part.shape[side]):
                its = rows == row
                rest = z[its] - mine[1 - side][others[its]]
                mine[side][row] = rest.sum() / (its.sum() + DAMPING[side]) if its.any() else 0
    for found, expected in zip(baselines(live.model()), mine):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_new_rows_begin_by_the_seed():
    """Without factors if no epoch follows."""
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    found = []
    for n_epochs in (3, 0):
        other = copy.copy(before)
        other.random_state, other.learning_rate = 5, 1e-12
        other.chosen_ = {**before.chosen_, "n_epochs": n_epochs}
        live = other.live("cpu")
        live.add(parts[0])
        found.append(live.model()._state)
    expected = np.empty((80, 5), np.float32)
    start_factors(np.uint32(key(5, Keyed.FIRST_FACTORS[0])), expected)
    began = found[0].user_extras[:, BASE] != 0
    began[: KNOWN[0]] = False
    assert began.sum() > 10
    np.testing.assert_allclose(found[0].user_factors[began], expected[began], rtol=1e-4)
    np.testing.assert_array_equal(found[1].user_factors[KNOWN[0] :], 0)


def test_a_row_ends_where_the_next_begins():
    """A pair is not in the history.

    The next user has rated its item.
    """
    keys, marked, at = np.array([3 << 4], np.uint64), np.empty(1, np.uint64), np.empty(1, np.uint32)
    indptr, items, known = np.array([0, 2, 3, 3]), np.array([0, 1, 3], np.int32), np.zeros(1, np.int64)
    history = History(indptr, items, np.ones(3, np.uint8), np.zeros(256, np.float32))
    twins.find_pairs(keys, 8, 4, 4, 4, history, at, marked, known)
    assert (at[0], marked[0], known[0]) == (2, 3 << 4, 0)


def test_new_items_learn_their_neighbours():
    before, (_, _, parts) = fitted(LSHMF), whole_and_parts()
    live = before.live("cpu")
    live.add(parts[0])
    learned = live.model()._state.influence[np.unique(parts[0].items[parts[0].items >= KNOWN[1]])]
    assert len(learned) and np.all(np.abs(learned).max(axis=(1, 2)) > 0)


def test_answers_are_those_of_the_last_part():
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    live = before.live("cpu")
    earlier = live.predict(parts[0])
    live.add(parts[0])
    later = live.predict(parts[0])
    assert not np.array_equal(earlier, later)
    np.testing.assert_array_equal(later, live.model().predict(parts[0]))


@pytest.mark.parametrize("rule, value", [("last", 5.0), ("mean", 3.0)])
def test_a_pair_that_is_there_is_corrected_by_the_rule(rule, value):
    before, (_, old, _) = fitted(MatrixFactorization), whole_and_parts()
    one = old.take(np.flatnonzero(old.values == 1)[:1])
    live = before.live("cpu")
    live.add(one.with_columns(users=one.users, items=one.items, values=np.array([5], np.float32)), duplicates=rule)
    now = live._state.ratings.to_ratings(live.user_ids_, live.item_ids_)
    assert now.values[(now.users == one.users[0]) & (now.items == one.items[0])] == value and len(now) == len(old)


def test_counts_of_a_part_that_corrects_and_adds():
    """The codes are those of hashing all ratings."""
    before, (whole, old, parts) = fitted(LSHMF), whole_and_parts()
    fresh = (parts[0].users >= KNOWN[0]) | (parts[0].items >= KNOWN[1])
    again = old.take(np.arange(0, len(old), 3))
    columns = (np.concatenate((getattr(parts[0], name), getattr(again, name))) for name in ("users", "items"))
    values = np.concatenate((parts[0].values, again.values[::-1]))
    mixed = whole.take(np.arange(len(values))).with_columns(**dict(zip(("users", "items"), columns)), values=values)
    live = before.live("cpu")
    entry, corrected = live.add(mixed), np.count_nonzero(again.values[::-1] != again.values)
    assert (entry["ratings"], entry["corrected"], entry["walked"]) == (len(parts[0]), corrected, 3 * fresh.sum())
    assert 0 < corrected < len(again)
    ordered = columns_of(order_ratings(live._state.ratings.to_ratings(live.user_ids_, live.item_ids_), live._device))
    expected = run.simlsh_codes(simlsh, ordered, before._hashing(before.neighbors_.shape[1]))
    np.testing.assert_array_equal(live._state.hashes.tables[2].all, expected)


def test_a_model_keeps_its_own_record(monkeypatch):
    """Also its own arrays, where those of the live model are used again."""
    monkeypatch.setattr(RULES, "reserved_growth", 3.0)
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    live = before.live("cpu")
    live.add(parts[0])
    then = live.model()
    arrays = [np.copy(array) for array in (*then._rated, *then._state)]
    for part in parts[1:]:
        live.add(part)
    for array, expected in zip((*then._rated, *then._state), arrays):
        np.testing.assert_array_equal(array, expected)
    assert len(then.updates_) == 1 and len(live.updates_) == 3


def test_values_between_levels_are_new():
    """Also with a repeated last pair."""
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    live = before.live("cpu")
    few = parts[0].take(np.lexsort((parts[0].items, parts[0].users)))
    ids, rows = (np.arange(80), np.arange(30)), np.r_[np.arange(len(few)), len(few) - 1]
    between = np.where(np.arange(len(few)) == 5, np.float32(2.5), few.values)
    kept = NewRatings(few.users, few.items, few.values, *ids)
    odd = NewRatings(few.users, few.items, between, *ids)
    twice = NewRatings(few.users[rows], few.items[rows], few.values[rows], *ids)
    parts = [merge.sort_batch(part, live._state.ratings) for part in (kept, odd, twice)]
    assert [(one.has_unknown, one.has_repeats) for one in parts] == [(False, False), (True, False), (False, True)]


def test_more_rows_than_a_marked_key_holds():
    live, nobody = fitted(MatrixFactorization).live("cpu"), np.zeros(1, np.int64)
    ids = np.broadcast_to(nobody, 1 << 31), np.broadcast_to(nobody, 1 << 30)
    none = (np.zeros(0, dtype) for dtype in (np.int32, np.int32, np.float32))
    with pytest.raises(DataError, match="2,147,483,648 users x 1,073,741,824 items are too many for an update"):
        merge.sort_batch(NewRatings(*none, *ids), live._state.ratings)
