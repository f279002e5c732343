"""New ratings merged into the history, against a dictionary."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.device import cpu
from gpukit.device.engine import common_steps
from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.arrays import Scale
from gpukit.factorization.online import device_state as merge
from gpukit.factorization.online import inputs
from gpukit.factorization.online.device_state import DeviceRatings, restore_values
from gpukit.ratings import Ratings
from gpukit.ratings.adopt import adopt

STEPS = common_steps("cpu", "gpukit.factorization.online")


@pytest.fixture(scope="module")
def fitted():
    return make(MatrixFactorization).fit(planted())


def triples(ratings):
    """Return {(user id, item id): rating}."""
    ids = zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist())
    return dict(zip(ids, ratings.values.tolist()))


def changed(fitted, new, duplicates="last", **more):
    """Return (DeviceRatings, NewRatings, Changes) of new ratings."""
    ratings = DeviceRatings(fitted._rated, fitted._scale, len(fitted.item_ids_), cpu())
    batch = inputs.in_rows(adopt(new), (fitted.user_ids_, fitted.item_ids_), ratings.steps)
    return ratings, batch, merge.find_changes(batch, merge.sort_batch(batch, ratings), ratings, duplicates, **more)


def merged(fitted, new, duplicates="last", **more):
    """Return (all Ratings, the changed ones, Changes) after a merge."""
    ratings, batch, changes = changed(fitted, new, duplicates, **more)
    merge.merge_changes(changes, ratings)
    assert ratings.history.indptr.tolist() == starts(ratings, batch, 0) and ratings.item_starts.tolist() == starts(
        ratings, batch, 1
    )
    return ratings.to_ratings(*batch[3:]), merge.changed_ratings(changes, ratings, batch[3:]), changes


def starts(ratings, batch, side):
    """Return the first rating of each row, with an empty row at the end."""
    whole = ratings.to_ratings(*batch[3:])
    counts = np.bincount((whole.users, whole.items)[side], minlength=batch.shape[side])
    return [0, *np.cumsum(counts).tolist(), len(whole)]


def test_old_and_new_and_corrected(fitted):
    old = triples(planted())
    (user, item), value = next(iter(old.items()))
    other = 6.0 - value if value != 3 else 4.0
    new = {(user, item): other, (1000, item): 4.5, (user, 2000): 2.0, (1000, 2000): 1.0, (-3, 7): 5.0}
    users, items = (np.array(ids) for ids in zip(*new))
    ratings, new_ratings, changes = merged(fitted, (users, items, np.array(list(new.values()), np.float32)))
    assert triples(ratings) == {**old, **new} and (changes.n_new, changes.n_corrected) == (4, 1)
    assert len(ratings) == len(old) + 4 and triples(new_ratings) == new
    assert ratings.user_ids.tolist() == [*planted().user_ids.tolist(), -3, 1000]
    assert ratings.item_ids.tolist() == [*planted().item_ids.tolist(), 2000]
    assert is_ascending(ratings)


@pytest.mark.parametrize("n_new", [0, 1, 40, 900])
@pytest.mark.parametrize("seed", range(3))
def test_many_at_once(fitted, n_new, seed):
    """Many pairs at once, against sorted dictionaries.

    Pairs at the ends of rows, of users without ratings, of new users and items.
    """
    rng, old = np.random.default_rng(seed), triples(planted())
    chosen = rng.choice(70 * 35, n_new, replace=False)
    users, items = 10 * (chosen // 35) + 7, 3 * (chosen % 35) + 1
    new = dict(zip(zip(users.tolist(), items.tolist()), rng.integers(1, 6, n_new).astype(float).tolist()))
    given = users, items, np.array(list(new.values()), np.float32)
    changes = {pair: value for pair, value in new.items() if old.get(pair) != value}
    if not changes:
        assert not len(changed(fitted, given)[2]) if n_new else True
        return
    for keep, expected in ((False, changes), (True, new)):
        ratings, new_ratings, found = merged(fitted, given, keep_unchanged=keep)
        assert triples(ratings) == {**old, **new} and found.n_corrected == len(old.keys() & expected.keys())
        assert triples(new_ratings) == expected and is_ascending(ratings)


def is_ascending(ratings):
    """Return True if the pairs of Ratings ascend."""
    return (np.diff((ratings.users.astype(np.int64) << 32) | ratings.items) > 0).all()


def test_the_mean_of_both(fitted):
    """Also next to a new pair and an unchanged one, whose ratings stay."""
    (pair, value), (same, kept) = list(triples(planted()).items())[:2]
    users, items = (np.array(ids) for ids in zip(pair, same, (1000, 7)))
    given = users, items, np.array([value + 1, kept, 4], np.float32)
    ratings, new_ratings, changes = merged(fitted, given, "mean")
    assert triples(new_ratings) == {pair: value + 0.5, (1000, 7): 4.0}
    assert (changes.n_new, changes.n_corrected) == (1, 1) and triples(ratings)[same] == kept


def test_a_known_pair_is_refused_by_rule_error(fitted):
    pair = next(iter(triples(planted())))
    new = np.array([pair[0]]), np.array([pair[1]]), np.ones(1, np.float32)
    with pytest.raises(DataError, match=f"User {pair[0]} has rated item {pair[1]} already.*duplicates='last'"):
        merged(fitted, new, "error")


@pytest.mark.parametrize("values", [[0.5, 1, 4.5], [-3.7, 0.1, 12.3456], [0, 0.00390625, 100], [1, 2, 3, 4, 5]])
def test_levels_become_the_ratings_they_were(values):
    values = np.array(values, np.float32)
    scale = Scale(float(values.mean()), float(values.std()) / 3, 0.0, 1.0)
    levels = np.zeros(256, np.float32)
    levels[1 : 1 + len(values)] = (values - scale.mean) / scale.deviation
    np.testing.assert_array_equal(restore_values(levels, scale)[1 : 1 + len(values)], values)


def test_ids_of_a_table_that_have_no_rating_are_not_added(fitted):
    row = np.array([2], np.int32)
    new = Ratings(row, row - 2, np.ones(1, np.float32), np.array([500, 600, 700]), np.arange(9))
    _, part, _ = changed(fitted, new)
    assert part.user_ids.tolist() == [*fitted.user_ids_.tolist(), 700] and part.users.tolist() == [60]
    assert part.item_ids.tolist() == [*fitted.item_ids_.tolist(), 0]


@pytest.mark.parametrize("known, new, grown", [([3, 1], ["1", "2"], [3, 1, 2]), (["3", "b"], [3, 4], ["3", "b", "4"])])
def test_numbers_and_text_that_spells_them(known, new, grown):
    rows, ids = inputs.extend_ids(np.array([0, 1, 0], np.int32), np.array(new), np.array(known), "user", STEPS)
    assert ids.tolist() == grown
    assert rows.tolist() == [grown.index(known[0] if new[0] == 3 else 1), len(known), rows[0]]


def test_text_among_numbers_is_refused():
    with pytest.raises(DataError, match="new item 'b7' is text, and the model's 2 item ids are whole numbers"):
        inputs.extend_ids(np.array([0], np.int32), np.array(["b7"]), np.array([1, 2]), "item", STEPS)


def test_ids_begin_with_the_known_ones():
    """Parts of one array and equal ids elsewhere match.

    Every second id and other ids do not.
    """
    ids = np.arange(10)
    for known in (ids[:7], ids[:7].copy(), ids):
        assert inputs.begins_with(ids, known)
    for known in (
        ids[::2][:4],
        ids[1:5],
        np.array([0, 2]),
        np.arange(11),
        ids[:7].view(np.float64),
        ids[:3].astype("U2"),
    ):
        assert not inputs.begins_with(ids, known)


def test_what_is_known_as_it_is_changes_nothing(fitted):
    """Only a corrected rating and one of a new user remain.

    All others of the table are known.
    """
    old = planted()
    new = {**triples(old), (1000, 7): 2.0}
    pair = next(iter(new))
    new[pair] = 6.0 - new[pair] if new[pair] != 3.0 else 4.0
    users, items = (np.array(ids) for ids in zip(*new))
    given = users, items, np.array(list(new.values()), np.float32)
    ratings, new_ratings, changes = merged(fitted, given)
    assert triples(new_ratings) == {pair: new[pair], (1000, 7): 2.0}
    assert (changes.n_new, changes.n_corrected) == (1, 1)
    _, _, changes = changed(fitted, old)
    assert len(changes) == 0


@pytest.mark.parametrize("count", [40, 300])
def test_new_values_become_levels(fitted, count):
    """Up to 254 levels, ratings are exact; beyond, the history has the nearest of 254 levels."""
    old, values = planted(), np.linspace(1.01, 4.99, count).astype(np.float32)
    known = triples(old.take(slice(0, 5)))
    users, items = (np.array(ids) for ids in zip(*known, *((2000 + t, 7) for t in range(count))))
    values = np.concatenate((np.float32(3.005) + np.arange(5, dtype=np.float32) / 100, values))
    ratings, batch, changes = changed(fitted, (users, items, values))
    merge.merge_changes(changes, ratings)
    whole, new_ratings = ratings.to_ratings(*batch[3:]), merge.changed_ratings(changes, ratings, batch[3:])
    new = dict(zip(zip(users.tolist(), items.tolist()), values.tolist()))
    expected, found = {**triples(old), **new}, triples(whole)
    assert found.keys() == expected.keys() and triples(new_ratings).keys() == new.keys()
    nearest = pytest.approx([*expected.values()], rel=0, abs=0 if count == 40 else 2.01 / 253)
    assert [found[pair] for pair in expected] == nearest
    assert ratings.levels.exact == (count == 40) and (np.diff(ratings.levels.values) > 0).all()
    stored, z = ratings.stored_values(), ratings.history.levels[ratings.history.codes]
    np.testing.assert_allclose(stored, whole.values, atol=0 if count == 40 else 2.01 / 253)
    np.testing.assert_allclose(z * ratings.scale.deviation + ratings.scale.mean, stored, atol=1e-5)
    assert len(np.unique(ratings.history.codes)) == len(ratings.levels.values) or count == 300
