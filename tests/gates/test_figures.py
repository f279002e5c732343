"""Figures of the pages are rows of benchmarks.csv, and each kind of deviation is detected."""

import pytest
from gates import figures

GENERATED = {"docs/benchmarks.md", "docs/cli.md", "docs/papers.md", "docs/roofline.md"}


def pages(root):
    """README.md and the hand-written pages of docs/."""
    below = sorted((root / "docs").rglob("*.md"))
    return [root / "README.md", *(page for page in below if str(page.relative_to(root)) not in GENERATED)]


def test_figures_of_the_pages_are_rows(root, build):
    newest = build.newest_rows()
    assert [fault for page in pages(root) for fault in figures.figures_have_rows(page, newest)] == []


HEAD = "what,shape,data,device,versions,commit,p20,p50,p80,unit,samples,note\n"
SLOW = "slow,big,generated,cuda:0 (NVIDIA H200),v1,a,2000,2400.4,2600,ms,9,by seed 1.5 3.5; rest 12 ms\n"
FAST = "fast,big,generated,cuda:0 (NVIDIA H200),v1,a,1,1.2,1.4,ms,9,\n"
PAGE = """# Title

It takes 2.4 s (2.0 to 2.6), 2,000 times as long as fast; 3.5 at most, in one run 7 ms, below 5e1.
<!-- rows: 2.4 = [slow | big | H200] / 1000
     2.0 = [slow | big | H200 | p20] / 1000
     2.6 = [slow | big | H200 | p80] / 1000
     2,000 = [slow | big | H200] / [fast | big | H200]
     3.5 = [slow | big | H200 | most]
     no row, 1 figure: script
     5e1 > [slow | big | H200 | rest] -->

| what | ms |
|---|---|
| fast | 1.2 |
<!-- rows: 1.2 = [fast | big | H200] -->

    seconds 0.52
<!-- no row, 1 figure: output -->

- An item of 1.5 ms.
  <!-- no row, 1 figure: paper -->

```console
$ gpukit command
seconds 0.52
```
"""


def faults(build, folder, page=PAGE, rows=SLOW + FAST):
    (folder / "b.csv").write_text(HEAD + rows)
    (folder / "page.md").write_text(page)
    return figures.figures_have_rows(folder / "page.md", build.newest_rows(folder / "b.csv"))


def test_a_page_that_fits_has_no_faults(build, tmp_path):
    assert faults(build, tmp_path) == []


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("2.4 s", "2.5 s", "2.4 is not in the text"),
        ("2.4", "2.5", "2.5 = 2.4004 does not hold"),
        ("| fast | 1.2 |", "| fast | 1.3 |", "1.2 is not in the text"),
        ("2,000 times", "2,100 times", "2,000 is not in the text"),
        ("2,000", "2,002", "2,002 = 2000.333 does not hold"),
        ("(2.0 to 2.6)", "(2.6 to 2.0)", "not in this order"),
        ("3.5", "3.6", "3.6 = 3.5 does not hold"),
        ("5e1 >", "5e1 <", "5e1 < 12 does not hold"),
        ("7 ms", "7 ms, then 8 ms", "2 figures have no row"),
        ("7 ms", "seven", "0 figures have no row"),
        ("seconds 0.52", "seconds", "0 figures have no row"),
        ("of 1.5 ms", "of 1.5 ms and 30 %", "2 figures have no row"),
        ("in one run", "once", "does not say"),
        (": paper", ": hearsay", "hearsay is not one of"),
        ("| H200 | rest]", "| H200 | gone]", "has no such number"),
        ("[fast | big | H200]", "[fast | big | 2 threads]", "0 measurements"),
        ("rows: 1.2 = [fast", "rows: 1.2 is [fast", "not understood"),
        ("<!-- rows: 1.2 = [fast | big | H200] -->", "", "1 figures have no row"),
    ],
)
def test_drifts_of_a_page_are_seen(build, tmp_path, old, new, fault):
    assert any(fault in found for found in faults(build, tmp_path, PAGE.replace(old, new)))


@pytest.mark.parametrize(
    "rows, fault",
    [
        (SLOW, "0 measurements are [fast"),
        (SLOW + FAST + FAST.replace("1.2", "1.1"), "1.2 = 1.1 does not hold"),
        (SLOW + FAST + FAST.replace("H200", "H200 NVL"), "2 measurements are [fast"),
        (SLOW.replace("3.5", "4.5") + FAST, "3.5 = 4.5 does not hold"),
    ],
)
def test_drifts_of_the_rows_are_seen(build, tmp_path, rows, fault):
    assert any(fault in found for found in faults(build, tmp_path, rows=rows))
