"""gpukit doctor: never fails, names what is missing and the command for it."""

import json
import sys

import pytest

from gpukit.cli import doctor, main


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([], None, None))


GPU = {"index": 0, "name": "NVIDIA H200", "compute_capability": "9.0", "memory": 139 << 30, "free": 100 << 30}


def test_it_runs_here(capsys):
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("python", "numba-cuda", "llvmlite", "cupy", "mpi4py", "CPU:", "Compiled code:"):
        assert word in text


def test_json(capsys):
    assert main.run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"versions", "problems", "cpu_threads", "driver", "gpus", "missing", "cache"}
    assert found["versions"]["python"] == sys.version.split()[0] and found["cpu_threads"] >= 1
    assert found["cache"]["bytes"] >= 0


def test_each_missing_piece_has_its_command(monkeypatch, no_gpu, capsys):
    monkeypatch.setattr(doctor, "version", lambda package: None)
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    for extra in ("cuda", "mpi", "plot"):
        assert f"pip install 'gpukit[{extra}]'" in text
    assert "numba-cuda, nvidia-nvjitlink" in text


def test_packages_without_a_gpu_miss_the_gpu(monkeypatch, no_gpu):
    monkeypatch.setattr(doctor, "version", lambda package: "1.0")
    assert [m["missing"] for m in doctor.missing_features([])] == ["a GPU with its driver"]
    assert doctor.missing_features([GPU]) == []


def test_a_gpu_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([GPU], "580.65.06, CUDA 13.0", None))
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "NVIDIA H200" in text and "139.0 GiB" in text and "9.0" in text and "580.65.06" in text


@pytest.mark.parametrize(
    "change, told",
    [
        ({}, None),
        ({"numpy": "2.5.1"}, "pip install 'numpy<2.5'"),
        ({"numpy": "10.0"}, "pip install 'numpy<2.5'"),
        ({"numba": "0.69.0"}, "pip install 'numba==0.68.*'"),
        ({"numba-cuda": "0.31.0"}, "pip install 'numba-cuda==0.30.4'"),
        ({"numba-cuda": None}, None),
        ({"python": "3.14.0"}, "3.11, 3.12, 3.13"),
    ],
)
def test_known_bad_versions(change, told):
    good = {"python": "3.12.1", "numpy": "2.4.6", "numba": "0.68.1", "numba-cuda": "0.30.4"}
    found = doctor.known_problems(good | change)
    assert found == [] if told is None else len(found) == 1 and told in found[0]


def test_a_broken_driver_is_a_finding(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([], None, "the GPU cannot be used: OSError: libcuda.so"))
    assert main.run(["doctor"]) == 0
    assert "Problem: the GPU cannot be used: OSError: libcuda.so" in capsys.readouterr().out


def test_the_size_of_a_folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_bytes(b"123")
    assert doctor.folder_size(tmp_path) == 3 and doctor.folder_size(tmp_path / "none") == 0
