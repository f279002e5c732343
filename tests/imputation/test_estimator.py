"""GraphImputer: inputs, results, and recovery of generated data."""

import warnings

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.base import Estimator
from gpukit.errors import DataError, NotFittedError, ParameterError
from gpukit.graphs.synth import synth_graph
from imputation import naive_algorithm
from imputation.inputs import KINDS, SHAPES, problem, with_nan

pytestmark = pytest.mark.filterwarnings("ignore:the spectral slices ended with mean rank")
PLAIN = {"weights": "slice", "center": "none", "dtype": "float64", "device": "cpu"}
PAPER = {**PLAIN, "accelerate": False, "rank_phase": False, "tolerance": 0.0}


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_own_algorithm(kind):
    case = problem((4, 5), kind, rank=2)
    model = GraphImputer(**PAPER, decay=0.7, iterations=6).fit(case.A, case.truth, case.mask)
    expected = naive_algorithm.algorithm_1(case.U, case.truth, case.mask, 0.7, 6)
    np.testing.assert_allclose(model.completed_, expected, atol=1e-9)
    assert len(model.history_.change) == 6 and (model.history_.phase == "path").all()
    np.testing.assert_allclose(model.history_.scale, 0.7 ** np.arange(6))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_generated_data_are_recovered_without_their_rank(dtype):
    given = synth_graph("random", 150, (16, 16), 3, 0.2, seed=3, dtype=dtype)
    model = GraphImputer(dtype=dtype, device="cpu", weights="slice", center="none")
    completed = model.fit_transform(given.adjacency, given.tensor, given.mask)
    error = np.linalg.norm(completed.astype(np.float64) - given.truth) / np.linalg.norm(given.truth.astype(np.float64))
    assert error <= 2e-5 and model.rank_phase_ == "done" and set(model.ranks_) == {3}
    assert completed.dtype == given.tensor.dtype


@pytest.mark.parametrize("shape", [(9,), (), (1, 9), (9, 1), (2, 2), (4, 6)])
@pytest.mark.parametrize("kind", ["slices", "entries", "both"])
def test_shapes_of_tensors(shape, kind):
    case = problem((1,) * (2 - len(shape)) + shape, kind)
    tensor = with_nan(case.truth, case.mask).reshape(len(case.truth), *shape)
    completed = GraphImputer(**PLAIN).fit_transform(case.A, tensor)
    assert completed.shape == tensor.shape and np.isfinite(completed).all()
    seen = ~np.isnan(tensor)
    np.testing.assert_array_equal(completed[seen], tensor[seen])


@pytest.mark.parametrize("kind", KINDS)
def test_the_input_stays_and_what_is_observed_returns_to_the_bit(kind):
    case = problem(kind=kind)
    tensor = with_nan(case.truth.astype(np.float32), case.mask)
    before, mask = tensor.copy(), case.mask.copy()
    completed = GraphImputer(**{**PLAIN, "center": "entry"}).fit_transform(case.A, tensor, mask)
    np.testing.assert_array_equal(tensor.view(np.uint32), before.view(np.uint32))
    np.testing.assert_array_equal(mask, case.mask)
    np.testing.assert_array_equal(completed[mask], before[mask])
    assert completed is not tensor and completed.dtype == np.float32


def test_nan_and_mask_say_the_same_and_add_up():
    case = problem(kind="both")
    tensor = case.truth
    one = GraphImputer(**PLAIN).fit_transform(case.A, with_nan(tensor, case.mask))
    other = GraphImputer(**PLAIN).fit_transform(case.A, tensor, case.mask)
    np.testing.assert_array_equal(one, other)
    rows = case.mask.any(axis=(1, 2))
    both = GraphImputer(**PLAIN).fit_transform(case.A, with_nan(tensor, case.mask | ~rows[:, None, None]), rows)
    np.testing.assert_array_equal(both, one)


def test_integers_stay_integers():
    case = problem()
    tensor = np.arange(case.truth.size).reshape(case.truth.shape)
    completed = GraphImputer(**PLAIN).fit_transform(case.A, tensor, case.mask)
    assert completed.dtype == tensor.dtype
    np.testing.assert_array_equal(completed[case.mask], tensor[case.mask])


def test_transform_is_fit_again_on_the_same_graph():
    case, other = problem(), problem(seed=0, kind="both")
    model = GraphImputer(**PLAIN).fit(case.A, case.truth, case.mask)
    np.testing.assert_array_equal(model.transform(case.truth, case.mask), model.completed_)
    fresh = GraphImputer(**PLAIN).fit_transform(case.A, other.truth, other.mask)
    np.testing.assert_array_equal(model.transform(other.truth, other.mask), fresh)
    with pytest.raises(DataError, match="the graph has 30 vertices, the tensor 29 slices"):
        model.transform(case.truth[1:])


def test_nothing_missing_is_said_and_returned():
    case = problem()
    with pytest.warns(UserWarning, match="nothing is missing"):
        model = GraphImputer(device="cpu").fit(case.A, case.truth)
    np.testing.assert_array_equal(model.completed_, case.truth)
    assert len(model.history_.change) == 0 and (model.confidence_ == 1).all()
    np.testing.assert_array_equal(model.transform(case.truth), case.truth)


@pytest.mark.parametrize(
    "parameters, rank, warned",
    [
        ({"accelerate": False}, 6, True),
        ({"iterations": 2, "decay": 0.9}, 6, False),
        ({"center": "auto"}, 6, False),
        ({"weights": "auto"}, 6, False),
        ({"rank_phase": True}, 1, False),
    ],
)
def test_large_ranks_without_validation_are_reported(parameters, rank, warned):
    case = problem((6, 5), rank=rank)
    model = GraphImputer(**{**PLAIN, "rank_phase": False, **parameters})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(case.A, case.truth, case.mask)
    grown = model.history_.mean_rank[-1] > 2.5
    assert [str(one.message)[:31] for one in caught] == ["the spectral slices ended with "] * warned
    assert not warned or grown


def test_what_fit_leaves_behind():
    case, calls = problem((6, 5)), []
    model = GraphImputer(**PLAIN, iterations=9, rank_iterations=3, tolerance=0.0)
    model.fit(case.A, case.truth, case.mask, progress=lambda *news: calls.append(news))
    assert list(model.history_.phase) == ["path"] * 9 + ["rank"] * 3 and model.rank_phase_ == "done"
    assert [news[:3] for news in calls] == [("path", i, 9) for i in range(1, 10)] + [("rank", i, 3) for i in (1, 2, 3)]
    assert calls[-1][3] == {"change": model.history_.change[-1], "rank": model.history_.mean_rank[-1]}
    assert model.confidence_.shape == (30,) and model.ranks_.shape == (30,) and model.basis_.exact
    assert model.stages_["iterations"] > 0 and model.stages_["basis"] >= 0 and "cpu" in model.device_
    assert (model.weights_, model.center_) == ("slice", "none")
    assert np.isnan(model.history_.error).all()


@pytest.mark.parametrize("kind", ["slices", "entries"])
def test_noisy_data_stop_where_the_hidden_error_is_least(kind):
    case = problem((8, 7), kind, rank=2, N=40)
    noisy = case.truth + 2.0 * np.random.default_rng(1).normal(size=case.truth.shape)
    model = GraphImputer(**{**PLAIN, "center": "auto"}, rank_phase=False).fit(case.A, noisy, case.mask)
    errors = next(trial for trial in model.trials_ if trial.setting.center == model.center_).curve
    best = int(errors.argmin())
    assert best < 19 and len(model.history_.scale) == best + 1


def test_a_partial_basis():
    case = problem(N=40)
    model = GraphImputer(**PLAIN, basis_size=15).fit(case.A, case.truth, case.mask)
    assert model.basis_.vectors.shape == (40, 15) and not model.basis_.exact and len(model.ranks_) == 15
    assert np.abs(model.completed_[~case.mask]).max() > 0


def test_auto_decides():
    case = problem((6, 5), rank=1, N=60)
    model = GraphImputer(device="cpu").fit(case.A, case.truth, case.mask)
    assert model.weights_ in ("slice", "common", "frequency") and model.center_ in ("none", "global", "entry")
    assert model.trials_


def test_scikit_learn_can_clone():
    clone = pytest.importorskip("sklearn.base").clone
    model = GraphImputer(weights="common", iterations=7)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "completed_")
    assert copy.set_params(decay=0.5) is copy and copy.decay == 0.5 and isinstance(copy, Estimator)
    with pytest.raises(NotFittedError, match="GraphImputer is not fitted"):
        copy.transform(np.ones(3))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", "rare"),
        ("exponent", -1),
        ("center", "median"),
        ("decay", 1.0),
        ("decay", 0),
        ("iterations", 0),
        ("tolerance", -1e-9),
        ("rank_iterations", -1),
        ("basis_size", 0),
        ("dtype", "float16"),
        ("random_state", -1),
    ],
)
def test_parameters_out_of_bounds(name, value):
    with pytest.raises(ParameterError, match=name):
        GraphImputer(**{name: value}).fit(np.ones((3, 3)), np.ones(3))


BAD = {
    "nothing observed": (lambda t: t * np.nan, None, "nothing is observed"),
    "all masked": (lambda t: t, np.zeros(30, bool), "nothing is observed"),
    "another N": (lambda t: t[:20], None, "the graph has 30 vertices, the tensor 20"),
    "objects": (lambda t: t.astype(object), None, "holds object"),
    "complex": (lambda t: t + 1j, None, "holds complex128"),
    "infinity": (lambda t: np.where(np.arange(30)[:, None, None] == 7, np.inf, t), None, "is inf at vertex 7"),
    "four axes": (lambda t: t[None], None, r"must be \(N, m, n\)"),
    "a mask of another shape": (lambda t: t, np.ones((30, 5), bool), r"mask has the shape \(30, 5\)"),
    "a mask of fractions": (lambda t: t, np.full(30, 0.5), "the mask must hold"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tensors(name):
    change, mask, message = BAD[name]
    case = problem()
    with pytest.raises(DataError, match=message):
        GraphImputer(device="cpu").fit(case.A, change(case.truth), mask)


def test_slices_over_512():
    case = problem()
    with pytest.raises(ParameterError, match="slices of 2 x 513 are too large: at most 512 .* Cut them"):
        GraphImputer(device="cpu").fit(case.A, np.ones((30, 2, 513)), case.mask)
    wide = np.ones((30, 600))
    assert GraphImputer(**PLAIN).fit_transform(case.A, wide, case.mask).shape == (30, 600)


def test_an_infinity_where_nothing_is_observed_does_not_matter():
    case = problem()
    tensor = case.truth.copy()
    tensor[~case.mask] = np.inf
    np.testing.assert_array_equal(
        GraphImputer(**PLAIN).fit_transform(case.A, tensor, case.mask),
        GraphImputer(**PLAIN).fit_transform(case.A, case.truth, case.mask),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_zero_tensor_stays_zero(shape):
    case = problem(shape)
    completed = GraphImputer(**PLAIN).fit_transform(case.A, 0 * case.truth, case.mask)
    np.testing.assert_array_equal(completed, 0)


def test_interrupted_fit_leaves_the_model_as_it_was():
    case = problem()
    model = GraphImputer(**PLAIN).fit(case.A, case.truth, case.mask)
    before, tensor = dict(vars(model)), 2 * case.truth

    def press(stage, done, total, info):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(case.A, tensor, case.mask, progress=press)
    assert vars(model) == before
    np.testing.assert_array_equal(tensor, 2 * case.truth)


def test_no_seed_is_the_default_one():
    """scikit-learn's convention accepts None."""
    model = GraphImputer(random_state=None)
    assert model.check() == GraphImputer().check() and model.get_params()["random_state"] is None


@pytest.mark.parametrize("given", [{"weights": "common"}, {"center": "entry"}])
def test_parameters_of_another_method_are_refused(given):
    with pytest.raises(ParameterError, match=f"{next(iter(given))}='.*method='kriging' does not use it"):
        GraphImputer(method="kriging", **given).fit(np.eye(3), np.ones((3, 4)))
