"""Evaluation of lists on clicks that all models can rank."""

import copy

import numpy as np
import pandas
import pytest
from evaluation import naive

from gpukit import LSHMF, MatrixFactorization
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.answers import judging
from gpukit.factorization.answers.judging import Lister, split_new_users
from gpukit.ratings import synth_ratings

K = (3, 10)


@pytest.fixture(scope="module")
def halves():
    """Return (train, test) of a few generated ratings."""
    ratings = synth_ratings("ml-10m", 0.0003, seed=4)
    return ratings.split(0.3, 1)


@pytest.fixture(scope="module")
def model(halves):
    settings = {"n_factors": 4, "n_neighbors": 4, "n_epochs": 3, "lsh_q": 8, "device": "cpu"}
    return LSHMF(**settings).fit(halves[0])


def later(model, test):
    """Return {user id: ids of test items} that the model can rank."""
    seen = {}
    known = Lister(model).learned
    for user, item in zip(test.user_ids[test.users].tolist(), test.item_ids[test.items].tolist()):
        row, other = np.flatnonzero(model.user_ids_ == user), np.flatnonzero(model.item_ids_ == item)
        if len(row) and len(other):
            mine = known.items[known.indptr[row[0]] : known.indptr[row[0] + 1]]
            if other[0] not in mine:
                seen.setdefault(user, set()).add(item)
    return seen


@pytest.mark.slow
def test_a_model_is_judged_by_what_recommend_gives(model, halves):
    found, clicks = model.evaluate_lists(halves[1], K), later(model, halves[1])
    assert [one.predictor for one in found.judged] == ["LSHMF", "popularity", "item kNN", "EASE"]
    assert found.users.tolist() == sorted(clicks)
    for k in K:
        for user, ids in zip(found.users.tolist(), model.recommend(found.users, k)[0].tolist()):
            expected = naive.list_metrics(ids, clicks[user], k)
            place = found.users.tolist().index(user)
            got = {name: values[place] for name, values in found.judged[0].values[k].items()}
            assert got == pytest.approx(expected, abs=1e-13)
    row = found.rows(10)[0]
    assert row["ndcg"] == pytest.approx(found.judged[0].values[10]["ndcg"].mean())


def test_the_best_is_named(model, halves):
    found = model.evaluate_lists(halves[1])
    means = [row["ndcg"] for row in found.rows(10)]
    assert found.best("ndcg", 10) == int(np.argmax(means))
    change = found.difference("ndcg", 10, 0, 1)
    assert change.mean == pytest.approx(means[0] - means[1]) and 0 < change.p <= 1


def test_known_clicks_count_for_none(model, halves):
    train, test = halves
    both = np.concatenate([train.user_ids[train.users], test.user_ids[test.users], [10**9]])
    items = np.concatenate([train.item_ids[train.items], test.item_ids[test.items], [test.item_ids[0]]])
    found, alone = model.evaluate_lists((both, items), baselines=False), model.evaluate_lists(test, baselines=False)
    assert found.left_out.known == len(train) and found.left_out.unknown_users == 1
    assert found.rows(10) == alone.rows(10) and len(found.judged) == 1


@pytest.mark.slow
def test_two_models_are_judged_on_what_both_know(model, halves):
    train, test = halves
    few = train.take(np.arange(len(train)) % 3 > 0)
    few = type(few)(few.users, few.items, few.values, few.user_ids, few.item_ids)
    other = MatrixFactorization(n_factors=4, n_epochs=3, device="cpu").fit(
        (few.user_ids[few.users], few.item_ids[few.items]), few.values
    )
    found = judging.judge_lists({"one": model, "other": other}, test, 5, baselines=False)
    turned = judging.judge_lists({"other": other, "one": model}, test, 5)
    assert found.users.tolist() == turned.users.tolist()
    for name in ("hr", "ndcg", "recall"):
        assert (found.judged[0].values[5][name] == turned.judged[1].values[5][name]).all()
    assert found.strange > 0 and turned.strange == 0
    assert found.left_out.unknown_items < turned.left_out.unknown_items
    assert found.difference("ndcg", 5).mean == pytest.approx(-turned.difference("ndcg", 5).mean)


def test_models_of_the_same_are_alike(model, halves):
    found = judging.judge_lists({"one": model, "other": copy.copy(model)}, halves[1])
    assert found.difference("ndcg", 10) == (0, 0, 0, 1, len(found.users))


def test_nothing_to_judge_by(model, halves):
    with pytest.raises(DataError, match="0 pairs"):
        model.evaluate_lists((np.array([], int), np.array([], int)))
    with pytest.raises(DataError, match=f"None of the {len(halves[0]):,} pairs can be judged: .* trained on"):
        model.evaluate_lists(halves[0])
    with pytest.raises(ParameterError, match="is no length of a list; the model knows"):
        model.evaluate_lists(halves[1], k=10**6)


def test_the_default_length_with_few_items():
    users, items = np.arange(40) // 4, np.arange(40) % 5
    model = MatrixFactorization(n_factors=2, n_epochs=2, device="cpu").fit((users, items, 1.0 + np.arange(40) % 3))
    found = model.evaluate_lists((np.arange(10), (np.arange(10) * 4 + 4) % 5), baselines=False)
    assert found.rows(5)[0]["recall"] == 1.0  # a list of all items but the four that a user knows


def test_pair_scores_are_those_of_recommend(model):
    users = model.user_ids_[:5]
    items, scores = model.recommend(users, 7)
    np.testing.assert_allclose(
        model.pair_scores((np.repeat(users, 7), items.ravel())), scores.ravel(), rtol=1e-5, atol=1e-5
    )


def test_given_ratings_of_a_data_frame(model, halves):
    part = halves[0].take(halves[0].users < 5)
    columns = part.user_ids[part.users], part.item_ids[part.items], part.values
    frame = pandas.DataFrame(dict(zip(("user", "item", "rating"), columns)))
    result, expected = (model.evaluate_lists(halves[1], 5, False, given) for given in (frame, part))
    assert result.rows(5) == expected.rows(5)
    for batch, other in zip(model.recommend_for_batches(frame, 3), model.recommend_for_batches(part, 3), strict=True):
        assert all(map(np.array_equal, batch, other))


@pytest.mark.slow
def test_new_users_are_judged_by_what_is_given(model, halves):
    """Every second user is new.

    Lists are those of recommend_for, known clicks the given ones.
    """
    train, test = halves
    old = train.take(train.users % 2 == 0)
    other = copy.copy(model).fit((old.user_ids[old.users], old.item_ids[old.items]), old.values)
    given, later = split_new_users(train.take(train.users % 2 == 1), 0.3)
    found = other.evaluate_lists(later, 5, given=given)
    users, lists, _ = other.recommend_for(given, n=5, unknown="skip")
    sets = {
        user: set(later.item_ids[later.items[later.user_ids[later.users] == user]]) for user in found.users.tolist()
    }
    for place, user in enumerate(found.users.tolist()):
        there = [item for item in sets[user] if item in other.item_ids_]
        expected = naive.list_metrics(lists[users == user][0].tolist(), set(there), 5)
        assert {name: values[place] for name, values in found.judged[0].values[5].items()} == pytest.approx(expected)
    assert found.left_out.unknown_users == found.left_out.known == 0
    assert [one.predictor for one in found.judged[1:]] == ["popularity", "item kNN", "EASE"]


def test_what_is_given_of_new_users(halves):
    train = halves[0]
    given, later = split_new_users(train, 0.2, seed=3)
    counts, held = (np.bincount(part.users, minlength=train.shape[0]) for part in (train, later))
    assert len(given) + len(later) == len(train)
    assert (held == np.minimum(np.floor(0.2 * counts + 0.5), np.maximum(counts - 1, 0))).all()
    timed = train.with_columns(**train.columns(), times=np.arange(len(train))[::-1].copy())
    given, later = split_new_users(timed, 0.2)
    for user in np.unique(later.users):
        assert given.times[given.users == user].max() < later.times[later.users == user].min()
