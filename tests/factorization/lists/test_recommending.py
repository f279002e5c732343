"""recommend with filters, against scoring everything, filtering and sorting."""

import numpy as np
import pytest

from factorization import naive
from factorization.inputs import planted
from factorization.lists import naive as lists
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, Filters, MatrixFactorization
from gpukit.factorization.lists.recommending import BY


@pytest.fixture(scope="module", params=[MatrixFactorization, LSHMF])
def fitted(request):
    parameters = {"n_neighbors": 4, "lsh_q": 20} if request.param is LSHMF else {}
    return request.param(n_factors=4, n_epochs=6, device="cpu", **parameters).fit(planted(density=0.6))


def scores_of(fitted, user, by="lists"):
    """Return {item id: unclipped score} of a user, and the rated items."""
    ids, scores = fitted.recommend([user], 30, exclude_seen=False, by=by)
    left, _ = fitted.recommend([user], 30, by=by)
    return dict(zip(ids[0].tolist(), scores[0].tolist())), set(ids[0]) - set(left[0])


def counts_of(fitted):
    """Return {item id: ratings}."""
    return dict(zip(fitted.item_ids_.tolist(), fitted.rating_counts()[1].tolist()))


KINDS = (list, set, np.array, lambda ids: [str(item) for item in ids])  # of ids


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("only, without", [(None, [4, 29]), ([3, 4, 5, 11, 12, 29], []), ([3, 4, 5, 6, 7], [4, 29])])
def test_only_and_without(fitted, only, without, kind):
    """Unknown ids are accepted: -1 and 10**9."""
    user, ids = fitted.user_ids_[5], fitted.item_ids_.tolist()
    scores, seen = scores_of(fitted, user)
    only, without = (rows if rows is None else {ids[row] for row in rows} for rows in (only, without))
    left = {item: score for item, score in scores.items() if (only is None or item in only) and item not in without}
    filters = Filters(
        only=None if only is None else kind([*only, -1]), without=kind([*without, 10**9]) if without else ()
    )
    found, theirs = fitted.recommend([user], 8, filters=filters)
    expected = naive.ranking(left, seen, 8)
    assert [item for item in found[0] if item is not None] == [item for item, _ in expected]
    assert np.isnan(theirs[0, len(expected) :]).all()


@pytest.mark.parametrize("by", BY)
def test_support_and_popularity(fitted, by):
    users, counts = fitted.user_ids_[[4, 0, 59]], counts_of(fitted)
    least = sorted(counts.values())[12]
    filters = Filters(min_support=least, popularity=0.5)
    ids, found = fitted.recommend(users, 6, exclude_seen=False, by=by, filters=filters)
    for user, mine, theirs in zip(users, ids, found):
        scores, _ = scores_of(fitted, user, by)
        worth = {i: s + 0.5 * np.log1p(counts[i]) for i, s in scores.items() if counts[i] >= least}
        expected = naive.ranking(worth, set(), 6)
        assert mine.tolist() == [item for item, _ in expected]
        np.testing.assert_allclose(theirs, [score for _, score in expected], rtol=1e-5)
    rare, _ = fitted.recommend(users, 6, exclude_seen=False, filters=Filters(popularity=-50.0))
    assert max(counts[item] for item in rare[0]) <= sorted(counts.values())[9]


@pytest.mark.parametrize("by", BY)
def test_diversity(fitted, by):
    user, n = fitted.user_ids_[7], 5
    scores, _ = scores_of(fitted, user, by)
    factors = fitted.item_factors_ if by == "rating" else fitted.fit_lists()._head.item_factors
    vectors = dict(zip(fitted.item_ids_.tolist(), factors.astype(float)))
    pool = naive.ranking(scores, set(), 25)
    ids, found = fitted.recommend([user], n, exclude_seen=False, by=by, filters=Filters(diversity=0.6))
    expected = lists.spread_out(pool, vectors, n, 0.6)
    assert ids[0].tolist() == expected != [item for item, _ in pool[:n]]
    np.testing.assert_allclose(found[0], [scores[item] for item in expected], rtol=1e-6)


def test_new_users_lists_are_filtered_too(fitted):
    all_ids = fitted.item_ids_.tolist()
    given = {item: 4.0 for item in all_ids[:6]}
    _, ids, scores = fitted.recommend_for(given, n=24)
    worth = dict(zip(ids[0].tolist(), scores[0].tolist()))
    only = [all_ids[row] for row in (9, 20, 11, 2, 25)]
    _, few, theirs = fitted.recommend_for(given, n=5, filters=Filters(only=only))
    expected = naive.ranking({item: worth[item] for item in only if item in worth}, set(), 5)
    assert few[0].tolist() == [item for item, _ in expected] + [None] and len(expected) == 4
    np.testing.assert_allclose(theirs[0, :4], [score for _, score in expected])
    _, mixed, _ = fitted.recommend_for(given, n=5, filters=Filters(diversity=0.9))
    assert mixed[0].tolist() != ids[0, :5].tolist() and set(mixed[0]) <= set(ids[0])


def test_batches_have_the_filters(fitted):
    out = fitted.item_ids_[[1, 2, 3]]
    filters = Filters(without=out, popularity=0.1)
    ids, _ = fitted.recommend(n=3, filters=filters)
    tiles = [items for _, items, _ in fitted.recommend_batches(n=3, filters=filters)]
    np.testing.assert_array_equal(np.concatenate(tiles), ids)
    assert not np.isin(ids, out).any()
    np.testing.assert_array_equal(fitted.recommend(n=3, filters=Filters(without=None))[0], fitted.recommend(n=3)[0])


@pytest.mark.parametrize(
    "filters, error, message",
    [
        (Filters(min_support=-1), ParameterError, "min_support must be an integer, at least 0; got -1"),
        (Filters(min_support=2.5), ParameterError, "min_support"),
        (Filters(popularity="x"), ParameterError, "popularity must be a finite number"),
        (Filters(popularity=float("nan")), ParameterError, "popularity"),
        (Filters(diversity=1.5), ParameterError, "diversity must be a finite number, at least 0.0 and at most 1.0"),
        (Filters(min_support=10**6), DataError, "leave none of the model's 30 items"),
        (Filters(only=[]), DataError, "leave none"),
        (Filters(only=[-7]), DataError, "leave none"),
        (Filters(only=[[1, 2]]), DataError, "item ids"),
        (Filters(without=[None]), DataError, "no item id"),
        ({"only": [1]}, ParameterError, "filters must be"),
    ],
)
def test_refused(fitted, filters, error, message):
    with pytest.raises(error, match=message):
        fitted.recommend(filters=filters)
