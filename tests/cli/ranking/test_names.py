"""Tables with named columns, matched by name; files next to data."""

import json

import numpy as np
import pandas
import pytest
from cli_support import CPU

from gpukit import RankSVM
from gpukit.documents import read_letor
from gpukit.persist import load_model

NAMES = [f"f{k}" for k in range(5)]


def write_table(path, X, y, qid, names, order):
    """Write a csv or Parquet of documents with feature columns in a given order."""
    columns = {"label": y, "qid": qid, **{names[at]: X[:, at] for at in order}}
    if path.suffix == ".parquet":
        pandas.DataFrame(columns).to_parquet(path)
    else:
        np.savetxt(path, np.column_stack(list(columns.values())), "%.9g", ",", header=",".join(columns), comments="")
    return path


@pytest.fixture
def tables(tmp_path):
    """Return {name: path} of documents with columns f0 to f4.

    In order, in another order, without f2, and with f9.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) * [1, 5, 0.2, 3, 1, 1]
    qid = np.repeat(np.arange(10), 20)
    y = np.digitize(X[:, :5] @ [2, -0.5, 3, 0.4, -1], [-1.5, 0, 1.5])
    names = [*NAMES, "f9"]
    orders = {
        "train.csv": range(5),
        "other.csv": [3, 0, 4, 2, 1],
        "other.parquet": [3, 0, 4, 2, 1],
        "less.csv": [0, 1, 3, 4],
        "more.csv": range(6),
        "swapped.csv": [0, 1, 5, 3, 4],
    }
    return {name: write_table(tmp_path / name, X, y, qid, names, order) for name, order in orders.items()}


@pytest.fixture
def model(verb, tables, tmp_path):
    assert verb("ranksvm", tables["train.csv"], "--c", "1", "--model", tmp_path / "m.gpukit", *CPU).code == 0
    return tmp_path / "m.gpukit"


def scored(verb, model, file):
    result = verb("rank", model, file, "--metrics", "--json")
    assert result.code == 0, result
    return json.loads(result.out)


def test_rank_takes_columns_in_any_order(verb, tables, model, tmp_path):
    known = scored(verb, model, tables["train.csv"])
    assert known["metrics"]["pa"] > 0.95 and load_model(model).feature_names_in_.tolist() == NAMES
    verb("convert", tables["other.csv"], tmp_path / "a.gkl")
    verb("convert", tables["other.csv"], tmp_path / "b.parquet")
    for file in (tables["other.csv"], tables["other.parquet"], tmp_path / "a.gkl", tmp_path / "b.parquet"):
        found = scored(verb, model, file)
        assert found["metrics"]["pa"] == known["metrics"]["pa"]
        np.testing.assert_allclose(found["scores"], known["scores"], rtol=1e-5)


@pytest.mark.parametrize(
    "name, words",
    [
        pytest.param("less.csv", "missing: 'f2' (1 of 5)", marks=pytest.mark.slow),
        pytest.param("more.csv", "unknown: 'f9' (1 of 6)", marks=pytest.mark.slow),
        ("swapped.csv", "missing: 'f2' (1 of 5); unknown: 'f9' (1 of 5)"),
    ],
)
def test_missing_and_unknown_columns_are_named(refused, tables, model, name, words):
    assert words in refused("rank", model, tables[name])
    for option in ("--test", "--validation"):
        assert words in refused("ranksvm", tables["train.csv"], option, tables[name], *CPU)


def test_validation_and_test_sets_in_another_order(verb, tables):
    def metrics(file):
        result = verb(
            *("ranksvm", tables["train.csv"], "--validation", tables[file], "--test", tables[file]),
            *("--c-grid", "0.1,1", "--json", *CPU),
        )
        assert result.code == 0, result
        return json.loads(result.out)["folds"][0]["metrics"]

    assert metrics("other.csv") == metrics("train.csv")


@pytest.mark.slow
def test_files_without_names_go_by_number(verb, tables, model, tmp_path):
    result = verb("convert", tables["train.csv"], tmp_path / "a.txt")
    assert result.code == 0 and "no place for the names of features" in result.err
    known = scored(verb, model, tables["train.csv"])["scores"]
    np.testing.assert_allclose(scored(verb, model, tmp_path / "a.txt")["scores"], known, rtol=1e-6)
    assert "a.txt: features are matched by number, " in verb("rank", model, tmp_path / "a.txt").err
    assert verb("ranksvm", tmp_path / "a.txt", "--c", "1", "--model", tmp_path / "n.gpukit", *CPU).code == 0
    np.testing.assert_allclose(scored(verb, tmp_path / "n.gpukit", tables["train.csv"])["scores"], known, rtol=1e-6)


def test_a_numbered_model_does_not_fill_in_columns_of_a_table(verb, refused, tables, tmp_path):
    verb("convert", tables["train.csv"], tmp_path / "a.txt")
    verb("ranksvm", tmp_path / "a.txt", "--c", "1", "--model", tmp_path / "n.gpukit", *CPU)
    assert "trained on 5 features, and these documents have 4" in refused(
        "rank", tmp_path / "n.gpukit", tables["less.csv"]
    )


def test_features_unseen_in_training_are_reported(verb, tmp_path):
    lines = [f"{k % 2} qid:{k // 8} 1:{k % 2 + k / 90:.3f} 900000000:1\n" for k in range(32)]
    (tmp_path / "wide.txt").write_text("".join(lines))
    (tmp_path / "test.txt").write_text("0 qid:1 1:1 5:3\n1 qid:1 1:2 2000000000:1\n")
    result = verb("ranksvm", tmp_path / "wide.txt", "--test", tmp_path / "test.txt", "--model", tmp_path / "m", *CPU)
    assert result.code == 0 and "2 features, numbered up to 900,000,000." in result.err, result
    assert "2 features never occurred in training and are ignored" in result.err, result
    assert "feature 900000000" in result.err, result  # constant
    result = verb("rank", tmp_path / "m", tmp_path / "test.txt")
    assert result.code == 0 and "ignored: number 5, 2,000,000,000." in result.err, result
    assert load_model(tmp_path / "m").coef_.size == 2


def test_pair_weights(verb, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{k % 3} qid:{k // 8} 1:{k}\n" for k in range(32)))
    objectives = []
    for name in ("equal", "gain"):
        arguments = "--c", "1", "--pair-weights", name, "--model", tmp_path / name, *CPU
        assert verb("ranksvm", tmp_path / "a.txt", *arguments).code == 0
        objectives.append(load_model(tmp_path / name).objective_)
    assert objectives[1] > 1.2 * objectives[0]
    (tmp_path / "a.txt").write_text("0.5 qid:1 1:1\n1 qid:1 1:2\n")
    result = verb("ranksvm", tmp_path / "a.txt", "--pair-weights", "gain", *CPU)
    assert result.code == 2 and "The label 0.5 has no gain: " in result.err and "--pair-weights gain" in result.err


def test_a_file_of_weights_is_read_or_named(verb, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{k % 2} qid:{k // 8} 1:{k}\n" for k in range(32)))
    (tmp_path / "a.txt.weight").write_text("1\n2\n0.5\n1\n")
    assert verb("convert", tmp_path / "a.txt", tmp_path / "a.gkl").code == 0
    assert read_letor(tmp_path / "a.gkl").weights.tolist() == [1, 2, 0.5, 1]
    arguments = "ranksvm", tmp_path / "a.txt", "--c", "1", "--force", "--model"
    objectives = []
    for weights in ("1\n" * 32, "1\n0\n2\n1\n" * 8):
        (tmp_path / "a.txt.weight").write_text(weights)
        assert verb(*arguments, tmp_path / "m", *CPU).code == 0
        objectives.append(load_model(tmp_path / "m").objective_)
    assert objectives[0] != pytest.approx(objectives[1], rel=0.01)
    (tmp_path / "a.txt.weight").write_text("1\n" * 31)
    result = verb("ranksvm", tmp_path / "a.txt", *CPU)
    assert result.code == 0 and "a.txt.weight is not read: it has 31 values, and " in result.err, result


def test_position_bias(verb, refused, tmp_path):
    rows = [f"{k // 8},{int(k % 3 == 0)},{k % 7},{k % 5},{1 + k % 8}\n" for k in range(64)]
    (tmp_path / "a.csv").write_text("qid,label,f,g,position\n" + "".join(rows))
    arguments = "ranksvm", tmp_path / "a.csv", "--c", "1", "--force", "--model"
    objectives = []
    for eta in ("0", "1", "1.5"):
        result = verb(*arguments, tmp_path / eta, "--position-bias", eta, "--test", tmp_path / "a.csv", *CPU)
        assert result.code == 0 and "2 features" in result.err, result
        model = load_model(tmp_path / eta)
        assert model.feature_names_in_.tolist() == ["f", "g"]
        objectives.append(model.objective_)
    clicks = read_letor(tmp_path / "a.csv", position_bias=1.5)
    assert objectives[2] == pytest.approx(RankSVM(C=1.0, device="cpu").fit(clicks).objective_)
    assert objectives[0] < objectives[1] < objectives[2]
    assert verb("rank", tmp_path / "1", tmp_path / "a.csv").code == 0
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    assert "a.txt has no positions" in refused("ranksvm", tmp_path / "a.txt", "--position-bias", "1", *CPU)
    for eta in ("-1", "nan"):
        assert "--position-bias must be a finite number" in refused(*arguments, "m", "--position-bias", eta, *CPU)
