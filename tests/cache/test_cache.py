"""Compiled code on disk: an edit recompiles only its dependents; checked in new processes."""

import functools
import json
import os
import shutil
import subprocess
import sys
import time
from subprocess import PIPE

import pytest

from gpukit.runtime import private

BASE = '''
"""Leaves."""
from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from tiny.generated import number
from tiny.overloaded import plain

SCALE = 2.0
TABLE = np.array([1.0, 3.0])


class Rates(NamedTuple):
    first: float
    second: float


@njit
def inner(x):
    """A helper two calls away."""
    return 1.0 * x + 10.0 * SCALE + 100.0 * TABLE[1] + 1e3 * plain(x) + 1e4 * number()


@njit
def unused(x):
    return x
'''
GENERATED = """
from numba import types
from numba.extending import intrinsic


@intrinsic
def number(context):
    def generate(context, builder, signature, arguments):
        return context.get_constant(types.int64, five())

    return types.int64(), generate


def five():
    return 5
"""
OVERLOADED = """
from gpukit._jit import overload


def plain(x):
    return x


@overload(plain)
def _plain(x):
    return lambda x: x * 4.0
"""
TOP = '''
"""What is called."""
import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block
from tiny import base, closures


@njit
def middle(x):
    return base.inner(x)


@njit
def top(x, rates):
    return middle(x) + 1e5 * rates.first + 1e6 * closures.eight(x)


@by_block(lambda values: values.size)
def many(start, stop, values, rates):
    for i in range(start, stop):
        values[i] = top(values[i], rates)


@njit(error_model="python")
def options(x):
    return x
'''
CLOSURES = """
from gpukit._jit import njit


def make(function, lanes):
    @njit
    def times(x, by=1):
        return function(x) * lanes * by

    return times


@njit
def _same(x):
    return x


eight = make(make(_same, 4), 2)
sixteen = make(make(_same, 4), 4)
"""
OTHER = "from gpukit._jit import njit\n\n\n@njit\ndef other(x):\n    return x\n"
RUN = """
import json
import numpy as np
from tiny import base, closures, other, top

rates, values = base.Rates(6.0, 7.0), np.ones(3)
calls = {
    "top": lambda: top.top(1.0, rates), "many": lambda: top.many(values, rates) or values[2],
    "sixteen": lambda: closures.sixteen(1.0), "options": lambda: top.options(1.0), "other": lambda: other.other(1.0),
}
results = {name: call() for name, call in calls.items()}
functions = dict(vars(top), many=top.many.loop, sixteen=closures.sixteen, other=other.other)
stats = {name: functions[name].stats for name in calls}
compiled = sorted(name for name, found in stats.items() if sum(found.cache_misses.values()))
loaded = sorted(name for name, found in stats.items() if sum(found.cache_hits.values()))
print(json.dumps({"results": results, "compiled": compiled, "loaded": loaded}))
"""
ONE = RUN.replace("results = {", 'calls = {"other": calls["other"]}\nresults = {')  # calls the shortest function
EACH = """
import contextlib, io, json, os, sys

results = []
for folder in {folders}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tiny"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    os.environ["GPUKIT_CACHE"] = os.path.join(folder, "cache")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec({run!r}, {{}})
    results.append(json.loads(out.getvalue()))
print(json.dumps(results))
"""
RESULT = 8_654_321.0  # a decimal digit per piece
EVERYTHING = ["many", "options", "other", "sixteen", "top"]


def start(folder, code=RUN, **settings):
    """Start a process that calls the package in a folder, which also contains its cache."""
    environment = {name: text for name, text in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "GPUKIT_CACHE")}
    environment |= {"PYTHONPATH": str(folder), "GPUKIT_CACHE": str(folder / "cache"), **settings}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=PIPE, stderr=PIPE, text=True)


def finish(process):
    """Return (its printed JSON, its stderr)."""
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()  # nothing if it has ended
    assert process.returncode == 0, err
    return json.loads(out), err


def run(folder, code=RUN, **settings):
    return finish(start(folder, code, **settings))[0]


def run_each(folders):
    """Return what RUN prints for the package of each folder, with its own cache, in one new process."""
    return run(folders[0], EACH.format(folders=list(map(str, folders)), run=RUN))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the package and its code, compiled once."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "tiny").mkdir()
    files = {"__init__": "", "base": BASE, "generated": GENERATED, "overloaded": OVERLOADED}
    files |= {"top": TOP, "closures": CLOSURES, "other": OTHER}
    for name, text in files.items():
        (folder / "tiny" / f"{name}.py").write_text(text)
    found = run(folder)
    assert found["compiled"] == EVERYTHING and found["loaded"] == []
    assert found["results"] == {"top": RESULT, "many": RESULT, "sixteen": 16.0, "options": 1.0, "other": 1.0}
    return folder


def copy(compiled, folder):
    return shutil.copytree(compiled, folder / "copy", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def package(compiled, tmp_path):
    """A copy of it, to be edited."""
    return copy(compiled, tmp_path)


def edit(package, name, old, new):
    file = package / "tiny" / f"{name}.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


EDITS = {
    "two calls away": ("base", "1.0 * x +", "9.0 * x +", 8.0),
    "constant": ("base", "SCALE = 2.0", "SCALE = 9.0", 70.0),
    "array": ("base", "[1.0, 3.0]", "[1.0, 9.0]", 600.0),
    "overload": ("overloaded", "x * 4.0", "x * 9.0", 5e3),
    "intrinsic": ("generated", "return 5", "return 9", 4e4),
    "fields": ("base", "first: float\n    second: float", "second: float\n    first: float", 1e5),
    "closure": ("closures", "eight = make(make(_same, 4), 2)", "eight = make(make(_same, 3), 3)", 1e6),
    "default": ("closures", "by=1", "by=2", 24e6),
}
UNRELATED = {
    "moved": ("top", "@njit\ndef middle", "# A comment.\n\n\n@njit\ndef middle"),
    "comment": ("top", "\n    return middle", "  # a comment\n\n    return middle"),
    "docstring": ("base", '"""A helper', '"""Another text about a helper'),
    "new function": ("closures", "@njit\ndef _same", "@njit\ndef _fresh(x):\n    return x\n\n\n@njit\ndef _same"),
    "new constant": ("base", "class Rates", "UNUSED = 1\n\n\nclass Rates"),
}
WHOLE = {
    "file of an intrinsic": ("generated", "@intrinsic", "# A comment.\n@intrinsic"),
    "file of an overload": ("overloaded", "@overload", "# A comment.\n@overload"),
}
OPTION = {"option": ("top", 'error_model="python"', 'error_model="numpy"')}
DAMAGE = {
    "empty": lambda raw: b"",
    "cut short": lambda raw: raw[:100],
    "one byte": lambda raw: raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :],
}


def damage(package, change):
    for file in (package / "cache").rglob("*.nbc"):
        file.write_bytes(change(file.read_bytes()))


@pytest.fixture(scope="module")
def runs(compiled, tmp_path_factory):
    """{change: (what a new process prints, what another one does afterwards)}, each with a changed copy."""
    edits = {**EDITS, **UNRELATED, **WHOLE, **OPTION}
    changes = {
        case: functools.partial(edit, name=name, old=old, new=new) for case, (name, old, new, *_) in edits.items()
    }
    changes |= {case: functools.partial(damage, change=change) for case, change in DAMAGE.items()}
    folders = [copy(compiled, tmp_path_factory.mktemp("changed")) for _ in changes]
    for folder, change in zip(folders, changes.values()):
        change(folder)
    return dict(zip(changes, zip(run_each(folders), run_each(folders))))


@pytest.mark.slow
@pytest.mark.parametrize("case", EDITS)
def test_what_depends_on_an_edit_is_compiled_anew(runs, case):
    found, again = runs[case]
    assert found["results"]["top"] == found["results"]["many"] == RESULT + EDITS[case][-1]
    assert {"top", "many"} <= set(found["compiled"]) and {"options", "other"} <= set(found["loaded"])
    assert again["loaded"] == EVERYTHING


@pytest.mark.slow
def test_an_option_compiles_its_function_anew(runs):
    assert runs["option"][0]["compiled"] == ["options"]


@pytest.mark.slow
@pytest.mark.parametrize("case", UNRELATED)
def test_what_does_not_depend_on_an_edit_is_loaded(runs, case):
    found, _ = runs[case]
    assert found["loaded"] == EVERYTHING and found["compiled"] == [] and found["results"]["top"] == RESULT


@pytest.mark.slow
@pytest.mark.parametrize("case", WHOLE)
def test_the_file_of_what_runs_while_compiling_counts_whole(runs, case):
    assert {"top", "many"} <= set(runs[case][0]["compiled"])


@pytest.mark.slow
@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files_are_replaced(runs, case):
    found, again = runs[case]
    assert found["compiled"] == EVERYTHING and found["results"]["top"] == RESULT
    assert again["loaded"] == EVERYTHING


@pytest.mark.slow
def test_loading_does_not_wait_for_what_compiling_needs(package):
    """numba's tables for compilation take longer than loading; after an edit they are loaded too."""
    table = "numba.np.polynomial.polynomial_core"
    report = f"import sys\nsys.stderr.write(str({table!r} in sys.modules))\n"
    found, err = finish(start(package, RUN + report))
    assert found["loaded"] == EVERYTHING and err == "False"
    edit(package, "other", "return x", "return -x")
    found, err = finish(start(package, RUN + report))
    assert found["compiled"] == ["other"] and err == "True"


@pytest.mark.slow
def test_a_moved_package_and_new_times_change_nothing(package):
    for file in (package / "tiny").iterdir():
        os.utime(file, (0, 0))
    shutil.copytree(package / "tiny", package / "elsewhere" / "tiny")
    assert run(package, PYTHONPATH=str(package / "elsewhere"))["loaded"] == EVERYTHING


@pytest.mark.slow
def test_numbas_own_settings_are_the_users(package, tmp_path):
    """A user's folder is for the user's functions; without one gpukit sets none."""
    code = "import gpukit.random, json, numba, os; print(json.dumps([numba.config.CACHE_DIR, dict(os.environ)]))"
    folder, environment = run(package, code)
    assert folder == "" and "NUMBA_CACHE_DIR" not in environment
    (package / "mine.py").write_text("import numba\n\n\n@numba.njit(cache=True)\ndef mine(x):\n    return x\n")
    shutil.rmtree(package / "cache")
    code = f"import mine\nassert mine.mine(1) == 1\n{ONE}"
    assert run(package, code, NUMBA_CACHE_DIR=str(tmp_path / "user"))["compiled"] == ["other"]
    kept = [file.name for file in (tmp_path / "user").rglob("*.nb?")]
    assert len(kept) == 2 and all(name.startswith("mine.mine-") for name in kept)
    assert run(package, ONE)["loaded"] == ["other"]
    assert not [file for file in (package / "cache").rglob("*") if file.name.startswith("mine")]


@pytest.mark.slow
def test_a_setting_that_changes_code_is_another_entry(package):
    assert run(package, ONE, NUMBA_BOUNDSCHECK="1")["compiled"] == ["other"]
    assert run(package, ONE)["loaded"] == ["other"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(package):
    """All functions work, compiled in each process, and one warning gives the reason."""
    (package / "file").write_text("")
    found, err = finish(start(package, GPUKIT_CACHE=str(package / "file" / "cache")))
    assert found["compiled"] == EVERYTHING and found["results"]["top"] == RESULT
    assert err.count("compiled code cannot be kept") == 1 and "GPUKIT_CACHE" in err


@pytest.mark.slow
def test_processes_and_threads_at_once(package):
    shutil.rmtree(package / "cache")
    threads = """
import threading
from tiny import base, top

found = []
call = lambda: found.append(top.top(1.0, base.Rates(6.0, 7.0)))
threads = [threading.Thread(target=call) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert len(found) == 4 and len(set(found)) == 1, found
"""
    processes = [start(package, threads + RUN) for _ in range(2)]
    assert [finish(process)[0]["results"]["top"] for process in processes] == [RESULT] * 2
    assert run(package)["loaded"] == EVERYTHING
    assert not list((package / "cache").rglob("*.gpukit-part"))


PAIRS = """
from gpukit._jit import njit


def make(by):
    @njit
    def times(x):
        return x * by

    return times


five, ten = make(5.0), make(10.0)


@njit
def one(x):
    return ten(x)


@njit
def both(x):
    return five(x) + 100.0 * ten(x)
"""


@pytest.mark.slow
def test_functions_of_one_maker_that_two_processes_have_compiled_are_two(package):
    """numba numbers functions from 1 in each process: two processes number `ten` and `five` equally."""
    (package / "tiny" / "pairs.py").write_text(PAIRS)
    code, alike = "from tiny import pairs\nprint(pairs.{}(1.0))", {"PYTHONHASHSEED": "0"}  # a set's order is in names
    assert run(package, code.format("one"), **alike) == 10.0
    assert run(package, code.format("both"), **alike) == 1005.0
    assert run(package, code.format("both"), **alike) == 1005.0


@pytest.mark.slow
def test_what_is_long_unused_is_removed_when_something_is_added(package):
    """Only entries are removed: other files in the folder, a link, and files of another user remain."""
    folder = next((package / "cache" / "code").glob("python*"))
    other = folder.parent / "python3.11.0-numba0.1-numpy1.2"
    mine, name = [*folder.glob("*.nbc")], f"f-{'0' * 32}-{'1' * 32}.nbc"
    others = [
        other / name,
        folder / "notes.txt",
        folder.parent / "thesis.tex",
        folder / "photos" / name,
        other / "f.nbc",
    ]
    for file in others:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    (folder / f"g{name}").symlink_to(folder / "notes.txt")
    foreign = folder / f"h{name}"
    foreign.touch()
    if os.geteuid() == 0:
        os.chown(foreign, 1234, 1234)
    for file in (*others, foreign, *mine):
        os.utime(file, (time.time() - 31 * 24 * 3600,) * 2)
    assert run(package)["compiled"] == [] and others[0].exists()  # nothing added; loaded entries count as used
    edit(package, "other", "return x", "return -x")
    assert run(package)["compiled"] == ["other"]
    assert not others[0].exists() and all(file.exists() for file in others[1:]) and (folder / f"g{name}").is_symlink()
    assert foreign.exists() or os.geteuid()
    assert run(package)["loaded"] == EVERYTHING


@pytest.mark.slow
def test_nothing_is_removed_from_a_cache_that_nobody_used(package):
    """A container image of last year: a function that is compiled today does not remove the others."""
    folder, long_ago = package / "cache" / "code", time.time() - 31 * 24 * 3600
    entries = [*folder.glob("*/*.nbc")]
    for file in (*entries, folder / "last-compilation"):
        os.utime(file, (long_ago,) * 2)
    edit(package, "other", "return x", "return -x")
    assert run(package)["compiled"] == ["other"]
    assert all(file.exists() and file.stat().st_mtime > long_ago + 3600 for file in entries)
    (stale,) = (file for file in entries if file.name.startswith("tiny.other."))
    os.utime(stale, (long_ago,) * 2)
    edit(package, "other", "return -x", "return x + 1")
    assert run(package)["compiled"] == ["other"] and not stale.exists()


# --- trusted files


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_folders_and_files_are_private_whatever_the_umask(package, tmp_path, umask):
    cache = tmp_path / "deep" / "cache"
    run(package, f"import os\nos.umask({umask})\n{ONE}", GPUKIT_CACHE=str(cache))
    made = [cache, *cache.rglob("*")]
    assert any(path.suffix == ".nbc" for path in made)
    assert all(path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600) for path in made)


def writable(path, bits):
    path.chmod(path.stat().st_mode | bits)


OPENED = {  # permissions for others, and the word of the warning
    "a file": (lambda cache, file: writable(file, 0o002), "a file in it may be changed"),
    "its folder": (lambda cache, file: writable(file.parent, 0o020), "may be changed by its group"),
    "the cache": (lambda cache, file: writable(cache, 0o002), "may be changed by its group or by others"),
    "above": (lambda cache, file: writable(cache.parent, 0o022), "may be changed by its group or by others"),
    "another's file": (lambda cache, file: os.chown(file, 1234, -1), "belongs to another user"),
    "another's folder": (lambda cache, file: os.chown(file.parent, 1234, -1), "belongs to another user"),
    "another's above": (lambda cache, file: os.chown(cache, 1234, -1), "belongs to another user"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", OPENED)
def test_what_others_may_change_is_compiled_anew(package, case):
    opened, words = OPENED[case]
    if "another" in case and os.geteuid():
        pytest.skip("only root gives files away")
    cache = package / "cache"
    for file in [*cache.rglob("*.nbc")]:
        opened(cache, file)
    found, err = finish(start(package, ONE))
    assert found["compiled"] == ["other"] and found["results"] == {"other": 1.0}
    assert err.count("is not used") == 1 and words in err


@pytest.mark.slow
def test_a_folder_above_with_the_sticky_bit_is_fine(package):
    package.chmod(0o1777)
    assert run(package, ONE)["loaded"] == ["other"]


@pytest.mark.slow
def test_an_entry_does_not_stand_for_another(package):
    mine, other = (next((package / "cache").rglob(f"tiny.{name}-*.nbc")) for name in ("other.other", "top.options"))
    mine.write_bytes(other.read_bytes())
    found = run(package)
    assert found["compiled"] == ["other"] and found["results"]["top"] == RESULT


def test_the_home_folder_is_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("GPUKIT_CACHE", "~/x")
    assert str(private.base_folder()) == "/somewhere/x"
