"""Models of item weights from outside: lists, explanations, new users, files, updates, errors."""

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

from factorization.implicit.planted import clicks, hits
from factorization.solvers.ease import naive
from gpukit import load_model
from gpukit.device import Device, cpu
from gpukit.errors import ModelError, ParameterError
from gpukit.factorization import LSHMF, Filters, MatrixFactorization
from gpukit.factorization import cpu as cpu_steps
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import choosing, prepared
from gpukit.persist import load_arrays, save_arrays
from gpukit.ratings import Ratings

RIDGE = 4.0
ROUNDED = 2e-3  # of a sum of weights with 8 bits of precision


def fitted(kind=LSHMF, **parameters):
    """Return a model of item weights of the planted clicks."""
    return kind(**{"solver": "ease", "regularization": RIDGE, "device": "cpu", **parameters}).fit(clicks()[0])


def dense(table):
    """Return X (M, N) of Ratings."""
    X = np.zeros(table.shape)
    X[table.users, table.items] = 1
    return X


def exact_scores(table, decay=RIDGE):
    """Return (X, scores (M, N) of the oracle)."""
    X = dense(table)
    B = naive.weights(X, decay)
    return X, np.stack([naive.scores(X, B, user) for user in range(len(X))])


@pytest.mark.parametrize("kind", [LSHMF, MatrixFactorization])
def test_lists_are_those_of_the_oracle(kind):
    train, held_out = clicks()
    model, (X, scores) = fitted(kind), exact_scores(train)
    items, found = model.recommend(n=5)
    expected = np.sort(np.where(X > 0, -np.inf, scores), axis=1)[:, ::-1][:, :5]
    np.testing.assert_allclose(found, expected, atol=ROUNDED)
    pairs = np.repeat(train.user_ids, 5), items.ravel()
    np.testing.assert_allclose(model.pair_scores(pairs), found.ravel(), rtol=1e-6)
    assert hits(items, held_out) > 0.5
    assert model.chosen_["solver"] == "ease" and model.chosen_["ease"] == 1.0 and model.chosen_["n_epochs"] == 0


def test_scores_of_pairs_in_any_order_and_of_unknown_ids(monkeypatch):
    """In tiles of seven users."""
    monkeypatch.setattr(cpu_steps.DeviceModel, "tile_bytes", 7 * 5 * 60)
    train, _ = clicks()
    model, (_, scores) = fitted(), exact_scores(train)
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 120, 400), rng.integers(0, 60, 400)
    found = model.predict((train.user_ids[users], train.item_ids[items]))
    np.testing.assert_allclose(found, scores[users, items], atol=ROUNDED)
    strange = model.predict(([-1, 7, -1], [3, 99, 99]), unknown="baseline")
    assert np.abs(strange).max() < 1e-3
    most = train.item_ids[np.argmax(np.bincount(train.items))]
    assert model.recommend([-1], n=1, unknown="popular")[0][0, 0] == most


def test_an_explanation_adds_up_to_the_score():
    train, _ = clicks()
    model = fitted()
    user, item = train.user_ids[8], model.recommend([train.user_ids[8]], n=1)[0][0, 0]
    found = model.explain(user, item)
    assert found.prediction == pytest.approx(float(model.predict(([user], [item]))[0]), abs=1e-6)
    clicked = sorted(train.item_ids[train.items[train.users == 8]].tolist())
    assert sorted(one.item for one in found.rated) == clicked and found.factors == 0.0
    parts = sum(one.share for one in found.rated) + found.item_bias
    assert parts == pytest.approx(found.total) and abs(found.rated[0].share) > abs(found.rated[-1].share)


def test_a_neighbour_with_a_weight_is_explained_once():
    train, _ = clicks()
    model = LSHMF(solver="sampled", n_factors=4, n_neighbors=6, lsh_q=8, n_epochs=2, device="cpu").fit(train)
    state = model._state._replace(item_weights=fitted()._state.item_weights)
    model.set_fitted(state, model._rated, model._scale, model.user_ids_, model.item_ids_)
    user = train.user_ids[8]
    for item in model.recommend([user], n=5)[0][0]:
        found = model.explain(user, item)
        names = [one.item for one in found.rated]
        assert len(set(names)) == len(names) == np.count_nonzero(train.users == 8)
        parts = found.factors, found.user_bias, found.item_bias, found.unrated
        assert sum(one.share for one in found.rated) + sum(parts) == pytest.approx(found.total)
        assert found.total == pytest.approx(float(model.predict(([user], [item]))[0]), abs=1e-5)


def test_a_new_user_with_the_same_clicks_gets_the_same_list():
    train, _ = clicks()
    model = fitted()
    mine = train.item_ids[train.items[train.users == 3]].tolist()
    _, items, scores = model.recommend_for(mine, n=4)
    expected = model.recommend([train.user_ids[3]], n=4)
    assert np.array_equal(items, expected[0])
    np.testing.assert_allclose(scores, expected[1], atol=1e-6)


def test_a_file_gives_the_same_answers(tmp_path):
    model, path = fitted(), tmp_path / "a.gpukit"
    model.save(path)
    loaded = load_model(path)
    assert np.array_equal(loaded._state.item_weights, model._state.item_weights)
    for one, other in zip(loaded.recommend(n=6), model.recommend(n=6)):
        assert np.array_equal(one, other)
    header, arrays = load_arrays(path)
    halves = arrays["state.item_weights"]
    assert halves.dtype == np.uint16 and halves.nbytes == 2 * 60 * 60
    infinite = halves.copy()
    infinite[2, 3] = 0x7F80
    for wrong in (infinite, halves[:-1], halves.astype(np.float32), halves[0]):
        save_arrays(path, header, arrays | {"state.item_weights": wrong})
        with pytest.raises(ModelError, match="item_weights"):
            load_model(path)


def test_an_update_is_a_new_solution():
    train, _ = clicks()
    later = np.arange(len(train)) % 5 == 0
    first = LSHMF(solver="ease", regularization=RIDGE, device="cpu").fit(train.take(~later))
    more = train.take(later)
    first.partial_fit((more.user_ids[more.users], more.item_ids[more.items]))
    rows = np.searchsorted(train.item_ids, first.item_ids_)
    whole = fitted()._state.item_weights[np.ix_(rows, rows)]
    np.testing.assert_allclose(first._state.item_weights, whole, atol=ROUNDED)
    new = first.recommend_for([0, 4], n=3)[1]
    first.partial_fit(([1_000, 1_000], [0, 4]))
    assert np.array_equal(first.recommend([1_000], n=3)[0], new) and first.updates_[-1]["users"] == 1


@pytest.mark.parametrize("kind", [np.array, set, pandas.Series, pandas.Index, pandas.Categorical])
def test_clicked_items_in_any_container(kind):
    model = fitted()
    expected, found = model.recommend_for([0, 4], n=3), model.recommend_for(kind([0, 4]), n=3)
    assert all(map(np.array_equal, found, expected))


def test_later_updates_correct_the_inverse_of_the_last_one(monkeypatch):
    """The weights are those of a new solution, with new users and items too; after many changes there is one."""
    train, _ = clicks()
    later = np.random.default_rng(1).permutation(len(train))
    model, solved, inverse_of = fitted(), [], prepared.ease.inverse_of
    monkeypatch.setattr(prepared.ease, "inverse_of", lambda *given: solved.append(given) or inverse_of(*given))
    known = train.user_ids[[5, 7, 8]].tolist()
    first = [[1_000, 0], [1_000, 4], [known[0], 99], [1_001, 99], [1_001, 98], [known[1], 3], [known[1], 20]]
    model.partial_fit(([1_000], [8]))
    assert len(solved) == 1
    for pairs in (first, [[known[2], 98], [2_000, 100]]):
        model.partial_fit(tuple(np.transpose(pairs)))
    assert len(solved) == 1
    table = model._rated
    X = np.zeros((len(model.user_ids_), len(model.item_ids_)))
    X[np.repeat(np.arange(len(X)), np.diff(table.indptr)[:-1]), table.items] = 1
    assert X.shape == (123, 63)
    np.testing.assert_allclose(model._state.item_weights, naive.weights(X, RIDGE), atol=ROUNDED)
    model.partial_fit((train.user_ids[train.users[later]], train.item_ids[(train.items[later] + 1) % 60]))
    assert len(solved) == 2


@pytest.mark.parametrize("grown", [0, 3])
def test_a_corrected_inverse_is_the_inverse(monkeypatch, grown):
    monkeypatch.setattr(prepared.ease, "NUMBERS", 40)
    rng = np.random.default_rng(grown)
    X, more = rng.random((30, 17)) < 0.3, rng.random((5, 17 + grown)) < 0.4
    before = np.pad(X, ((0, 0), (0, grown)))
    after = np.vstack((before, np.zeros((2, 17 + grown), bool)))
    after[[2, 9, 11, 30, 31]] |= more
    exact = [np.linalg.inv(table.T.astype(float) @ table + RIDGE * np.eye(table.shape[1])) for table in (X, after)]
    rows = csr_array(X[[2, 9, 11]].astype(np.float32)), csr_array(after[[2, 9, 11, 30, 31]].astype(np.float32))
    found = prepared.ease.correct_inverse(exact[0].astype(np.float32), *rows, RIDGE)
    np.testing.assert_allclose(found, exact[1], atol=1e-6)


def test_the_regularization_is_chosen_and_grows_with_the_clicks():
    train, _ = clicks()
    model = LSHMF(solver="ease", device="cpu").fit(train)
    tried = {row["regularization"]: row["ndcg"] for row in model.trials_ if row["predictor"] == "ease"}
    best = max(tried, key=tried.get)
    assert len(tried) >= 4 and best <= model.chosen_["regularization"] <= 1.25 * best
    ridge = choosing.Ridge(None, 10_000)
    trial = type("Trial", (), {"candidate": type("Plan", (), {"regularization": 100.0})})
    assert ridge._replace(trial=trial).at(40_000) == 200.0


@pytest.mark.parametrize("name", ["n_factors", "n_epochs", "learning_rate"])
def test_options_without_a_meaning(name):
    with pytest.raises(ParameterError, match=f"{name}=3 means nothing to solver='ease'"):
        fitted(**{name: 3})


def test_similar_items_without_factors_are_those_with_the_largest_weights():
    train, _ = clicks()
    model = fitted()
    items, scores = model.similar_items(8, n=3, by="factors")
    row = naive.weights(dense(train), RIDGE)[8]
    np.testing.assert_allclose(scores, np.sort(row)[::-1][:3], atol=ROUNDED)
    assert (items % 4 == 0).all() and 8 not in items
    lists = model.recommend(n=4, filters=Filters(diversity=0.5))[0]
    assert not np.equal(lists, None).any()


def test_a_named_regularization_is_kept():
    model = fitted(early_stopping=2)
    assert model.chosen_["regularization"] == RIDGE and model.chosen_["why"] == "named" and not model.trials_
    assert model.chosen_["n_neighbors"] == 0


def test_weights_are_lists_where_all_do_not_fit(monkeypatch):
    """Half of the free memory of a GPU has to suffice for all, and that of the host for their solution."""
    monkeypatch.setattr(prepared, "available_memory", lambda: 12 * 60**2)
    for free, expected in ((None, True), (2 * 4 * 60**2, True), (2 * 4 * 60**2 - 1, False)):
        monkeypatch.setattr(prepared, "free_memory", lambda device, free=free: free)
        assert prepared.fits(60, None) == expected
    monkeypatch.setattr(prepared, "free_memory", lambda device: None)
    assert not prepared.fits(61, None)


def test_ratings_are_refused():
    table = Ratings(*(np.int32([0, 0, 1, 1]), np.int32([0, 1, 0, 1]), np.float32([1, 2, 3, 5])), *[np.arange(2)] * 2)
    with pytest.raises(Exception, match="solver='ease'"):
        LSHMF(solver="ease", device="cpu").fit(table)


def test_item_weights_in_addition_to_factors(tmp_path, monkeypatch):
    """The score is the sum, in lists, for new users, in files and in explanations; an update keeps both parts."""
    train, _ = clicks()
    share, decay = 0.5, 9.0
    choose = choosing.choose

    def forced(*given):
        found = choose(*given)
        return found._replace(settings=found.settings._replace(ease=share, ease_decay=decay))

    plain = LSHMF(solver="ials", n_factors=5, n_epochs=4, device="cpu")
    alone = plain.fit(train).predict((train.user_ids, train.item_ids[np.arange(120) % 60]))
    monkeypatch.setattr(choosing, "choose", forced)
    model = LSHMF(solver="ials", n_factors=5, n_epochs=4, device="cpu").fit(train)
    _, scores = exact_scores(train, decay)
    users, items = np.arange(120), np.arange(120) % 60
    found = model.predict((train.user_ids, train.item_ids[items]))
    np.testing.assert_allclose(found, alone + share * scores[users, items], atol=ROUNDED)
    model.save(tmp_path / "a")
    loaded, user = load_model(tmp_path / "a"), train.user_ids[5]
    assert np.array_equal(loaded.recommend(n=4)[0], model.recommend(n=4)[0])
    item = model.recommend([user], n=1)[0][0, 0]
    parts = loaded.explain(user, item)
    assert sum(one.share for one in parts.rated) + parts.factors + parts.item_bias == pytest.approx(parts.total)
    assert parts.prediction == pytest.approx(float(model.predict(([user], [item]))[0]), abs=1e-5)
    mine = train.item_ids[train.items[train.users == 5]].tolist()
    folded = dict(zip(*(column[0] for column in loaded.recommend_for(mine, n=48)[1:])))
    assert folded[item] == pytest.approx(parts.prediction, abs=0.02)
    loaded.partial_fit(([user, 10_000], [int(item), 3]))
    assert loaded._state.item_weights.any() and loaded.recommend([10_000], n=2)[0].shape == (1, 2)


def test_the_search_follows_the_mean(monkeypatch):
    """With a score that is highest at 40; with a spent budget it ends early, and without enough it is not begun."""
    train, _ = clicks()
    settings, rows = LSHMF(device="cpu").check(len(train), "implicit"), []
    options = LSHMF(device="cpu"), set(), train, settings, cpu(), lambda trial: rows.append(trial.row), 1
    search = choosing.make_search(*options)
    monkeypatch.setattr(choosing, "solve_scores", lambda matrix, users, decay: np.float32([[decay]]))
    evaluator, worth = type(search.draws[0]), lambda scores: -abs(np.log(scores[0, 0] / 40.0)) * np.ones((3, 4))
    monkeypatch.setattr(evaluator, "measure_scores", lambda self, scores: worth(scores))
    ridge = choosing.choose_ridge([search], settings)
    assert abs(np.log(ridge.trial.candidate.regularization / 40)) < np.log(RULES.ridge_step) / 2 + 0.02
    tried = [row["regularization"] for row in rows]
    assert 3 <= len(tried) <= RULES.ridge_trials and min(tried) < 40 < max(tried)
    search.budget.spend(search.budget.left)
    assert choosing.choose_ridge([search], settings) and len(rows) == len(tried) + 1
    search.budget.limit = 0
    assert choosing.choose_ridge([search], settings) is None


def test_a_gpu_solves_for_weights_unless_it_cannot(monkeypatch):
    """The GPU is replaced; what it cannot solve is left to the CPU."""
    table, given = clicks()[0], []
    n_items = table.shape[1]
    gpu, solved = Device("cuda", 0, "GPU", (9, 0)), np.full((n_items, n_items), 7.0, np.float32)
    monkeypatch.setattr(prepared.ease, "solve_on_gpu", lambda *arguments: given.append(arguments[1:]) or solved)
    monkeypatch.setattr(prepared, "free_memory", lambda device: 1 << 30)
    assert prepared.solve(table, RIDGE, gpu) is solved and given == [(RIDGE, gpu)]
    expected = prepared.solve(table, RIDGE, cpu())
    assert len(given) == 1 and expected.shape == solved.shape and (expected != solved).all()
    monkeypatch.setattr(prepared.ease, "solve_on_gpu", lambda *arguments: None)
    assert np.array_equal(prepared.solve(table, RIDGE, gpu), expected)
