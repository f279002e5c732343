"""The distribution: wheel and sdist contain git's files; each runs when installed in its own environment."""

import configparser
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

BUILD = "from setuptools import build_meta as b; print(b.build_{kind}('../dist'))"
IMPORT = """
import importlib, pkgutil, gpukit
names = [m.name for m in pkgutil.walk_packages(gpukit.__path__, "gpukit.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
from gpukit.cli.main import VERBS
print(gpukit.__file__, len(VERBS), *names, sep="\\n")
"""


def run(*command, cwd):
    """Return the output of a command outside the checkout."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def requirements():
    """Return the text of a .pth file with the packages of this environment, without an editable gpukit."""
    packages = Path(sysconfig.get_path("purelib"))
    others = [file for file in sorted(packages.glob("*.pth")) if "gpukit" not in file.name]
    return "\n".join([str(packages), *(file.read_text() for file in others)]) + "\n"


@pytest.fixture(scope="module")
def shipped(root):
    """Return git's files below gpukit/ and cli/, with their installed names."""
    listing = subprocess.run(["git", "ls-files", "gpukit", "cli"], cwd=root, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return {f"gpukit/{name}" if name.startswith("cli/") else name for name in listing.stdout.split()}


@pytest.fixture(scope="module")
def dist(root, shipped, tmp_path_factory):
    """{kind: file}: sdist and wheel built from a copy of git's files."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "source").mkdir()
    for name in run("git", "ls-files", cwd=root).splitlines():
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((root / name).read_bytes())
    built = {}
    for kind in ("sdist", "wheel"):
        printed = run(sys.executable, "-c", BUILD.format(kind=kind), cwd=folder / "source")
        built[kind] = folder / "dist" / printed.split()[-1]
    return built


def install(file, folder):
    """Return python and the packages' folder of an environment in `folder`, with gpukit installed from a file."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    (packages / "requirements.pth").write_text(requirements())
    pip = "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"
    run(sys.executable, *pip, "--ignore-installed", file, cwd=folder)
    return python, packages


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """{kind: (folder, python, packages' folder) of an environment with gpukit installed from that file}."""
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in dist}
    return {kind: (folder, *install(dist[kind], folder)) for kind, folder in folders.items()}


@pytest.mark.slow
def test_the_wheel_has_what_git_has(dist, shipped):
    with zipfile.ZipFile(dist["wheel"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == shipped and "gpukit/py.typed" in names


@pytest.mark.slow
def test_the_description_has_no_link_that_an_index_page_lacks(dist):
    with zipfile.ZipFile(dist["wheel"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        _, description = wheel.read(name).decode().split("\n\n", 1)
    assert description.startswith("# gpukit") and "docs/guides/serve.md" in description
    assert re.findall(r"\]\((?!https?://)[^)]*", description) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_alone_it_runs(kind, installed, shipped):
    """Its requirements are those of the environment that runs the tests, except gpukit itself."""
    folder, python, packages = installed[kind]
    assert run(folder / "env" / "bin" / "gpukit", "--version", cwd=folder).startswith("gpukit")
    place, verbs, *modules = run(python, "-c", IMPORT, cwd=folder).split()
    assert Path(place).is_relative_to(packages) and int(verbs) > 10
    files = {name.removesuffix("/__init__.py").removesuffix(".py") for name in shipped if name.endswith(".py")}
    expected = {name.replace("/", ".") for name in files if not name.endswith("__main__")} - {"gpukit"}
    assert set(modules) == expected
    installed = [file for file in (packages / "gpukit").rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert {str(file.relative_to(packages)) for file in installed} == shipped


@pytest.mark.slow
def test_the_demo_runs_from_the_sdist(dist, installed, tmp_path):
    with tarfile.open(dist["sdist"]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    environment = installed["sdist"][0] / "env"
    (environment / ".installed").touch()
    printed = run("make", "demo", f"VENV={environment}", cwd=source)
    assert printed.count("RMSE") and "NDCG@1" in printed and (source / "build" / "demo.npz").is_file()


def test_the_lower_bounds_are_those_that_are_tested(root):
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    bounds = dict(re.findall(r"^([a-z-]+)>=([\d.]+)", config["options"]["install_requires"], re.MULTILINE))
    lowest = dict(re.findall(r"^([a-z-]+)==([\d.]+)", (root / "tests/lowest.txt").read_text(), re.MULTILINE))
    assert len(bounds) >= 5
    for name, bound in bounds.items():
        tested = lowest[name].split(".")
        assert bound.split(".") == tested[: bound.count(".") + 1] and set(tested[bound.count(".") + 1 :]) <= {"0"}
