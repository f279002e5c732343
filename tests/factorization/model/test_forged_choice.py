"""Forged chosen settings in a model file: rejected.

Updates and lists use these settings.
"""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit import LSHMF, load_model, persist
from gpukit.errors import ModelError
from gpukit.factorization import MatrixFactorization

ANY = {
    "predictor": (..., 3),
    "n_factors": (..., -1, "4", 2000, True),
    "n_neighbors": (..., -1, 10**6),
    "n_epochs": (..., None, -1, 1.5, 2**70),
    "learning_rate": (..., "x", -1.0, float("nan")),
    "regularization": (..., None, "x", -0.1, 10**400),
    "biases": (..., "some", None),
    "damping": (..., [], [1.0], [1.0, -1.0], [1.0, "x"], "ab"),
    "trend": (7, [1.0], [0.0, float("inf")]),
    "why": (..., 0),
    "seed": (1,),
}
OF_CLICKS = {
    "feedback": ("explicit",),
    "solver": (..., "sgd", "x"),
    "loss": (..., "bpr"),
    "n_factors": (3, 5),
    "n_negatives": (-1, None),
    "unobserved_weight": (-1.0, float("nan")),
    "counted": (..., 1),
    "popular": (-0.5, 1.5, "x"),
    "mixed": (-1.0, 0.5),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return {kind of feedback: (header, arrays)} of model files."""
    folder, ratings = tmp_path_factory.mktemp("models"), planted()
    clicks = LSHMF(solver="ials", n_factors=4, n_epochs=2, device="cpu", unobserved_weight=0.1, regularization=0.01)
    made = {"explicit": make(MatrixFactorization), "implicit": clicks}
    for kind, model in made.items():
        values = ratings.values if kind == "explicit" else np.ones_like(ratings.values)
        model.fit(ratings.with_columns(**{**ratings.columns(), "values": values})).save(folder / kind)
    return {kind: persist.load_arrays(folder / kind) for kind in made}


def forged(header, **changes):
    """Return the header with other chosen facts; `...` deletes them."""
    kept = header["facts"]["kept"]
    chosen = {name: value for name, value in {**kept["chosen"], **changes}.items() if value is not ...}
    return {**header, "facts": {**header["facts"], "kept": {**kept, "chosen": chosen}}}


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_what_cannot_have_been_chosen(models, tmp_path, kind):
    header, arrays = models[kind]
    every = [(name, value) for name, values in ANY.items() for value in values]
    every += [(name, value) for name, values in OF_CLICKS.items() for value in values if kind == "implicit"]
    for name, value in every:
        persist.save_arrays(tmp_path / "forged", forged(header, **{name: value}), arrays)
        with pytest.raises(ModelError, match="forged is damaged: ") as caught:
            load_model(tmp_path / "forged")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500, (name, value)
    for lacking in ("chosen", "trials"):
        kept = {one: value for one, value in header["facts"]["kept"].items() if one != lacking}
        persist.save_arrays(tmp_path / "forged", {**header, "facts": {**header["facts"], "kept": kept}}, arrays)
        with pytest.raises(ModelError, match=f"its header lacks {lacking!r}"):
            load_model(tmp_path / "forged")


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_what_may_have_been_chosen(models, tmp_path, kind):
    header, arrays = models[kind]
    for changes in ({}, {"why": "for once"}, {"learning_rate": None}, {"trend": ...}, {"damping": [0.0, 3]}):
        persist.save_arrays(tmp_path / "sound", forged(header, **changes), arrays)
        model = load_model(tmp_path / "sound").set_params(device="cpu")
        by = "rating" if kind == "explicit" else "lists"
        users, _, scores = model.recommend_for({3: 1.0, 5: 1.0}, n=4, by=by, unknown="skip")
        assert len(users) == 1 and np.isfinite(scores).all()
