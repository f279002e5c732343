"""Table 10 on a few clicks."""

import numpy as np
import pytest
from evaluation import naive

from gpukit import bench
from gpukit.bench import Conditions
from gpukit.bench import clicks as ncf_data
from gpukit.bench.clicks import LearningCurve
from gpukit.bench.measurement import add_printed, record_epochs
from gpukit.device import Device, cpu
from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization
from gpukit.ratings import as_ratings

USERS, ITEMS = 60, 40


def planted():
    """Return clicks of users who like one half of the items; the last of each is tested among ten others."""
    random = np.random.default_rng(0)
    mine = (np.arange(USERS)[:, None] + np.arange(ITEMS)) % 2 == 0
    mask = mine & (random.random(mine.shape) < 0.5)
    held = np.array([random.choice(np.flatnonzero(row & ~clicked)) for row, clicked in zip(mine, mask)])
    users, items = np.nonzero(mask)
    clicks = as_ratings((users + 500, items + 7000, np.ones(len(users), np.float32)))
    others = np.array([random.choice(np.flatnonzero(~row), 10, replace=False) for row in mine | mask]) + 7000
    others[0, 0], held[1] = 9999, 2000  # unknown items
    return ncf_data.make_ncf(clicks, np.arange(USERS) + 500, np.column_stack((held + 7000, others)))


@pytest.fixture
def ncf():
    return planted()


def test_candidates_are_in_the_rows_of_the_clicks(ncf):
    users, items = ncf.pairs
    test_users, candidate_ids = ncf.tests
    ids = ncf.clicks.item_ids[items].reshape(candidate_ids.shape)
    assert (ids[~ncf.unknown] == candidate_ids[~ncf.unknown]).all()
    assert (ncf.clicks.user_ids[users].reshape(candidate_ids.shape) == test_users[:, None]).all()
    assert (
        ncf.unknown[0, 1]
        and ncf.unknown[1, 0]
        and ncf.unknown.sum() == (~np.isin(candidate_ids, ncf.clicks.item_ids)).sum()
    )


def test_a_model_is_evaluated_by_its_scores(ncf):
    model = MatrixFactorization(solver="ials", n_factors=4, n_epochs=2, device="cpu").fit(ncf.clicks)
    (users, candidates), ids, expected = ncf.tests, ncf.clicks.item_ids, []
    for user, (click, *negatives) in zip(users.tolist(), candidates.tolist()):
        score = {item: model.predict([user], [item])[0] if item in ids else -np.inf for item in (click, *negatives)}
        expected.append(naive.sampled_metrics(score[click], [score[item] for item in negatives], 10))
    assert ncf.evaluate_model(model) == pytest.approx(np.mean(expected, axis=0), abs=1e-12)


def test_unknown_items_rank_last(ncf):
    scores = np.where(np.arange(11) == 0, 1.0, 0.0) + np.zeros((USERS, 11))
    scores[0, 1] = 99
    hit, ndcg = ncf.evaluate(scores)
    assert ncf.evaluate(-scores)[0] < hit
    assert ndcg == pytest.approx((USERS - 1 + 1 / np.log2(11)) / USERS, abs=0.02)


def test_hits_and_ndcg_are_their_definitions():
    random = np.random.default_rng(1)
    scores, there = random.integers(0, 12, (60, 31)).astype(np.float32), random.random((60, 31)) < 0.8
    there[:, 0] = True
    users, items = np.zeros(60, np.int32), np.zeros(scores.shape, np.int32)
    tests = [naive.sampled_metrics(row[0], row[1:][mask[1:]].tolist(), 10) for row, mask in zip(scores, there)]
    expected = np.mean(tests, axis=0)
    assert ncf_data.Ncf(None, None, users, items, there).evaluate(scores) == pytest.approx(expected, abs=1e-13)


def evaluate_all(scores, items=0):
    """Return HR@10 and NDCG@10 of scores (1, n) of candidates that all count; items: rows, -1 for unknown."""
    scores = np.array(scores, np.float32)
    there = np.ones(scores.shape, bool)
    return ncf_data.Ncf(None, None, np.zeros(1, np.int32), np.broadcast_to(items, scores.shape), there).evaluate(scores)


def test_constant_scores_are_worth_what_chance_is():
    for constant in (np.zeros((1, 100)), np.full((1, 100), np.nan)):
        expected = 0.1, sum(1 / np.log2(np.arange(2, 12))) / 100
        assert evaluate_all(constant) == pytest.approx(expected)


def test_scores_that_are_not_numbers_are_last():
    assert evaluate_all([[np.nan, *range(10)]])[0] == 0
    assert evaluate_all([[-5.0, *[np.nan] * 10]])[0] == 1
    assert evaluate_all([[5.0, *range(10)]], np.append(-1, np.zeros(10, int)))[0] == 0


def test_what_is_dropped_of_the_candidates():
    clicks = as_ratings((np.repeat([0, 1], 5), np.arange(10), np.ones(10)))
    candidates = np.array([[17, 17, 3, 12, 12, 9], [12, 3, 6, 12, 13, 13]])  # users have 0 to 4 and 5 to 9
    ncf = ncf_data.make_ncf(clicks, np.array([0, 1]), candidates)
    assert ncf.items.tolist() == [[-1, -1, 3, -1, -1, 9], [-1, 3, 6, -1, -1, -1]]
    assert ncf.there.tolist() == [[True, False, False, True, False, True], [True, True, False, False, True, False]]


def test_evaluations_are_not_timed():
    now = [0.0]

    def epochs():
        for number in range(5):
            now[0] += 2.0
            yield number

    def evaluate():
        now[0] += 100.0
        return 0.5, 0.25

    quality, times = record_epochs(epochs(), evaluate, lambda: now[0], lambda quality, total: total >= 7.0)
    assert times == [2, 4, 6, 8] and quality == [(0.5, 0.25)] * 4


def test_training_ends_if_hr_does_not_rise():
    hits = [(hit, 0.0) for hit in (0.1, 0.3, 0.2, 0.3, 0.25, 0.9)]
    assert [ncf_data.is_over(hits[:count], 1.0, 9.0) for count in range(1, 7)] == [False] * 4 + [True, False]
    assert ncf_data.is_over(hits[:1], 9.0, 9.0)


def test_rows_of_learning_curves():
    curves = [
        LearningCurve([(0.5, 0.2), (0.66, 0.3)], [1.0, 2.0], {"prepare": 0.25}, (0.7, 0.4, 0.08, 0.04)),
        LearningCurve([(0.65, 0.3), (0.66, 0.3)], [1.5, 3.0], {"prepare": 0.25}, (0.6, 0.3, 0.06, 0.02)),
    ]
    time, hit, ndcg = ncf_data.rows("NeuMF", curves, "where")
    assert time.what == "Table 10 time to HR 0.65 NeuMF" and time.samples == [2000, 1500] and time.unit == "ms"
    assert "reached in epoch 2 of 2, 2 s" in time.note and add_printed(time).note.endswith("; the paper: 308.5 s")
    assert "before: prepare 250 ms" in time.note
    assert hit.samples == [0.7, 0.6] and ndcg.samples == [0.4, 0.3]
    assert "HR 0.6500, NDCG 0.3500, full HR 0.0700, full NDCG 0.0300" in hit.note
    slow = LearningCurve([(0.5, 0.2)], [9.0], {}, (0.5, 0.2, None, None))
    rows = list(ncf_data.rows("implicit's ALS", [slow], "where", "64 factors"))
    assert len(rows) == 2 and "HR 0.65 not reached" in rows[0].note and "full" not in rows[0].note
    assert rows[0].note.endswith("64 factors")


def test_our_models_are_trained_and_evaluated(ncf, monkeypatch):
    for name, model in ncf_data.make_models(cpu()).items():
        curve = ncf_data.train_model(model.set_params(n_epochs=3, n_factors=4), ncf, 60.0)
        assert len(curve.quality) == len(curve.times) == 3 and curve.times == sorted(curve.times), name
        assert curve.final[0] > 0.9 and 0 < curve.final[2] <= 1, name


def test_the_benchmark_runs(ncf, monkeypatch):
    monkeypatch.setattr(ncf_data, "read", lambda folder, share: ncf)
    monkeypatch.setattr(ncf_data, "make_models", lambda device, seed=0: {})
    monkeypatch.setattr(ncf_data.importlib.util, "find_spec", lambda name: None)
    assert list(bench.find("clicks")(Conditions(cpu()))) == []
    assert list(bench.find("clicks")(Conditions(Device("cuda", 0, "a GPU")))) == []  # without torch


def test_networks_are_trained_on_a_gpu(ncf, monkeypatch):
    trained = []
    monkeypatch.setattr(ncf_data, "read", lambda folder, share: ncf)
    monkeypatch.setattr(ncf_data, "make_models", lambda device, seed=0: {})
    monkeypatch.setattr(ncf_data.importlib.util, "find_spec", lambda name: name == "torch")
    curve = LearningCurve([(0.66, 0.3)], [1.0], {}, (0.66, 0.3, None, None))
    monkeypatch.setattr(ncf_data, "train_network", lambda name, *_: trained.append(name) or curve)
    rows = list(bench.find("clicks")(Conditions(Device("cuda", 0, "a GPU"))))
    assert trained == ["GMF", "MLP", "NeuMF"] and len(rows) == 9 and "the paper: 219.6 s" in rows[0].note


def test_a_fraction_of_the_users(tmp_path):
    (tmp_path / "ncf").mkdir()
    clicks = "".join(f"{user}\t{item}\t5\t0\n" for user in range(4) for item in (user, 9))
    (tmp_path / "ncf/ml-1m.train.rating").write_text(clicks)
    tests = "".join(f"({user},7)\t1\t2\n" for user in range(4))
    (tmp_path / "ncf/ml-1m.test.negative").write_text(tests)
    whole, half = ncf_data.read(tmp_path), ncf_data.read(tmp_path, 0.5)
    assert (len(whole.clicks), len(half.clicks), half.clicks.shape) == (8, 4, (2, 5))
    assert whole.users.tolist() == [0, 1, 2, 3] and half.users.tolist() == [0, 1]
    assert whole.tests[1].tolist() == [[7, 1, 2]] * 4
    assert whole.name == ncf_data.NAME and half.name == f"{ncf_data.NAME} x 0.5"


def test_ncf_is_needed():
    with pytest.raises(DataError, match="ml-1m.train.rating is needed: set GPUKIT_DATA"):
        ncf_data.read(None)
