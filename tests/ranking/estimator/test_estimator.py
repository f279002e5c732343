"""RankSVM's public interface: the minimum of Eq. (1) for all forms of input, prediction, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse

import gpukit
from gpukit.documents import Documents, as_documents
from gpukit.errors import DataError, DeviceError, GpukitError, ParameterError
from gpukit.runtime import thread_count
from ranking import naive
from ranking.data import make, relative

RankSVM = gpukit.RankSVM
SOLVERS = ["scan", "p-swx", "dcm", "ost"]


def tight(**parameters):
    """Return a RankSVM on the CPU that continues until rounding stops it."""
    return RankSVM(**{"C": 1.0, "eps": 1e-10, "device": "cpu", **parameters})


@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("levels, C", [(2, 0.01), (5, 1.0), (0, 30.0)])
def test_the_minimum(levels, C, solver, precondition):
    at = make(levels=levels)
    best = naive.minimize(at.X, at.y, at.offsets, C, 1e-11)
    model = tight(C=C, solver=solver, precondition=precondition).fit(at.X, at.y, at.qid)
    assert model.objective_ == pytest.approx(best.f, rel=1e-12) and relative(model.coef_, best.w) < 1e-6
    assert model.solver_ == solver and model.device_.startswith("cpu") and model.converged_
    at_w = naive.objective(model.coef_, at.X, at.y, at.offsets, C)
    assert model.objective_ == pytest.approx(at_w.f, rel=1e-13)
    assert model.gradient_norm_ == pytest.approx(np.linalg.norm(at_w.gradient), rel=1e-3, abs=1e-10 * best.f)


def test_what_fit_leaves():
    at, news = make(), []
    model = RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid, progress=lambda *n: news.append(n))
    assert model.n_pairs_ == naive.pair_count(at.y, at.offsets)
    assert (model.n_queries_, model.n_features_in_, model.C_, model.coef_.dtype) == (6, 5, 1.0, np.float64)
    assert model.n_iter_ == len(model.history_) and model.n_cg_ == sum(h["cg_steps"] for h in model.history_)
    assert set(model.timings_) == {"prepare", "precondition", "training", "compiling"}
    assert [n[:3] for n in news] == [("training", k, None) for k in range(model.n_iter_ + 1)]
    assert model.history_[-1]["f"] == model.objective_ and not hasattr(model, "feature_names_in_")
    start = np.linalg.norm(naive.objective(np.zeros(5), at.X, at.y, at.offsets, 1.0).gradient)
    assert model.gradient_norm_ <= 1e-5 * start


def test_the_preconditioner_saves_steps():
    """Fewer than half of those without one (test_tron.py); with precondition=False the diagonal still helps."""
    at = make([60] * 10, 4, 20)
    scales = 10.0 ** np.linspace(-1, 1, 20)
    with_it, plain = (tight(eps=1e-6, precondition=p).fit(at.X * scales, at.y, at.qid) for p in (True, False))
    assert with_it.n_cg_ < 0.6 * plain.n_cg_


# Forms of input


def test_rows_in_any_order():
    at = make()
    rows = np.random.default_rng(1).permutation(len(at.y))
    plain, shuffled = tight().fit(at.X, at.y, at.qid), tight().fit(*at.taken(rows))
    assert relative(shuffled.coef_, plain.coef_) < 1e-9 and shuffled.n_pairs_ == plain.n_pairs_
    np.testing.assert_array_equal(shuffled.predict(at.X[rows]), shuffled.predict(at.X)[rows])
    assert shuffled.score(*at.taken(rows)) == shuffled.score(at.X, at.y, at.qid)


@pytest.mark.parametrize("kind", ["text", "objects", "floats", "series"])
def test_kinds_of_query_ids(kind):
    pandas = pytest.importorskip("pandas")
    at = make()
    qid = {
        "text": at.qid.astype(str),
        "objects": at.qid.astype(str).astype(object),
        "floats": at.qid / 2,
        "series": pandas.Series(at.qid, index=at.qid),
    }[kind]
    np.testing.assert_array_equal(tight().fit(at.X, at.y, qid).coef_, tight().fit(at.X, at.y, at.qid).coef_)


def test_counts_and_documents_in_place_of_ids():
    at = make()
    expected = tight().fit(at.X, at.y, at.qid).coef_
    counts = [0, *np.diff(at.offsets).tolist(), 0]
    np.testing.assert_array_equal(tight().fit(at.X, at.y, group=counts).coef_, expected)
    documents = Documents(at.X, at.y, at.offsets, at.qid[at.offsets[:-1]])
    np.testing.assert_array_equal(tight().fit(documents).coef_, expected)


def test_labels_count_by_their_order_alone():
    at = make(levels=4)
    expected = tight().fit(at.X, at.y, at.qid).coef_
    for y in (np.exp(3 * at.y), 1000 * at.y - 7, (2 * at.y).astype(np.int8)):
        np.testing.assert_array_equal(tight().fit(at.X, y, at.qid).coef_, expected)


def test_float32_stays_float32():
    at = make()
    single, double = at.X.astype(np.float32), at.X.astype(np.float32).astype(np.float64)
    for X in (single, double):
        assert tight().prepare(X, at.y, at.qid).problem.X is X
        assert tight().prepare(scipy.sparse.csr_array(X), at.y, at.qid).problem.X.dtype == X.dtype
    assert tight().prepare(at.X.astype(np.float16), at.y, at.qid).problem.X.dtype == np.float64
    one, two = tight().fit(single, at.y, at.qid), tight().fit(double, at.y, at.qid)
    assert relative(one.coef_, two.coef_) < 1e-9 and one.objective_ == pytest.approx(two.objective_, rel=1e-12)
    assert one.predict(single).dtype == np.float64
    np.testing.assert_allclose(one.predict(single), double @ one.coef_, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "how",
    [
        np.asfortranarray,
        lambda X: X.tolist(),
        lambda X: X[::-1][::-1],
        scipy.sparse.csr_array,
        scipy.sparse.coo_matrix,
        scipy.sparse.csc_array,
    ],
)
@pytest.mark.parametrize("solver", ["scan", "ost"])
def test_kinds_of_matrices(how, solver):
    at = make()
    X = np.where(at.X > np.median(at.X), at.X, 0.0)
    expected, found = tight(solver=solver).fit(X, at.y, at.qid), tight(solver=solver).fit(how(X), at.y, at.qid)
    assert relative(found.coef_, expected.coef_) < 1e-9
    np.testing.assert_allclose(found.predict(how(X)), expected.predict(X), rtol=1e-8, atol=1e-10)


def test_sparse_entries_that_stand_twice():
    at = make()
    twice = scipy.sparse.csr_array(np.hstack([at.X, at.X]))
    X = scipy.sparse.csr_array((twice.data / 2, twice.indices % 5, twice.indptr), at.X.shape)
    before = X.data.copy()
    assert relative(tight().fit(X, at.y, at.qid).coef_, tight().fit(at.X, at.y, at.qid).coef_) < 1e-9
    np.testing.assert_array_equal(X.data, before)


def test_integers_and_booleans_become_float64():
    at = make()
    for X in (np.round(at.X * 10).astype(np.int16), at.X > 0.1):
        expected = tight().fit(X.astype(float), at.y, at.qid).coef_
        np.testing.assert_array_equal(tight().fit(X, at.y, at.qid).coef_, expected)


def test_a_data_frame_names_the_features():
    pandas = pytest.importorskip("pandas")
    at = make()
    frame = pandas.DataFrame(at.X, columns=list("abcde"), index=at.qid)
    model = tight().fit(frame, pandas.Series(at.y, at.qid), pandas.Series(at.qid, at.qid))
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(model.predict(frame), model.predict(at.X))
    other = frame[list("ecdba")]
    y, qid = pandas.Series(at.y, at.qid), pandas.Series(at.qid, at.qid)
    for predict in (model.predict, model.decision_function):
        np.testing.assert_array_equal(predict(other), model.predict(at.X))
    assert model.score(other, y, qid) == model.score(frame, y, qid)
    arguments = (as_documents(frame, at.y, at.qid), as_documents(other, at.y, at.qid))
    assert tight().fit(arguments[0]).score(arguments[1]) == model.score(at.X, at.y, at.qid)
    with pytest.raises(DataError, match=r"missing: 'b', 'e' \(2 of 5\)"):
        model.predict(frame[list("acd")])
    with pytest.raises(DataError, match=r"missing: 'e' \(1 of 5\); unknown: 'z' \(1 of 5\)"):
        model.score(frame.rename(columns={"e": "z"}), y, qid)
    for fail in (lambda: model.predict(frame[list("abcdea")]), lambda: tight().fit(frame[list("aab")], y, qid)):
        with pytest.raises(DataError, match="Two features are named 'a'"):
            fail()
    assert not hasattr(model.fit(at.X, at.y, at.qid), "feature_names_in_")
    assert model.fit(at.X, at.y, at.qid, feature_names=list("vwxyz")).feature_names_in_.tolist() == list("vwxyz")


def test_the_input_is_left_alone():
    at = make()
    rows = np.random.default_rng(0).permutation(len(at.y))
    X, y, qid = at.taken(rows)
    kept = X.copy(), y.copy(), qid.copy()
    for scale in ("none", "minmax", "deviation"):
        tight(scale=scale).fit(X, y, qid)
    for now, before in zip((X, y, qid), kept):
        np.testing.assert_array_equal(now, before)


# Weights of queries


def test_a_weight_is_a_number_of_copies():
    at = make()
    ids = at.qid[at.offsets[:-1]]
    weights = dict(zip(ids.tolist(), [2, 1, 1, 3, 0, 1]))
    parts = [at.taken(at.qid == qid)[:2] for qid, copies in weights.items() for _ in range(copies)]
    copies = tight().fit(
        np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts]), group=[len(y) for _, y in parts]
    )
    for given in (weights, list(weights.values()), {**weights, 999: 5.0}):
        model = tight().fit(at.X, at.y, at.qid, query_weight=given)
        assert relative(model.coef_, copies.coef_) < 1e-8
        assert model.objective_ == pytest.approx(copies.objective_, rel=1e-12)
    best = naive.minimize(at.X, at.y, at.offsets, 1.0, 1e-11, query_weight=list(weights.values()))
    assert model.objective_ == pytest.approx(best.f, rel=1e-12)
    by_count = tight().fit(at.X, at.y, group=[0, *np.diff(at.offsets)], query_weight=[9, *weights.values()])
    assert by_count.objective_ == pytest.approx(best.f, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_reach_every_solver_and_follow_shuffled_queries(solver):
    at = make()
    rows = np.random.default_rng(3).permutation(len(at.y))
    weights = {qid: 0.5 + k for k, qid in enumerate(at.qid[at.offsets[:-1]].tolist())}
    best = naive.minimize(at.X, at.y, at.offsets, 0.3, 1e-11, query_weight=list(weights.values()))
    first_seen = list(dict.fromkeys(at.qid[rows].tolist()))
    for given in (weights, np.array([weights[qid] for qid in first_seen])):
        model = tight(C=0.3, solver=solver).fit(*at.taken(rows), query_weight=given)
        assert model.objective_ == pytest.approx(best.f, rel=1e-12)


@pytest.mark.parametrize(
    "given, words",
    [
        ([1.0] * 5, "a weight a query, 6"),
        ([1, 1, -1, 1, 1, 1], r"query_weight\[2\] is -1"),
        ([0] * 6, "All are 0"),
        ([1, 1, 1, np.nan, 1, 1], "is nan"),
        ({0: 1.0}, "no weight of query"),
    ],
)
def test_weights_that_cannot_be(given, words):
    at = make()
    with pytest.raises(DataError, match=words):
        RankSVM().fit(at.X, at.y, at.qid, query_weight=given)
    with pytest.raises(DataError, match="group has no ids"):
        RankSVM().fit(at.X, at.y, group=np.diff(at.offsets), query_weight={1: 1.0})


# Weights of documents


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_weights_of_documents_follow_shuffled_documents(solver, sparse):
    at = make()
    rng = np.random.default_rng(5)
    rows, own = rng.permutation(len(at.y)), rng.gamma(1.0, size=len(at.y)) * (rng.random(len(at.y)) < 0.8)
    weights = {qid: 0.5 + k for k, qid in enumerate(at.qid[at.offsets[:-1]].tolist())}
    best = naive.minimize(at.X, at.y, at.offsets, 0.3, 1e-11, list(weights.values()), sample_weight=own)
    X, y, qid = at.taken(rows)
    X = scipy.sparse.csr_array(X) if sparse else X
    model = tight(C=0.3, solver=solver).fit(X, y, qid, query_weight=weights, sample_weight=own[rows])
    assert model.objective_ == pytest.approx(best.f, rel=1e-12) and relative(model.coef_, best.w) < 1e-6
    assert model.converged_


@pytest.mark.parametrize("name", ["query_weight", "sample_weight"])
def test_weights_in_documents_are_learned(name):
    at = make()
    weights = np.arange(1.0, 1 + (len(at.offsets) - 1 if name == "query_weight" else len(at.y)))
    expected = tight().fit(at.X, at.y, at.qid, **{name: weights}).coef_
    documents = as_documents(at.X, at.y, at.qid, weights=weights)
    np.testing.assert_array_equal(tight().fit(documents).coef_, expected)
    others = {name: np.ones(len(weights))}  # given weights replace those of the documents
    assert relative(tight().fit(documents, **others).coef_, tight().fit(at.X, at.y, at.qid).coef_) < 1e-9


def test_a_weight_of_a_document_is_a_number_of_copies():
    """Copies have one label, so they are no pair; 0 leaves a document out; documents may bring their weights."""
    at = make()
    own = np.random.default_rng(6).integers(0, 4, len(at.y))
    copies = np.repeat(np.arange(len(at.y)), own)
    expected = tight().fit(*at.taken(copies))
    model = tight().fit(at.X, at.y, at.qid, sample_weight=own.tolist())
    assert relative(model.coef_, expected.coef_) < 1e-7 and model.solver_ == "ost"
    documents = as_documents(at.X, at.y, at.qid, weights=own)
    np.testing.assert_array_equal(tight().fit(documents).coef_, model.coef_)
    rows = np.random.default_rng(7).permutation(len(at.y))
    pandas = pytest.importorskip("pandas")
    labelled = pandas.DataFrame(at.X), pandas.Series(at.y), pandas.Series(at.qid)
    shuffled = tight().fit(*labelled, sample_weight=pandas.Series(own)[rows])
    np.testing.assert_array_equal(shuffled.coef_, model.coef_)
    ones = tight(solver="ost").fit(at.X, at.y, at.qid)
    np.testing.assert_array_equal(tight().fit(at.X, at.y, at.qid, sample_weight=np.ones(len(at.y))).coef_, ones.coef_)


@pytest.mark.parametrize(
    "given, words",
    [
        (np.ones(84), r"a weight a document, 85; its shape is \(84,\)"),
        (np.ones((85, 1)), "its shape"),
        (np.where(np.arange(85) == 3, -1.0, 1), r"sample_weight\[3\] is -1"),
        (np.where(np.arange(85) == 3, np.nan, 1), r"sample_weight\[3\] is nan"),
        (np.where(np.arange(85) == 3, np.inf, 1), r"sample_weight\[3\] is inf"),
        (np.zeros(85), "not all 0. All are 0"),
        (1.0 * (np.arange(85) == 3), "The weights of all pairs are 0, so there is nothing to learn from. Check"),
        (["x"] * 85, "sample_weight"),
    ],
)
def test_weights_of_documents_that_cannot_be(given, words):
    at = make()
    with pytest.raises(DataError, match=words) as caught:
        RankSVM().fit(at.X, at.y, at.qid, sample_weight=given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_pairs_weigh_the_difference_of_their_gains(solver):
    at = make(levels=4)
    y, own = 2 * at.y + 2, np.random.default_rng(5).gamma(1.0, size=len(at.y))
    best = naive.minimize(at.X, y, at.offsets, 0.3, 1e-11, sample_weight=own, gains=2.0**y)
    model = tight(C=0.3, solver=solver, pair_weights="gain").fit(at.X, y, at.qid, sample_weight=own)
    assert model.objective_ == pytest.approx(best.f, rel=1e-12) and relative(model.coef_, best.w) < 1e-6
    assert model.converged_
    two = tight(pair_weights="gain").fit(at.X, y > 1, at.qid)  # one difference: 1
    assert relative(two.coef_, tight().fit(at.X, y > 1, at.qid).coef_) < 1e-6 and two.solver_ == "ost"


@pytest.mark.parametrize("label", [0.5, -1, 31])
def test_labels_without_a_gain(label):
    at = make()
    model = RankSVM(1.0, pair_weights="gain")
    with pytest.raises(DataError, match=f"The label {label:g} has no gain: .* whole labels from 0 to 30. Change"):
        model.fit(at.X, np.where(np.arange(85) == 3, label, 2 * at.y + 2), at.qid)
    with pytest.raises(ParameterError, match="pair_weights"):
        RankSVM(pair_weights="ndcg").check()


def test_the_level_tree_takes_no_weights_of_documents_or_pairs():
    at = make()
    for model, given in ((RankSVM(), {"sample_weight": np.ones(85)}), (RankSVM(pair_weights="gain"), {})):
        model.set_params(C=1.0, solver="scan")
        with pytest.raises(ParameterError, match="'scan' takes no weights of documents or pairs. Use 'auto'"):
            model.fit(at.X, 2 * at.y + 2, at.qid, **given)


# Difficult shapes


@pytest.mark.parametrize(
    "lengths, levels",
    [
        *[([2], 2), ([1, 1, 5, 1], 3), ([9, 40], 9), ([300, 1, 64], 40), ([31, 32, 33] * 3, 1)],
        pytest.param([2000], 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("solver", ["scan", "ost"])
def test_queries_of_any_shape(lengths, levels, solver):
    at = make(lengths, levels)
    if levels == 1:
        at.y[0] += 1  # one query with pairs, the others have one level
    if lengths == [2]:
        at.y[:] = 0, 1
    best = naive.minimize(at.X, at.y, at.offsets, 0.1, 1e-9)
    model = tight(C=0.1, solver=solver).fit(at.X, at.y, at.qid)
    assert model.objective_ == pytest.approx(best.f, rel=2e-8) and relative(model.coef_, best.w) < 1e-3


@pytest.mark.slow
def test_one_query_of_20000_documents():
    at = make([20_000], 0, 3)
    models = [tight(C=1e-6, solver=solver).fit(at.X, at.y, at.qid) for solver in ("scan", "ost")]
    assert models[0].n_pairs_ == 20_000 * 19_999 // 2
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-9)
    assert models[0].score(at.X, at.y, at.qid) > 0.5


def test_one_feature_and_constant_ones():
    at = make(n=1)
    best = naive.minimize(at.X, at.y, at.offsets, 1.0, 1e-10)
    assert relative(tight().fit(at.X, at.y, at.qid).coef_, best.w) < 1e-8
    padded = np.hstack([at.X, np.ones((len(at.y), 1)), np.zeros((len(at.y), 1))])
    model = tight().fit(padded, at.y, at.qid)
    assert relative(model.coef_[:1], best.w) < 1e-8 and abs(model.coef_[1:]).max() < 1e-10


def test_nothing_to_tell_documents_apart():
    at = make()
    model = RankSVM(device="cpu").fit(np.ones_like(at.X), at.y, at.qid)
    assert abs(model.coef_).max() < 1e-12 and model.converged_ and model.objective_ == model.n_pairs_


def test_more_features_than_the_preconditioner_takes():
    at = make([8] * 6, 3, 1100)
    best = naive.minimize(at.X, at.y, at.offsets, 1.0, 1e-9)
    model = tight(eps=1e-8).fit(at.X, at.y, at.qid)
    assert model.objective_ == pytest.approx(best.f, rel=1e-9) and model.solver_ == "scan"


def test_threads_do_not_change_the_result():
    at = make([50] * 40, 5, 6)
    run = tight().prepare(at.X, at.y, at.qid)
    found = []
    for threads in (1, None):
        with thread_count.limit_threads(threads):
            found.append(run.train(1.0).w)
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_max_iter_is_told():
    at = make(levels=5)
    with pytest.warns(UserWarning, match="max_iter=1 Newton steps with C=100: the gradient"):
        model = tight(C=100.0, max_iter=1).fit(at.X, at.y, at.qid)
    assert not model.converged_ and model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        needed = RankSVM(device="cpu").fit(at.X, at.y, at.qid).n_iter_
        assert RankSVM(device="cpu", max_iter=needed).fit(at.X, at.y, at.qid).converged_


# Prediction


def test_scores_ranks_and_accuracy():
    at = make()
    rows = np.random.default_rng(5).permutation(len(at.y))
    X, y, qid = at.taken(rows)
    model = RankSVM(device="cpu").fit(X, y, qid)
    scores = model.predict(X)
    np.testing.assert_allclose(scores, X @ model.coef_, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]]
    assert model.score(X, y, qid) == pytest.approx(np.mean([scores[i] > scores[j] for i, j in pairs]), rel=1e-12)
    ranks = model.rank(X, qid)
    assert ranks.dtype == np.int32
    for i in range(len(y)):
        others = (qid == qid[i]) & ((scores > scores[i]) | ((scores == scores[i]) & (np.arange(len(y)) < i)))
        assert ranks[i] == 1 + others.sum()
    documents = Documents(at.X, at.y, at.offsets, at.qid[at.offsets[:-1]])
    assert model.score(documents) == model.score(at.X, at.y, at.qid)
    np.testing.assert_array_equal(model.rank(documents), model.rank(at.X, group=np.diff(at.offsets)))


def test_other_numbers_of_features():
    at = make()
    model = RankSVM(device="cpu").fit(at.X, at.y, at.qid)
    with pytest.raises(DataError, match="test set has more features than the training set: 6 against 5"):
        model.predict(np.hstack([at.X, at.X[:, :1]]))
    with pytest.raises(DataError, match="trained on 5 features, and these documents have 4"):
        model.score(at.X[:, :4], at.y, at.qid)
    assert model.predict(np.empty((0, 5))).shape == (0,)


@pytest.mark.slow
def test_accuracy_without_pairs():
    at = make()
    model = RankSVM(device="cpu").fit(at.X, at.y, at.qid)
    with pytest.raises(DataError, match="two different relevance labels"):
        model.score(at.X, np.zeros(len(at.y)), at.qid)


# Errors


def replaced(array, place, value):
    array = np.array(array, np.float64)
    array[place] = value
    return array


BAD = {
    "NaN": (lambda at: (replaced(at.X, (70, 3), np.nan), at.y, at.qid), r"X\[70, 3\] is NaN"),
    "infinite": (lambda at: (replaced(at.X, (84, 4), -np.inf), at.y, at.qid), r"X\[84, 4\] is -inf"),
    "infinite float32": (lambda at: (replaced(at.X, (2, 1), np.inf).astype("f4"), at.y, at.qid), r"X\[2, 1\] is inf"),
    "sparse NaN": (lambda at: (scipy.sparse.csr_array(replaced(at.X, (7, 2), np.nan)), at.y, at.qid), r"X\[7, 2\]"),
    "y NaN": (lambda at: (at.X, replaced(at.y, 9, np.nan), at.qid), r"y\[9\] is nan"),
    "y infinite": (lambda at: (at.X, replaced(at.y, 9, np.inf), at.qid), r"y\[9\] is inf"),
    "y text": (lambda at: (at.X, ["a"] * 85, at.qid), "y must be numbers"),
    "y short": (lambda at: (at.X, at.y[1:], at.qid), r"y must hold one relevance a document, 85; .*\(84,\)"),
    "no y": (lambda at: (at.X, None, at.qid), "need a relevance each: give y, or Documents"),
    "no qid": (lambda at: (at.X, at.y, None), "Neither qid nor group is given"),
    "qid short": (lambda at: (at.X, at.y, at.qid[1:]), "one query id a document, 85"),
    "qid NaN": (lambda at: (at.X, at.y, replaced(at.qid, 4, np.nan)), "Row 5 has no query id"),
    "qid mixed": (lambda at: (at.X, at.y, np.array([1, "a"] * 42 + [1], object)), "qid mixes"),
    "one level": (lambda at: (at.X, np.ones(85), at.qid), "No query has two different relevance labels"),
    "own queries": (lambda at: (at.X, at.y, np.arange(85)), "No query has two different relevance labels"),
    "no features": (lambda at: (at.X[:, :0], at.y, at.qid), r"its shape is \(85, 0\)"),
    "one dimension": (lambda at: (at.X[:, 0], at.y, at.qid), r"its shape is \(85,\)"),
    "no documents": (lambda at: (at.X[:0], at.y[:0], at.qid[:0]), "X has 0 rows"),
    "text": (lambda at: (np.full((85, 2), "a"), at.y, at.qid), "X must hold numbers"),
}


@pytest.mark.parametrize("fault", BAD)
def test_input_that_cannot_be(fault):
    arguments, words = BAD[fault]
    with pytest.raises(DataError, match=words):
        RankSVM(device="cpu").fit(*arguments(make()))


def test_group_that_cannot_be():
    at = make()
    for group in ([84], [42.5, 42.5], [86, -1]):
        with pytest.raises(DataError, match="add up to 85"):
            RankSVM().fit(at.X, at.y, group=group)
    with pytest.raises(DataError, match="Both qid and group are given"):
        RankSVM().fit(at.X, at.y, at.qid, group=[85])
    with pytest.raises(DataError, match="leave y, qid and group out"):
        RankSVM().fit(Documents(at.X, at.y, at.offsets, at.qid[at.offsets[:-1]]), at.y)
    with pytest.raises(DataError, match="feature_names has 1 names, X 5 columns"):
        RankSVM().fit(at.X, at.y, at.qid, feature_names=["a"])


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0},
        {"C": -1.0},
        {"C": np.inf},
        {"C": "a"},
        {"C": np.nan},
        {"eps": 0},
        {"eps": -1e-5},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"scale": "zscore"},
        {"solver": "newton"},
        {"device": "tpu"},
    ],
)
def test_parameters_out_of_bounds(parameters):
    at = make()
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        RankSVM(**parameters).fit(at.X, at.y, at.qid)


# scikit-learn's conventions


def test_conventions():
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import get_tags

    model = RankSVM(C=3.0, scale="minmax", device="cpu", precondition=False)
    assert (
        clone(model).get_params()
        == model.get_params()
        == {
            "C": 3.0,
            "solver": "auto",
            "eps": 1e-5,
            "max_iter": 200,
            "scale": "minmax",
            "device": "cpu",
            "precondition": False,
            "features": "linear",
            "pair_weights": "equal",
        }
    )
    assert model.set_params(C=2.0).C == 2.0 and repr(RankSVM(C=3.0)) == "RankSVM(C=3.0)"
    with pytest.raises(NotFittedError) as caught:
        model.predict(np.ones((1, 5)))
    assert isinstance(caught.value, GpukitError)
    tags = get_tags(model)
    assert tags.target_tags.required and tags.input_tags.sparse and not tags.input_tags.allow_nan
    at = make()
    assert model.fit(at.X, at.y, at.qid) is model
    with pytest.raises(TypeError):
        RankSVM(1.0, "scan")


def test_a_device_that_is_not_there():
    from gpukit.device import gpu_count

    if gpu_count():
        pytest.skip("a GPU is here")
    at = make()
    with pytest.raises(DeviceError, match="no CUDA GPU was found"):
        RankSVM(device="cuda").fit(at.X, at.y, at.qid)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e300, 1e200])
def test_features_whose_products_overflow(scale):
    X, y = np.random.default_rng(0).normal(size=(12, 3)) * scale, np.tile([0, 1, 2], 4)
    with pytest.raises(DataError, match="features are so large that their products overflow"):
        gpukit.RankSVM(1.0, device="cpu").fit(X, y, group=[6, 6])


def test_a_number_that_is_not_finite_is_named_by_its_column():
    pandas = pytest.importorskip("pandas")
    for value, words in ((np.nan, "Row 2 has no value of feature 'price'"), (np.inf, r"X\[1, 0\] \('price'\) is inf")):
        frame = pandas.DataFrame({"price": [1.0, value], "clicks": [2.0, 3.0]})
        with pytest.raises(DataError, match=words):
            RankSVM(1.0, device="cpu").fit(frame, [0, 1], group=[2])
