"""Selection by 'auto', averaged over splits and steps."""

import numpy as np
import pytest
import support

from gpukit.bench.recovery import baselines
from gpukit.device import resolve
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.graphs.synth import synth_graph
from gpukit.imputation.inputs import Data
from gpukit.imputation.spectral import choose
from gpukit.imputation.spectral.choose import Trial
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, Split, impute
from imputation import naive_baselines as naive

AUTO = Setting("auto", 1.0, "auto", Options())


def of(tensor, mask):
    """Return the Data of a tensor and its mask."""
    return Data(tensor, mask, tensor.shape)


def place_of(adjacency):
    return Place(fourier_basis(adjacency, cache=False), resolve("cpu"), np.dtype(np.float32))


def road(entries, seed=0):
    """Return (place, adjacency, truth, tensor, mask) of a ring.

    Signals are smooth, far from zero, with noise.
    """
    rng, N = np.random.default_rng(seed), 60
    A = np.zeros((N, N))
    A[np.arange(N), (np.arange(N) + 1) % N] = 1.0
    adjacency = as_adjacency(A + A.T)
    angle = 2 * np.pi * np.arange(N)[:, None, None] / N
    waves = sum(rng.normal(size=(1, 4, 6)) / f * np.sin(f * angle + rng.uniform(0, 6, (1, 4, 6))) for f in (1, 2, 3))
    means = 50.0 + 3.0 * rng.normal(size=(1, 4, 6))
    truth = (means + 5.0 * waves + 0.3 * rng.normal(size=(N, 4, 6))).astype(np.float32)
    mask = rng.random((N, 4, 6) if entries else N) > 0.2
    return place_of(adjacency), adjacency, truth, np.where(naive.whole(mask, truth.shape), truth, 0), mask


def error_of(place, setting, tensor, mask, truth):
    return float(np.abs(impute(place, setting, tensor, mask).estimate - truth[~mask]).mean())


def test_data_of_low_rank_get_the_papers_law_and_the_phase_of_ranks():
    data = synth_graph(vertices=80, shape=(10, 10), rank=1, missing=0.2)
    chosen = choose.choose(place_of(data.adjacency), AUTO, of(data.tensor, data.mask), 0)
    assert chosen.setting == Setting("slice", 1.0, "none", Options())
    assert len(chosen.trials) == 1


@pytest.mark.parametrize("entries", [False, True])
def test_smooth_data_far_from_zero_get_a_mean_and_a_law_that_beats_the_papers(entries):
    place, _, truth, tensor, mask = road(entries)
    before = tensor.copy()
    setting = choose.choose(place, AUTO, of(tensor, mask), 0).setting
    assert setting.weights == "frequency" and setting.center != "none"
    papers = AUTO._replace(weights="slice", center="entry")
    ours, theirs = (error_of(place, s, tensor, mask, truth) for s in (setting, papers))
    assert ours < 0.7 * theirs
    assert (tensor == before).all()
    reports = []
    again = choose.choose(place, AUTO, of(tensor, mask), 0, lambda *arguments: reports.append(arguments))
    assert setting == again.setting
    assert [stage[:3] for stage in reports] == [("choosing", done, None) for done in range(1, len(reports) + 1)]
    assert len(reports) == sum(len(trial.curves) for trial in again.trials)
    errors = [curve.min() for trial in again.trials for curve in trial.curves]
    assert sorted(stage[3]["error"] for stage in reports) == sorted(errors)
    assert {"slice", "frequency 2"} < {stage[3]["weights"] for stage in reports}


def test_what_is_given_is_kept():
    place, _, _, tensor, mask = road(False)
    setting = choose.choose(place, AUTO._replace(weights="common"), of(tensor, mask), 0).setting
    assert setting.weights == "common" and setting.center != "none"
    options = Options(iterations=8, decay=0.5)
    chosen = choose.choose(place, AUTO._replace(center="global", options=options), of(tensor, mask), 0)
    assert {trial.setting.center for trial in chosen.trials} == {"global"}
    assert all(trial.setting.options.decay == 0.5 for trial in chosen.trials)


def test_where_too_little_is_observed_nothing_is_tried():
    place, _, _, tensor, _ = road(False)
    mask = np.zeros(60, bool)
    mask[:4] = True
    assert choose.choose(place, AUTO, of(tensor, mask), 0) == (Setting("slice", 1.0, "none", Options()), [])


def test_the_splits_decide_together(monkeypatch):
    """Exponent and step have the least error averaged over the splits."""
    curves = {1.0: [[9, 5.0, 6, 7], [9, 8.0, 8, 8]], 2.0: [[9, 6, 5.1, 7], [9, 6.2, 6.0, 5.9, 5.0]]}
    place, _, _, tensor, mask = road(False)

    def run(contest, trial):
        pair = curves.get(trial.setting.exponent if trial.setting.weights == "frequency" else None, [[9.0] * 4] * 2)
        trial.curves.append(np.array(pair[min(len(trial.curves), 1)], float))

    monkeypatch.setattr(choose, "run_trial", run)
    chosen = choose.choose(place, AUTO, of(tensor, mask), 0)
    assert chosen.setting.exponent == 2.0
    assert chosen.setting.options.iterations == 3
    assert chosen.trials[0].error == pytest.approx((5.1 + 3 * 6.0) / 4)


@pytest.mark.parametrize("last, splits", [(5.0, 1), (8.5, 4)])
def test_where_nothing_is_in_question_one_split_is_enough(monkeypatch, last, splits):
    place, _, _, tensor, mask = road(False)

    def run(contest, trial):
        trial.curves.append(np.array([9.0, 5.0, last] if trial.setting.weights == "slice" else [9.0, 7.0, 7.0]))

    monkeypatch.setattr(choose, "run_trial", run)
    chosen = choose.choose(place, AUTO._replace(center="entry"), of(tensor, mask), 0)
    assert chosen.setting.weights == "slice" and chosen.setting.options.rank_phase == (splits == 1)
    assert len(chosen.trials[0].curves) == splits


def test_a_phase_of_ranks_that_ends_well_stays_and_one_that_does_not_is_stopped():
    setting = Setting("slice", 1.0, "none", Options(iterations=3))
    good, bad = [9.0, 8.0, 8.5, 5.0, 5.0], [9.0, 8.0, 8.5, 9.0, 9.0]
    assert choose.stop_at_best(Trial(setting, [np.array(good)])) == setting
    options = choose.stop_at_best(Trial(setting, [np.array(bad)])).options
    assert options.iterations == 2 and not options.rank_phase and options.decay == pytest.approx(0.1)
    options = choose.stop_at_best(Trial(setting, [np.array([9.0, 8.0, 7.5, 7.0, 9.0])])).options  # first step
    assert options.rank_phase and (options.iterations, options.rank_iterations) == (3, 1)


def test_paths_are_as_deep_as_their_laws_need():
    """Paths end at DEEP of the start of the law.

    'common' ends at DEEP of its start; 'frequency' equally far below the start of its smoothest slice.
    """
    for weights, exponent, end in (
        ("common", 1.0, choose.DEEP),
        ("frequency", 2.0, choose.DEEP * choose.FREQUENCY_FLOOR**2),
    ):
        options = choose.with_path(Setting(weights, exponent, "none", Options(iterations=7))).options
        assert options.decay**7 == pytest.approx(end) and not options.accelerate and not options.rank_phase
    papers = Setting("slice", 1.0, "none", Options())
    assert choose.with_path(papers) == papers


def test_data_are_solved_where_the_first_split_recovers_them():
    phase, without = (Setting("slice", 1.0, "none", Options(rank_phase=phase)) for phase in (True, False))
    one, two = [np.ones(3)], [np.ones(3)] * 2
    assert choose.is_solved([Trial(without, one), Trial(phase, one)])
    assert not choose.is_solved([]) and not choose.is_solved([Trial(phase, one), Trial(without, one)])
    assert not choose.is_solved([Trial(phase, two), Trial(phase, one)])


@pytest.mark.parametrize("weights, least_steps", [("slice", 26), ("common", 10)])
def test_a_phase_of_ranks_is_begun_before_a_path_is_given_up(weights, least_steps):
    """The patience starts after the path; for other weightings half-way."""
    setting = choose.with_path(Setting(weights, 1.0, "none", Options()))
    stopping = choose.early_stopping(setting, 0.0)
    assert (stopping.least_steps, stopping.patience) == (least_steps, 6)


def test_a_path_that_rises_ends_before_its_last_step():
    place, _, _, tensor, mask = road(False)
    chosen = choose.choose(place, AUTO._replace(center="none"), of(tensor, mask), 0)
    papers = next(trial for trial in chosen.trials if trial.setting.weights == "slice")
    steps = len(papers.curves[0])
    assert steps < papers.setting.options.iterations + papers.setting.options.rank_iterations
    assert steps == max(26, int(papers.curves[0].argmin()) + 6) + 1


def test_the_mean_is_the_one_that_predicts_best():
    rng = np.random.default_rng(0)
    parts = Split(np.arange(40) % 2 == 0, np.arange(40) % 2 == 1)
    noise = rng.normal(size=(40, 5, 6))
    assert choose.select_center(noise, parts, "auto") == "none"
    assert choose.select_center(noise + 30.0, parts, "auto") == "global"
    assert choose.select_center(noise + 30.0 + 9 * rng.normal(size=(5, 6)), parts, "auto") == "entry"
    assert choose.select_center(noise + 30.0, parts, "none") == "none"


@pytest.mark.parametrize("missing, hidden", [(0.2, 0.2), (0.5, 0.125), (0.01, 0.05)])
def test_as_large_a_share_is_hidden_as_is_missing_but_most_stays(missing, hidden):
    mask = np.arange(1000) >= missing * 1000
    folds = choose.splits(np.arange(1000.0).reshape(1000, 1, 1), mask, 3)
    assert [fold.hidden.sum() for fold in folds] == [round(hidden * mask.sum())] * 4
    assert all(
        ((fold.observed | fold.hidden) == mask).all() and not (fold.observed & fold.hidden).any() for fold in folds
    )
    assert (folds[0].hidden != folds[1].hidden).any() and (folds[1].hidden != folds[2].hidden).any()


@pytest.mark.parametrize("entries", [False, True])
def test_splits_do_not_depend_on_the_order_of_the_vertices(entries):
    _, _, _, tensor, mask = road(entries)
    order = np.random.default_rng(5).permutation(60)
    for split, other in zip(choose.splits(tensor, mask, 0), choose.splits(tensor[order], mask[order], 0), strict=True):
        np.testing.assert_array_equal(split.hidden[order], other.hidden)
        np.testing.assert_array_equal(split.observed[order], other.observed)


def test_of_a_large_tensor_rows_and_columns_are_taken(monkeypatch):
    tensor = np.random.default_rng(0).normal(size=(9, 40, 60))
    mask = tensor > -1.0
    assert choose.reduce_size(tensor, mask, 0)[0] is tensor
    monkeypatch.setattr(choose, "SAMPLE_NUMBERS", 9 * 20 * 30)
    small, seen = choose.reduce_size(tensor, mask, 0)
    assert small.shape == seen.shape == (9, 20, 30) and ((small > -1.0) == seen).all()
    assert np.isin(small, tensor).all() and np.linalg.matrix_rank(small[0]) == 20
    monkeypatch.setattr(choose, "SAMPLE_NUMBERS", 10)
    assert choose.reduce_size(tensor, mask[:, 0, 0], 0)[0].shape == (9, 16, 16)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("entries", [False, True])
def test_road_sensors_are_filled_better_than_by_any_baseline(entries):
    """METR-LA, every 24th time, without whole sensors or single entries.

    Baselines use their best settings.
    """
    speed = np.loadtxt(support.data("metr-la/speed.csv"), delimiter=",", skiprows=1, dtype=np.float32)
    adjacency = as_adjacency(np.loadtxt(support.data("metr-la/adjacency.csv"), delimiter=","))
    truth = np.ascontiguousarray(speed.T[:, ::24]).reshape(207, 7, 12)
    mask = np.random.default_rng(0).random(truth.shape if entries else 207) > 0.2
    tensor, place = np.where(naive.whole(mask, truth.shape), truth, 0), place_of(adjacency)
    setting = choose.choose(place, AUTO, of(tensor, mask), 0).setting
    ours = error_of(place, setting, tensor, mask, truth)
    for name, how, out in baselines(adjacency, tensor, mask):
        assert ours < np.abs(out - truth)[~mask].mean(), (name, how)
