"""What is chosen for clicks, who judges, and what candidates are made of."""

import numpy as np
import pytest

from factorization.implicit.planted import clicks
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.arrays import History
from gpukit.factorization.implicit import blend, hold_out, mix, start
from gpukit.factorization.implicit.evaluator import DEPTH, gains, places_in
from gpukit.factorization.implicit.weights import weighted
from gpukit.factorization.settings import check
from gpukit.ratings import Ratings, as_ratings


def timed(seed=3):
    """Planted clicks at times of their own, counted."""
    train, _ = clicks()
    rng = np.random.default_rng(seed)
    more = {"times": rng.permutation(len(train)).astype(np.int64), "counts": rng.integers(1, 9, len(train), np.int32)}
    return train.with_columns(users=train.users, items=train.items, values=train.values, **more)


def plan(**changes):
    """settings.Settings of least squares."""
    return check(MatrixFactorization(solver="ials"), 100, "implicit")._replace(**changes)


@pytest.mark.slow
def test_everything_open_is_chosen():
    train, held_out = clicks(240)
    fitted = LSHMF(n_neighbors=5, device="cpu", random_state=1).fit(train)
    rows, chosen = fitted.trials_, fitted.chosen_
    called = {row["predictor"] for row in rows}
    assert {"ials, squared", "sampled, cross-entropy", "ials and sampled", "popularity", "item kNN"} <= called
    assert "held-out click of 240 users" in chosen["why"] and chosen["feedback"] == "implicit"
    popular = next(row for row in rows if row["predictor"] == "popularity")
    assert max(row["ndcg"] for row in rows) > 1.5 * popular["ndcg"]
    lists = fitted.recommend(n=5)[0]
    assert np.mean([item in row for item, row in zip(held_out.items, lists)]) > 0.4


def test_what_is_named_is_obeyed():
    train, _ = clicks()
    fitted = MatrixFactorization(n_factors=7, n_epochs=3, solver="ials", unobserved_weight=0.5, device="cpu").fit(train)
    assert {row["n_factors"] for row in fitted.trials_ if row["solver"]} == {7} and fitted.user_factors_.shape[1] == 7
    assert {row["unobserved_weight"] for row in fitted.trials_ if row["solver"]} == {0.5}
    assert fitted.chosen_["n_epochs"] == 3 == len(fitted.history_) and fitted.chosen_["mixed"] == 0


def test_too_few_to_hold_any_out():
    fitted = MatrixFactorization(device="cpu").fit((np.repeat(np.arange(6), 2), np.tile([0, 1, 1, 2], 3)))
    assert "too few" in fitted.chosen_["why"] and not fitted.trials_


def test_a_held_out_click_of_each():
    train, judges = hold_out.held_out(timed(), 0)
    whole = timed()
    assert judges.latest and len(judges.users) + len(train) == len(whole)
    pairs = set(zip(train.users.tolist(), train.items.tolist()))
    for user, item in zip(judges.users.tolist(), judges.items.tolist()):
        own = whole.users == user
        assert whole.items[own][whole.times[own].argmax()] == item and (user, item) not in pairs
    plain, _ = clicks()
    _, drawn = hold_out.held_out(plain, 0)
    assert not drawn.latest and len(np.unique(drawn.users)) == len(drawn.users)
    some, fewer = hold_out.sampled(train, judges, 0, len(train) // 2)
    assert 0.3 < len(some) / len(train) < 0.7 and set(fewer.users) == set(judges.users) & set(some.users)


def test_users_with_too_few_clicks_judge_nothing():
    users = np.repeat(np.arange(6), [1, 2, 3, 3, 4, 5])
    items = np.concatenate([np.arange(count) for count in (1, 2, 3, 3, 4, 5)])
    few = as_ratings((users, items, np.ones(len(users), np.float32)))
    for seed in range(20):
        _, judges = hold_out.held_out(few, seed)
        assert judges.users.min() >= 2  # and no click of item 4, which is another's alone
        assert (judges.items < 4).all()


def test_times_that_do_not_tell():
    same = timed()
    same.times[:] = 7
    assert not hold_out.tell_order(same)


def test_what_clicks_weigh():
    some = timed()
    counted = weighted(some, plan(counted=True)).values
    np.testing.assert_allclose(counted, 1 + np.log(some.counts), rtol=1e-6)
    recent = weighted(some, plan(recency=2.0)).values
    for user in range(5):
        own = np.flatnonzero(some.users == user)
        order = own[np.argsort(-some.times[own])]
        np.testing.assert_allclose(recent[order], 1 + 2 * np.exp(-np.arange(len(own)) / 10), rtol=1e-6)
    assert (weighted(some, plan()).values == 1).all()


def test_places_and_what_they_are_worth():
    lists = np.array([[4, 2, 9], [1, 0, 3]])
    assert places_in(lists, np.array([9, 7])).tolist() == [2, DEPTH]
    np.testing.assert_allclose(gains(np.array([0, 2, DEPTH])), [1.0, 0.5, 0.0])


def random_state(shape, n_factors, k, seed):
    """A State of random numbers."""
    from gpukit.factorization.model.state import State

    rng = np.random.default_rng(seed)
    near = np.stack([rng.permutation(np.delete(np.arange(shape[1]), j))[:k] for j in range(shape[1])]).astype(np.int32)
    sides = [rng.normal(size=(rows, size)) for rows in shape for size in (n_factors, 3)]
    sides = [side.astype(np.float32) for side in sides]
    for extras in sides[1::2]:
        extras[:, 1:] = 0
    return State(*sides, rng.normal(size=(shape[1], 2, k)).astype(np.float32), near)


def scores(state, history):
    """(M, N) float64: Eq. (1) of all pairs, without baselines."""
    found = state.user_factors.astype(float) @ state.item_factors.T.astype(float)
    found += state.user_extras[:, :1] + state.item_extras[:, 0]
    for user in range(len(found)):
        clicked = np.zeros(found.shape[1], bool)
        clicked[history.items[history.indptr[user] : history.indptr[user + 1]]] = True
        for item, near in enumerate(state.neighbors):
            told = clicked[near]
            for part, some in ((0, told), (1, ~told)):
                if some.any():
                    found[user, item] += state.influence[item, part, some].sum() / np.sqrt(some.sum())
    return found


def test_two_models_in_one_score_as_both():
    train, _ = clicks(12, 9, 3, 5)
    indptr, items, _ = train.csr()
    history = History(np.append(indptr, indptr[-1]), items, None, None)
    one, other = random_state((12, 9), 4, 0, 1), random_state((12, 9), 3, 2, 2)
    one.user_extras[:], one.item_extras[:] = 0, 0
    both = mix.joined(one, other, 0.25)
    np.testing.assert_allclose(scores(both, history), scores(one, history) + 0.25 * scores(other, history), atol=1e-5)
    first, second = mix.parted(both, plan(n_factors=4, mixed=0.25))
    for found, expected in ((first, one), (second, other)):
        for own, known in zip(found, expected):
            np.testing.assert_allclose(own, known, atol=1e-6)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_neighbourhood_beside_the_factors(share):
    train, _ = clicks()
    near, likeness = blend.alike(train, 6)
    fitted = LSHMF(n_factors=4, n_epochs=2, solver="ials", regularization=0.01, device="cpu")
    fitted.set_params(unobserved_weight=0.3).fit(train)
    state, plain = fitted._state, fitted.predict(pairs_of(train))
    fitted.set_fitted(blend.joined(state, near, likeness, share), fitted._rated, fitted._scale, *ids_of(train))
    table = np.zeros(train.shape, bool)
    table[train.users, train.items] = True
    clicked = table[np.repeat(np.arange(120), 60)][:, near].reshape(-1, 60, 6)[::60].reshape(-1, 6)
    told = (clicked * np.tile(likeness, (120, 1))).sum(axis=1) / np.sqrt(np.maximum(clicked.sum(axis=1), 1))
    bias = np.tile(state.item_extras[:, 0], 120)
    np.testing.assert_allclose(
        fitted.predict(pairs_of(train)), (1 - share) * (plain - bias) + share * told + bias, atol=1e-5
    )


def pairs_of(ratings):
    """Ids of all pairs, user by user."""
    return np.repeat(ratings.user_ids, ratings.shape[1]), np.tile(ratings.item_ids, ratings.shape[0])


def ids_of(ratings):
    """The ids of both sides."""
    return ratings.user_ids, ratings.item_ids


def test_cosines_of_who_clicked():
    table = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], bool)
    users, items = (side.astype(np.int32) for side in np.nonzero(table))
    near, likeness = blend.alike(Ratings(users, items, np.ones(len(users), np.float32), np.arange(4), np.arange(4)), 2)
    both = table.T.astype(float) @ table
    counts = np.diag(both)
    cosine = both / (np.sqrt(np.outer(counts, counts)) + 10)
    np.fill_diagonal(cosine, 0)
    np.testing.assert_allclose(likeness, -np.sort(-cosine, axis=1)[:, :2], rtol=1e-5)
    np.testing.assert_allclose(cosine[np.arange(4)[:, None], near], likeness, rtol=1e-5)


def noise(users=200, items=40, each=8):
    """Clicks of some items more than of others, the same for everybody, as Ratings."""
    rng = np.random.default_rng(1)
    worth = 1.5 * rng.normal(size=items) + rng.gumbel(size=(users, items))
    found = np.argsort(-worth, axis=1)[:, :each]
    return as_ratings((np.repeat(np.arange(users), each), found.ravel(), np.ones(users * each, np.float32)))


def test_where_nothing_is_better_popularity_is_the_model(tmp_path):
    train = noise()
    fitted = LSHMF(device="cpu").fit(train)
    assert fitted.chosen_["popular"] == 1.0 and fitted.chosen_["mixed"] == fitted.chosen_["blend"] == 0
    counts = np.bincount(train.items)
    np.testing.assert_allclose(fitted.predict(pairs_of(train)), np.tile(counts / counts.max(), 200), atol=1e-6)
    fitted.save(tmp_path / "m")
    again = LSHMF.load(tmp_path / "m")
    again.partial_fit((np.array([500, 501, 501]), train.item_ids[[0, 0, 1]]))
    counts[:2] += 2, 1
    told = again.predict((np.full(len(counts), 500), train.item_ids))
    np.testing.assert_allclose(told, counts / counts.max(), atol=1e-6)
    scores = again.recommend_for(train.item_ids[:1].tolist(), n=3)[-1]
    assert np.all(np.diff(scores) <= 0) and np.isfinite(scores).all()


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_popularity_beside_the_factors(share):
    train, _ = clicks()
    fitted = LSHMF(n_factors=4, n_epochs=2, solver="ials", regularization=0.01, unobserved_weight=0.3, device="cpu")
    state = fitted.fit(train)._state
    counts = np.bincount(train.items, minlength=60)
    plain = state.user_factors.astype(float) @ state.item_factors.T
    bare = state._replace(item_extras=np.zeros_like(state.item_extras))
    mixed = start.beside_popularity(bare, counts, share)
    fitted.set_fitted(mixed, fitted._rated, fitted._scale, *ids_of(train))
    expected = (1 - share) * plain + share * counts / counts.max()
    np.testing.assert_allclose(fitted.predict(pairs_of(train)), expected.ravel(), atol=1e-5)


def test_lists_of_users_who_are_not_known_with_popularity_beside():
    train, _ = clicks()
    fitted = LSHMF(n_factors=4, n_epochs=30, solver="ials", regularization=0.01, unobserved_weight=0.3, device="cpu")
    fitted.fit(train)
    bare = fitted._state._replace(item_extras=np.zeros_like(fitted._state.item_extras))
    fitted._state = start.beside_popularity(bare, np.bincount(train.items, minlength=60), 0.3)
    fitted.chosen_["popular"] = 0.3
    known, _ = fitted.recommend(train.user_ids[:10], n=5)
    mine = train.take(train.users < 10)
    _, lists, _ = fitted.recommend_for(mine, n=5)
    assert np.mean([len(set(one) & set(other)) for one, other in zip(known.tolist(), lists.tolist())]) > 4.5
