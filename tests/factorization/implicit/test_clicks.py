"""Models of clicks from outside: recognition, learning, serving, files, errors."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from factorization.implicit.planted import clicks, hits
from gpukit import load_model
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import update
from gpukit.ratings import Ratings


def make(kind=MatrixFactorization, **parameters):
    """Return an estimator with few factors on the CPU."""
    return kind(**{"n_factors": 8, "n_epochs": 6, "device": "cpu", **parameters})


def graded():
    """Return (all ratings, those of at least 4) of the planted clicks.

    The clicks have ratings 4 or 5; the same number of other pairs have 1 to 3.
    """
    train, _ = clicks()
    rng = np.random.default_rng(5)
    taken = np.unique(train.users * np.int64(train.shape[1]) + train.items)
    others = np.setdiff1d(rng.integers(0, train.shape[0] * train.shape[1], len(train)), taken)
    users = np.concatenate((train.users, others // train.shape[1])).astype(np.int32)
    items = np.concatenate((train.items, others % train.shape[1])).astype(np.int32)
    values = np.concatenate((rng.integers(4, 6, len(train)), rng.integers(1, 4, len(others)))).astype(np.float32)
    return Ratings(users, items, values, train.user_ids, train.item_ids), train


@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_clicks_are_recognised_and_learned(kind):
    train, held_out = clicks()
    fitted = make(kind).fit(train)
    assert fitted.feedback_ == "implicit" and fitted.scale_ == (-np.inf, np.inf) and fitted.mean_ == 0.0
    popular = np.tile(
        np.argsort(-np.bincount(train.items, minlength=train.shape[1]), kind="stable"), (train.shape[0], 1)
    )
    assert hits(fitted.recommend(n=5)[0], held_out) > 2 * hits(popular[:, :5], held_out)


@pytest.mark.slow
def test_what_is_rated_high_are_the_clicks():
    ratings, train = graded()
    assert make().fit(ratings).feedback_ == "explicit"
    chosen = make(positive_from=4).fit(ratings)
    assert chosen.feedback_ == "implicit"
    assert np.array_equal(chosen.item_factors_, make().fit(train).item_factors_)
    every = make(feedback="implicit").fit(ratings)
    assert every.rating_counts()[0].sum() == len(ratings)


def test_ratings_that_are_alike_are_ratings_when_that_is_said():
    train, _ = clicks()
    assert make(feedback="explicit").fit(train).feedback_ == "explicit"


def test_a_model_of_clicks_is_kept(tmp_path):
    train, _ = clicks()
    fitted = make(LSHMF).fit(train)
    fitted.save(tmp_path / "clicks.gpukit")
    same = load_model(tmp_path / "clicks.gpukit").set_params(device="cpu")
    assert same.feedback_ == "implicit" and same.chosen_ == fitted.chosen_ and same.scale_ == fitted.scale_
    assert np.array_equal(same.recommend(n=4)[0], fitted.recommend(n=4)[0])
    assert np.array_equal(same.predict(train), fitted.predict(train))


def test_a_checkpoint_goes_on(tmp_path):
    train, _ = clicks()
    path = tmp_path / "checkpoint"

    def stop(stage, done, total, info):
        if stage == "training" and done == 3:
            raise KeyboardInterrupt

    before, RULES.checkpoint_seconds = RULES.checkpoint_seconds, 0.0
    try:
        with pytest.raises(KeyboardInterrupt):
            make().fit(train, checkpoint=path, progress=stop)
    finally:
        RULES.checkpoint_seconds = before
    resumed = make().fit(train, checkpoint=path, resume=True)
    assert np.array_equal(resumed.item_factors_, make().fit(train).item_factors_)


def test_who_is_not_known_gets_what_is_popular():
    train, _ = clicks()
    fitted = make().fit(train)
    popular = np.argsort(-np.bincount(train.items, minlength=train.shape[1]), kind="stable")[:3]
    assert np.array_equal(fitted.recommend([10**6], n=3, unknown="popular")[0][0], train.item_ids[popular])


@pytest.mark.parametrize(
    "parameters, what",
    [
        ({"feedback": "explicit", "loss": "bpr"}, "loss='bpr' is for clicks"),
        ({"feedback": "explicit", "positive_from": 4}, "positive_from=4 is for clicks"),
        ({"feedback": "explicit", "solver": "ials"}, "solver='ials' is for clicks"),
        ({"feedback": "implicit", "solver": "als"}, "solver='als' learns ratings"),
        ({"solver": "ials", "loss": "bpr"}, "loss='bpr': name one"),
        ({"solver": "sampled", "loss": "squared"}, "'cross-entropy' or 'bpr'"),
        ({"feedback": "clicks"}, "feedback must be one of"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"solver": "ials", "unobserved_weight": -1.0}, "unobserved_weight"),
        ({"solver": "ials", "row_solver": "qr"}, "row_solver must be one of"),
        ({"feedback": "explicit", "row_solver": "gradients"}, "row_solver='gradients' is for clicks"),
        ({"solver": "ials", "learning_rate": 0.1}, "learning_rate=0.1 means nothing"),
        ({"solver": "ials", "precision": "half"}, "precision='half'"),
        ({"positive_from": float("nan")}, "positive_from"),
    ],
)
def test_parameters_that_do_not_fit(parameters, what):
    with pytest.raises(ParameterError, match=what):
        make(**parameters).check()


def test_data_that_do_not_fit():
    ratings, train = graded()
    with pytest.raises(DataError, match="positive_from=6 is more than the highest value, 5"):
        make(positive_from=6).fit(ratings)
    with pytest.raises(DataError, match="have none"):
        make(positive_from=4).fit(train)
    for name, value in {"solver": "ials", "loss": "bpr", "n_negatives": 2, "unobserved_weight": 0.1}.items():
        with pytest.raises(ParameterError, match=f"^{name}={value!r} is for clicks, and these are ratings"):
            make(**{"solver": "auto", name: value}).fit(ratings)
    with pytest.raises(ParameterError, match="row_solver=.*2.* is for clicks"):
        make(solver="auto", row_solver=np.float64(2)).fit(ratings)
    with pytest.raises(ParameterError, match="learns ratings, and these are clicks"):
        make(solver="sgd").fit(train)
    with pytest.raises(ParameterError, match="'auto', 'sgd', 'ials', 'ease', 'sampled'"):
        make(LSHMF, solver="als").fit(ratings)


@pytest.fixture(scope="module", params=["ials", "sampled"])
def half(request):
    """Return (model of the first half of users and items, all clicks, held out)."""
    train, held_out = clicks()
    some = (train.users < 90) & (train.items < 56)
    more = {"n_epochs": 12} if request.param == "sampled" else {}
    return make(solver=request.param, **more).fit(part(train, some)), train, held_out


def part(ratings, which):
    """Return Ratings at a mask as pairs of ids."""
    return ratings.user_ids[ratings.users[which]], ratings.item_ids[ratings.items[which]]


def test_new_clicks_are_learned(half, tmp_path):
    fitted, train, held_out = half
    fitted.save(tmp_path / "half.gpukit")
    grown, before = load_model(tmp_path / "half.gpukit"), fitted.recommend(n=5)[0]
    late = (train.users >= 90) | (train.items >= 56)
    grown.partial_fit(part(train, late))
    summary = grown.updates_[-1]
    assert summary["ratings"] == late.sum()
    assert (summary["users"], summary["items"], summary["corrected"]) == (30, 4, 0)
    assert grown.rating_counts()[0].sum() == len(train)
    new = np.arange(90, 120)
    lists = grown.recommend(train.user_ids[new], n=5)[0]
    assert np.mean([held_out.items[user] in row for user, row in zip(new, lists)]) > 0.4
    assert np.array_equal(before, fitted.recommend(n=5)[0])
    grown.save(tmp_path / "grown.gpukit")
    assert np.array_equal(load_model(tmp_path / "grown.gpukit").recommend(n=5)[0], grown.recommend(n=5)[0])


@pytest.mark.parametrize("rows", ["move", "frozen"])
@pytest.mark.parametrize("solver", ["ials", "ease", "sampled"])
def test_a_rating_below_the_threshold_withdraws_the_click(solver, rows, tmp_path):
    """A model that is updated has the clicks of one that is trained at once; ratings that are all low are an update."""
    ratings, _ = graded()
    (liked,) = np.nonzero(ratings.values >= 4)
    users, items = (ids[rows] for ids, rows in ((ratings.user_ids, ratings.users), (ratings.item_ids, ratings.items)))
    model = make(solver=solver, positive_from=4, **({"n_factors": None, "n_epochs": None} if solver == "ease" else {}))
    model.fit((users, items, ratings.values))
    factors, withdrawn = model.user_factors_, liked[:20]
    model.partial_fit((users[withdrawn], items[withdrawn], np.full(20, 2.0)), rows=rows)
    entry = model.updates_[-1]
    assert (entry["ratings"], entry["corrected"], entry["settled"]) == (0, 20, len(liked) - 20)
    assert np.array_equal(model.user_factors_, factors) == (rows == "frozen" or solver == "ease")
    model.save(tmp_path / "m.gpukit")
    model = load_model(tmp_path / "m.gpukit")
    left = set(zip(users[liked[20:]].tolist(), items[liked[20:]].tolist()))
    history = np.repeat(model.user_ids_, model.rating_counts()[0]), model.item_ids_[model._rated.items]
    assert set(zip(*(side.tolist() for side in history))) == left
    listed = zip(model.user_ids_.tolist(), model.recommend(n=len(model.item_ids_))[0])
    assert not {(user, item) for user, row in listed for item in row} & set(zip(users.tolist(), items.tolist()))
    before = model._state.item_weights.copy()
    model.partial_fit((users[withdrawn], items[withdrawn], np.tile([2.0, 5.0], 10)), rows=rows)
    assert (model.updates_[-1]["ratings"], model.updates_[-1]["corrected"]) == (10, 0)
    assert not before.size or not np.array_equal(model._state.item_weights, before)


@pytest.mark.parametrize("rows", ["move", "frozen"])
@pytest.mark.parametrize("solver", ["ials", "ease", "sampled"])
def test_low_ratings_of_new_users_and_items_are_kept(solver, rows, tmp_path):
    """They are no clicks, but their users know these items, also when clicks of both arrive later."""
    ratings, _ = graded()
    users, items = (ids[rows] for ids, rows in ((ratings.user_ids, ratings.users), (ratings.item_ids, ratings.items)))
    model = make(solver=solver, positive_from=4, **({"n_factors": None, "n_epochs": None} if solver == "ease" else {}))
    model.fit((users, items, ratings.values))
    first, scores = int(model.item_ids_[0]), model.pair_scores(users, items)
    for new in (900, 901):
        model.partial_fit(([new, new, users[0]], [first, new, new], [1.0, 2.0, 1.0]), rows=rows)
        assert (model.updates_[-1]["users"], model.updates_[-1]["items"], model.updates_[-1]["ratings"]) == (1, 1, 0)
    assert np.array_equal(model.pair_scores(users, items), scores) or (solver, rows) == ("sampled", "move")
    assert not {900, 901} & {*model.recommend([users[-1]], 9)[0][0]}  # as little known as an item can be
    model.save(tmp_path / "m.gpukit")
    model = load_model(tmp_path / "m.gpukit").partial_fit(([900, 7], [7, 901], [5.0, 5.0]), rows=rows)
    lists = model.recommend([900, users[0]], len(model.item_ids_))[0]
    assert not {first, 7, 900} & {*lists[0]} and not {900, 901} & {*lists[1]} and 901 in lists[0]


def test_frozen_rows_keep_their_neighbours_and_influences():
    train, _ = clicks()
    model = LSHMF(4, 3, 3, solver="sampled", regularization=0.05, device="cpu").fit(train)
    users, items = train.user_ids[train.users], train.item_ids[train.items]
    scores, others = model.pair_scores(users, items), users != users[0]
    new = next(item for item in model.item_ids_ if item not in items[~others])
    assert model.partial_fit(([users[0], 900], [new, new]), rows="frozen").updates_[-1]["ratings"] == 2
    assert np.array_equal(model.pair_scores(users, items)[others], scores[others])


def test_a_low_count_withdraws_no_click():
    train, _ = clicks()
    users, items = (ids[rows] for ids, rows in ((train.user_ids, train.users), (train.item_ids, train.items)))
    frame = pandas.DataFrame({"user": users, "item": items, "count": np.arange(len(train)) % 5 + 1})
    model = make(solver="ials", positive_from=3).fit(frame)
    known, again = len(model._rated.items), frame.assign(count=1).head(9)
    again.loc[0, "count"] = 4
    assert len(model.partial_fit(again)._rated.items) == known + 1
    with pytest.raises(DataError, match="No click is left"):
        model.partial_fit(again.iloc[1:].assign(count=[1, 2] * 4))


def test_clicks_that_are_known_are_not_corrected(half, tmp_path):
    fitted, train, _ = half
    fitted.save(tmp_path / "half.gpukit")
    known = part(train, (train.users < 9) & (train.items < 56))
    assert load_model(tmp_path / "half.gpukit").partial_fit(known).updates_[-1]["corrected"] == 0


def test_negative_counts_are_refused(half, tmp_path):
    fitted, train, _ = half
    counts = train.user_ids[:3], train.item_ids[:3], np.array([2, -3, 4], np.float32)
    fitted.save(tmp_path / "half.gpukit")
    for values in (counts[2], np.full(3, -3, np.float32)):
        with pytest.raises(DataError, match=r"Row . \(user .*rating -3 is outside .*counts from 0 up"):
            load_model(tmp_path / "half.gpukit").partial_fit((*counts[:2], values))
    grown = load_model(tmp_path / "half.gpukit").set_params(feedback="implicit")
    grown.partial_fit(([7001, 7002, 7003], *counts[1:]), widen_scale=True)
    assert (grown.updates_[-1]["ratings"], grown.updates_[-1]["corrected"]) == (2, 0)


def test_rows_that_are_frozen_stay(half, tmp_path):
    fitted, train, _ = half
    fitted.save(tmp_path / "half.gpukit")
    grown = load_model(tmp_path / "half.gpukit")
    grown.partial_fit(part(train, train.users >= 90), rows="frozen")
    assert np.array_equal(grown.user_factors_[:90], fitted.user_factors_) and grown.user_factors_[90:].any()
    known = len(fitted.item_ids_)
    assert np.array_equal(grown.item_factors_[:known], fitted.item_factors_)


def test_lists_for_who_is_not_known(half):
    fitted, train, _ = half
    users = fitted.user_ids_[:20]
    known = np.isin(train.user_ids[train.users], users) & (train.items < 56) & (train.users < 90)
    of_known, _ = fitted.recommend(users, n=5)
    ids, of_lists, scores = fitted.recommend_for(part(train, known), n=5)
    assert ids.tolist() == users.tolist() and np.isfinite(scores).all()
    same = np.mean([len(set(one) & set(other)) / 5 for one, other in zip(of_known.tolist(), of_lists.tolist())])
    assert same > (0.95 if fitted.chosen_["solver"] == "ials" else 0.6)


def test_ratings_are_no_clicks_of_a_model_of_pairs(half, tmp_path):
    ratings, train = graded()
    half[0].save(tmp_path / "half.gpukit")
    fitted = load_model(tmp_path / "half.gpukit")
    triples = *part(ratings, slice(None)), ratings.values
    rated = {int(item): 1.0 + item % 5 for item in train.item_ids[:6]}
    for ask in (fitted.partial_fit, fitted.evaluate, fitted.score):
        with pytest.raises(DataError, match=r"ratings from 1 to 5, and the model is of clicks .*--columns user,item"):
            ask(triples)
    with pytest.raises(DataError, match="ratings from 1 to 5"):
        fitted.recommend_for(rated)
    assert not hasattr(fitted, "updates_")
    with pytest.raises(DataError, match="ratings from 1 to 5"):
        make(solver="ials").fit(train, validation=triples)
    fitted.set_params(positive_from=4).partial_fit(triples)
    assert fitted.rating_counts()[0].sum() == len(train)
    fitted.set_params(positive_from=None, feedback="implicit").partial_fit(triples)
    assert fitted.rating_counts()[0].sum() == len(ratings)


def test_a_threshold_counts_in_scores_too():
    ratings, _ = graded()
    train, test = ratings.split(0.3, 0)
    fitted = make(positive_from=4, solver="ials").fit(train)
    liked = test.take(test.values >= 4)
    assert fitted.evaluate(test) == fitted.evaluate(liked) == fitted.evaluate(part(liked, slice(None)))
    assert fitted.score(test) == fitted.score(liked)
    with pytest.raises(ParameterError, match="sample_weight weighs errors of ratings"):
        fitted.score(test, sample_weight=np.ones(len(test)))


def test_an_update_solves_for_rows_by_their_own_clicks():
    rng, plan = np.random.default_rng(0), SimpleNamespace(regularization=0.1, unobserved_weight=0.3, exponent=1.0)
    counts = np.array([3, 0, 5, 1, 4])
    indptr, other = np.append(0, np.cumsum(counts)), rng.normal(size=(9, 3)).astype(np.float32)
    items = np.concatenate([rng.permutation(9)[:count] for count in counts])
    table, is_solved = (indptr, items, rng.uniform(1, 2, len(items))), np.array([0, 1, 1, 0, 1], bool)
    factors = np.zeros((5, 3), np.float32)
    assert update.solve(factors, other, table, is_solved, plan) == 9
    expected = update.fold_in(other, *table, plan)
    np.testing.assert_array_equal(factors, np.where(is_solved[:, None], expected, 0))
