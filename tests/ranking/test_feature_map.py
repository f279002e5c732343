"""Feature maps: equal to an expansion of everything at once, in training, saved models and predictions."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

from gpukit import persist
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.parallel import ALONE
from gpukit.ranking import RankSVM, blocks, cpu, feature_map, inputs, problem, run
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.solvers import choose
from ranking import data, naive

MAPS = ("thresholds", "fourier")


def awkward(lengths, seed=0, n=5):
    """Return a data.Set with ties, a feature that is constant, and one that is constant within every query."""
    at = data.make(lengths, n=n, seed=seed)
    X = np.round(at.X, 1)
    X[:, 1], X[:, 2] = 7.5, np.repeat(np.arange(len(lengths)), lengths)
    return at._replace(X=X)


def spread(X, offsets):
    """Return the deviation of each column within queries."""
    away = [X[a:b] - X[a:b].mean(axis=0) for a, b in zip(offsets[:-1], offsets[1:])]
    return np.sqrt(np.square(np.concatenate(away)).mean(axis=0))


def expanded(model, X, offsets, trained_on=None):
    """Return the features of a fitted model in float64, all at once, with scale 'deviation' of trained_on."""
    T = X if trained_on is None else trained_on
    deviation = spread(T, offsets)
    deviation[deviation < 1e-9] = np.inf
    Z = (X - T.min(axis=0)) / deviation
    if model.feature_map_.kind == "thresholds":
        return np.hstack([Z, *(np.asarray(columns) for columns in indicators(X, T, deviation, offsets))])
    return np.hstack([Z, np.cos(Z @ model.feature_map_.directions + model.feature_map_.phases)])


def indicators(X, T, deviation, offsets):
    """Yield the columns (l, 1) of steps at the cuts of T of deviation 1, without those constant within every query."""
    for f in np.flatnonzero(np.isfinite(deviation)):
        for cut in bins(T[:, f].tolist(), 8, feature_map.LEAST):
            height = spread((T[:, [f]] > cut).astype(float), offsets)[0]
            if height > 0:
                yield (X[:, [f]] > cut) / height


def bins(values, most, least):
    """Return the ends of all bins but the last, at most `most`, of at least `least` values, level by level."""
    levels, cuts, left, size = sorted(Counter(values).items()), [], len(values), 0
    needed = None
    for at, (level, count) in enumerate(levels[:-1]):
        if needed is None:
            needed = max(least, math.ceil(left / (most + 1)) if len(levels) - at > most + 1 else 0)
        size += count
        if size >= needed or levels[at + 1][1] >= needed:
            left -= size
            if left < least or most == 0:
                break
            cuts += [(level + levels[at + 1][0]) / 2] if size >= least else []
            most, size, needed = most - 1, 0, None
            if most == 0:
                break
    return cuts


def minimum(Z, y, offsets, C):
    """Return w of the minimum of Eq. (1), by a dense Newton method over explicit pairs; equal Z are solved once."""
    key = Z.tobytes(), y.tobytes(), *offsets, C
    if key not in MINIMA:
        MINIMA[key] = newton(Z, y, offsets, C)
    return MINIMA[key]


MINIMA = {}


def newton(Z, y, offsets, C):
    """Return w of `minimum`."""

    def objective(w):
        point = naive.objective(w, Z, y, offsets, C)
        return point.f, point.gradient

    w = minimize(objective, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    for _ in range(30):
        point = naive.objective(w, Z, y, offsets, C)
        hessian = np.column_stack([point.hessian_vector(e) for e in np.eye(len(w))])
        w = w - np.linalg.solve(hessian, point.gradient)
    assert np.linalg.norm(naive.objective(w, Z, y, offsets, C).gradient) < 1e-8
    return w


@pytest.fixture(autouse=True)
def few_waves(monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 50)


@pytest.fixture(params=[1, 64, 1 << 18])
def block(request, monkeypatch):
    """Blocks of one document, of some, and of all."""
    monkeypatch.setattr(feature_map, "BLOCK", request.param)
    monkeypatch.setattr(feature_map, "WAVES", 13)
    monkeypatch.setattr(feature_map, "LEAST", 3)
    monkeypatch.setattr(feature_map, "KEPT", 0 if request.param == 64 else 1 << 25)


@pytest.mark.parametrize("lengths", [(40,), (12, 1, 30, 7, 33, 2)])
@pytest.mark.parametrize("kind", MAPS)
def test_minimum_of_all_features_at_once(kind, lengths, block):
    at = awkward(lengths)
    model = RankSVM(0.1, features=kind, scale="deviation", eps=1e-9).fit(at.X, at.y, at.qid)
    Z = expanded(model, at.X, at.offsets)
    assert model.coef_.shape == (Z.shape[1],) and model.n_features_in_ == 5
    expected = minimum(Z, at.y, at.offsets, 0.1)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-6)
    np.testing.assert_allclose(model.predict(at.X), Z @ expected, atol=1e-6)
    other = awkward(lengths, seed=4).X[:9]
    np.testing.assert_allclose(model.predict(other), expanded(model, other, at.offsets, at.X) @ expected, atol=1e-6)


@pytest.mark.parametrize("kind", MAPS)
def test_products_and_gram_by_blocks(kind, block):
    at, rng = awkward((3, 1, 90, 2, 17)), np.random.default_rng(1)
    session, Z = session_of(at, kind)
    v, z, out = rng.normal(size=Z.shape[1]), rng.normal(size=len(Z)), np.empty(len(Z))
    session.matrix.scores(v, out)
    np.testing.assert_allclose(out, Z @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(session.matrix.transposed(z), Z.T @ z, rtol=1e-12, atol=1e-12)
    pulls = np.array([np.sum(at.y[at.qid == q] != y) for y, q in zip(at.y, at.qid)], float)
    expected = sum(covariance(Z[at.qid == q], pulls[at.qid == q]) for q in np.unique(at.qid))
    np.testing.assert_allclose(session.gram(), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(session.gram(diagonal=True), expected.diagonal(), rtol=1e-11, atol=1e-11)


def session_of(at, kind):
    """Return (PairSums, expanded X)."""
    X = feature_map.Expanded(at.X, feature_map.fit(kind, at.X, at.offsets), at.offsets)
    return make_pair_sums(problem.make_problem(X, at.y, at.offsets), "scan", cpu), X[:]


def covariance(Z, pulls):
    """Return the weighted covariance of the documents of one query."""
    if not pulls.any():
        return np.zeros((Z.shape[1], Z.shape[1]))
    away = Z - pulls @ Z / pulls.sum()
    return away.T @ (away * pulls[:, None])


def test_runs_hold_whole_queries_or_a_part_of_one():
    runs = blocks.make_runs(np.array([0, 2, 3, 10, 11, 13]), 4)
    assert blocks.query_blocks(np.array([0, 2, 3, 10, 11, 13]), 4) == [(0, 2), (2, 3), (3, 5)]
    assert runs == [[slice(0, 3)], [slice(3, 7), slice(7, 10)], [slice(10, 13)]]
    assert blocks.make_runs(5, 2) == [[slice(0, 2)], [slice(2, 4)], [slice(4, 5)]]
    assert blocks.make_runs(0, 2) == []


def test_large_sets_are_not_stored(monkeypatch):
    at = awkward((30, 30))
    whole = feature_map.fit("thresholds", at.X, at.offsets)
    assert feature_map.Expanded(at.X, whole).stored is not None
    monkeypatch.setattr(feature_map, "KEPT", 60 * (5 + whole.extra) - 1)
    assert feature_map.Expanded(at.X, whole).stored is None


@pytest.mark.parametrize("kind", MAPS)
def test_saved_and_loaded(kind, tmp_path):
    at = awkward((20, 25))
    model = RankSVM(0.1, features=kind).fit(at.X, at.y, at.qid)
    model.save(tmp_path / "m")
    back = RankSVM.load(tmp_path / "m")
    assert back.features == kind and back.n_features_in_ == 5 and model.scaling_.kind == "deviation"
    np.testing.assert_array_equal(back.predict(at.X), model.predict(at.X))
    np.testing.assert_array_equal(back.rank(at.X, at.qid), model.rank(at.X, at.qid))
    with pytest.raises(DataError, match="no text of one weight per feature"):
        back.save_text(tmp_path / "t")


FAULTS = {
    "thresholds": [
        ("map_columns", lambda a: a + 4, "map_columns are not all from 0 to 4"),
        ("map_columns", lambda a: a - 1, "map_columns are not all from 0 to 4"),
        ("map_columns", lambda a: a[1:], "map_values"),
        ("map_values", lambda a: a * np.nan, "map_values"),
        ("map_values", lambda a: a.astype(np.float32), "map_values"),
        ("map_heights", lambda a: a[1:], "map_heights"),
        ("map_heights", lambda a: a * np.inf, "map_heights"),
        ("coef", lambda a: a[1:], "weights for 5 features"),
    ],
    "fourier": [
        ("map_directions", lambda a: a[1:], "map_directions"),
        ("map_directions", lambda a: a + np.inf, "map_directions"),
        ("map_phases", lambda a: a * np.nan, "map_phases"),
        ("map_phases", lambda a: a[1:], "map_directions"),
        ("low", lambda a: a[1:], "low"),
    ],
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return {kind: path of a model with a map}."""
    at, folder = awkward((20, 25)), tmp_path_factory.mktemp("stored")
    for kind in MAPS:
        RankSVM(0.1, features=kind).fit(at.X, at.y, at.qid).save(folder / kind)
    return {kind: folder / kind for kind in MAPS}


@pytest.mark.parametrize(("kind", "at"), [(kind, at) for kind in MAPS for at in range(len(FAULTS[kind]))])
def test_damaged_maps_are_refused(kind, at, stored, tmp_path):
    name, damage, message = FAULTS[kind][at]
    header, arrays = persist.load_arrays(stored[kind])
    persist.save_arrays(tmp_path / "bad", header, {**arrays, name: damage(arrays[name])})
    with pytest.raises(ModelError, match=message):
        RankSVM.load(tmp_path / "bad")


@pytest.mark.parametrize("kind", MAPS)
def test_sparse_features(kind):
    at = awkward((20, 25, 8))
    X, model = scipy.sparse.csr_array(at.X), RankSVM(0.1, features=kind)
    of_dense = model.fit(at.X, at.y, at.qid).predict(at.X)
    np.testing.assert_array_equal(model.predict(X), of_dense)
    np.testing.assert_array_equal(model.fit(X, at.y, at.qid).predict(at.X), of_dense)


def test_wide_sparse_features_are_refused():
    at = awkward((20, 25))
    for width in (4097, 2_000_000):
        X = scipy.sparse.csr_array((np.ones(45), (np.arange(45), np.arange(45) % 9)), shape=(45, width))
        with pytest.raises(DataError, match=f"this sparse one has {width:,} columns.*features='linear'"):
            RankSVM(0.1, features="thresholds").fit(X, at.y, at.qid)


def test_bad_parameters(monkeypatch):
    at = awkward((20, 25))
    with pytest.raises(ParameterError, match="features.*'square'"):
        RankSVM(features="square").fit(at.X, at.y, at.qid)
    monkeypatch.setattr(choose, "has_cupy", lambda: False)
    with pytest.raises(ParameterError, match="'fourier' needs cupy on a GPU.*features='linear'"):
        RankSVM(features="fourier", device="cuda").check()
    assert choose.choose_device("auto", "auto", 1 << 40, "fourier").kind == "cpu"
    at.X[3, 4] = np.nan
    with pytest.raises(DataError, match=r"X\[3, 4\] is NaN"):
        RankSVM(features="fourier").fit(at.X, at.y, at.qid)


@pytest.mark.parametrize("kind", MAPS)
def test_constant_features_give_zero_weights(kind):
    at = awkward((20, 25))
    with pytest.warns(UserWarning, match="no feature differs within a query"):
        model = RankSVM(0.1, features=kind).fit(at.X[:, 1:3], at.y, at.qid)
    assert not model.coef_.any() and model.feature_map_.extra == 0


@pytest.mark.parametrize("kind", MAPS)
def test_order_of_documents_does_not_matter(kind):
    at, order = awkward((20, 25, 30)), np.random.default_rng(0).permutation(75)
    model = RankSVM(0.1, features=kind, eps=1e-9).fit(at.X, at.y, at.qid)
    other = RankSVM(0.1, features=kind, eps=1e-9).fit(*at.taken(order))
    np.testing.assert_allclose(other.predict(at.X), model.predict(at.X), atol=1e-6)


@pytest.mark.parametrize("kind", MAPS)
def test_a_path_of_c(kind):
    at, other = awkward((20, 25)), awkward((22, 9), seed=3)
    model = RankSVM(features=kind).fit_path(
        (at.X, at.y, at.qid), (other.X, other.y, other.qid), grid="0.1", metric="pa"
    )
    alone = RankSVM(0.1, features=kind).fit(at.X, at.y, at.qid)
    assert model.path_[0]["validation"]["pa"] == pytest.approx(alone.score(other.X, other.y, other.qid))


def test_steps_that_are_constant_within_all_queries_are_dropped(monkeypatch):
    """The feature varies in the first query alone, below all of its thresholds."""
    monkeypatch.setattr(feature_map, "LEAST", 8)
    X, offsets = np.repeat(np.arange(9.0), 9)[:, None], np.arange(0, 82, 9)
    X[:9, 0] = -np.arange(9)
    assert feature_map.fit_thresholds(X, offsets).values.tolist() == []
    X[9, 0] = 2.0  # in the second query, whose other documents are below the threshold 1.5
    found = feature_map.fit_thresholds(X, offsets)
    assert found.values.tolist() == [1.5] and found.heights == pytest.approx([(81 / (8 / 9)) ** 0.5])


CUTS = {  # numbers of documents by value 0, 1, ... and the values below the thresholds
    "even": ([10] * 90, [9, 19, 29, 39, 49, 59, 69, 79]),
    "mostly 0": ([9000, *[10] * 80], [0, 10, 20, 30, 40, 50, 60, 70]),
    "a frequent value in the middle": ([*[10] * 40, 9000, *[10] * 40], [39, 40, 46, 52, 58, 64, 70, 75]),
    "few values": ([900, 30, 20, 5000], [0, 1, 2]),
    "rare values": ([900, 19, 5000, 19], [0]),
    "rare at the ends": ([19, 900, 900, 19], [1]),
    "one value": ([50], []),
    "too few": ([19, 19], []),
}


@pytest.mark.parametrize("name", CUTS)
def test_thresholds_of_a_feature(name):
    counts, expected = CUTS[name]
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts), dtype=np.float64), counts))
    assert feature_map.choose_cuts(values).tolist() == [value + 0.5 for value in expected]


def test_thresholds_are_those_of_a_pass_over_the_levels():
    rng = np.random.default_rng(0)
    for size in (1, 39, 40, 300, 2000):
        for power in (0.0, 1.0, 4.0):
            values = np.floor(rng.random(size) ** power * rng.integers(1, 400))
            assert feature_map.choose_cuts(values).tolist() == bins(values.tolist(), 8, 20)


def test_rounded_values_keep_their_side_of_a_threshold():
    """Documents are float32 beyond a size, and steps at the values themselves moved half of them by a whole step."""
    at = awkward((40, 50))
    model = RankSVM(0.1, features="thresholds", scale="deviation").fit(at.X, at.y, at.qid)
    np.testing.assert_allclose(model.predict(at.X.astype(np.float32)), model.predict(at.X), atol=1e-5)
    values = np.repeat([1.0, np.nextafter(1.0, 2.0)], 20)
    assert feature_map.choose_cuts(values).tolist() == [1.0]
    assert feature_map.choose_cuts(np.repeat([-1.7e308, 1.7e308], 20)).tolist() == [0.0]


def test_linear_models_have_no_map():
    at = awkward((20, 25))
    read = inputs.read(at.X, at.y, at.qid, None)
    made = run.Run(read, RankSVM(0.1).check()._replace(scale="none"), ALONE)
    assert made.map is None and isinstance(made.problem.X, np.ndarray)
    assert RankSVM(0.1).fit(at.X, at.y, at.qid).feature_map_ is None


@pytest.mark.parametrize("kind", ["linear", *MAPS])
def test_parts_of_a_score(kind, block):
    """By feature: what remains of it, and of its steps, if they alone have weights."""
    at = awkward((20, 25))
    X = scipy.sparse.csr_array(at.X)
    model = RankSVM(0.1, features=kind, scale="deviation").fit(at.X, at.y, at.qid)
    parts = model.explain(at.X)
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(at.X), atol=1e-9)
    np.testing.assert_allclose(model.explain(X), parts, atol=1e-9)
    weights = model.coef_.copy()
    columns = np.append(np.arange(5), np.full(len(weights) - 5, 5))
    if kind == "thresholds":
        columns[5:] = model.feature_map_.columns
    for column in range(6):
        model.coef_ = np.where(columns == column, weights, 0.0)
        np.testing.assert_allclose(parts[:, column], model.predict(at.X), atol=1e-9)


@pytest.mark.parametrize("kind", MAPS)
def test_bounds_of_rounding_know_the_largest_magnitudes(kind, block):
    at = awkward((20, 25))
    read = inputs.read(at.X, at.y, at.qid, None)
    made = run.Run(read, RankSVM(0.1, features=kind, scale="deviation").check(), ALONE)
    largest = np.abs(made.problem.X[:]).max(axis=0)
    np.testing.assert_array_less(largest, made.size.largest * (1 + 1e-9) + 1e-12)


def test_the_bandwidth_of_many_documents_is_that_of_evenly_spaced_blocks(monkeypatch):
    rng, offsets = np.random.default_rng(4), np.arange(0, 4001, 4)
    X = rng.normal(size=(4000, 3)) * np.linspace(1.0, 3.0, 4000)[:, None]  # in no even order
    monkeypatch.setattr(feature_map, "BLOCK", 3 * 40)
    whole = feature_map.median_distance(X, offsets, np.ones(3))
    away = X - X.reshape(-1, 4, 3).mean(axis=1).repeat(4, axis=0)
    assert whole == pytest.approx(np.median(np.linalg.norm(away, axis=1)))
    monkeypatch.setattr(feature_map, "SAMPLED", 1000)
    sampled = feature_map.median_distance(X, offsets, np.ones(3))
    distances = np.linalg.norm(away, axis=1).reshape(-1, 40)[::4]
    assert sampled == pytest.approx(np.median(distances)) and sampled != whole
    assert abs(sampled / whole - 1) < 0.05
