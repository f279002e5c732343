"""Models as files: all parameters are restored; damage is reported."""

import numpy as np
import pytest

import gpukit
from gpukit import persist
from gpukit.errors import DataError, ModelError
from gpukit.ranking import RankSVM
from ranking.data import make

NAMES = ["tf", "idf", "pagerank", "length", "größe"]


def fitted(**parameters):
    at = make()
    names = NAMES if parameters.get("scale") != "none" else None
    return RankSVM(**{"C": 1.0, "device": "cpu", **parameters}).fit(at.X, at.y, at.qid, feature_names=names)


@pytest.mark.parametrize("scale", ["none", "minmax", "deviation"])
def test_back_and_forth(tmp_path, scale):
    at, model = make(seed=3), fitted(C=0.3, scale=scale, solver="ost")
    model.save(tmp_path / "model.gpukit")
    for back in (RankSVM.load(tmp_path / "model.gpukit"), gpukit.load_model(str(tmp_path / "model.gpukit"))):
        assert back.get_params() == {**model.get_params(), "device": "auto"}
        np.testing.assert_array_equal(back.predict(at.X, at.qid), model.predict(at.X, at.qid))
        mine, its = (
            {
                k: v
                for k, v in vars(m).items()
                if k.endswith("_") and k not in ("coef_", "scaling_", "feature_names_in_")
            }
            for m in (model, back)
        )
        assert its == mine and its["solver_"] == "ost" and its["C_"] == 0.3
        assert getattr(back, "feature_names_in_", np.array([])).tolist() == ([] if scale == "none" else NAMES)
        assert back.scaling_.kind == scale


def test_a_path_is_kept(tmp_path):
    at, other = make(), make(seed=9)
    model = RankSVM(device="cpu").fit_path(
        (at.X, at.y, at.qid), (other.X, other.y, other.qid), grid="0.01,1", metric="pa"
    )
    model.save(tmp_path / "m")
    back = RankSVM.load(tmp_path / "m")
    assert (back.metric_, back.C_) == ("pa", model.C_)
    assert repr(back.path_) == repr(model.path_)  # including NaN


def test_numpy_parameters(tmp_path):
    fitted(C=np.float32(0.5), max_iter=np.int64(50)).save(tmp_path / "m")
    assert RankSVM.load(tmp_path / "m").get_params()["C"] == 0.5


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_cut_short(tmp_path, share):
    path = tmp_path / "model"
    fitted(scale="minmax").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    for load in (RankSVM.load, gpukit.load_model):
        with pytest.raises(ModelError, match="not a gpukit model|damaged"):
            load(path)


@pytest.mark.parametrize("lacking", ["coef", "low", "factor"])
def test_a_file_that_lacks_an_array(tmp_path, lacking):
    fitted(scale="minmax").save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    del arrays[lacking]
    persist.save_arrays(tmp_path / "less", header, arrays)
    with pytest.raises(ModelError, match=f"lacks '{lacking}'"):
        RankSVM.load(tmp_path / "less")


def test_other_files(tmp_path):
    persist.save_arrays(tmp_path / "other", {"class": "LSHMF"}, {"coef": np.ones(3)})
    with pytest.raises(ModelError, match="holds a LSHMF, not a RankSVM"):
        RankSVM.load(tmp_path / "other")
    with pytest.raises(DataError, match="no model file"):
        RankSVM.load(tmp_path / "nothing")
    with pytest.raises(DataError, match="does not exist"):
        fitted().save(tmp_path / "no folder" / "m")
    with pytest.raises(gpukit.errors.NotFittedError):
        RankSVM().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("scale", ["none", "minmax", "deviation"])
def test_text(tmp_path, scale):
    model = fitted(scale=scale)
    model.save_text(tmp_path / "w.txt")
    lines = (tmp_path / "w.txt").read_text("utf-8").splitlines()
    numbers = [[float(x) for x in line.split("#")[0].split(":")] for line in lines if not line.startswith("#")]
    expected = [np.arange(1, 6), model.coef_]
    expected += [model.scaling_.low, model.scaling_.factor] if scale != "none" else []
    np.testing.assert_array_equal(numbers, np.column_stack(expected))
    assert lines[-1].endswith("größe") == (scale != "none")
