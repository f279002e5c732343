"""gpukit doctor: never fails; names missing parts and the command that installs them."""

import configparser
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpukit.cli import doctor, main
from gpukit.compilation.signatures import FILE


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([], None))
    monkeypatch.setattr(doctor, "supported_cuda", lambda: None)


GPU = {"index": 0, "name": "NVIDIA H200", "compute_capability": "9.0", "memory": 139 << 30, "free": 100 << 30}


def test_it_runs_here(capsys):
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("python", "numba-cuda", "llvmlite", "cupy", "CPU:", "Compiled code:"):
        assert word in text


def test_json(capsys):
    assert main.run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"]["python"] == sys.version.split()[0] and found["cpu_threads"] >= 1
    assert found["cache"]["bytes"] >= 0


@pytest.mark.slow
def test_code_is_compiled_ahead(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "cache"))
    assert main.run(["doctor", "--compile", "graphs"]) == 0
    done = capsys.readouterr()
    found = re.fullmatch(r"Compiled (\d+) of (\d+) functions in [\d.]+ s: (.*)\n", done.out)
    assert found and found[1] == found[2] and Path(found[3]).is_dir()
    assert all(line.startswith("compiling ") for line in done.err.splitlines())
    assert main.run(["doctor", "--compile", "graphs"]) == 0
    assert re.fullmatch(rf"Nothing was missing: all {found[1]} functions are in .*\n", capsys.readouterr().out)
    assert main.run(["doctor", "--compile", "graphs", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["compiled"], result["functions"], result["path"]) == (0, int(found[1]), found[3])


def test_all_jobs_are_compiled_unless_some_are_named(monkeypatch, capsys):
    calls = compilations(monkeypatch)
    assert main.run(["doctor", "--compile", "lists"]) == 0 and calls == [(["lists", "lists-gpu"], [])]
    assert main.run(["doctor", "--compile"]) == 0
    assert {*calls[1][0], "scheduler"} == {line.split()[0] for line in FILE.read_text().splitlines()}


def compilations(monkeypatch):
    """Return a list of the calls of compile_jobs, (jobs, capabilities), which do nothing."""
    calls = []
    monkeypatch.setattr(
        "gpukit.compilation.helpers.compile_jobs",
        lambda jobs, count, show, capabilities: calls.append((jobs, capabilities)) or (1, 2),
    )
    monkeypatch.setattr(doctor, "available_memory", lambda: 0)
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([], None))
    return calls


def test_kernels_are_compiled_for_gpus_that_are_named_or_there(monkeypatch, capsys):
    calls = compilations(monkeypatch)
    assert main.run(["doctor", "--compile", "--for", "sm_90, sm_80,sm_90", "lists"]) == 0
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([GPU, GPU, BLACKWELL], None))
    assert main.run(["doctor", "--compile", "lists"]) == 0
    assert [capabilities for _, capabilities in calls] == [[(9, 0), (8, 0)], [(9, 0), (12, 0)]]


@pytest.mark.parametrize("targets", ["sm_1", "generic", "9.0", "sm_90,", ""])
def test_an_unknown_gpu_is_refused(monkeypatch, capsys, targets):
    assert not compilations(monkeypatch) and main.run(["doctor", "--compile", "--for", targets]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and repr(targets.rpartition(",")[2]) in line and "sm_90, " in line


def test_for_needs_compile(capsys):
    assert main.run(["doctor", "--for", "sm_90"]) == 2
    assert "gpukit doctor --compile --for sm_90" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_fails(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "file"))
    assert main.run(["doctor", "--compile"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "(Not a directory). Set GPUKIT_CACHE to a folder that can be written." in lines[0]


def test_plain_python_is_not_compiled(monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert main.run(["doctor", "--compile"]) == 1
    assert capsys.readouterr().err == "Error: NUMBA_DISABLE_JIT=1 is set, so nothing is compiled. Unset it.\n"


def test_jobs_need_compile(capsys):
    assert main.run(["doctor", "lists"]) == 2
    assert "gpukit doctor --compile lists" in capsys.readouterr().err
    assert main.run(["doctor", "--compile", "list"]) == 2


def test_each_missing_piece_has_its_command(monkeypatch, no_gpu, capsys):
    monkeypatch.setattr(doctor, "version", lambda package: None)
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    for extra in ("cuda", "plot"):
        assert f"pip install 'gpukit[{extra}]'" in text
    assert "numba-cuda, nvidia-nvjitlink" in text


def test_every_extra_offered_is_there(root):
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    offered = {extra for _, _, extra in doctor.NEEDS if extra} | {"cuda", "cuda12"}
    assert offered <= set(config["options.extras_require"])


@pytest.mark.parametrize("cuda, extra", [(None, "cuda"), ((12, 0), "cuda12"), ((12, 9), "cuda12"), ((13, 0), "cuda")])
def test_the_extra_goes_by_the_driver(monkeypatch, no_gpu, capsys, cuda, extra):
    monkeypatch.setattr(doctor, "supported_cuda", lambda: cuda)
    monkeypatch.setattr(doctor, "version_of", lambda package: None)
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert text.count(f"pip install 'gpukit[{extra}]'") == 2 and ("cuda12" in text) == (extra == "cuda12")


BLACKWELL = {**GPU, "name": "RTX 5090", "compute_capability": "12.0"}


@pytest.mark.parametrize(
    "cuda, gpus, packages, expected",
    [
        (None, [], ["nvidia-nvjitlink"], None),
        ((13, 0), [BLACKWELL], ["nvidia-nvjitlink"], None),
        ((12, 4), [GPU], ["nvidia-nvjitlink-cu12", "cupy-cuda12x"], None),
        ((11, 8), [], [], "CUDA 11.8; gpukit needs 12.0 or later: update the driver"),
        ((12, 4), [], ["nvidia-nvjitlink"], "pip uninstall nvidia-nvjitlink; pip install 'gpukit[cuda12]'"),
        ((12, 4), [GPU], ["nvidia-nvjitlink", "cupy-cuda13x"], "pip uninstall nvidia-nvjitlink cupy-cuda13x;"),
        ((12, 8), [GPU, BLACKWELL], ["nvidia-nvjitlink-cu12"], "RTX 5090 needs CUDA 13: update the driver"),
    ],
)
def test_drivers_that_are_too_old(monkeypatch, cuda, gpus, packages, expected):
    monkeypatch.setattr(doctor, "version_of", lambda name: "1.0" if name in packages else None)
    found = doctor.driver_problems(cuda, gpus)
    assert found == [] if expected is None else len(found) == 1 and expected in found[0]


@pytest.mark.parametrize("answer, found", [((0, 12040), (12, 4)), ((0, 13000), (13, 0)), ((3, 0), None)])
def test_the_driver_is_asked_what_it_supports(monkeypatch, answer, found):
    def ask(place):
        place._obj.value = answer[1]
        return answer[0]

    monkeypatch.setattr(doctor.ctypes, "CDLL", lambda name: SimpleNamespace(cuDriverGetVersion=ask))
    assert doctor.supported_cuda() == found
    monkeypatch.setattr(doctor.ctypes, "CDLL", lambda name: doctor.ctypes.PyDLL("no such library"))
    assert doctor.supported_cuda() is None


def test_packages_without_a_gpu_miss_the_gpu(monkeypatch, no_gpu):
    monkeypatch.setattr(doctor, "version", lambda package: "1.0")
    assert [m["missing"] for m in doctor.missing_features([])] == ["a GPU with its driver"]
    assert doctor.missing_features([GPU]) == []


def test_a_gpu_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([GPU], None))
    monkeypatch.setattr(doctor, "driver_version", lambda cuda: "580.65.06, CUDA 13.0")
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "NVIDIA H200" in text and "139.0 GiB" in text and "9.0" in text and "580.65.06" in text


@pytest.mark.parametrize(
    "change, expected",
    [
        ({}, None),
        ({"numpy": "2.5.1"}, "pip install 'numpy<2.5'"),
        ({"numpy": "10.0"}, "pip install 'numpy<2.5'"),
        ({"numba": "0.69.0"}, "pip install 'numba==0.68.*'"),
        ({"numba-cuda": "0.31.0"}, "pip install 'numba-cuda==0.30.4'"),
        ({"numba-cuda": None}, None),
        ({"python": "3.14.0"}, "3.11, 3.12 or 3.13"),
    ],
)
def test_known_bad_versions(change, expected):
    good = {"python": "3.12.1", "numpy": "2.4.6", "numba": "0.68.1", "numba-cuda": "0.30.4"}
    found = doctor.known_problems(good | change)
    assert found == [] if expected is None else len(found) == 1 and expected in found[0]


def test_nvvm_may_not_be_newer_than_what_links_its_code():
    good = {"python": "3.12.1", "numpy": "2.4.6", "numba": "0.68.1", "numba-cuda": "0.30.4"}
    for nvvm, linker, named in (("13.5.1", "13.0.88", True), ("13.0.2", "13.5.1", False), ("13.5.1", "13.5.3", False)):
        found = doctor.known_problems({**good, "nvidia-nvvm": nvvm, "nvidia-nvjitlink": linker})
        assert [("nvidia-nvjitlink==13.5.*" in text) for text in found] == [True] * named
    assert doctor.known_problems({**good, "nvidia-nvvm": "13.5.1", "nvidia-nvjitlink": None}) == []


def test_a_gpu_on_which_no_kernel_runs_is_one_line(monkeypatch, capsys):
    why = "nvJitLinkError: ERROR_INTERNAL (6); may need newer version of nvJitLink library"
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([{**GPU, "kernel": why}, {**GPU, "kernel": doctor.RUNS}], None))
    assert main.run(["doctor"]) == 0
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if why in line]
    assert len(lines) == 1 and lines[0].startswith("Problem: cuda:0 (NVIDIA H200) does not run a kernel of one line")
    assert "numba-cuda 0.30.4" in lines[0]


def test_threads_are_those_that_loops_would_use(capsys, monkeypatch):
    monkeypatch.setattr("gpukit.runtime.thread_count._setting.count", 5)
    assert main.run(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cpu_threads"] == 5


def test_a_broken_driver_is_a_finding(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "probe_gpus", lambda: ([], "the GPU cannot be used: OSError: libcuda.so"))
    assert main.run(["doctor"]) == 0
    assert "Problem: the GPU cannot be used: OSError: libcuda.so" in capsys.readouterr().out


def test_the_size_of_a_folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_bytes(b"123")
    assert doctor.size_of(tmp_path) == 3 and doctor.size_of(tmp_path / "none") == 0
