"""Choice of settings for clicks: held-out clicks, candidates and their parts."""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.implicit import naive
from factorization.implicit.planted import clicks
from gpukit.device import cpu
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import choosing
from gpukit.factorization.implicit import prepared as evaluator
from gpukit.factorization.implicit.prepared import PreparedClicks, measure_lists, units, weigh_clicks
from gpukit.factorization.model import state as states
from gpukit.factorization.settings import check
from gpukit.model_selection import trial
from gpukit.model_selection.splits import draw_sample
from gpukit.ratings import Ratings, as_ratings


def timed(seed=3):
    """Return planted clicks with distinct times and with counts."""
    train, _ = clicks()
    rng = np.random.default_rng(seed)
    more = {"times": rng.permutation(len(train)).astype(np.int64), "counts": rng.integers(1, 9, len(train), np.int32)}
    return train.with_columns(users=train.users, items=train.items, values=train.values, **more)


def plan(**changes):
    """Return settings.Settings of least squares."""
    return check(MatrixFactorization(solver="ials"), 100, "implicit")._replace(**changes)


@pytest.mark.slow
def test_everything_open_is_chosen():
    train, held_out = clicks(240)
    fitted = LSHMF(n_neighbors=5, device="cpu", random_state=1).fit(train)
    rows, chosen = fitted.trials_, fitted.chosen_
    called = {row["predictor"] for row in rows}
    assert {"ials, squared", "ials and popularity", "ials and sampled", "popularity", "item kNN"} <= called
    assert "clicks of 240 users" in chosen["why"] and chosen["feedback"] == "implicit"
    popular = next(row for row in rows if row["predictor"] == "popularity")
    assert max(row["ndcg"] for row in rows) > 1.5 * popular["ndcg"]
    lists = fitted.recommend(n=5)[0]
    assert np.mean([item in row for item, row in zip(held_out.items, lists)]) > 0.4


def test_what_is_named_is_obeyed():
    train, _ = clicks()
    fitted = MatrixFactorization(n_factors=7, n_epochs=3, solver="ials", unobserved_weight=0.5, device="cpu").fit(train)
    assert {row["n_factors"] for row in fitted.trials_ if row["solver"]} == {7} and fitted.user_factors_.shape[1] == 7
    assert {row["unobserved_weight"] for row in fitted.trials_ if row["solver"]} == {0.5}
    assert fitted.chosen_["n_epochs"] == 3 == len(fitted.history_) and fitted.chosen_["mixed"] == 0


@pytest.mark.parametrize("passed", [{"regularization": 0.01}, {"n_epochs": 3}])
def test_epochs_are_those_of_the_best_trial_unless_they_are_passed(passed):
    train, _ = clicks()
    fitted = MatrixFactorization(n_factors=5, unobserved_weight=0.3, **passed, solver="ials", device="cpu").fit(train)
    scores = {row["n_epochs"]: row["ndcg"] for row in fitted.trials_ if row["solver"]}
    assert set(scores) <= ({3} if "n_epochs" in passed else {4, 8, 12})
    assert fitted.chosen_["n_epochs"] == max(scores, key=scores.get) == len(fitted.history_)


def test_additions_are_judged_by_clicks_that_the_search_has_not_used(monkeypatch):
    """Unless clicks have times: the latest are held out then."""
    drawn, estimator = [], MatrixFactorization(device="cpu")
    hold_out_share = evaluator.hold_out
    for module in (evaluator, choosing):
        monkeypatch.setattr(module, "hold_out", lambda *it: drawn.append(it[2]) or hold_out_share(*it))
    for table, draws in ((clicks()[0], [0, 1, 2]), (timed(), [0, 2])):
        drawn.clear()
        estimator.fit(table)
        assert drawn == draws


def test_choosing_costs_at_most_ten_trainings(monkeypatch):
    """On a sample whose size does not depend on the number of clicks."""
    monkeypatch.setattr(trial, "LITTLE", 0.0)
    searches, make = [], choosing.make_search
    monkeypatch.setattr(choosing, "make_search", lambda *it: searches.append(make(*it)) or searches[-1])
    train, _ = clicks()
    fitted = MatrixFactorization(device="cpu").fit(train)
    (search,) = searches
    training = units(plan(n_factors=choosing.limit_factors(128, train.shape)), len(train), train.shape)
    assert search.budget.limit == trial.TRAININGS * 8 * training and len(fitted.trials_) > 4
    last = 3 * RULES.click_epochs[-1] * training  # the last trial of the search on both draws; a training for additions
    assert search.budget.left > -last


def test_the_sample_is_smaller_if_a_training_is_long(monkeypatch):
    """As that of many users with few clicks is: its work is that of their factors."""
    train, _ = clicks()
    work = choosing.work_of_training(train, plan())
    for share, least, most in ((1.0, len(train), len(train)), (0.5, 0.3 * len(train), 0.5 * len(train))):
        monkeypatch.setattr(RULES, "sample_work", share * work)
        samples = []
        monkeypatch.setattr(choosing, "make_search", lambda *it, samples=samples: samples.append(it[2]))
        assert choosing.make_searches(None, set(), train, plan(), cpu(), None) is None
        assert least <= len(samples[0]) <= most


def test_many_clicks_decide_after_a_sample(monkeypatch):
    """The search on all clicks starts from a sample's best settings."""
    train, _ = clicks()
    monkeypatch.setattr(choosing.ClickSearch, "scaled", lambda search, plan, clicks: plan)
    monkeypatch.setattr(RULES, "click_sample", len(train) // 3)
    fitted = MatrixFactorization(n_factors=5, solver="ials", device="cpu").fit(train)
    rows = [row for row in fitted.trials_ if row["solver"]]
    small, large = ([row for row in rows if (row["users"] == 120) == whole] for whole in (False, True))
    assert small + large == rows and max(row["users"] for row in small) < 60 and len(large) > 3
    settings = [{name: row[name] for name in ("regularization", "unobserved_weight", "n_epochs")} for row in rows]
    first = settings[len(small)]
    assert first in settings[: len(small)]
    assert {name: fitted.chosen_[name] for name in settings[0]} in settings[len(small) :]


@pytest.mark.parametrize("free, found", [({"regularization"}, (0.01, 0.04)), ({"n_factors"}, (0.02, 0.02))])
def test_regularization_falls_with_the_root_of_the_clicks(free, found):
    """If it is open, and of least squares."""
    draw = SimpleNamespace(prepared=SimpleNamespace(clicks=range(100)), train=max, budget=None)
    search = choosing.ClickSearch(None, free, [draw], 0, None)
    own = plan(regularization=0.02)
    assert tuple(search.scaled(own, range(count)).regularization for count in (400, 25)) == found
    assert search.scaled(own._replace(solver="sampled"), range(400)).regularization == 0.02


@pytest.mark.parametrize("few", [True, False])
def test_all_trainings_have_the_regularization_of_their_clicks(monkeypatch, few):
    """The search on more clicks, the model of the additions, and the final training."""
    train, _ = clicks()
    sizes = {"small_click_sample": 6, **({} if few else {"click_sample": 3})}  # few: one search, additions on fewer
    for name, parts in sizes.items():
        monkeypatch.setattr(RULES, name, len(train) // parts)
    scaled, calls, budgets, add = choosing.ClickSearch.scaled, [], [], choosing.choose_addition

    def record(search, plan, clicks):
        calls.append((len(search.clicks), len(clicks), scaled(search, plan, clicks), search.budget))
        return calls[-1][2]

    monkeypatch.setattr(choosing.ClickSearch, "scaled", record)
    monkeypatch.setattr(choosing, "choose_addition", lambda *it: budgets.append(it[0].budget) or add(*it))
    fitted = MatrixFactorization(device="cpu").fit(train)
    *larger, final, last = calls
    assert budgets == [final[3]]  # additions spend the budget of the last search
    rows = {(row["predictor"], row["users"], row["regularization"]) for row in fitted.trials_}
    assert final[0] < final[1] == len(train) and fitted.chosen_["regularization"] == final[2].regularization
    assert last[1] < last[0] if few else last[1] == pytest.approx(last[0], rel=0.05)
    assert last[2].regularization in {decay for predictor, _, decay in rows if predictor == "ials"}
    assert not larger if few else larger[0][0] == last[0] < larger[0][1] == final[0]
    assert few or ("ials, squared", 120, larger[0][2].regularization) in rows


SECOND = [(10**6, {}, True), (9, {}, False), (10**6, {"n_factors": 5}, False)]  # too many clicks, or factors passed


@pytest.mark.parametrize(("limit", "passed", "expected"), SECOND)
def test_a_second_model_is_tried_unless_there_are_too_many_clicks(monkeypatch, limit, passed, expected):
    asked = []

    def choose_addition(search, plan, leader, second, ridge):
        asked.append(second > 0)
        return search.run(leader)

    monkeypatch.setattr(choosing, "MOST_SAMPLED", {False: limit})
    monkeypatch.setattr(choosing, "search_settings", lambda search, plan: search.run(plan._replace(n_factors=5)))
    monkeypatch.setattr(choosing, "add_factors", lambda search, best: best)
    monkeypatch.setattr(choosing, "choose_addition", choose_addition)
    MatrixFactorization(**passed, device="cpu").fit(clicks()[0])
    assert asked == [expected]


def test_longer_trainings_continue_shorter_ones():
    """With the same result, and only the work of the additional epochs."""
    estimator, settings = MatrixFactorization(device="cpu"), plan(n_factors=5)
    one, other = (
        choosing.make_search(estimator, set(), clicks()[0], settings, cpu(), None, 1).draws[0] for _ in range(2)
    )
    for epochs in (2, 3, 7):
        results = one.train(settings._replace(epochs=epochs))
    expected = other.train(settings._replace(epochs=7))
    np.testing.assert_array_equal(results[0], expected[0])
    np.testing.assert_array_equal(results[3].item_factors, expected[3].item_factors)
    judging = 12 * len(one.users) * 60
    assert one.budget.limit - one.budget.left == pytest.approx(other.budget.limit - other.budget.left + 2 * judging)


@pytest.mark.parametrize(
    "patience, scores, trained, best",
    [
        (3, (0.1, 0.5, 0.4, 0.5, 0.9), 8, 4),  # judged after epochs 2, 4, ...: two judgements without a better one
        (2, (0.1, 0.5, 0.4, 0.9), 6, 4),
        (4, (0.1, 0.2, 0.1, 0.3, 0.2, 0.1), 11, 8),
    ],
)
def test_patience_counts_epochs_of_which_every_second_is_judged(monkeypatch, patience, scores, trained, best):
    train, judges = evaluator.hold_out(clicks()[0], 0, 0)
    one = choosing.Evaluator(MatrixFactorization(device="cpu"), train, judges, cpu(), trial.Budget(1e12))
    values = iter(scores)
    monkeypatch.setattr(one, "measure", lambda session: np.full((3, 2), next(values)))
    settings = plan(solver="ials", n_factors=2, epochs=11)
    measures, epochs, curve, _ = one.train(settings, patience)
    assert one.states[settings._replace(epochs=0)][0] == trained
    assert epochs == best and measures[0, 0] == max(scores[: len(curve)])


def test_prepared_clicks_are_kept_by_all_that_they_depend_on():
    settings, prepared = plan(), PreparedClicks(MatrixFactorization(), clicks()[0], cpu())
    users, items = (prepared.ready(settings, walk, False) for walk in ("users", "items"))
    assert [len(made.side.indptr) for made in (users, items)] == [121, 61] and users.query is None
    assert prepared.ready(settings, "users", False) is users is not prepared.ready(settings, "users", True)
    assert prepared.orders(settings) is not prepared.orders(settings._replace(counted=True))


@pytest.mark.slow
def test_fewer_items_have_clicks_than_neighbours():
    train, _ = clicks()
    rated = train.with_columns(**{**train.columns(), "values": np.where(train.items < 24, 5, 1).astype(np.float32)})
    fitted = LSHMF(n_neighbors=32, device="cpu", positive_from=4, random_state=1).fit(rated)
    assert fitted.neighbors_.shape[1] in (0, 32) and fitted.rating_counts()[0].sum() == (train.items < 24).sum()


def test_too_few_to_hold_any_out():
    fitted = MatrixFactorization(device="cpu").fit((np.repeat(np.arange(6), 2), np.tile([0, 1, 1, 2], 3)))
    assert "too few" in fitted.chosen_["why"] and not fitted.trials_


def test_the_latest_share_is_held_out():
    whole = timed()
    (train, judges), *more = evaluator.hold_out_draws(whole, 0, 3)
    expected = naive.latest(whole.users.tolist(), whole.times.tolist(), RULES.held_out_share)
    pairs = {(int(whole.users[k]), int(whole.items[k])) for k in expected}
    assert not more and judges.latest
    assert set(zip(judges.users.tolist(), judges.items.tolist())) == pairs
    assert len(train) == len(whole) - len(pairs) and not pairs & set(zip(train.users.tolist(), train.items.tolist()))


def test_draws_of_clicks_without_times():
    plain, _ = clicks()
    draws = evaluator.hold_out_draws(plain, 0, 3)
    assert len(draws) == 3 and not any(judges.latest for _, judges in draws)
    first, second, _ = (set(zip(judges.users.tolist(), judges.items.tolist())) for _, judges in draws)
    sizes = np.bincount(plain.users)
    for _, judges in draws:
        assert np.bincount(judges.users).tolist() == [int(RULES.held_out_share * size + 0.5) for size in sizes]
    assert len(first & second) < len(first) / 2


def test_users_with_too_few_clicks_judge_nothing():
    users = np.repeat(np.arange(6), [1, 2, 3, 3, 4, 5])
    items = np.concatenate([np.arange(count) for count in (1, 2, 3, 3, 4, 5)])
    few = as_ratings((users, items, np.ones(len(users), np.float32)))
    for seed in range(20):
        for _, judges in evaluator.hold_out_draws(few, seed, 3):
            assert judges.users.tolist() == [2, 3, 4, 5]


def test_fewer_users_judge_among_many_items(monkeypatch):
    plain, _ = clicks()
    monkeypatch.setattr(RULES, "ranked_pairs", 25 * plain.shape[1])
    monkeypatch.setattr(RULES, "least_judges", 2)
    train, judges = evaluator.hold_out(plain, 0, 0)
    assert np.unique(judges.users).tolist() == list(range(25)) and len(train) < 0.9 * len(plain)


def exchanged(table, seed):
    """Return Ratings of the same clicks in another order of rows and ids."""
    random = np.random.default_rng(seed)
    order, names = random.permutation(len(table)), [random.permutation(size) for size in table.shape]
    columns = {name: column[order] for name, column in table.columns().items()}
    sides = {"users": names[0][columns["users"]], "items": names[1][columns["items"]]}
    sides = {name: rows.astype(np.int32) for name, rows in sides.items()}
    return Ratings(**{**columns, **sides}, user_ids=np.arange(table.shape[0]), item_ids=np.arange(table.shape[1]))


def varied(seed=0):
    """Return clicks of users and items that all differ."""
    random = np.random.default_rng(seed)
    users, items = np.nonzero(random.random((90, 50)) < np.linspace(0.05, 0.5, 50))
    return as_ratings((users, items, np.ones(len(users), np.float32)))


@pytest.mark.parametrize("limit", [400, 10_000])
def test_the_sample_does_not_depend_on_the_order_of_ids(limit):
    table = varied()
    one, other = (draw_sample(its, 3, limit) for its in (table, exchanged(table, 1)))
    assert one.user_ids.size == len(set(one.users.tolist())) and one.item_ids.size == len(set(one.items.tolist()))
    assert one.shape == other.shape and (len(one) == len(table)) == (limit > len(table))
    for name in ("users", "items"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert len(one) <= limit and set(np.bincount(one.users)) <= set(np.bincount(table.users))


def test_few_users_with_many_clicks_are_enough():
    sample = draw_sample(varied(), 0, 5, 20)
    assert sample.shape[0] == 20 and len(sample) > 5


@pytest.mark.slow
def test_the_choice_does_not_depend_on_the_order_of_ids():
    found = [LSHMF(n_neighbors=5, device="cpu").fit(its) for its in (varied(), exchanged(varied(), 1))]
    (one, other), (rows, others) = ([getattr(its, name) for its in found] for name in ("chosen_", "trials_"))
    assert one == other and [row["ndcg"] for row in rows] == [row["ndcg"] for row in others]


def test_times_that_do_not_tell():
    same = timed()
    same.times[:] = 7
    assert not evaluator.times_differ(same)


def test_what_clicks_weigh():
    some = timed()
    counted = weigh_clicks(some, plan(counted=True)).values
    np.testing.assert_allclose(counted, 1 + np.log(some.counts), rtol=1e-6)
    assert (weigh_clicks(some, plan()).values == 1).all()


def test_what_lists_are_worth():
    random = np.random.default_rng(0)
    lists = np.stack([random.permutation(40)[: RULES.judged_length] for _ in range(7)])
    lists[2, 5:] = -1  # a user has clicked everything else
    held = [(user, item) for user in range(7) for item in random.permutation(40)[: 1 + 2 * user]]
    users, items = random.permutation(held).T
    found = measure_lists(lists, evaluator.Judges(users, items, False))
    for user in range(7):
        own = {item for one, item in held if one == user}
        worth = [naive.ndcg(lists[user].tolist(), own, k) for k in (RULES.judged_length, RULES.reported_length)]
        np.testing.assert_allclose(found[::2, user], worth, rtol=1e-12)
        assert found[1, user] == bool(own & set(lists[user, : RULES.reported_length].tolist()))


def test_the_deviation_of_scores():
    state = random_state((12, 9), 4, 0, 1)
    scores = state.user_factors.astype(float) @ state.item_factors.T
    assert states.deviation(state) == pytest.approx(np.sqrt((scores**2).mean()), rel=1e-6)


def random_state(shape, n_factors, k, seed):
    """Return a State of random numbers."""
    from gpukit.factorization.model.state import State

    rng = np.random.default_rng(seed)
    near = np.stack([rng.permutation(np.delete(np.arange(shape[1]), j))[:k] for j in range(shape[1])]).astype(np.int32)
    sides = [rng.normal(size=(rows, size)) for rows in shape for size in (n_factors, 3)]
    sides = [side.astype(np.float32) for side in sides]
    for extras in sides[1::2]:
        extras[:, 1:] = 0
    return State(*sides, rng.normal(size=(shape[1], 2, k)).astype(np.float32), near)


def scores(state, history):
    """Return (M, N) float64: Eq. (1) of all pairs, without baselines."""
    found = state.user_factors.astype(float) @ state.item_factors.T.astype(float)
    found += state.user_extras[:, :1] + state.item_extras[:, 0]
    for user in range(len(found)):
        clicked = np.zeros(found.shape[1], bool)
        clicked[history.items[history.indptr[user] : history.indptr[user + 1]]] = True
        for item, near in enumerate(state.neighbors):
            seen = clicked[near]
            for part, some in ((0, seen), (1, ~seen)):
                if some.any():
                    found[user, item] += state.influence[item, part, some].sum() / np.sqrt(some.sum())
    return found


def test_two_models_in_one_score_as_both():
    train, _ = clicks(12, 9, 3, 5)
    indptr, items, _ = train.csr()
    history = History(np.append(indptr, indptr[-1]), items, None, None)
    one, other = random_state((12, 9), 4, 0, 1), random_state((12, 9), 3, 2, 2)
    one.user_extras[:], one.item_extras[:] = 0, 0
    both = states.combine_states(one, other, 0.25)
    np.testing.assert_allclose(scores(both, history), scores(one, history) + 0.25 * scores(other, history), atol=1e-5)
    first, second = states.split_states(both, plan(n_factors=4, mixed=0.25))
    for found, expected in ((first, one), (second, other)):
        for own, known in zip(found, expected):
            np.testing.assert_allclose(own, known, atol=1e-6)


def pairs_of(ratings):
    """Return ids of all pairs, user by user."""
    return np.repeat(ratings.user_ids, ratings.shape[1]), np.tile(ratings.item_ids, ratings.shape[0])


def ids_of(ratings):
    """Return the ids of both sides."""
    return ratings.user_ids, ratings.item_ids


def noise(users=200, items=40, each=8):
    """Return clicks by item popularity only, equal for all users, as Ratings."""
    rng = np.random.default_rng(1)
    worth = 1.5 * rng.normal(size=items) + rng.gumbel(size=(users, items))
    found = np.argsort(-worth, axis=1)[:, :each]
    return as_ratings((np.repeat(np.arange(users), each), found.ravel(), np.ones(users * each, np.float32)))


def test_where_nothing_is_better_popularity_is_the_model(tmp_path):
    train = noise()
    fitted = LSHMF(device="cpu").fit(train)
    assert fitted.chosen_["popular"] == 1.0 and fitted.chosen_["mixed"] == 0
    counts = np.bincount(train.items)
    np.testing.assert_allclose(fitted.predict(pairs_of(train)), np.tile(counts / counts.max(), 200), atol=1e-6)
    fitted.save(tmp_path / "m")
    again = LSHMF.load(tmp_path / "m")
    again.partial_fit((np.array([500, 501, 501]), train.item_ids[[0, 0, 1]]))
    counts[:2] += 2, 1
    predicted = again.predict((np.full(len(counts), 500), train.item_ids))
    np.testing.assert_allclose(predicted, counts / counts.max(), atol=1e-6)
    scores = again.recommend_for(train.item_ids[:1].tolist(), n=3)[-1]
    assert np.all(np.diff(scores) <= 0) and np.isfinite(scores).all()


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_popularity_beside_the_factors(share):
    train, _ = clicks()
    fitted = LSHMF(n_factors=4, n_epochs=2, solver="ials", regularization=0.01, unobserved_weight=0.3, device="cpu")
    state = fitted.fit(train)._state
    counts = np.bincount(train.items, minlength=60)
    plain = state.user_factors.astype(float) @ state.item_factors.T
    bare = state._replace(item_extras=np.zeros_like(state.item_extras))
    mixed = states.with_popularity(bare, counts, share)
    fitted.set_fitted(mixed, fitted._rated, fitted._scale, *ids_of(train))
    expected = (1 - share) * plain + share * counts / counts.max()
    np.testing.assert_allclose(fitted.predict(pairs_of(train)), expected.ravel(), atol=1e-5)


def test_lists_of_users_who_are_not_known_with_popularity_beside():
    train, _ = clicks()
    fitted = LSHMF(n_factors=4, n_epochs=30, solver="ials", regularization=0.01, unobserved_weight=0.3, device="cpu")
    fitted.fit(train)
    bare = fitted._state._replace(item_extras=np.zeros_like(fitted._state.item_extras))
    fitted._state = states.with_popularity(bare, np.bincount(train.items, minlength=60), 0.3)
    fitted.chosen_["popular"] = 0.3
    known, _ = fitted.recommend(train.user_ids[:10], n=5)
    mine = train.take(train.users < 10)
    _, lists, _ = fitted.recommend_for(mine, n=5)
    assert np.mean([len(set(one) & set(other)) for one, other in zip(known.tolist(), lists.tolist())]) > 4.5
