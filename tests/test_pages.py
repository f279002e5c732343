"""Guides and examples: every command and snippet runs and prints what the page shows."""

import pages
import pytest

BELOW = sorted(str(path.relative_to(pages.ROOT)) for path in (pages.ROOT / "docs").glob("*/*.md"))
RUN = [name for name in ["docs/index.md", *BELOW] if pages.steps_of((pages.ROOT / name).read_text(encoding="utf-8"))]
LIMIT = 120  # lines of a page


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_page_runs_and_prints_what_it_shows(name, root, tmp_path):
    done = list(pages.run_page((root / name).read_text(encoding="utf-8"), tmp_path))
    assert done, "nothing ran"
    missing = [line for step, printed in done for line in pages.missing_lines(step.shown, printed)]
    assert missing == []


@pytest.mark.parametrize("name", RUN)
def test_a_page_has_two_screens(name, root):
    assert len((root / name).read_text(encoding="utf-8").splitlines()) <= LIMIT


PAGE = """
```python title="own.py"
x = 3
```

```console
$ echo 'seconds 0.52 s, 1.25 of 3'; cat own.py
seconds 0.50 s, 1.25 of 3
...
```

```python
from own import x
y = x + 1
```

```console
$ echo done
```

```python
print(y, "ready")
```

```text
4 ready
```
"""


def test_a_page_that_fits(tmp_path):
    done = list(pages.run_page(PAGE, tmp_path))
    assert [step.kind for step, _ in done] == ["console", "python", "console", "python"]
    assert [pages.missing_lines(step.shown, printed) for step, printed in done] == [[], [], [], []]


@pytest.mark.parametrize(
    "old, new", [("1.25 of", "1.35 of"), ("of 3", "of 4"), ("4 ready", "5 ready"), ("4 r", "4 is r")]
)
def test_output_that_differs_is_seen(tmp_path, old, new):
    at = PAGE.rindex(old)  # the shown line, not the command
    changed = PAGE[:at] + new + PAGE[at + len(old) :]
    done = list(pages.run_page(changed, tmp_path))
    assert [line for step, printed in done for line in pages.missing_lines(step.shown, printed)] != []


@pytest.mark.parametrize("broken", ["$ false", "$ cat nothing", "$ gpukit predict nothing"])
def test_commands_that_fail_are_seen(tmp_path, broken):
    with pytest.raises(AssertionError):
        list(pages.run_page(PAGE.replace("$ echo done", broken), tmp_path))


def test_snippets_that_fail_are_seen(tmp_path):
    with pytest.raises(AssertionError):
        list(pages.run_page(PAGE.replace("x + 1", "unknown + 1"), tmp_path))
