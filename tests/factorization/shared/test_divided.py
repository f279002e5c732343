"""Training on ratings in parts: the model of one process, though no rank has all ratings."""

import numpy as np
import pytest
from parallel.test_team import together
from ratings.test_read_parts import frame, pieces

from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import cpu as preparing
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.parts import join_models
from gpukit.factorization.shared import training as begin
from gpukit.model_selection import splits
from gpukit.ratings import read_ratings, synth_ratings
from gpukit.ratings.parts import RatingsPart, part_of, split_by_pair
from gpukit.ratings.read_parts import read_parts

NAMED = {"n_factors": 5, "n_epochs": 2, "regularization": 0.05, "learning_rate": 0.2, "device": "cpu"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Parts of 3,000 ratings, in two orders."""
    folder = tmp_path_factory.mktemp("parts")
    for order in ("ab", "ba"):
        (folder / order).mkdir()
        for name, part in zip(order, pieces(frame(3000, 80, 60), 2)):
            part.to_parquet(folder / order / f"{name}.parquet", row_group_size=500)
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Every rank has some of the users, also in strata."""
    monkeypatch.setattr(preparing, "GRAIN", 100)


def whole(models):
    """Return the model of all users from those of each rank."""
    join_models(model := type(models[0])(**models[0].get_params()), models)
    return model


def trained(folder, size, make, order="ab", work=lambda model, part, team: model.fit(part, team=team)):
    """Return the model of each rank."""
    pattern = str(folder / order / "*.parquet")
    return together(size, lambda team: work(make(), read_parts(pattern, team), team))


def assert_same_models(model, expected):
    for name, array in expected._state._asdict().items():
        np.testing.assert_array_equal(getattr(model._state, name), array, name)
    for name in ("user_ids_", "item_ids_", "scale_", "mean_", "chosen_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)


@pytest.mark.parametrize("size, order", [(2, "ab"), (2, "ba"), (3, "ba")])
def test_the_model_of_one_process(folder, size, order):
    def make():
        return MatrixFactorization(**NAMED, deterministic=True)

    expected = make().fit(read_ratings(folder / "ab" / "*.parquet"))
    models = trained(folder, size, make, order)
    model = whole(models)
    assert_same_models(model, expected)
    for name, array in expected._rated._asdict().items():
        np.testing.assert_array_equal(getattr(model._rated, name), array, name)
    for part in models:  # no rank has the rows or the ratings of others
        assert len(part._state.user_factors) == len(part.user_ids_) < len(expected.user_ids_)
        assert len(part._rated.items) == part._rated.indptr[-1] < 3000
    assert sum(len(part._rated.items) for part in models) == 3000


def test_lshmf_does_not_depend_on_the_order_of_parts(folder):
    def make():
        return LSHMF(**NAMED, n_neighbors=4, deterministic=True)

    one, other = (trained(folder, 2, make, order) for order in ("ab", "ba"))
    assert_same_models(whole(one), whole(other))


def test_held_out_ratings_judge_every_epoch(folder):
    def work(model, part, team):
        train, test = part.split(0.2, 3)
        return model.fit(train, validation=test, team=team).history_

    ratings = read_ratings(folder / "ab" / "*.parquet")
    train, test = split_by_pair(ratings, 0.2, 3)
    expected = MatrixFactorization(**NAMED, deterministic=True).fit(train, validation=test).history_
    for history in trained(folder, 2, lambda: MatrixFactorization(**NAMED, deterministic=True), work=work):
        assert [row["rmse"] for row in history] == pytest.approx([row["rmse"] for row in expected], rel=1e-6)


def test_a_second_training_on_all_ratings(folder):
    """After the first one the ratings are on other ranks than where they were read."""

    def work(model, part, team):
        train, test = part.split(0.2, 3)
        return model.fit(train, validation=test, team=team).refit(train.together(test), team=team)

    expected = MatrixFactorization(**NAMED, deterministic=True).fit(read_ratings(folder / "ab" / "*.parquet"))
    assert_same_models(
        whole(trained(folder, 2, lambda: MatrixFactorization(**NAMED, deterministic=True), work=work)), expected
    )


@pytest.mark.parametrize("most", [10**9, 400], ids=["all ratings", "a sample"])
def test_settings_are_those_that_one_process_chooses(folder, monkeypatch, most):
    """Rank 0 gets the ratings of the users that one process would draw."""
    monkeypatch.setattr(RULES, "choice_sample", most)
    monkeypatch.setattr(splits, "MANY_TIMES", 2)
    monkeypatch.setattr(begin, "MANY_TIMES", 2)
    given = {"n_factors": 4, "device": "cpu", "deterministic": True}
    expected = MatrixFactorization(**given).fit(read_ratings(folder / "ab" / "*.parquet"))
    received = []
    sample = RatingsPart.sample
    monkeypatch.setattr(RatingsPart, "sample", lambda *given: received.append(sample(*given)) or received[-1])
    for model in trained(folder, 2, lambda: MatrixFactorization(**given)):
        assert model.chosen_ == expected.chosen_
        assert [trial["rmse"] for trial in model.trials_] == [trial["rmse"] for trial in expected.trials_]
    sizes = [len(part.local) for part in received if part is not None]
    assert sizes == [3000] if most > 3000 else 400 < sizes[0] < 1200


def test_ratings_of_many_values_have_the_moments_of_all(tmp_path):
    """Within rounding, because each rank adds its own."""
    table = frame(2000).assign(rating=np.random.default_rng(0).normal(100, 3, 2000).astype(np.float32))
    (tmp_path / "ab").mkdir()
    table.to_parquet(tmp_path / "ab" / "a.parquet", row_group_size=300)
    expected = MatrixFactorization(**NAMED, deterministic=True).fit(read_ratings(tmp_path / "ab" / "a.parquet"))
    model = whole(trained(tmp_path, 2, lambda: MatrixFactorization(**NAMED, deterministic=True)))
    np.testing.assert_allclose(model._scale, expected._scale, rtol=1e-12)
    np.testing.assert_allclose(model.user_factors_, expected.user_factors_, atol=1e-4)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"solver": "als", "learning_rate": None}, "solver='als' does not work on ratings in parts"),
        ({"early_stopping": 2}, "early_stopping does not work on ratings in parts"),
        ({"validation_fraction": 0.1}, "validation_fraction does not work on ratings in parts"),
        ({"feedback": "implicit", "learning_rate": None}, "not learned as clicks"),
    ],
    ids=str,
)
def test_what_needs_all_ratings_is_refused(folder, options, message):
    for error in trained(folder, 2, lambda: MatrixFactorization(**{**NAMED, **options})):
        assert message in str(error) and error.exit_code == 2


def test_equal_ratings_are_clicks(tmp_path):
    (tmp_path / "ab").mkdir()
    frame(200).assign(rating=3).to_parquet(tmp_path / "ab" / "a.parquet", row_group_size=50)
    for error in trained(tmp_path, 2, lambda: MatrixFactorization(**NAMED)):
        assert "not learned as clicks, which equal ratings are" in str(error)


def test_checkpoints_other_teams_and_other_methods_are_refused(folder, tmp_path):
    def checkpoint(model, part, team):
        return model.fit(part, team=team, checkpoint=tmp_path / "c")

    for error in trained(folder, 2, lambda: MatrixFactorization(**NAMED), work=checkpoint):
        assert "have no checkpoint" in str(error)
    for error in trained(
        folder, 2, lambda: MatrixFactorization(**NAMED), work=lambda model, part, team: model.fit(part)
    ):
        assert "pass their team=" in str(error)


def test_validation_of_other_ids_is_refused():
    ratings = synth_ratings("ml-10m", 0.0005)

    def work(team):
        part, other = (part_of(one, team) for one in (ratings, synth_ratings("ml-10m", 0.0005)))
        return MatrixFactorization(**NAMED).fit(part, validation=other, team=team)

    for error in together(2, work):
        assert isinstance(error, ParameterError) and "must be a split of X" in str(error)
