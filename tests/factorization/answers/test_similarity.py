"""Similar items and users against the definition, pair by pair."""

import pickle

import numpy as np
import pytest

from factorization.answers import naive
from factorization.inputs import make, planted
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.model.layout import BASE
from gpukit.ratings import Ratings


def expected(fitted, what):
    """Return naive.likeness of a fitted model's items or users."""
    history, state = fitted._rated, fitted._state
    users = np.repeat(np.arange(len(history.indptr) - 1), np.diff(history.indptr))
    rated = dict(zip(zip(users.tolist(), history.items.tolist()), history.levels[history.codes].tolist()))
    bases = state.user_extras[:, BASE], state.item_extras[:, BASE]
    return naive.likeness(rated, bases, getattr(state, f"{what}_factors"), what == "item")


@pytest.mark.parametrize("what", ["item", "user"])
def test_they_are_the_most_alike(fitted, what):
    wanted, ids = expected(fitted, what), getattr(fitted, f"{what}_ids_")
    counts = fitted.rating_counts()[what == "item"]
    for row in (0, 9, len(ids) - 1):
        found = getattr(fitted, f"similar_{what}s")(ids[row], 7, with_evidence=True)
        rows = np.searchsorted(ids, found[0])
        others = sorted((-wanted[row, other][0], other) for other in range(len(ids)) if other != row)
        assert rows.tolist() == [other for _, other in others[:7]]
        np.testing.assert_allclose(found[1], [wanted[row, other][0] for other in rows], rtol=1e-5)
        assert found[2].tolist() == [wanted[row, other][1] for other in rows]
        assert found[3].tolist() == counts[rows].tolist() and found[1].dtype == np.float32
        others, _, common, _ = getattr(fitted, f"similar_{what}s")(ids[row], 1_000, with_evidence=True)
        every = {other: wanted[row, other][1] for other in range(len(ids)) if other != row}
        expected_common = {other: n_common for other, n_common in every.items() if n_common}
        assert dict(zip(np.searchsorted(ids, others).tolist(), common.tolist())) == expected_common


def test_who_shares_no_rater_is_left_out():
    """Two groups of users and items without common ratings."""
    users, items = np.nonzero(np.kron(np.eye(2), np.ones((6, 5))))
    values = (1 + (users + 3 * items) % 5).astype(np.float32)
    ids = np.arange(12), np.arange(10)
    model = make(MatrixFactorization).fit(Ratings(users.astype(np.int32), items.astype(np.int32), values, *ids))
    assert set(model.similar_items(2, 100)[0].tolist()) == {0, 1, 3, 4}
    assert set(model.similar_users(7, 100)[0].tolist()) == {6, 8, 9, 10, 11}


def test_few_common_raters_say_little():
    """Item 1 has 3 common users with item 0; item 2 has 60.

    All of the 3 agree, most of the 60.
    """
    rng, rows = np.random.default_rng(0), []
    for user in range(80):
        taste = int(rng.integers(1, 6))
        rows += [(user, 0, taste), (user, 3, int(rng.integers(1, 6)))]
        rows += [(user, 1, taste)] if user < 3 else []
        rows += [(user, 2, taste if rng.random() < 0.8 else 6 - taste)] if user >= 20 else []
    users, items, values = np.array(rows).T
    ratings = users.astype(np.int32), items.astype(np.int32), values.astype(np.float32), np.arange(80), np.arange(4)
    ids, scores, common, ratings = (
        make(MatrixFactorization).fit(Ratings(*ratings)).similar_items(0, 3, with_evidence=True)
    )
    assert ids.tolist()[0] == 2 and ids.tolist()[-1] == 1 and common.tolist()[-1] == 3 and scores[-1] < 0.1


def test_by_factors_it_is_their_cosine(fitted):
    factors = fitted._state.item_factors.astype(np.float64)
    ids, scores = fitted.similar_items(fitted.item_ids_[9], 29, by="factors")
    wanted = [naive.cosine(factors[9], factors[row]) for row in np.searchsorted(fitted.item_ids_, ids)]
    np.testing.assert_allclose(scores, wanted, atol=1e-5)
    assert wanted == sorted(wanted, reverse=True) and len(ids) == 29 and fitted.item_ids_[9] not in ids


def test_without_factors_the_ratings_tell(bare):
    assert len(bare.similar_items(bare.item_ids_[9], 5)[0]) == 5
    assert len(bare.similar_items(bare.item_ids_[9], 5, by="factors")[0]) == 0


def test_a_new_fit_forgets_the_old_sums():
    model = make(MatrixFactorization).fit(planted(seed=0))
    before = model.similar_items(1, 5, with_evidence=True)
    after = model.fit(planted(seed=1)).similar_items(1, 5, with_evidence=True)
    fresh = make(MatrixFactorization).fit(planted(seed=1)).similar_items(1, 5, with_evidence=True)
    assert before[3].tolist() != after[3].tolist() == fresh[3].tolist()


def test_refusals(fitted):
    with pytest.raises(DataError, match="does not know item 999.*30, such as 1"):
        fitted.similar_items(999)
    with pytest.raises(DataError, match="does not know user 'x'.*60, such as 7"):
        fitted.similar_users("x")
    for find in (fitted.similar_items, fitted.similar_users):
        one = fitted.item_ids_[2] if find == fitted.similar_items else fitted.user_ids_[2]
        with pytest.raises(ParameterError, match="by"):
            find(one, by="taste")
        with pytest.raises(ParameterError, match="n must be an integer"):
            find(one, 0)


def test_sums_do_not_travel(fitted):
    fitted.similar_items(1, 3, with_evidence=True)
    other = pickle.loads(pickle.dumps(fitted))
    assert {"norms", "counts"} <= set(fitted._prepared) and "_prepared" not in vars(other)
    for mine, its in zip(fitted.similar_users(7, 5, with_evidence=True), other.similar_users(7, 5, with_evidence=True)):
        np.testing.assert_array_equal(mine, its)
