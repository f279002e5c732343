"""mypy and pyright on users' scripts: no error in a right one and in the documentation, all errors of a wrong one."""

import ast
import builtins
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent / "typing"
USERS = "right.py", "wrong.py"
IMPORTS = """from typing import cast
import numpy as np
import pandas as pd
from gpukit import LSHMF, GraphImputer, MatrixFactorization, RankSVM, Ratings, read_ratings
from gpukit.parallel import Team
"""
DECLARED = {  # names that snippets take from the text around them
    **dict.fromkeys(
        ("X", "y", "qid", "weights", "graph", "keys", "offsets", "order", "cap", "lam", "out"), "np.ndarray"
    ),
    **dict.fromkeys(("frame", "next_hour"), "pd.DataFrame"),
    **dict.fromkeys(("ratings", "later", "new", "test"), "Ratings"),
    "comedies": "list[int]",
}


def lines_of_mypy(folder, root):
    """Return {(file name, line)} of the errors that mypy reports for the scripts in a folder."""
    command = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]
    environment = {**os.environ, "MYPYPATH": str(root), "MYPY_CACHE_DIR": str(folder.parent / "mypy")}
    done = subprocess.run([*command, "."], cwd=folder, env=environment, capture_output=True, text=True)
    found = re.findall(r"^(.+\.py):(\d+): error:", done.stdout, re.M)
    assert done.returncode == bool(found) and not done.stderr, done.stdout + done.stderr
    return {(name, int(line)) for name, line in found}


def lines_of_pyright(folder, root):
    """Return {(file name, line)} of the errors that pyright reports for the scripts in a folder."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(root)]}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py")))
    errors = [one for one in report["generalDiagnostics"] if one["severity"] == "error"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in errors}


def blocks_of(text):
    """Yield the code of a page: indented and fenced blocks, without commands of the shell."""
    for fenced, indented in re.findall(r"^```py(?:thon)?\n(.*?)^```|((?:^    [^\n]*\n|^\n)+)", text, re.M | re.S):
        code = fenced or re.sub(r"^    ", "", indented, flags=re.M)
        yield "\n".join(line for line in code.splitlines() if not line.startswith("gpukit "))


def is_python(code):
    """Return True for a snippet that imports or calls something."""
    try:
        return any(isinstance(node, ast.Import | ast.ImportFrom | ast.Call) for node in ast.walk(ast.parse(code)))
    except SyntaxError:
        return False


def names_of(code):
    """Return (used names, defined names) of a snippet."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return used, imported | {node.id for node in names if isinstance(node.ctx, ast.Store)}


def script_of(code, model):
    """Return a snippet as a script that declares the names it does not define; model: the class of `model`."""
    types = {**DECLARED, "model": model}
    used, defined = names_of(code)
    missing = used - defined - names_of(IMPORTS)[1] - set(dir(builtins))
    assert missing <= set(types), f"declare {', '.join(sorted(missing - set(types)))} in DECLARED:\n{code}"
    return IMPORTS + "".join(f"{name} = cast({types[name]}, None)\n" for name in sorted(missing)) + code + "\n"


@pytest.fixture(scope="module")
def folder(root, tmp_path_factory):
    """The users' scripts and every Python snippet of README.md and docs/ as a script of its own: checked together."""
    folder = tmp_path_factory.mktemp("scripts")
    for name in USERS:
        (folder / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
    pages = set()
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        model = "GraphImputer" if page.stem.startswith("imputation") else "LSHMF"
        for at, code in enumerate(filter(is_python, blocks_of(page.read_text(encoding="utf-8")))):
            (folder / f"{page.stem}_{at}.py").write_text(script_of(code, model), encoding="utf-8")
            pages.add(page.stem)
    assert {"README", "factorization", "imputation", "neighbors", "ranking", "ranks"} <= pages
    return folder


@pytest.mark.parametrize("lines_of", [lines_of_mypy, lines_of_pyright])
def test_errors_are_those_of_the_wrong_script(lines_of, folder, root):
    marked = set()
    for name in USERS:
        lines = enumerate((HERE / name).read_text(encoding="utf-8").splitlines(), 1)
        marked |= {(name, at) for at, line in lines if line.endswith("# error")}
    assert len(marked) > 30 and lines_of(folder, root) == marked
