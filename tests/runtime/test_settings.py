"""Environment variables that numba or gpukit cannot use: one line, exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpukit.errors import ParameterError
from gpukit.runtime import private, settings

WRONG = {
    "NUMBA_OPT": ("abc", "", "4"),
    "NUMBA_DEBUG": ("x",),
    "NUMBA_ENABLE_CUDASIM": ("maybe",),
    "NUMBA_BOUNDSCHECK": ("two\nlines",),
    "NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO": ("x",),
    "NUMBA_CPU_FEATURES": ("zz",),
    "NUMBA_NUM_THREADS": ("abc",),
    "GPUKIT_NUM_THREADS": ("",),  # other texts: test_start.py
    "GPUKIT_GPU_MEMORY": ("",),
    "GPUKIT_CACHE": ("~nobody-has-this-name/x",),
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_variable_is_named_in_one_line(tmp_path, name, value):
    (tmp_path / "r.csv").write_text("1,2,3\n2,2,4\n2,1,5\n")
    others = {key: text for key, text in os.environ.items() if not key.startswith("NUMBA_")}
    result = subprocess.run(
        [sys.executable, "-m", "gpukit", "train-lshmf", tmp_path / "r.csv", "--model", tmp_path / "r.gpukit"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**others, "PYTHONPATH": os.pathsep.join(sys.path), name: value},
    )
    assert result.returncode == 2 and not result.stdout and result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith(f"Error: {name}=") and value.partition("\n")[0] in result.stderr
    assert not (tmp_path / "r.gpukit").exists()


def test_other_warnings_of_an_import_stay_warnings():
    with pytest.warns(RuntimeWarning, match="something else"), settings.refuse_unparsed():
        __import__("warnings").warn("something else", RuntimeWarning, stacklevel=1)


def test_a_cache_of_an_unknown_user_is_refused_and_a_user_without_a_home_has_one(monkeypatch):
    monkeypatch.setenv("GPUKIT_CACHE", "~nobody-has-this-name")
    with pytest.raises(ParameterError, match="GPUKIT_CACHE='~nobody-has-this-name'"):
        private.base_folder()

    def raise_no_home():
        raise RuntimeError("Could not determine home directory.")

    for name in ("GPUKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", raise_no_home)
    monkeypatch.setattr("tempfile.tempdir", "/somewhere")
    assert str(private.base_folder()) == f"/somewhere/gpukit-{os.geteuid()}"


def test_the_end_of_a_process_waits_for_an_import_on_a_thread():
    code = (
        "import atexit, sys\nfrom gpukit.runtime.start import import_reader\n"
        "atexit.register(lambda: print('pyarrow.csv' in sys.modules))\nimport_reader('ratings.csv')\nsys.exit(2)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout, result.stderr) == (2, "True\n", "")
