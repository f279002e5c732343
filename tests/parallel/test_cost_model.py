"""Choice and message of --gpus auto: several GPUs only for long computations."""

import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.cli import options, teams
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.parallel import launch

TENSOR, FEATURES = launch.SIZES["tensor"], launch.SIZES["features"]


@pytest.mark.parametrize(
    "seconds, counts",
    [
        (launch.factorization_seconds(1e6, 16, 32, 0), (1, 1)),
        (launch.factorization_seconds(99e6, 16, 128, 0), (1, 1)),  # 0.27 s in all
        (launch.factorization_seconds(99e6, 500, 128, 0), (1, 1)),  # rank 0 sends the ratings to seven ranks
        (launch.factorization_seconds(99e6, 1000, 128, 0), (2, 8)),
        (launch.factorization_seconds(99e6, 2000, 32, 32), (2, 8)),
        (launch.factorization_seconds(1e5, 10**6, 32, 0), (1, 1)),  # epochs of 7 us, communication of 0.7 ms
        (launch.pass_seconds("features", FEATURES, 20), (1, 1)),
        (launch.pass_seconds("features", FEATURES, 40_000), (2, 8)),
        (launch.pass_seconds("tensor", TENSOR, 20), (1, 1)),
        (launch.pass_seconds("tensor", TENSOR, 300), (2, 8)),
        (launch.pass_seconds("tensor", 1e6, 100), (1, 1)),
        (None, (1, 1)),
    ],
    ids=str,
)
def test_several_gpus_only_for_long_computations(seconds, counts):
    assert tuple(launch.choose_gpu_count(seconds, available)[0] for available in (2, 8)) == counts
    assert launch.choose_gpu_count(seconds, 1)[0] == launch.choose_gpu_count(seconds, 0)[0] == 1


def test_a_pass_at_the_shape_of_a_row_takes_the_time_of_the_row():
    for model, row in launch.EPOCHS.items():
        assert launch.factorization_seconds(launch.SIZES["ratings"], 1, *model) == pytest.approx(1e-3 * row)
    assert 0 < launch.factorization_seconds(launch.SIZES["ratings"], 1, 1, 0) < 1e-3 * launch.EPOCHS[32, 0]
    assert launch.pass_seconds("tensor", TENSOR / 2, 4) == pytest.approx(2e-3 * launch.PASSES["tensor"])


def test_entries_of_files(tmp_path):
    """Estimated from bytes and suffix; for an archive from the unpacked size, for a damaged one from its own size."""
    for name, content in (("a.csv", 2000), ("b.gkr", 1200), ("c.csv.gz", 500), ("d.npz", 1200)):
        (tmp_path / name).write_bytes(b"x" * content)
        assert teams.entries([tmp_path / name], teams.A_RATING) == 100
    assert teams.entries([tmp_path], teams.A_RATING) == 400  # a folder
    assert teams.entries([tmp_path / "nothing.csv"], teams.A_RATING) == 0  # reported on reading
    assert teams.entries(["-"], teams.A_RATING) is teams.entries(["/dev/stdin"], teams.A_RATING) is None
    np.savez_compressed(tmp_path / "e.npz", tensor=np.zeros(10_000), adjacency=np.zeros(3))
    assert teams.entries([tmp_path / "e.npz"], teams.A_NUMBER) == pytest.approx(10_000, rel=0.02)
    zipfile.ZipFile(tmp_path / "f.npz", "w").close()
    assert teams.entries([tmp_path / "f.npz"], teams.A_NUMBER) == 22 / 8


@pytest.mark.parametrize(
    "estimator",
    [
        MatrixFactorization(solver="als"),
        MatrixFactorization(solver="hogwild"),
        MatrixFactorization(deterministic=True),
        MatrixFactorization(feedback="implicit"),
        LSHMF(hash="minhash"),
        LSHMF(search="exact"),
    ],
    ids=str,
)
def test_no_estimate_without_support_of_ranks_or_measurement(estimator, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * 2000)
    assert teams.seconds_of_ratings(path, estimator) is None
    once, often = (teams.seconds_of_ratings(path, LSHMF(n_epochs=epochs)) for epochs in (1, 9))
    assert often == pytest.approx(9 * once) and once > 0
    assert teams.seconds_of_ratings("-", LSHMF()) is None


def test_methods_that_are_not_distributed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * 700)
    assert teams.seconds_of_tensor(path, "kriging", 20) is None
    assert teams.seconds_of_tensor(path, "auto", 20) == launch.pass_seconds("tensor", 100, 20)
    assert teams.seconds_of_documents([path, path], [1.0, 2.0, 4.0]) == launch.pass_seconds("features", 140, 60)


@pytest.mark.parametrize(
    "requested, device, available, expected, message",
    [
        ({"gpus": "auto"}, "auto", 2, 2, "--gpus auto: 2 GPUs (about 99 s on one GPU; several are faster from 15 s on"),
        ({"gpus": "auto"}, "cuda", 8, 8, "--gpus auto: 8 GPUs"),
        ({"gpus": "auto"}, "cuda:1", 2, 1, "--gpus auto: one process (--device cuda:1 names one place)"),
        ({"gpus": "auto"}, "cpu", 2, 1, "--device cpu names one place"),
        ({"gpus": "auto"}, "auto", 0, 1, "no GPU was found"),
        ({"gpus": "auto"}, "auto", 1, 1, "no other GPU was found"),
        ({"gpus": 3}, "auto", 2, 3, ""),
        ({"ranks": 4}, "auto", 0, 4, ""),
        ({}, "auto", 2, 1, ""),
    ],
    ids=str,
)
def test_choice_and_message(requested, device, available, expected, message, monkeypatch, capsys):
    monkeypatch.setattr(teams, "gpu_count", lambda: available)
    ask = SimpleNamespace(**{"ranks": None, "gpus": None, "device": device, "silent": False, **requested})
    assert teams.choose_team_size(ask, lambda: 99.0) == expected
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == bool(message)
    ask.silent = True
    teams.choose_team_size(ask, lambda: None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "Auto", "", "٠"], ids=str)
def test_invalid_numbers_of_gpus(value):
    with pytest.raises(Exception, match="is no number from 1 on, nor auto"):
        options.Count().convert(value, None, None)
    assert options.Count().convert("auto", None, None) == "auto" and options.Count().convert("12", None, None) == 12


def test_ranks_that_start_ranks():
    for requested, fails in (({"ranks": 2}, True), ({"gpus": 2}, True), ({"gpus": "auto"}, False), ({}, False)):
        ask = SimpleNamespace(**{"ranks": None, "gpus": None, **requested})
        if fails:
            with pytest.raises(ParameterError, match="mpiexec or srun has started the ranks"):
                teams.check_launched_once(ask)
        else:
            teams.check_launched_once(ask)
