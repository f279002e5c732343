"""SimLSH's public interface: parameters, errors, warnings, the control group, and real ratings."""

import warnings

import numpy as np
import pytest
import scipy.sparse

from gpukit.errors import ParameterError
from gpukit.neighbors import SimLSH
from gpukit.neighbors.plan import HASHES
from neighbors import naive


def matrix(n_users=30, n_items=12, seed=0):
    rng = np.random.default_rng(seed)
    return scipy.sparse.csr_matrix(rng.integers(1, 6, (n_users, n_items)) * (rng.random((n_users, n_items)) < 0.5))


def test_fit():
    model = SimLSH(n_neighbors=3, q=20, device="cpu").fit(matrix())
    assert model.neighbors_.shape == model.scores_.shape == (12, 3)
    assert model.neighbors_.dtype == np.int32 and model.scores_.dtype == np.float32
    assert model.random_share_ == 0 and model.device_.startswith("cpu") and model.n_features_in_ == 12
    assert set(model.timings_) == {"prepare", "hashing", "search", "compiling"}
    again = SimLSH(n_neighbors=3, q=20, device="cpu", random_state=1).fit(matrix())
    assert (again.neighbors_ != model.neighbors_).any()


@pytest.mark.parametrize("search", ["hamming", "buckets"])
@pytest.mark.parametrize("hash", HASHES)
def test_identical_items_find_each_other(hash, search):
    X = matrix().toarray()
    X[:, 7] = X[:, 2]
    model = SimLSH(n_neighbors=1, p=1, q=40, search=search, hash=hash, device="cpu").fit(scipy.sparse.csr_matrix(X))
    assert model.neighbors_[2, 0] == 7 and model.neighbors_[7, 0] == 2 and model.scores_[2, 0] == 1


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"n_neighbors": 0}, "n_neighbors.*got 0"),
        ({"n_neighbors": 12}, "n_neighbors=12.*12 item.*n_neighbors=11"),
        ({"psi": 3}, "psi.*got 3"),
        ({"search": "lsh"}, "search.*'buckets'.*'lsh'"),
        ({"search": 3}, "search.*got 3"),
        ({"hash": "lsh"}, "hash.*'minhash'.*'lsh'"),
        ({"hash": ["simlsh"]}, "hash"),
        ({"hash": "minhash", "psi": 0}, "psi.*got 0"),
        ({"search": "exact", "n_neighbors": 12}, "n_neighbors=12.*12 item"),
        ({"search": "random", "n_neighbors": 12}, "n_neighbors=12.*12 item"),
        ({"q": 0}, "q must.*got 0"),
        ({"bits": 2.5}, "bits.*2.5"),
        ({"random_state": -1}, "random_state.*-1"),
        ({"p": 1000, "q": 10000}, "p \\* q \\* bits"),
    ],
)
def test_parameters_out_of_bounds(wrong, message):
    with pytest.raises(ParameterError, match=message):
        SimLSH(**{"n_neighbors": 2, "device": "cpu", **wrong}).fit(matrix())


def test_one_item():
    with pytest.raises(ParameterError, match="n_neighbors=1 .*two items"):
        SimLSH(n_neighbors=1, device="cpu").fit(matrix(5, 1))


def test_many_random_slots_are_a_warning_with_advice():
    with pytest.warns(UserWarning, match="random: use search='hamming'"):
        SimLSH(n_neighbors=5, p=8, q=2, search="buckets", device="cpu").fit(matrix())
    with pytest.warns(UserWarning, match="few users rated the same items"):
        SimLSH(n_neighbors=5, search="exact", device="cpu").fit(np.eye(12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SimLSH(n_neighbors=5, device="cpu").fit(matrix())


def random_lists(n_items, k, seed):
    return SimLSH(k, search="random", device="cpu", random_state=seed).fit(matrix(5, n_items))


def test_random_neighbors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they were requested
        model = random_lists(40, 39, 2)
    assert model.random_share_ == 1 and np.isnan(model.scores_).all()
    for item, others in enumerate(model.neighbors_):
        assert sorted(others) == [other for other in range(40) if other != item]
    counts = np.bincount(random_lists(200, 8, 3).neighbors_.ravel(), minlength=200)
    assert counts.max() < 30  # 8 expected, Poisson-like
    assert (random_lists(40, 3, 1).neighbors_ != random_lists(40, 3, 2).neighbors_).any()


@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_exact_neighbors_are_the_oracles():
    X = matrix(60, 14, seed=3)
    model = SimLSH(n_neighbors=13, search="exact", device="cpu").fit(X)
    similarity = naive.gsm_of_matrix(X)
    for item in range(14):
        found = np.flatnonzero(similarity[item] > 1e-12)
        order = found[np.argsort(-similarity[item, found], kind="stable")]
        assert model.neighbors_[item, : len(order)].tolist() == order.tolist()
        np.testing.assert_allclose(model.scores_[item, : len(order)], similarity[item, order], atol=1e-6)
        assert np.isnan(model.scores_[item, len(order) :]).all()


def test_the_fast_oracle_of_the_gsm_is_the_slow_one():
    X = matrix(40, 9, seed=8)
    triples = X.tocoo()
    slow = naive.gsm(triples.row, triples.col, triples.data, 9)
    np.testing.assert_allclose(naive.gsm_of_matrix(X), slow, atol=1e-12)


@pytest.fixture(scope="module")
def movielens():
    """(Ratings, exact neighbours (N, 32)) of the training part of MovieLens 1M."""
    from support import data

    from gpukit.ratings import read_ratings

    train, _ = read_ratings(data("ml-1m/ratings.dat")).split(0.1, 0)
    matrix = scipy.sparse.csr_matrix((train.values, (train.users, train.items)), shape=train.shape)
    similarity = naive.gsm_of_matrix(matrix)
    np.fill_diagonal(similarity, -np.inf)
    return train, np.argsort(-similarity, axis=1, kind="stable")[:, :32]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "parameters, random_share, overlap",
    [
        ({}, (0, 0.01), (0.16, 0.19)),
        ({"search": "buckets"}, (0.98, 0.995), (0, 0.02)),
        ({"search": "buckets", "p": 1, "q": 300}, (0, 0.01), (0.07, 0.10)),
        ({"search": "exact"}, (0.05, 0.06), (0.94, 0.96)),
        ({"hash": "minhash"}, (0, 0.01), (0.11, 0.14)),
        ({"hash": "projection"}, (0, 0.01), (0.16, 0.19)),
    ],
)
def test_overlap_with_exact_neighbors_on_movielens(movielens, parameters, random_share, overlap):
    ratings, exact = movielens
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SimLSH(device="cpu", **parameters).fit(ratings)
    shared = np.mean([len(set(a) & set(b)) / 32 for a, b in zip(model.neighbors_, exact, strict=True)])
    assert random_share[0] <= model.random_share_ <= random_share[1]
    assert overlap[0] <= shared <= overlap[1]
