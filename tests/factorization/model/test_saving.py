"""Model files and checkpoints: the same model, resumed training, rejected files."""

import os
import signal

import numpy as np
import pytest

from factorization.inputs import make, planted, same_state
from gpukit import persist
from gpukit.errors import DataError, GpukitError, ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.ratings import Ratings

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


@BOTH
def test_saved_and_loaded(model, tmp_path):
    ratings = planted()
    fitted = make(model, random_state=3, validation_fraction=0.1).fit(ratings)
    fitted.save(tmp_path / "model")
    for loaded in (model.load(tmp_path / "model"), persist.load_model(tmp_path / "model")):
        assert type(loaded) is model and loaded.device == "auto"
        assert {**loaded.get_params(), "device": "cpu"} == fitted.get_params()
        loaded.device = "cpu"
        np.testing.assert_array_equal(loaded.predict(ratings), fitted.predict(ratings))
        np.testing.assert_array_equal(loaded.recommend(n=29)[0], fitted.recommend(n=29)[0])
        np.testing.assert_array_equal(loaded.similar_items(4)[1], fitted.similar_items(4)[1])
        for name in ("history_", "timings_", "device_", "mean_", "scale_", "n_features_in_"):
            assert getattr(loaded, name) == getattr(fitted, name), name
        np.testing.assert_array_equal(loaded.neighbors_, fitted.neighbors_)
        np.testing.assert_array_equal(loaded.user_ids_, fitted.user_ids_)
        assert getattr(loaded, "random_share_", None) == getattr(fitted, "random_share_", None)
        assert loaded.score(ratings) == fitted.score(ratings)
        loaded.save(tmp_path / "again")
    assert (tmp_path / "again").exists()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    make(MatrixFactorization).fit(planted()).save(path)
    return path


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short(saved, tmp_path, kept):
    content = saved.read_bytes()
    (tmp_path / "cut").write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ModelError, match="cut"):
        MatrixFactorization.load(tmp_path / "cut")


def test_a_file_of_another_class(saved):
    with pytest.raises(ModelError, match="holds a MatrixFactorization, not a LSHMF"):
        LSHMF.load(saved)


@pytest.mark.parametrize("n_items, dtype", [(1 << 16, np.uint16), ((1 << 16) + 1, np.int32)])
def test_rated_items_take_two_bytes_where_they_fit(n_items, dtype, tmp_path):
    items = np.array([0, n_items - 1, 5], np.int32)
    ratings = Ratings(np.arange(3, dtype=np.int32), items, np.float32([1, 2, 3]), np.arange(3), np.arange(n_items))
    model = MatrixFactorization(n_factors=2, n_epochs=1, regularization=0.1, device="cpu").fit(ratings)
    model.save(tmp_path / "model")
    assert persist.load_arrays(tmp_path / "model")[1]["rated.items"].dtype == dtype
    loaded = MatrixFactorization.load(tmp_path / "model")._rated.items
    np.testing.assert_array_equal(loaded, items)
    assert loaded.dtype == np.int32


def test_files_that_are_no_models(saved, tmp_path):
    (tmp_path / "text").write_text("user,item,rating\n")
    with pytest.raises(ModelError, match="not a gpukit model"):
        MatrixFactorization.load(tmp_path / "text")
    with pytest.raises(DataError, match="no model file"):
        MatrixFactorization.load(tmp_path / "nothing")


@pytest.mark.parametrize("lacking", ["user_ids", "state.user_factors", "rated.items"])
def test_a_file_that_lacks_an_array(saved, tmp_path, lacking):
    header, arrays = persist.load_arrays(saved)
    del arrays[lacking]
    persist.save_arrays(tmp_path / "less", header, arrays)
    with pytest.raises(ModelError, match=f"lacks '{lacking}'"):
        MatrixFactorization.load(tmp_path / "less")


def test_a_file_of_another_format(saved, tmp_path, monkeypatch):
    header, arrays = persist.load_arrays(saved)
    with monkeypatch.context() as patch:
        patch.setattr(persist, "FORMAT", 99)
        persist.save_arrays(tmp_path / "new", header, arrays)
    with pytest.raises(ModelError, match="format 99"):
        MatrixFactorization.load(tmp_path / "new")


# Checkpoints


class Stop:
    """A progress callback that interrupts after a number of epochs."""

    def __init__(self, epochs):
        self.epochs = epochs

    def __call__(self, stage, done, total, info):
        if stage == "training" and done == self.epochs:
            os.kill(os.getpid(), signal.SIGINT)


def interrupted(estimator, ratings, path, epochs=2, **more):
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(ratings, progress=Stop(epochs), checkpoint=path, **more)
    assert path.exists()


@BOTH
def test_going_on_is_as_if_never_stopped(model, tmp_path, one_thread):
    ratings, validation = planted().split(0.1, 0)
    whole = make(model).fit(ratings, validation=validation)
    interrupted(make(model), ratings, tmp_path / "point", validation=validation)
    resumed = make(model).fit(ratings, validation=validation, checkpoint=tmp_path / "point", resume=True)
    assert same_state(whole, resumed)
    assert [e["epoch"] for e in resumed.history_] == [1, 2, 3, 4, 5]
    assert [e["rmse"] for e in resumed.history_] == [e["rmse"] for e in whole.history_]
    seconds = [e["seconds"] for e in resumed.history_]
    assert seconds == sorted(seconds)


def test_going_on_with_early_stopping(tmp_path, one_thread):
    """The best epoch is before the interruption."""
    train, test = planted(200, 60, 0.2, seed=1).split(0.2, 0)
    parameters = {"n_factors": 16, "n_epochs": 60, "learning_rate": 0.5, "regularization": 0.0, "early_stopping": 6}
    whole = make(MatrixFactorization, **parameters).fit(train, validation=test)
    best = int(np.argmin([e["rmse"] for e in whole.history_]))
    assert len(whole.history_) == best + 7
    interrupted(make(MatrixFactorization, **parameters), train, tmp_path / "point", epochs=best + 3, validation=test)
    resumed = make(MatrixFactorization, **parameters)
    resumed.fit(train, validation=test, checkpoint=tmp_path / "point", resume=True)
    assert [e["rmse"] for e in resumed.history_] == [e["rmse"] for e in whole.history_]
    assert same_state(whole, resumed)


def test_going_on_keeps_the_epochs_that_early_stopping_chose(tmp_path, one_thread):
    ratings = planted(100, 40, 0.5, seed=1)
    parameters = {"n_factors": 16, "n_epochs": 60, "learning_rate": 0.5, "regularization": 0.0, "early_stopping": 3}
    whole = make(MatrixFactorization, **parameters).fit(ratings)
    interrupted(make(MatrixFactorization, **parameters), ratings, tmp_path / "point", epochs=1)
    resumed = make(MatrixFactorization, **parameters).fit(ratings, checkpoint=tmp_path / "point", resume=True)
    assert 1 < len(whole.history_) < 60 and resumed.chosen_ == whole.chosen_
    assert same_state(whole, resumed)


def test_more_epochs_than_planned_at_first(tmp_path, one_thread):
    ratings = planted()
    interrupted(make(MatrixFactorization), ratings, tmp_path / "point")
    longer = make(MatrixFactorization, n_epochs=9)
    longer.fit(ratings, checkpoint=tmp_path / "point", resume=True)
    assert same_state(make(MatrixFactorization, n_epochs=9).fit(ratings), longer)


def test_checkpoints_are_written_as_time_goes_by(tmp_path, monkeypatch):
    monkeypatch.setattr(RULES, "checkpoint_seconds", 0.0)
    point, seen = tmp_path / "point", []
    make(MatrixFactorization).fit(planted(), checkpoint=point, progress=lambda *news: seen.append(point.exists()))
    assert seen[-1] and not seen[0]
    header, _ = persist.load_arrays(point)
    assert header["class"] == "checkpoint" and header["epochs_done"] == 5


@pytest.fixture(scope="module")
def point(tmp_path_factory):
    path = tmp_path_factory.mktemp("point") / "point"
    interrupted(make(MatrixFactorization), planted(), path)
    return path


@pytest.mark.parametrize(
    "other, message",
    [
        ({"n_factors": 5}, "made with n_factors=4, not 5"),
        ({"random_state": 1}, "made with random_state=0, not 1"),
        ({"learning_rate": 0.1}, "made with learning_rate=None, not 0.1"),
    ],
)
def test_other_parameters(point, other, message):
    with pytest.raises(ModelError, match=message):
        make(MatrixFactorization, **other).fit(planted(), checkpoint=point, resume=True)


def test_fewer_epochs_than_trained(point):
    with pytest.raises(ModelError, match="is after 2 epochs, and n_epochs=1 ends before. Resume with more"):
        make(MatrixFactorization, n_epochs=1).fit(planted(), checkpoint=point, resume=True)
    done = make(MatrixFactorization, n_epochs=2).fit(planted(), checkpoint=point, resume=True)
    assert len(done.history_) == 2


def test_other_ratings(point):
    ratings = planted()
    weighted = ratings.with_columns(**ratings.columns(), weights=np.linspace(0.5, 1.5, len(ratings), dtype=np.float32))
    for other in (planted(seed=1), weighted):
        with pytest.raises(ModelError, match="other ratings"):
            make(MatrixFactorization).fit(other, checkpoint=point, resume=True)


def test_another_class(point):
    with pytest.raises(ModelError, match="not a checkpoint of a LSHMF"):
        make(LSHMF).fit(planted(), checkpoint=point, resume=True)


def test_models_and_checkpoints_are_not_mixed_up(saved, point):
    with pytest.raises(ModelError, match="not a checkpoint"):
        make(MatrixFactorization).fit(planted(), checkpoint=saved, resume=True)
    with pytest.raises(ModelError, match="holds a checkpoint"):
        MatrixFactorization.load(point)
    with pytest.raises(ModelError, match="checkpoint"):
        persist.load_model(point)


def test_nothing_to_go_on_from(tmp_path):
    with pytest.raises(ParameterError, match="resume.*checkpoint"):
        make(MatrixFactorization).fit(planted(), resume=True)
    with pytest.raises(DataError, match="no model file|no checkpoint"):
        make(MatrixFactorization).fit(planted(), checkpoint=tmp_path / "nothing", resume=True)


def test_a_checkpoint_that_cannot_be_written_is_found_before_training(tmp_path):
    news = []
    with pytest.raises(GpukitError, match="does not exist"):
        make(MatrixFactorization).fit(
            planted(), checkpoint=tmp_path / "no" / "point", progress=lambda *n: news.append(n)
        )
    assert not news
