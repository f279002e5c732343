"""Run the commands and Python snippets of documentation pages and compare what they print.

| fence            | content                                                                                          |
|------------------|--------------------------------------------------------------------------------------------------|
| ```console       | `$ command` lines; the lines below a command are lines of its output, in any order. The page's   |
|                  | Python process runs those of gpukit alone, also with `>FILE` or `|| echo "exit code $?"`; bash   |
|                  | runs the others                                                                                  |
| ```python        | run in the page's own Python process, which keeps its names                                      |
| ```text          | directly below a python fence: lines that the snippet prints                                     |
| ```... title="F" | the text of the file F, written before what follows runs                                         |

A line `...` marks omitted output. Seconds and thread counts may differ, other numbers by CLOSE.
`PYTHONPATH=tests python -m pages docs/guides/PAGE.md ...` prints pages with the complete output of today.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INFO = re.compile(r'(\w*)(?: title="([^"]+)")?')
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
VARIES = re.compile(r"\d+(?:\.\d+)?(?= s\b| thread)|(?<=Seconds: ).*")
PORT = "8000"  # of servers in pages; another one is used in tests
CLOSE = 0.02  # relative difference between processors
PRELUDE = (
    'gpukit() { "$PYTHON" -m gpukit "$@"; }; python() { "$PYTHON" "$@"; }; gunicorn() { "$PYTHON" -m gunicorn "$@"; }\n'
)
PRELUDE += "export -f gpukit python gunicorn\n"
ALONE = re.compile(  # needs no shell
    r"gpukit (?P<words>[\w ./,:=+@%^\"'-]+?)(?: ?>(?P<file>[\w.-]+))?(?P<may_fail> \|\| echo \"exit code \$\?\")?"
)
MARK, FAILED = "<<end of snippet>>", "<<snippet failed>>"
INTERPRETER = f"""
import contextlib, sys, traceback

def gpukit(words, file, may_fail):
    from gpukit.cli.main import run
    with open(file, "w") if file else contextlib.nullcontext(sys.stdout) as out, contextlib.redirect_stdout(out):
        code = run(words)
    assert code == 0 or may_fail
    if code:
        print("exit code", code)

names = {{"__name__": "__main__"}}
for length in iter(sys.stdin.readline, ""):
    try:
        exec(compile(sys.stdin.read(int(length)), "snippet", "exec"), names)
    except BaseException:
        traceback.print_exc()
        print("{FAILED}")
    print("{MARK}", flush=True)
"""


class Step(NamedTuple):
    """A command or a snippet, the lines that the page shows of its output, and the snippet's place in the page."""

    kind: str
    code: str
    shown: list
    begin: int
    end: int


def steps_of(text):
    """Return the [Step] of a page: kind is console, python or file (code: its text, shown: [its name])."""
    steps = []
    for fence in FENCE.finditer(text):
        info, body = fence.groups()
        language, title = INFO.match(info).groups()
        if title:
            steps.append(Step("file", body, [title], *fence.span()))
        elif language == "console":
            steps += commands_of(body, fence)
        elif language == "python":
            steps.append(Step("python", body, [], *fence.span()))
        elif language == "text" and steps and steps[-1].kind == "python":
            steps[-1] = steps[-1]._replace(shown=body.splitlines(), end=fence.end())
    return steps


def commands_of(body, fence):
    """Return the [Step] of a console fence."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    steps = []
    for part in parts:
        command, output = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.DOTALL).groups()
        steps.append(Step("console", command, output.splitlines(), *fence.span()))
    return steps


def run_page(text, folder):
    """Run a page in a folder with the samples; yield (Step, the lines that it printed)."""
    for name in ("data", "examples"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    port = free_port()
    options = dict(cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with subprocess.Popen([sys.executable, "-c", INTERPRETER], stdin=subprocess.PIPE, **options) as interpreter:
        for step in steps_of(text):
            code = step.code.replace(PORT, port)
            if step.kind == "file":
                (folder / step.shown[0]).write_text(code)
            elif step.kind == "console" and (command := ALONE.fullmatch(code)):
                yield step, run_snippet(interpreter, in_python(**command.groupdict()))
            elif step.kind == "console":
                done = subprocess.run(["bash", "-c", PRELUDE + code], **options)
                assert done.returncode == 0, f"{code}\n{done.stdout}"
                yield step, done.stdout.splitlines()
            else:
                yield step, run_snippet(interpreter, code)
        interpreter.stdin.close()


def in_python(words, file, may_fail):
    """Return the statement of INTERPRETER that runs a command of gpukit, into a file if one is named."""
    return f"__import__('__main__').gpukit({shlex.split(words)}, {file!r}, {bool(may_fail)})"


def run_snippet(interpreter, code):
    """Return the lines that a snippet prints in a running INTERPRETER."""
    interpreter.stdin.write(f"{len(code)}\n{code}")
    interpreter.stdin.flush()
    lines = list(iter(interpreter.stdout.readline, MARK + "\n"))
    assert lines.count(FAILED + "\n") == 0, code + "".join(lines)
    return [line.rstrip("\n") for line in lines]


def environment():
    """Return the environment of the commands of a page."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    inherited = {name: value for name, value in os.environ.items() if name != "GPUKIT_DATA"}
    return {**inherited, "PYTHON": sys.executable, "PYTHONPATH": path, "MPLBACKEND": "agg", "COLUMNS": "200"}


def free_port():
    """Return the number of a free port as text."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


def missing_lines(shown, printed):
    """Return the lines of `shown` that are not in `printed`; each printed line counts once."""
    left, missing = list(printed), []
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        found = next((i for i, other in enumerate(left) if same(line, other)), None)
        if found is None:
            missing.append(line)
        else:
            del left[found]
    return missing


def same(line, other):
    """Return True if two lines differ in seconds, threads and the last digits of numbers at most."""
    line, other = (VARIES.sub("?", " ".join(text.split())) for text in (line, other))
    if NUMBER.sub("#", line) != NUMBER.sub("#", other):
        return False
    return all(close(a, b) for a, b in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True))


def close(a, b):
    """Return True if two numbers are equal; with a point, if they differ by CLOSE or by two of the last digit."""
    if a == b or "." not in a:
        return a == b
    x, y = (float(text.replace(",", "")) for text in (a, b))
    unit = 10.0 ** -len(a.partition(".")[2].partition("e")[0]) if "e" not in a else 0.0
    return abs(x - y) <= max(CLOSE * abs(x), 2.5 * unit)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for step, lines in run_page(Path(name).read_text(), Path(folder)):
                print(f"$ {step.code}" if step.kind == "console" else step.code, *lines, sep="\n")
                for line in missing_lines(step.shown, lines):
                    print(f"!!! {line}")
