"""Properties of every estimator: names, fitted models that ignore later parameters, files, pickles."""

import copy
import inspect
import pickle
import subprocess
import sys
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from factorization.inputs import planted
from imputation.inputs import problem
from ranking.data import make as make_documents

import gpukit
from gpukit.base import Estimator

SMALL = {"n_factors": 4, "n_epochs": 3, "device": "cpu"}


class Case(NamedTuple):
    """An estimator, the arguments of fit, and a function of its results."""

    estimator: Estimator
    data: tuple
    answer: object


def factorization(model):
    """A Case of MatrixFactorization or LSHMF, which predicts and recommends."""
    ratings = planted()
    return Case(model, (ratings,), lambda fitted: (fitted.predict(ratings), *fitted.recommend(n=5)))


def cases():
    """Return {name: Case} of every estimator."""
    at, graph = make_documents(), problem()
    slices = gpukit.GraphImputer(weights="slice", center="none", iterations=4, device="cpu")
    return {
        "MatrixFactorization": factorization(gpukit.MatrixFactorization(**SMALL)),
        "LSHMF": factorization(gpukit.LSHMF(**SMALL, n_neighbors=4, lsh_q=20)),
        "SimLSH": Case(
            gpukit.SimLSH(n_neighbors=3, q=10, device="cpu"), (planted(),), lambda f: (f.neighbors_, f.scores_)
        ),
        "RankSVM": Case(
            gpukit.RankSVM(scale="minmax", device="cpu"),
            (at.X, at.y, at.qid),
            lambda f: (f.predict(at.X), f.rank(at.X, at.qid)),
        ),
        "GraphImputer": Case(
            slices,
            (graph.A, graph.truth, graph.mask),
            lambda f: (f.transform(2 * graph.truth, graph.mask), f.completed_),
        ),
    }


CASES = cases()
EACH = pytest.mark.parametrize("name", CASES)
OTHER = {  # another value for every parameter
    **{"n_factors": 9, "n_epochs": 2, "biases": False, "rates": "paper", "learning_rate": 0.5, "regularization": 1.0},
    **{"validation_fraction": 0.5, "early_stopping": 3, "deterministic": True, "precision": "single"},
    **{
        "device": "auto",
        "random_state": 9,
        "n_neighbors": 7,
        "lsh_p": 1,
        "lsh_q": 3,
        "lsh_bits": 2,
        "lsh_psi": 1,
    },
    **{
        "search": "buckets",
        "hash": "minhash",
        "p": 1,
        "q": 3,
        "bits": 2,
        "psi": 1,
        "C": 77.0,
        "solver": "ost",
        "eps": 0.5,
        "max_iter": 1,
    },
    **{
        "scale": "deviation",
        "features": "fourier",
        "pair_weights": "gain",
        "precondition": False,
        "weights": "frequency",
        "exponent": 2.0,
        "center": "entry",
    },
    **{"decay": 0.1, "iterations": 2, "tolerance": 0.5, "accelerate": False, "rank_phase": False},
    **{"feedback": "implicit", "positive_from": 4.0, "loss": "bpr", "n_negatives": 3, "unobserved_weight": 0.5},
    **{"row_solver": "gradients", "beta": 0.7, "influence_rate": 0.5, "influence_regularization": 0.5},
    **{"method": "interpolation", "metric": "squared", "minimum": -7.0, "maximum": 7.0},
    **{"rank_iterations": 1, "basis_size": 3, "dtype": "float64"},
}


@pytest.fixture(scope="module")
def fitted():
    """{name: fitted estimator}."""
    return {name: copy.deepcopy(case.estimator).fit(*case.data) for name, case in CASES.items()}


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_all_estimators_are_here():
    assert set(CASES) == set(gpukit.ESTIMATORS)


@EACH
def test_the_same_names(name):
    estimator = CASES[name].estimator
    assert all(callable(getattr(estimator, method)) for method in ("prepare", "fit", "save", "load"))
    assert type(estimator.check()).__name__ == "Settings" and hasattr(estimator.check(), "_fields")
    taken = list(inspect.signature(estimator.fit).parameters)[: len(CASES[name].data)]
    assert list(inspect.signature(estimator.prepare).parameters)[: len(taken)] == taken


@EACH
def test_prepare_leaves_the_estimator_unfitted(name):
    estimator = copy.deepcopy(CASES[name].estimator)
    assert type(estimator.prepare(*CASES[name].data)).__name__ == "Run"
    assert set(vars(estimator)) <= {*estimator.get_params(), "random_share_"} and not estimator.__sklearn_is_fitted__()


@EACH
def test_what_is_fitted_does_not_hang_on_parameters_set_later(name, fitted):
    model = copy.deepcopy(fitted[name])
    before = CASES[name].answer(model)
    for parameter in model.get_params():
        model.set_params(**{parameter: OTHER[parameter]})
        for kept in model._transient:
            vars(model).pop(kept, None)
    assert all(model.get_params()[parameter] == OTHER[parameter] for parameter in model.get_params())
    model.set_params(device="cpu")  # a GPU sums in another order
    assert_same(before, CASES[name].answer(model))


@EACH
def test_files(name, fitted, tmp_path):
    fitted[name].save(tmp_path / "m")
    for loaded in (gpukit.load_model(tmp_path / "m"), type(fitted[name]).load(tmp_path / "m")):
        assert type(loaded) is type(fitted[name]) and loaded.device == "auto"
        assert {**loaded.get_params(), "device": "cpu"} == fitted[name].get_params()
        loaded.set_params(device="cpu")
        assert_same(CASES[name].answer(loaded), CASES[name].answer(fitted[name]))
        assert public(loaded) == public(fitted[name])
        loaded.save(tmp_path / "again")
    assert public(gpukit.load_model(tmp_path / "again")) == public(fitted[name])


def public(model):
    """Return the names of a model's fitted attributes."""
    return {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}


@EACH
def test_pickles_and_copies(name, fitted):
    expected = CASES[name].answer(fitted[name])  # a session is on the device
    for copied in (pickle.loads(pickle.dumps(fitted[name])), copy.deepcopy(fitted[name])):
        assert not set(copied._transient) & set(vars(copied))
        assert_same(CASES[name].answer(copied), expected)


@EACH
def test_editors_know_what_fit_sets(name, fitted):
    """Every fitted attribute is declared in a class, or is a property; a declaration alone sets nothing."""
    model, unfitted = fitted[name], type(fitted[name])()
    declared = {one for kind in type(model).__mro__ for one in vars(kind).get("__annotations__", {})}
    assert {one for one in vars(model) if one in public(model)} <= declared
    assert not [one for one in declared if one.endswith("_") and hasattr(unfitted, one)]
    assert set(vars(unfitted)) == set(unfitted.get_params())


def cells_of(model):
    """Return (text, {name: value}) of a model's HTML, which must be well formed."""
    tree = ElementTree.fromstring(model._repr_html_())
    assert {element.tag for element in tree.iter()} <= {"div", "b", "table", "tr", "th", "td"}
    return "".join(tree.itertext()), {row[0].text: row[1].text for row in tree.iter("tr")}


@EACH
def test_html(name, fitted):
    """Changed parameters, then facts of a fitted model; arrays are shown by their shapes."""
    estimator, model = CASES[name].estimator, fitted[name]
    text, cells = cells_of(estimator)
    assert text.startswith(f"{name}, not fitted") and cells["device"] == "'cpu'"
    assert set(cells) == set(estimator._changed_params()) < set(estimator.get_params())
    text, cells = cells_of(model)
    assert text.startswith(f"{name}, fitted") and len(text) < 1000
    assert list(cells) == [*model._changed_params(), *model._facts] and len(model._facts) > 2
    arrays = {fact for fact in model._facts if getattr(getattr(model, fact), "shape", ())}
    assert (arrays or name == "RankSVM") and all(f"{getattr(model, fact).shape}" in cells[fact] for fact in arrays)


ODD = "<script>alert('1')</script> & \"x\""


@EACH
def test_html_is_escaped(name, fitted):
    model = copy.deepcopy(fitted[name]).set_params(device=ODD)
    setattr(model, model._facts[0], ODD)
    assert "<script" not in model._repr_html_() and "&lt;script" in model._repr_html_()
    _, cells = cells_of(model)
    assert cells["device"] == cells[model._facts[0]] == repr(ODD)


@EACH
def test_a_damaged_header_is_a_model_error(name, fitted, tmp_path):
    from gpukit import persist
    from gpukit.errors import ModelError

    fitted[name].save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    for broken in ({**header, "facts": {}}, {**header, "parameters": {"who": 1}}):
        persist.save_arrays(tmp_path / "broken", broken, arrays)
        with pytest.raises(ModelError, match="damaged"):
            gpukit.load_model(tmp_path / "broken")
    for lacking in arrays:
        persist.save_arrays(tmp_path / "less", header, {key: array for key, array in arrays.items() if key != lacking})
        with pytest.raises(ModelError, match=f"lacks '{lacking}'"):
            gpukit.load_model(tmp_path / "less")


def test_files_of_the_first_format_are_refused_in_one_line(tmp_path, monkeypatch):
    from gpukit import persist
    from gpukit.errors import ModelError

    with monkeypatch.context() as patch:
        patch.setattr(persist, "FORMAT", 1)
        persist.save_arrays(tmp_path / "old", {"class": "RankSVM"}, {"coef": np.ones(3)})
    with pytest.raises(ModelError, match=r"^[^\n]*model format 1[^\n]*reads format 3\. Train again[^\n]*$"):
        gpukit.load_model(tmp_path / "old")


WITHOUT = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
import numpy as np, gpukit
for name in gpukit.ESTIMATORS:
    model = getattr(gpukit, name)()
    assert not hasattr(model, "set_fit_request") and "not fitted" in model._repr_html_(), name
model = gpukit.RankSVM(device="cpu").fit(np.eye(3), [0, 1, 2], [1, 1, 1])
print(model.set_params(C=2.0).predict(np.eye(3)).argmax())
"""


@pytest.mark.slow
def test_all_works_without_scikit_learn():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.stdout.split() == ["2"], done.stderr


def test_an_estimator_does_not_import_scikit_learn():
    code = (
        "import sys, gpukit; gpukit.RankSVM(), gpukit.LSHMF(), gpukit.GraphImputer(); print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize("room", ["factorization", "imputation.spectral", "neighbors", "ranking", "sorting"])
def test_one_chooser_of_gpu_or_cpu(room):
    from gpukit.device import Device
    from gpukit.device.engine import engine

    assert engine(Device("cpu", 0, "cpu"), f"gpukit.{room}").__name__ == f"gpukit.{room}.cpu"
    assert engine(Device("cuda", 0, "a GPU"), f"gpukit.{room}").__name__ == f"gpukit.{room}.gpu"
