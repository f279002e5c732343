"""ONNX graphs: the scores of onnxruntime are those of predict."""

import sys

import numpy as np
import pytest
import scipy.sparse

from gpukit.errors import DataError, ParameterError
from gpukit.ranking import RankSVM, feature_map, saving
from ranking import data

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def scores(path, X):
    """Return the scores of a graph."""
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return session.run(["scores"], {"features": np.asarray(X, np.float64)})[0]


@pytest.mark.parametrize("scale", ["none", "minmax", "deviation"])
@pytest.mark.parametrize("features", ["linear", "thresholds", "fourier"])
def test_the_scores_of_predict(features, scale, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 13)
    monkeypatch.setattr(feature_map, "LEAST", 3)
    at = data.make((12, 1, 30, 7), n=5, seed=2)
    X = np.round(at.X, 1) + [0.0, 5.0, 0.0, 0.0, -1.0]
    model = RankSVM(0.1, features=features, scale=scale)
    model.fit(X, at.y, at.qid, feature_names=["a", "b", "c", "d", "e"])
    model.save_onnx(tmp_path / "m.onnx")
    other = np.concatenate([X, np.random.default_rng(0).normal(size=(40, 5))])
    expected = model.predict(other)
    np.testing.assert_allclose(scores(tmp_path / "m.onnx", other), expected, rtol=0, atol=1e-12 * abs(expected).max())
    assert scores(tmp_path / "m.onnx", other[:1]).shape == (1,)
    properties = {one.key: one.value for one in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert properties == {"feature_names": "a\nb\nc\nd\ne"}


def test_columns_without_entries(tmp_path):
    """A wide sparse X: the graph takes all columns."""
    at = data.make((12, 30), n=4)
    wide = 1 << 21
    X = scipy.sparse.csr_array((at.X.ravel(), np.tile([3, 70, 900, wide - 1], 42), np.arange(43) * 4), (42, wide))
    model = RankSVM(0.1).fit(X, at.y, at.qid)
    model.save_onnx(tmp_path / "m.onnx")
    expected = model.predict(X)
    np.testing.assert_allclose(scores(tmp_path / "m.onnx", X[:2].toarray()), expected[:2], rtol=1e-12)


def test_onnx_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ParameterError, match="needs onnx, which is not installed: pip install"):
        saving.import_onnx()


@pytest.mark.parametrize("name", ["price\n2:7", "price\n", "pri\u2028ce", "pri\ud800ce"], ids=ascii)
@pytest.mark.parametrize("suffix", ["onnx", "txt"])
def test_a_name_that_a_file_of_lines_cannot_hold(suffix, name, tmp_path):
    pytest.importorskip("onnx")
    X = np.arange(8.0).reshape(4, 2)
    model = RankSVM(C=1.0, device="cpu").fit(X, [0, 1, 0, 1], [1, 1, 2, 2], feature_names=[name, "clicks"])
    save = model.save_onnx if suffix == "onnx" else model.save_text
    with pytest.raises(DataError, match=f"m.{suffix}: the feature name"):
        save(tmp_path / f"m.{suffix}")
    assert not list(tmp_path.iterdir())
