"""Features with very large numbers: training takes memory only for existing ones."""

import numpy as np
import pytest
import scipy.sparse

from gpukit import RankSVM
from gpukit.documents import read_letor, write_letor

LARGEST = 2**31 - 1
NUMBERS = [1, 7, 500, 70_000, 900_000_000, LARGEST]


def lines(numbers):
    """Return svmlight lines of 48 documents in 4 queries; each feature has its own values."""
    rng = np.random.default_rng(3)
    for k in range(48):
        values = rng.normal(size=len(numbers))
        yield f"{values[0] > 0:d} qid:{k // 12} " + " ".join(f"{n}:{v:.4f}" for n, v in zip(numbers, values)) + "\n"


@pytest.fixture
def wide(tmp_path):
    (tmp_path / "wide.txt").write_text("".join(lines(NUMBERS)))
    return read_letor(tmp_path / "wide.txt")


@pytest.fixture
def narrow(tmp_path):
    (tmp_path / "narrow.txt").write_text("".join(lines(range(1, 7))))
    documents = read_letor(tmp_path / "narrow.txt")
    return documents._replace(X=scipy.sparse.csr_matrix(documents.X))


def test_few_features_of_many_are_sparse(wide):
    assert wide.X.format == "csr" and wide.X.shape == (48, LARGEST) and wide.X.nnz == 288


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"scale": "none"}, {"scale": "deviation"}, {"precondition": False}])
def test_training_takes_memory_for_the_features_that_occur(wide, narrow, parameters, monkeypatch):
    monkeypatch.setattr("gpukit.device.memory.available_memory", lambda: 1 << 20)
    model, other = (RankSVM(device="cpu", **parameters).fit(x) for x in (wide, narrow))
    assert (model.columns_ + 1).tolist() == NUMBERS and model.n_features_in_ == LARGEST
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(wide), other.predict(narrow), rtol=1e-6, atol=1e-9)
    assert model.score(wide) == other.score(narrow)


def test_fit_path_and_the_validation_set(wide, narrow):
    model, other = (RankSVM(device="cpu").fit_path(x, x, grid=[0.1, 1.0], metric="pa") for x in (wide, narrow))
    assert model.C_ == other.C_ and model.path_[0]["validation"] == other.path_[0]["validation"]


def test_saved_models_and_copies_keep_the_numbers(wide, tmp_path):
    write_letor(wide, tmp_path / "wide.gkl")
    model = RankSVM(1.0, device="cpu").fit(read_letor(tmp_path / "wide.gkl"))
    model.save(tmp_path / "m.gpukit")
    back = RankSVM.load(tmp_path / "m.gpukit")
    assert back.columns_.tolist() == model.columns_.tolist() and back.n_features_in_ == LARGEST
    np.testing.assert_array_equal(back.predict(wide), model.predict(wide))
    back.save_text(tmp_path / "m.txt")
    rows = [line.split(":") for line in (tmp_path / "m.txt").read_text().splitlines() if line[0] != "#"]
    assert [int(row[0]) for row in rows] == NUMBERS and [float(row[1]) for row in rows] == model.coef_.tolist()


def test_features_unseen_in_training_are_ignored_with_a_warning(wide):
    model = RankSVM(1.0, device="cpu").fit(wide)
    X = scipy.sparse.lil_matrix((3, 600))
    X[0, 0], X[1, 6], X[2, 8] = 1.0, 2.0, 5.0
    with pytest.warns(UserWarning, match="1 features never occurred in training and are ignored: number 9"):
        scores = model.predict(X.tocsr())
    np.testing.assert_allclose(scores, [model.coef_[0], 2 * model.coef_[1], 0.0])


def test_null_takes_memory_for_the_features_that_occur(tmp_path):
    (tmp_path / "a.txt").write_text(f"1 qid:1 1:3 {LARGEST}:NULL\n0 qid:1 1:2 {LARGEST}:0.5\n")
    assert read_letor(tmp_path / "a.txt", null="min").X.data.tolist() == [3, 0.5, 2, 0.5]
