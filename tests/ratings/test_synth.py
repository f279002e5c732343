"""Generated ratings: shapes, tails, planted structure, and reproducible seeds."""

import hashlib

import numpy as np
import pytest

from gpukit.device import memory
from gpukit.errors import DeviceMemoryError, ParameterError
from gpukit.ratings import synth, synth_ratings


@pytest.fixture(scope="module")
def made():
    """{like: (Shape, Ratings, facts)} at two per cent."""
    return {
        like: (synth.scale_shape(like, 0.02), *synth.generate(synth.scale_shape(like, 0.02), 0))
        for like in synth.SHAPES
    }


def test_shapes_of_the_papers():
    sizes = {like: (one.users, one.items, one.ratings - one.test, one.test) for like, one in synth.SHAPES.items()}
    assert sizes == {
        "netflix": (480_189, 17_770, 99_072_112, 1_408_395),
        "ml-10m": (69_878, 10_677, 9_900_054, 100_000),
        "yahoo": (586_250, 12_658, 91_970_212, 1_000_000),
    }


@pytest.mark.slow
@pytest.mark.parametrize("like", synth.SHAPES)
def test_counts_and_uniqueness(made, like):
    shape, ratings, _ = made[like]
    assert ratings.shape == (shape.users, shape.items) and len(ratings) == shape.ratings
    whole = synth.SHAPES[like]
    assert shape.ratings == round(0.02 * whole.ratings)
    density, expected = (one.ratings / (one.users * one.items) for one in (shape, whole))
    assert abs(density / expected - 1) < 0.01
    cells = ratings.users.astype(np.int64) * shape.items + ratings.items
    assert len(np.unique(cells)) == len(cells)
    assert np.bincount(ratings.users, minlength=shape.users).min() >= 1
    assert ratings.users.dtype == ratings.items.dtype == np.int32 and ratings.values.dtype == np.float32


@pytest.mark.parametrize(
    "like, values", [("netflix", np.arange(1, 6)), ("ml-10m", np.arange(1, 11) / 2), ("yahoo", np.arange(1, 201) / 2)]
)
def test_values_of_the_data(made, like, values):
    assert set(np.unique(made[like][1].values)) <= set(values.astype(np.float32))
    assert len(np.unique(made[like][1].values)) >= 0.9 * len(values)


@pytest.mark.parametrize(
    "like, longest_row, longest_column", [("netflix", 0.96, 0.485), ("ml-10m", 0.66, 0.487), ("yahoo", 0.9, 0.45)]
)
def test_heavy_tails(made, like, longest_row, longest_column):
    shape, ratings, _ = made[like]
    rows, columns = np.bincount(ratings.users), np.bincount(ratings.items, minlength=shape.items)
    assert abs(rows.max() / shape.items - longest_row) < 0.12
    assert abs(columns.max() / shape.users - longest_column) < 0.08
    assert 0.35 < np.median(rows) / rows.mean() < 0.6 and np.median(columns) < 0.3 * columns.mean()


def test_planted_structure(made):
    _, ratings, facts = made["netflix"]
    assert facts["bias_floor"] > facts["factor_floor"] + 0.08 and facts["factor_floor"] > facts["noise_floor"] + 0.05
    assert 0.75 < facts["noise_floor"] < 0.85 and 1.0 < ratings.values.std() < 1.2


def test_similar_items_agree_beyond_the_low_rank():
    """Ratings of two items of a group by one user, without means, correlate; of two random items, less."""
    shape = synth.resize_shape(synth.scale_shape("netflix", 0.01), users=3000, items=100, ratings=120_000)
    ratings = synth.generate(shape, 0)[0]
    _, group, _ = synth._catalogue(shape, 0)
    rest = np.full(ratings.shape, np.nan)
    rest[ratings.users, ratings.items] = ratings.values
    rest -= np.nanmean(rest, axis=0)
    rest -= np.nanmean(rest, axis=1, keepdims=True)
    filled, rated = np.nan_to_num(rest), ~np.isnan(rest)
    covariance = (filled.T @ filled) / np.maximum(rated.T.astype(float) @ rated, 1)
    same = (group[:, None] == group) & ~np.eye(100, dtype=bool)
    assert covariance[same].mean() > 0.07 + covariance[~same & ~np.eye(100, dtype=bool)].mean()


def test_a_seed_gives_the_same_ratings_everywhere():
    ratings = synth_ratings("ml-10m", 0.002, seed=5)
    digest = hashlib.sha256(ratings.users.tobytes() + ratings.items.tobytes() + ratings.values.tobytes()).hexdigest()
    assert digest[:16] == "6ee5b25e93c646a1"
    assert not np.array_equal(ratings.values, synth_ratings("ml-10m", 0.002, seed=6).values)


def test_alias_table_gives_the_weights_back():
    weights = np.array([0.1, 5.0, 1.0, 1.0, 0.0, 2.9])
    threshold, other = synth.alias_table(weights)
    share = threshold / 2**32
    back = np.bincount(np.arange(6), share, 6) + np.bincount(other, 1 - share, 6)
    assert np.allclose(back, weights / weights.mean(), atol=1e-6)


@pytest.mark.parametrize(
    "users, items, ratings", [(1, 1, 1), (1, 40, 40), (7, 5, 35), (50, 3, 60), (3, 200, 500), (40, 10, 40)]
)
def test_small_and_full_shapes(users, items, ratings):
    made = synth.generate(synth.resize_shape(synth.scale_shape("yahoo", 0.01), users, items, ratings), 1)[0]
    assert made.shape == (users, items) and len(made) == ratings
    assert len(set(zip(made.users.tolist(), made.items.tolist(), strict=True))) == ratings


def test_refused_requests():
    for arguments in (("imdb", 0.01), ("netflix", 0.0), ("netflix", 1.5), ("netflix", 0.01, -1)):
        with pytest.raises(ParameterError):
            synth_ratings(*arguments)
    with pytest.raises(ParameterError, match="do not fit"):
        synth.generate(synth.resize_shape(synth.scale_shape("netflix", 0.01), 5, 5, 26))


@pytest.mark.parametrize("sizes", [{"items": 2**31}, {"users": 2**63}, {"ratings": 2**32}])
def test_sizes_beyond_what_rows_number(sizes):
    with pytest.raises(ParameterError, match="must be an integer, between 1 and"):
        synth.resize_shape(synth.scale_shape("netflix", 0.001), **sizes)


def test_sizes_beyond_memory_are_told_before_the_work(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    with pytest.raises(DeviceMemoryError, match="Generating ratings of 10,000,050 users and items needs 2.98 GiB"):
        synth.generate(synth.resize_shape(synth.scale_shape("netflix", 0.001), 50, 10_000_000, 400))
