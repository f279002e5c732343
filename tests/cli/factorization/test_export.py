"""`gpukit export`: a model's numbers for other programs."""

import csv
import io
import json

import numpy as np

from gpukit.persist import load_model


def test_arrays(verb, model_file, tmp_path):
    result = verb("export", model_file, tmp_path / "f.npz")
    assert result.code == 0 and result.out == "" and "60 users and 40 items, 4 factors" in result.err
    with np.load(tmp_path / "f.npz") as found:
        np.testing.assert_array_equal(found["item_factors"], load_model(model_file).item_factors_)


def test_csv_on_stdout(verb, model_file):
    result = verb("export", model_file, "-", "--vectors")
    rows = [row for row in csv.DictReader(io.StringIO(result.out)) if row["side"] == "item"]
    assert [row["id"] for row in rows] == [f"a{item:02d}" for item in range(40)] and "40 items" in result.err
    assert list(rows[0]) == ["side", "id", "ratings", *(f"vector_{f}" for f in range(6))]
    assert {row["vector_4"] for row in rows} == {"1"}


def test_json(verb, model_file, tmp_path):
    result = verb("export", model_file, tmp_path / "f.csv", "--json")
    facts = json.loads(result.out)
    assert facts["users"] == 60 and facts["items"] == 40 and facts["factors"] == 4 and result.err == ""
    assert facts["bytes"] == (tmp_path / "f.csv").stat().st_size


def test_refusals(refused, verb, model_file, ranking_model, tmp_path):
    assert "must end in .npz, .csv, .parquet" in refused("export", model_file, tmp_path / "f.xls")
    assert "must end in .npz, .csv, .parquet" in refused("export", model_file, tmp_path / "f.txt")
    assert "--vectors is for models of ratings" in refused("export", ranking_model, tmp_path / "f.txt", "--vectors")
    assert "does not exist" in refused("export", model_file, tmp_path / "no" / "f.csv")
    assert "would overwrite a file that this command reads" in refused("export", model_file, model_file, "--force")
    assert "holds a RankSVM" in refused("export", ranking_model, tmp_path / "f.csv")
    assert "no model file" in refused("export", tmp_path / "none", tmp_path / "f.csv")
    assert "--json prints on standard output" in refused("export", model_file, "-", "--json")
    assert verb("export", model_file, tmp_path / "f.csv").code == 0
    assert "--force" in refused("export", model_file, tmp_path / "f.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv"]
