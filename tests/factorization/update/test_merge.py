"""New ratings merged into the history, against a dictionary."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.arrays import Scale
from gpukit.factorization.update import inputs, merge
from gpukit.ratings import Ratings


@pytest.fixture(scope="module")
def fitted():
    return make(MatrixFactorization).fit(planted())


def triples(ratings):
    """Return {(user id, item id): rating}."""
    ids = zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist())
    return dict(zip(ids, ratings.values.tolist()))


def merged(fitted, new, duplicates="last"):
    part = inputs.part_of(new, None, fitted.user_ids_, fitted.item_ids_, duplicates, lambda ratings: ratings)
    return merge.merged(fitted._rated, fitted._scale, part, duplicates)


def test_old_and_new_and_corrected(fitted):
    old = triples(planted())
    (user, item), value = next(iter(old.items()))
    new = {(user, item): 6.0 - value, (1000, item): 4.5, (user, 2000): 2.0, (1000, 2000): 1.0, (-3, 7): 5.0}
    users, items = (np.array(ids) for ids in zip(*new))
    found = merged(fitted, (users, items, np.array(list(new.values()), np.float32)))
    assert triples(found.ratings) == {**old, **new} and found.corrected == 1
    assert len(found.ratings) == len(old) + 4
    mine = triples(found.ratings.take(found.new))
    assert mine == new
    assert found.ratings.user_ids.tolist() == [*planted().user_ids.tolist(), -3, 1000]
    assert found.ratings.item_ids.tolist() == [*planted().item_ids.tolist(), 2000]
    keys = merge.pair_keys(found.ratings.users, found.ratings.items)
    assert (np.diff(keys) > 0).all()


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
    found = merged(fitted, (users, items, np.array(list(new.values()), np.float32)))
    assert triples(found.ratings) == {**old, **new} and found.corrected == len(old.keys() & new.keys())
    assert triples(found.ratings.take(found.new)) == new
    assert (np.diff(merge.pair_keys(found.ratings.users, found.ratings.items)) > 0).all()


def test_the_mean_of_both(fitted):
    (user, item), value = next(iter(triples(planted()).items()))
    found = merged(fitted, (np.array([user]), np.array([item]), np.array([value + 1], np.float32)), "mean")
    assert triples(found.ratings)[user, item] == value + 0.5 and found.corrected == 1


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
    np.testing.assert_array_equal(merge.values_of(levels, scale)[1 : 1 + len(values)], values)


def test_ids_of_a_table_that_have_no_rating_are_not_added(fitted):
    row = np.array([2], np.int32)
    new = Ratings(row, row - 2, np.ones(1, np.float32), np.array([500, 600, 700]), np.arange(9))
    part = inputs.part_of(new, None, fitted.user_ids_, fitted.item_ids_, "last", lambda ratings: ratings)
    assert part.user_ids.tolist() == [*fitted.user_ids_.tolist(), 700] and part.users.tolist() == [60]
    assert part.item_ids.tolist() == [*fitted.item_ids_.tolist(), 0]


@pytest.mark.parametrize("known, new, grown", [([3, 1], ["1", "2"], [3, 1, 2]), (["3", "b"], [3, 4], ["3", "b", "4"])])
def test_numbers_and_text_that_spells_them(known, new, grown):
    rows, ids = inputs.extend_ids(np.array([0, 1, 0], np.int32), np.array(new), np.array(known), "user")
    assert ids.tolist() == grown
    assert rows.tolist() == [grown.index(known[0] if new[0] == 3 else 1), len(known), rows[0]]


def test_text_among_numbers_is_refused():
    with pytest.raises(DataError, match="new item 'b7' is text, and the model's 2 item ids are whole numbers"):
        inputs.extend_ids(np.array([0], np.int32), np.array(["b7"]), np.array([1, 2]), "item")


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
    values = np.array(list(new.values()), np.float32)
    part = inputs.part_of((users, items, values), None, fitted.user_ids_, fitted.item_ids_, "last", lambda same: same)
    left = merge.drop_unchanged(fitted._rated, fitted._scale, part)
    assert triples(Ratings(*left)) == {pair: new[pair], (1000, 7): 2.0}
    assert merge.drop_unchanged(fitted._rated, fitted._scale, left) is left
