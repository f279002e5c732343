"""Imports of `gpukit --help` and `import gpukit`, which must be light."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

HEAVY = ("numba", "llvmlite", "pandas", "scipy", "matplotlib", "sklearn", "cupy", "cuda")
COMPLETE = (
    "import os; os.environ.update(COMP_WORDS='{line}', COMP_CWORD='2', _GPUKIT_COMPLETE='bash_complete');"
    "from gpukit.cli.main import run_alone; run_alone()"
)


def loaded_after(code):
    """Return the heavy packages that are imported after a new Python process has run code."""
    report = f"\nimport sys; print('HEAVY', *[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


LIGHT = (
    "import gpukit; gpukit.__version__; dir(gpukit)",
    "import gpukit.errors, gpukit.base, gpukit.persist, gpukit.evaluation.metrics, gpukit.device",
    "from gpukit.cli.main import run; run(['--help'])",
    "from gpukit.cli.main import run; run(['doctor', '--help'])",
    "from gpukit.cli.main import run; run(['no-such-verb'])",
    *(COMPLETE.format(line=f"gpukit {verb} --") for verb in ("tune", "train", "impute", "ranksvm", "recommend")),
)


def test_nothing_heavy():
    """One after another in one process: what is loaded stays loaded."""
    code = "import contextlib, sys\n" + "".join(
        f"with contextlib.suppress(SystemExit):\n    exec({code!r})\n"
        f"for heavy in [m for m in {HEAVY!r} if m in sys.modules]:\n    sys.exit(heavy + ' after ' + {code!r})\n"
        for code in LIGHT
    )
    done = subprocess.run([sys.executable, "-c", f"{code}print('to the end')"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("to the end\n"), done.stderr


@pytest.mark.slow
def test_text_and_lists_need_no_pandas(tmp_path):
    """Its import takes longer than most files; conversions of pyarrow import it silently."""
    rows = [
        f"{start}{user},i{item},{1 + user * item % 5}" for start in ("", "u") for user in range(9) for item in range(9)
    ]
    for name, part in (("numbers", rows[:81]), ("words", rows[81:])):
        (tmp_path / name).write_text("\n".join(["user,item,rating", *part]) + "\n")
        verbs = [
            f"train-lshmf {name} --model m --force --quiet --device cpu --factors 2 --epochs 1 --neighbors 2",
            "recommend m --all --output lists --force --quiet --by rating --device cpu",
            f"predict m {name} --output predicted --force --quiet --device cpu",
            "export m e.csv --force --quiet",
            f"update m {name} --model m --force --quiet --device cpu",
        ]
        runs = f"import os; os.chdir({str(tmp_path)!r}); from gpukit.cli.main import run\n"
        runs += "\n".join(f"assert run({verb.split()!r}) == 0" for verb in verbs)
        assert "pandas" not in loaded_after(runs)


def test_the_check_itself_sees_a_heavy_import():
    assert "numba" in loaded_after("import gpukit.random")


@pytest.mark.parametrize("given, found", [(None, "4"), ("26", "26")])
def test_numpys_threads_do_not_wait_busily_but_as_the_user_says(given, found):
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    env |= {} if given is None else {"OPENBLAS_THREAD_TIMEOUT": given}
    code = "import gpukit, os, sys; print(os.environ['OPENBLAS_THREAD_TIMEOUT'], 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == [found, "False"]


def test_help_loads_next_to_nothing():
    """The table of verbs and click, without the verbs and numpy."""
    code = "from gpukit.cli.main import run; run(['--help']); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "numpy" not in loaded and "click" in loaded
    own = {name for name in loaded if name.split(".")[0] == "gpukit"}
    packages = {
        "",
        "._lazy",
        "._version",
        ".errors",
        ".interrupt",
        ".timing",
        ".cli",
        ".cli.main",
        ".cli.process",
        ".cli.report",
        ".cli.standard",
    }
    assert own == {
        f"gpukit{name}"
        for name in packages | {".io", ".io.notes", ".runtime", ".runtime.start", ".runtime.launcher_env"}
    }


def test_an_unknown_name_lists_the_known():
    import gpukit

    with pytest.raises(AttributeError, match="LSHMF"):
        gpukit.NoSuchThing  # noqa: B018


def test_kernels_compile_where_packages_are_on_pythonpath():
    """`python -S` reads no .pth file, as with PYTHONPATH; numba-cuda replaces numba.cuda by one."""
    folders = [os.path.dirname(os.path.dirname(find_spec("gpukit").origin)), *filter(os.path.isdir, sys.path)]
    code = "from gpukit._cuda import cuda; print(cuda.__file__)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=env)
    assert "numba_cuda" in done.stdout
