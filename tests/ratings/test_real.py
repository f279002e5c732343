"""The real files, as distributed."""

import numpy as np
import pytest
from support import data

from gpukit.ratings import read_ratings, read_titles
from gpukit.ratings.check import code_of_missing, look_like_counts
from ratings import naive


def test_movielens_1m():
    ratings = read_ratings(data("ml-1m/ratings.dat"))
    assert len(ratings) == 1_000_209 and ratings.shape == (6040, 3706) and ratings.scale == (1.0, 5.0)
    train, test = ratings.split(0.1, seed=0)
    assert (len(train), len(test)) == (899_942, 100_267)
    with open(data("ml-1m/ratings.dat")) as file:
        rows = naive.triples("".join(file.readlines()[:2000]), sep="::")
    first = ratings.take(slice(2000))
    users, items = first.user_ids[first.users].astype(str), first.item_ids[first.items].astype(str)
    assert list(zip(users.tolist(), items.tolist(), first.values.tolist(), strict=True)) == rows


def test_ncf():
    ratings = read_ratings(data("ncf/ml-1m.train.rating"))
    assert len(ratings) == 994_169 and ratings.shape[0] == 6040 and ratings.user_ids[0] == 0


def test_netflix_samples():
    ratings = read_ratings(data("netflix-sample/TestingRatings.txt"), columns="movie,user,rating")
    assert len(ratings) == 100_478 and ratings.shape == (27_555, 1_701)
    headed = read_ratings(data("netflix-sample/netflix-user-ratings-10k.csv"))
    first = headed.user_ids[headed.users[0]], headed.item_ids[headed.items[0]], headed.values[0]
    assert first == (1287529, 8764, 4.0)


@pytest.mark.parametrize(
    "name",
    [
        "ml-1m/ratings.dat",
        "ncf/ml-1m.train.rating",
        "ncf/ml-1m.test.rating",
        "netflix-sample/TestingRatings.txt",
        "netflix-sample/netflix-user-ratings-10k.csv",
        "filmtrust/ratings.txt",
    ],
)
def test_real_ratings_do_not_look_like_counts_and_have_no_code_of_missing(name):
    ratings = read_ratings(data(name))
    assert not look_like_counts(ratings) and code_of_missing(ratings) is None


def test_titles():
    assert read_titles(data("ml-1m/movies.dat"))[1] == "Toy Story (1995)"
    netflix = read_titles(data("netflix-sample/movie_titles.txt"))
    assert len(netflix) == 17_770 and netflix[4] == "Paula Abdul's Get Up & Dance"
    assert np.all([title for title in netflix.values()])
