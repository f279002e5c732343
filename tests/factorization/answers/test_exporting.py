"""Exports: they contain the model's numbers, and vectors multiply to predictions."""

import csv

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

from factorization.inputs import make, planted
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import MatrixFactorization
from gpukit.ratings import Ratings


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_npz_has_every_number(fitted, tmp_path):
    fitted.export(tmp_path / "all.npz")
    with np.load(tmp_path / "all.npz") as found:
        for side in ("user", "item"):
            for name in ("ids", "factors", "bias", "baseline"):
                np.testing.assert_array_equal(found[f"{side}_{name}"], getattr(fitted, f"{side}_{name}_"))
            counts = fitted.rating_counts()[side == "item"]
            np.testing.assert_array_equal(found[f"{side}_ratings"], counts)
        assert found["mean"] == fitted.mean_ and found["scale"].tolist() == list(fitted.scale_)
        near = [name for name in found if "neighbors" in name or "influences" in name]
        assert len(near) == (3 if fitted.neighbors_.shape[1] else 0)
        for name in near:
            np.testing.assert_array_equal(found[name], getattr(fitted, f"{name}_"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_have_a_row_a_user_and_item(fitted, tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    fitted.export(path)
    frame = pandas.read_csv(path) if suffix == "csv" else pandas.read_parquet(path)
    assert frame.columns.tolist() == ["side", "id", "ratings", "bias", *(f"factor_{f}" for f in range(4))]
    for side in ("user", "item"):
        mine = frame[frame.side == side]
        assert mine.id.tolist() == getattr(fitted, f"{side}_ids_").tolist()
        assert mine.ratings.tolist() == fitted.rating_counts()[side == "item"].tolist()
        np.testing.assert_array_equal(mine.bias.astype(np.float32), getattr(fitted, f"{side}_bias_"))
        np.testing.assert_array_equal(mine.iloc[:, 4:].astype(np.float32), getattr(fitted, f"{side}_factors_"))


def test_vectors_multiply_to_predictions(tmp_path):
    model = make(MatrixFactorization).fit(planted())
    model.export(tmp_path / "v.npz", vectors=True)
    with np.load(tmp_path / "v.npz") as found:
        products = found["user_vectors"] @ found["item_vectors"].T
        assert found["user_vectors"].shape == (60, 6) and "user_factors" not in found
    users, items = np.repeat(model.user_ids_, 30), np.tile(model.item_ids_, 60)
    predicted = model.predict((users, items))
    np.testing.assert_allclose(np.clip(products.ravel(), *model.scale_), predicted, atol=1e-5)
    assert products.max() > model.scale_[1]


def test_vectors_of_neighbours_lack_their_part_alone(fitted, tmp_path):
    fitted.export(tmp_path / "v.csv", "items", vectors=True)
    fitted.export(tmp_path / "u.csv", "users", vectors=True)
    vectors = [
        np.array([[float(row[f"vector_{f}"]) for f in range(6)] for row in read_csv(tmp_path / name)])
        for name in ("u.csv", "v.csv")
    ]
    found = fitted.explain(fitted.user_ids_[5], fitted.item_ids_[6], by="rating")
    rest = found.total - found.unrated - sum(one.share for one in found.rated)
    assert vectors[0][5] @ vectors[1][6] == pytest.approx(rest, abs=1e-5)


@pytest.mark.parametrize("is_dense", [True, False])
def test_weights_between_items_are_exported_or_reported(tmp_path, monkeypatch, is_dense):
    """Without them the scores of a model of clicks cannot be computed from the file."""
    monkeypatch.setattr("gpukit.factorization.implicit.prepared.fits", lambda *_: is_dense)
    ratings = planted()
    model = MatrixFactorization(solver="ease", feedback="implicit", device="cpu").fit(ratings)
    model.export(tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as found:
        weights = found["item_weights"]
        if not is_dense:
            weights = csr_array((weights, found["weight_items"], found["weight_starts"]), (30, 30)).toarray()
        clicks = np.zeros((60, 30), np.float32)
        clicks[ratings.users, ratings.items] = 1
        scores = clicks @ weights + found["user_factors"] @ found["item_factors"].T + found["item_bias"]
    users, items = np.repeat(model.user_ids_, 30), np.tile(model.item_ids_, 60)
    np.testing.assert_allclose(scores.ravel(), model.predict((users, items)), atol=1e-4)
    for name, vectors in (("w.csv", False), ("v.npz", True)):
        with pytest.warns(UserWarning, match="weights between items.*are not written"):
            model.export(tmp_path / name, vectors=vectors)


def test_text_beside_numbers(tmp_path):
    """Users are numbers and items are text: a common column is text."""
    ratings = planted()
    named = np.array([f"it,em{item}" for item in ratings.item_ids])
    ratings = Ratings(ratings.users, ratings.items, ratings.values, ratings.user_ids, named)
    model = make(MatrixFactorization).fit(ratings)
    for name in ("t.csv", "t.parquet"):
        model.export(tmp_path / name)
    ids = [str(one) for one in (*model.user_ids_, *model.item_ids_)]
    assert [row["id"] for row in read_csv(tmp_path / "t.csv")] == ids
    assert pandas.read_parquet(tmp_path / "t.parquet").id.tolist() == ids
    model.export(tmp_path / "u.parquet", "users")
    assert pandas.read_parquet(tmp_path / "u.parquet").id.tolist() == model.user_ids_.tolist()


def test_refusals_write_nothing(fitted, tmp_path):
    with pytest.raises(ParameterError, match="must end in .npz, .csv, .parquet"):
        fitted.export(tmp_path / "x.txt")
    with pytest.raises(ParameterError, match="side"):
        fitted.export(tmp_path / "x.csv", "left")
    with pytest.raises(DataError, match="does not exist"):
        fitted.export(tmp_path / "no" / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")
    from gpukit.factorization.answers import exporting

    def fail(*arguments):
        arguments[-1].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "write_table", fail)
    with pytest.raises(DataError, match="No space left"):
        fitted.export(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
