"""`gpukit synth ratings`, and that the demo's sample is what its line makes."""

import json

import numpy as np

from gpukit.cli.main import run
from gpukit.datasets import read_ratings, read_titles, synth_ratings


def test_synth_ratings(tmp_path, capsys):
    out = tmp_path / "s.gkr"
    assert run(["synth", "ratings", "--like", "ml-10m", "--scale", "0.001", "--seed", "3", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    made, expected = read_ratings(out), synth_ratings("ml-10m", 0.001, 3)
    assert np.array_equal(made.values, expected.values) and np.array_equal(made.items, expected.items)
    assert facts["ratings"] == len(expected) and facts["noise_floor"] < facts["factor_floor"] < facts["bias_floor"]


def test_refused(tmp_path, capsys):
    for arguments, message in ((["--scale", "0"], "scale must be"),
                               (["--users", "5", "--items", "5", "--ratings", "99"], "do not fit")):
        assert run(["synth", "ratings", *arguments, str(tmp_path / "s.csv")]) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_sample_is_what_its_line_makes(root, tmp_path):
    line = next(line for line in (root / "data" / "README.md").read_text().splitlines()
                if line.strip().startswith("gpukit synth"))
    words = [word.replace("data/", f"{tmp_path}/") for word in line.split()]
    assert run([*words[1:], "--quiet"]) == 0
    for name in ("ratings-sample.csv", "titles-sample.csv"):
        assert (tmp_path / name).read_bytes() == (root / "data" / name).read_bytes()
    assert (root / "data" / "ratings-sample.csv").stat().st_size < 1_000_000
    assert len(read_titles(root / "data" / "titles-sample.csv")) == 500
