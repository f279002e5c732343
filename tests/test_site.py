"""The documentation as HTML: every page is built, and no link is broken."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(root, tmp_path):
    command = sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(root / "docs").with_suffix(".html") for path in (root / "docs").rglob("*.md")}
    assert pages and all((tmp_path / page).is_file() for page in pages)
    sections = json.loads((tmp_path / "search/search_index.json").read_text())["docs"]
    text = " ".join(section["title"] + section["text"] for section in sections)
    for name in ("LSHMF", "RankSVM", "GraphImputer", "n_factors", "--c-grid", "partial_fit"):
        assert name in text
    guide = (tmp_path / "guides/ratings.html").read_text()
    assert 'href="../ratings.html"' in guide  # a link to another folder of docs/ stays
    assert ">arrayfile<" not in (tmp_path / "ratings.html").read_text()  # one that leaves docs/ is text
    text = re.sub("<[^>]+>", " ", (tmp_path / "reference/recommenders.html").read_text())
    for name, default in {"lsh_q": "100", "lsh_psi": "2", "random_state": "0"}.items():  # not the first of their groups
        assert re.search(rf"\b{name}\s.{{,200}}\s{default}\s", " ".join(text.partition("Parameters:")[2].split()))
    assert (tmp_path / "search/search_index.js").is_file() and 'src="../iframe-worker.js"' in guide  # for pages on disk
    outside = re.compile(r'(?:src|href)="https?://')
    assert not outside.search((tmp_path / "index.html").read_text().partition("<body")[0])


def test_every_public_name_is_in_the_reference(root):
    import gpukit

    pages = "\n".join(path.read_text() for path in (root / "docs" / "reference").glob("*.md"))
    listed = set(re.findall(r"^::: gpukit\.(\w+)$", pages, re.MULTILINE))
    assert {
        name for name in gpukit.__all__ if name[0] != "_" and not hasattr(getattr(gpukit, name), "__path__")
    } <= listed


def test_the_pictures_name_functions_of_the_code(root):
    defined = {
        name for path in (root / "gpukit").rglob("*.py") for name in re.findall(r"def (\w+)\(", path.read_text())
    }
    pages = "\n".join(path.read_text() for path in (root / "docs").glob("*.md"))
    pictures = sorted((root / "docs" / "pictures").iterdir())
    assert pictures
    for path in pictures:
        picture = ElementTree.parse(path).getroot()
        assert picture.get("role") == "img" and picture.get("aria-label") == picture[0].text, path.name
        assert f"](pictures/{path.name})" in pages
        names = set(re.findall(r"\b_?[a-z]{3,}(?:_[a-z]+)+\b|\b_[a-z]{3,}\b", "\n".join(picture.itertext())))
        assert names <= defined, (path.name, names - defined)
