"""`gpukit ranksvm`: output and files."""

import json
import re
import signal

import numpy as np
import pytest
from cli_support import CPU
from evaluation import naive

from gpukit.documents import read_letor, take_queries
from gpukit.documents.folds import assign_parts
from gpukit.evaluation.ranking import evaluate
from gpukit.persist import load_model
from gpukit.ranking import RankSVM

METRICS = tuple(evaluate([1.0, 0.0], [1.0, 0.0], [0, 2]))


def as_json(verb, *arguments):
    result = verb("ranksvm", *arguments, "--json", *CPU)
    assert result.code == 0 and result.err == "", result
    return json.loads(result.out)


def rows_of(out, first):
    """Return the words of table lines from `first` to the seconds."""
    lines = out.split(f"  {first}", 1)[1].split("Seconds:")[0].split("The same")[0].splitlines()
    return [line.split() for line in [first + lines[0], *lines[1:]]]


PARTS = ("start", "reading", "training", "evaluating")


# --- a table of folds


def test_a_folder_gives_a_line_a_fold_and_the_mean(verb, letor_folder):
    result = verb("ranksvm", letor_folder, "--c", 1, *CPU)
    assert result.code == 0 and "Traceback" not in result.err, result
    assert re.search(r"^RankSVM on cpu \(\d+ threads?\), solver \w+, eps 1e-05, C = 1$", result.out, re.M)
    for part in PARTS:
        assert re.search(rf"\b{part} \d+\.\d\d", result.out), part
    head, *rows = rows_of(result.out, "fold")
    assert [row[0] for row in rows] == ["Fold1", "Fold2", "mean"]
    assert " ".join(head) == "fold C PA +ties NDCG@1 @3 @5 @10 mean MAP Newton CG sec"
    for column in range(2, 10):
        first, second, mean = (float(row[column]) for row in rows)
        assert mean == pytest.approx((first + second) / 2, abs=1e-4)
    trained = rows_of(result.out.split("The same on the training sets")[1], "fold")
    assert " ".join(trained[0]) == "fold C PA +ties NDCG@1 @3 @5 @10 mean MAP" and len(trained) == 4
    known = as_json(verb, letor_folder, "--c", 1)["folds"][1]["metrics"]["train"]
    names = ("pa", "pa_ties", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mean_ndcg", "map")
    assert [float(cell) for cell in trained[2][2:]] == pytest.approx([known[name] for name in names], abs=1e-4)
    assert "18 queries" not in result.out and f"{letor_folder / 'Fold2' / 'train.txt'}: " in result.err
    assert max(map(len, result.out.split("Seconds:")[0].splitlines())) <= 110


def test_seconds_of_training_are_without_the_choice():
    from types import SimpleNamespace

    from gpukit.cli.ranking.steps import Trained

    timings = {"choose": 9.0, "compiling": 5.0, "prepare": 0.25, "training": 1.0}
    assert Trained(None, SimpleNamespace(timings_=timings), {}, {}, [], "").seconds == 1.25


def test_the_table_keeps_to_110_columns(capsys):
    from types import SimpleNamespace

    from gpukit.cli import report
    from gpukit.cli.ranking import table

    model = SimpleNamespace(C_=2.0**-15)
    metrics = {name: 0.123456 for name in METRICS}
    one = SimpleNamespace(
        job=SimpleNamespace(name="Fold5"),
        model=model,
        metrics={"train": metrics, "test": metrics},
        steps={"newton": 150, "cg": 2345},
        seconds=1234.567,
    )
    headings = table.OF_FOLD | table.columns(SimpleNamespace(show=[])) | table.OF_TRAINING
    report.print_table(table.rows_by_fold([one] * 5, "test"), headings)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and max(map(len, lines)) <= 110


def test_json_holds_all_that_there_is(verb, letor_folder):
    result = as_json(verb, letor_folder, "--c", 1)
    assert [fold["name"] for fold in result["folds"]] == ["Fold1", "Fold2"] and result["grid"] is None
    fold = result["folds"][0]
    assert fold["device"].startswith("cpu") and fold["C"] == 1 and fold["newton"] >= 1 and fold["cg"] >= 1
    assert set(result["seconds"]) >= set(PARTS) and fold["training_seconds"] > 0
    for part in ("train", "validation", "test"):
        assert set(fold["metrics"][part]) == set(METRICS)
        name = {"validation": "vali"}.get(part, part)
        documents = read_letor(letor_folder / "Fold1" / f"{name}.txt")
        assert fold["sizes"][part] == {"documents": len(documents.y), "queries": len(documents.qids)}
        for metric, mean in result["mean"][part].items():
            assert mean == pytest.approx(np.mean([each["metrics"][part][metric] for each in result["folds"]]))


@pytest.mark.slow
def test_one_fold_gives_a_line_a_part(verb, letor_folder):
    results = [
        verb("ranksvm", path, *more, *CPU)
        for path, more in ((letor_folder, ("--fold", 2)), (letor_folder / "Fold2", ()))
    ]
    tables = [rows_of(result.out, "         queries") for result in results]
    assert [row[0] for row in tables[0][1:]] == ["train", "validation", "test"] and tables[0] == tables[1]
    assert re.search(r"\d+ Newton and \d+ CG steps, \d+\.\d+ s of training, NDCG: letor", results[0].out)


@pytest.mark.slow
def test_a_file_alone_and_with_a_test_set(verb, letor_folder):
    train, test = letor_folder / "Fold1/train.txt", letor_folder / "Fold1/test.txt"
    assert set(as_json(verb, train)["folds"][0]["metrics"]) == {"train"}
    both = as_json(verb, train, "--test", test, "--c", 1)["folds"][0]
    whole = as_json(verb, letor_folder, "--fold", 1, "--c", 1)["folds"][0]
    assert both["metrics"]["test"] == whole["metrics"]["test"] and both["objective"] == whole["objective"]


# --- results


def test_metrics_are_those_of_the_scores(verb, letor_folder, tmp_path):
    dialect = ("--ndcg", "standard", "--relevant", 2, "--c", 1)
    found = as_json(verb, letor_folder, "--fold", 1, "--scores", tmp_path / "s", "--model", tmp_path / "m", *dialect)
    scores = np.array([float(line) for line in (tmp_path / "s").read_text().splitlines()])
    test = read_letor(letor_folder / "Fold1/test.txt")
    assert np.array_equal(load_model(tmp_path / "m").predict(test), scores)
    assert np.array_equal(np.float32(test.X @ load_model(tmp_path / "m").coef_), np.float32(scores))
    metrics, queries = found["folds"][0]["metrics"]["test"], np.repeat(test.qids, np.diff(test.offsets))
    wanted = {
        "pa": naive.pairwise_accuracy(test.y, scores, queries, 0),
        "pa_ties": naive.pairwise_accuracy(test.y, scores, queries, 1),
        "map": naive.mean_average_precision(test.y, scores, queries, 2),
        **{f"ndcg@{k}": naive.ndcg(test.y, scores, queries, k, "standard") for k in (1, 3, 5, 10)},
    }
    assert {name: metrics[name] for name in wanted} == pytest.approx(wanted)


def test_c_weighs_the_loss(verb, letor_folder):
    small, large = (as_json(verb, letor_folder, "--fold", 1, "--c", c)["folds"][0] for c in ("2^-10", "4"))
    assert small["C"] == 2.0**-10 and large["C"] == 4 and small["objective"] < large["objective"]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["p-swx", "scan", "dcm", "ost"])
def test_every_solver_comes_to_the_same(verb, letor_folder, solver):
    fold = as_json(verb, letor_folder, "--fold", 1, "--solver", solver)["folds"][0]
    assert fold["solver"] == solver
    assert fold["objective"] == pytest.approx(as_json(verb, letor_folder, "--fold", 1)["folds"][0]["objective"], 1e-6)


@pytest.mark.parametrize("metric", ["pa", "map", "ndcg@1", "tau"])
def test_c_is_chosen_on_the_validation_set(verb, letor_folder, metric):
    result = as_json(verb, letor_folder, "--c-grid", "2^-12,1,2^4", "--metric", metric)
    assert result["grid"] == [2.0**-12, 1, 16] and result["metric"] == metric
    for fold in result["folds"]:
        assert fold["newton"] == sum(point["newton"] for point in fold["path"])
        assert fold["cg"] == sum(point["cg"] for point in fold["path"])
        assert [point["C"] for point in fold["path"]] == result["grid"]
        best = max(fold["path"], key=lambda point: point["validation"][metric])
        assert fold["C"] == best["C"]
        assert fold["metrics"]["validation"] == pytest.approx(best["validation"])
    found_line = verb("ranksvm", letor_folder, "--c-grid", "2^-12,1,2^4", "--metric", metric, *CPU)
    assert f"C of 3 by {metric} on the validation set" in found_line.out and "for all C together" in found_line.out


def test_null_and_scale_reach_the_library(verb, tmp_path):
    train = tmp_path / "train.txt"
    train.write_text("2 qid:1 1:NULL 2:10\n0 qid:1 1:4 2:30\n1 qid:2 1:6 2:20\n0 qid:2 1:8 2:40\n")
    options = ("--null", "min", "--scale", "minmax")
    lowest = as_json(verb, train, *options, "--test", train, "--model", tmp_path / "m")
    assert lowest["folds"][0]["metrics"]["test"] == lowest["folds"][0]["metrics"]["train"]
    assert lowest["null"] == "min" and lowest["parameters"]["scale"] == "minmax"
    zero = as_json(verb, train, "--null", "zero", "--scale", "minmax")
    assert lowest["folds"][0]["objective"] != zero["folds"][0]["objective"]
    test = read_letor(train, null="min")
    shifted = test._replace(X=test.X * 2)  # other ranges: those of the training set apply
    model = load_model(tmp_path / "m")
    assert np.allclose(model.predict(shifted) - model.predict(test), ((test.X / [4, 30]) @ model.coef_), atol=1e-6)


@pytest.mark.slow
def test_a_test_set_with_fewer_features(verb, letor_folder, tmp_path):
    test = tmp_path / "test.txt"
    test.write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.2\n")
    fold = as_json(verb, letor_folder / "Fold1/train.txt", "--test", test)["folds"][0]
    assert fold["features"] == 46 and fold["sizes"]["test"] == {"documents": 2, "queries": 1}


@pytest.mark.parametrize("features", ["thresholds", pytest.param("fourier", marks=pytest.mark.slow)])
def test_features_beyond_a_line(verb, letor_folder, tmp_path, features):
    words = letor_folder, "--fold", 1, "--c", 0.01, "--features", features
    fold = as_json(verb, *words, "--model", tmp_path / "m", "--scores", tmp_path / "s")["folds"][0]
    model, (test,) = load_model(tmp_path / "m"), letor_folder.glob("Fold1/test.txt")
    expected = RankSVM(0.01, features=features).fit(read_letor(letor_folder / "Fold1/train.txt"))
    assert fold["feature_map"] == features and len(model.coef_) > fold["features"] == model.n_features_in_
    scores = verb("rank", tmp_path / "m", test).out.split()
    assert scores == (tmp_path / "s").read_text().split()
    np.testing.assert_array_equal(np.array(scores, float), expected.predict(read_letor(test)))
    assert f"C = 0.01, {features} features\n" in verb("ranksvm", *words, *CPU).out


@pytest.mark.slow
def test_chosen_features_are_reported(verb, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.zeros(100), np.repeat(np.arange(10), 10), rng.normal(size=(100, 2))])
    rows[:, 0] = np.digitize(-np.abs(rows[:, 2]), [-1.0, -0.5, -0.2])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="label,qid,a,b", comments="")
    result = verb("ranksvm", tmp_path / "t.csv", "--features", "auto", *CPU)
    kind = as_json(verb, tmp_path / "t.csv", "--features", "auto")["folds"][0]["feature_map"]
    assert kind != "linear" and f"features to deviation 1, {kind} features (on 10 held-out queries" in result.err, (
        result
    )
    assert "with C = 1, features as they are; the best of" in result.err


def test_labels_of_a_total_order_have_no_ndcg(verb, tmp_path):
    train = tmp_path / "train.txt"
    train.write_text("".join(f"{place} qid:1 1:{place % 7} 2:{place}\n" for place in range(60)))
    result = verb("ranksvm", train, "--c", 1, *CPU)
    row = next(line.split() for line in result.out.splitlines() if line.startswith("  train "))
    assert row[:5] == ["train", "1", "60", "1.0000", "1.0000"] and row[5:10] == ["-"] * 5


# --- files


@pytest.mark.slow
def test_files_of_several_folds(verb, letor_folder, tmp_path):
    (tmp_path / "Fold1").mkdir(), (tmp_path / "Fold2").mkdir()
    result = verb("ranksvm", letor_folder, "--model", tmp_path / "m.gpukit", "--scores", tmp_path / "{fold}/s", *CPU)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"m.Fold1.gpukit", "m.Fold2.gpukit", "Fold1/s", "Fold2/s"}
    assert f"Next: gpukit rank {tmp_path / 'm.Fold2.gpukit'} {letor_folder / 'Fold2/test.txt'}" in result.err
    for fold in ("Fold1", "Fold2"):
        scores = np.loadtxt(tmp_path / fold / "s")
        test = read_letor(letor_folder / fold / "test.txt")
        assert np.array_equal(scores, load_model(tmp_path / f"m.{fold}.gpukit").predict(test))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--model", "--scores"])
def test_a_device_takes_what_all_folds_write(verb, letor_folder, option, tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    result = verb("ranksvm", letor_folder, option, tmp_path / "null", *CPU)
    assert result.code == 0 and "Traceback" not in result.err, result
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_a_grid_has_a_table_and_a_remark_at_its_edge(verb, letor_folder):
    """C is chosen by a metric at a rank of its own, which the tables show."""
    words = "ranksvm", letor_folder, "--c-grid", "2^-12,1", "--metric", "ndcg@2", "--ndcg", "standard", *CPU
    result, found = verb(*words), json.loads(verb(*words, "--json").out)
    lines = result.out.splitlines()
    first = lines.index("By C on the validation set; chosen by: number of folds")
    rows = [line.split() for line in lines[first + 2 : first + 4]]
    folds = found["folds"]
    assert [row[0] for row in rows] == ["2^-12", "1"]
    for place, (_, chosen, value) in enumerate(rows):
        C = folds[0]["path"][place]["C"]
        assert float(value) == pytest.approx(
            np.mean([f["path"][place]["validation"]["ndcg@2"] for f in folds]), abs=6e-5
        )
        assert chosen == (str(sum(fold["C"] == C for fold in folds)).replace("0", "-"))
    assert lines[2].split()[-4:] == ["ndcg@2", "Newton", "CG", "sec"]
    assert result.err.count("of the grid. Extend --c-grid to ") == len(folds)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--c-grid", "2^-4:2^0")])
def test_the_picture(verb, letor_folder, tmp_path, more):
    picture = tmp_path / "curve.png"
    assert verb("ranksvm", letor_folder, "--plot", picture, *more, *CPU).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG") and list(tmp_path.iterdir()) == [picture]


@pytest.mark.slow
def test_a_training_cut_short_is_said(verb, letor_folder, monkeypatch):
    from gpukit.cli.ranking import steps
    from gpukit.ranking import RankSVM

    monkeypatch.setattr(steps, "build", lambda ask: RankSVM(max_iter=1, device="cpu"))
    result = verb("ranksvm", letor_folder, "--fold", 1)
    assert result.err.count("Warning: RankSVM stopped after max_iter=1") == 1
    found = as_json(verb, letor_folder, "--fold", 1)["folds"][0]
    assert len(found["warnings"]) == 1 and "stopped after" in found["warnings"][0]
    path = verb("ranksvm", letor_folder, "--fold", 1, "--c-grid", "2").err
    assert path.count("Warning: ") == 1  # the path's fit and the saved one agree
    assert "Warning" not in verb("ranksvm", letor_folder, "--quiet").err


@pytest.mark.slow
def test_quiet_prints_the_result_alone(verb, letor_folder):
    result = verb("ranksvm", letor_folder, "--quiet", *CPU)
    assert result.err == "" and "RankSVM on cpu" in result.out


# --- Ctrl-C


@pytest.mark.slow
def test_ctrl_c_says_what_is_there(verb, letor_folder, tmp_path, monkeypatch):
    from gpukit.cli import report

    seen = []

    def press(self, stage, done, total, info=None):
        seen.append(stage)
        if stage.startswith("Fold2"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(report.Progress, "__call__", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = verb("ranksvm", letor_folder, "--model", tmp_path / "m", *CPU, "--quiet")
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.code == 130 and result.out == "" and any(stage.startswith("Fold1") for stage in seen)
    assert result.err == "Interrupted. The files of Fold1 are whole; there are none of the others.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.Fold1"]


# --- C and the scale, automatic or named


def wild(path, seed):
    """A csv of documents whose features have scales from 1e-4 to 1e4."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 6))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=600), [1, 3])
    rows = np.column_stack([y, np.arange(600) // 12, X * 10.0 ** np.linspace(-4, 4, 6)])
    np.savetxt(path, rows, delimiter=",", header="label,qid,a,b,c,d,e,f", comments="", fmt="%.10g")
    return path


@pytest.mark.slow
def test_what_is_open_is_chosen_and_told(verb, tmp_path):
    train, test = wild(tmp_path / "train.csv", 1), wild(tmp_path / "test.csv", 2)
    result = verb("ranksvm", train, "--test", test, *CPU)
    found_line = re.search(
        r"^Settings of train: C = \S+, features to deviation 1 \(on 49 held-out queries (.*)\)\.$", result.err, re.M
    )
    assert result.code == 0 and found_line
    number = r"\d\.\d{4}"
    usual, best = found_line[1].split("; ")
    assert re.fullmatch(f"the best of 18 trials adds {number}, standard error {number}", best)
    found_line = re.fullmatch(f"{number} of pairs in order, ({number}) with C = 1, features as they are", usual)
    found = as_json(verb, train, "--test", test, "--c", "auto")["folds"][0]
    assert found["scale"] == found["chosen"]["scale"] == "deviation" and len(found["trials"]) == 18
    assert float(found_line[1]) == pytest.approx(found["chosen"]["usual_pa"], abs=5e-5)
    usual = as_json(verb, train, "--test", test, "--c", "1")["folds"][0]
    assert (usual["C"], usual["scale"], usual["chosen"]) == (1.0, "none", None)
    assert found["metrics"]["test"]["pa"] > usual["metrics"]["test"]["pa"] + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["map", "ndcg@10", "pa"])
def test_auto_uses_the_validation_set_and_says_so(verb, tmp_path, metric):
    train, validation = wild(tmp_path / "train.csv", 1), wild(tmp_path / "vali.csv", 2)
    ask = (train, "--validation", validation, "--metric", metric)
    found = as_json(verb, *ask)["folds"][0]
    chosen = found["chosen"]
    assert (chosen["held_out"], chosen["metric"], chosen["queries"]) == ("validation", metric, 50)
    best = max(found["trials"], key=lambda trial: trial[metric])
    assert (found["C"], found["scale"]) == (best["C"], best["scale"]) and chosen[metric] == best[metric]
    assert found["metrics"]["validation"][metric] == pytest.approx(best[metric], abs=5e-3)
    found_line = verb("ranksvm", *ask, *CPU).err
    word = "of pairs in order" if metric == "pa" else metric
    assert re.search(
        rf"^Settings of train: C = .* \(on the validation set of 50 queries 0\.\d{{4}} {word}, ", found_line, re.M
    )
    without = as_json(verb, train, "--metric", metric)["folds"][0]["chosen"]
    assert (without["held_out"], without["metric"]) == ("queries", metric)


@pytest.mark.slow
def test_a_folders_validation_sets_are_used(verb, letor_folder):
    folds = as_json(verb, letor_folder, "--metric", "map")["folds"]
    assert [fold["chosen"]["held_out"] for fold in folds] == ["validation"] * 2
    for fold in folds:
        assert fold["chosen"]["map"] == max(trial["map"] for trial in fold["trials"])


def test_a_validation_set_without_pairs_is_passed_over(verb, tmp_path):
    train, validation = wild(tmp_path / "train.csv", 1), tmp_path / "vali.txt"
    validation.write_text("1 qid:1 1:1 6:2\n1 qid:1 1:2 6:1\n")
    result = verb("ranksvm", train, "--validation", validation, *CPU)
    assert result.code == 0 and "has no pa (no query has two different labels)" in result.err
    assert "held-out queries" in result.err


def test_settings_that_nothing_could_choose_are_reported(verb, tmp_path):
    train = tmp_path / "few.txt"
    train.write_text("2 qid:1 1:3 2:1\n0 qid:1 1:1\n1 qid:1 1:2 2:5\n")
    line = "Settings of few: C = 1, features as they are, which nothing could choose: "
    assert line in verb("ranksvm", train, *CPU).err
    assert "Settings" not in verb("ranksvm", train, "--c", 1, *CPU).err


def test_a_grid_leaves_features_as_they_are(verb, letor_folder):
    found = as_json(verb, letor_folder, "--c-grid", "2^-2:2^2")["folds"][0]
    assert (found["scale"], found["chosen"]) == ("none", None)


# --- real data


@pytest.mark.slow
def test_mq2008(verb, data):
    """MQ2008, C = 1: the reference's f* and PA, LETOR's means."""
    result = as_json(verb, data("MQ2008"), "--eps", "1e-7", "--c", 1)
    objectives = [fold["objective"] for fold in result["folds"]]
    wanted = [29566.522846, 26650.339392, 22576.419192, 24334.240528, 28285.101148]
    assert objectives == pytest.approx(wanted, rel=1e-8)
    shares = [(fold["metrics"]["train"]["pa_ties"], fold["metrics"]["test"]["pa_ties"]) for fold in result["folds"]]
    wanted = [(80.2408, 82.7171), (79.9747, 79.1401), (82.3532, 74.7612), (82.6386, 80.6814), (80.7636, 80.4902)]
    assert np.abs(100 * np.array(shares) - wanted).max() < 0.01
    mean = result["mean"]["test"]
    assert [round(mean[name], 4) for name in ("map", "ndcg@10", "mean_ndcg")] == [0.4728, 0.2293, 0.4826]


# --- parts of a file


def test_each_part_of_a_file_is_the_test_set_once(verb, letor_folder):
    path = letor_folder / "Fold1/train.txt"
    whole = read_letor(path)
    parts = assign_parts(whole, 3)
    folds = as_json(verb, path, "--folds", 3, "--c", 0.5)["folds"]
    assert [one["name"] for one in folds] == ["Fold1", "Fold2", "Fold3"]
    for part, one in enumerate(folds):
        train, test = (take_queries(whole, np.flatnonzero(here)) for here in (parts != part, parts == part))
        model = RankSVM(0.5, device="cpu").fit(train)
        assert one["sizes"]["test"] == {"documents": len(test.y), "queries": len(test.qids)}
        assert one["metrics"]["test"]["pa"] == model.score(test) and "validation" not in one["metrics"]
    result = verb("ranksvm", path, "--folds", 3, "--c", 0.5, *CPU)
    assert "Test sets of 3 folds" in result.out and result.err.count("documents, ") == 1
    assert f"Next: gpukit ranksvm {path} --model FILE" in result.err


def test_a_part_of_a_file_chooses_of_a_grid(verb, letor_folder):
    path = letor_folder / "Fold1/train.txt"
    whole = read_letor(path)
    parts = assign_parts(whole, 4)
    result = as_json(verb, path, "--folds", 4, "--c-grid", "0.01,1", "--metric", "map")
    for part, one in enumerate(result["folds"]):
        held_out = (part - 1) % 4
        chosen = [np.flatnonzero(here) for here in ((parts != part) & (parts != held_out), parts == held_out)]
        train, validation = (take_queries(whole, queries) for queries in chosen)
        model = RankSVM(device="cpu").fit_path(train, validation, grid=[0.01, 1], metric="map")
        assert one["C"] == model.C_ and [row["validation"]["map"] for row in one["path"]] == [
            row["validation"]["map"] for row in model.path_
        ]


def test_parts_that_do_not_fit(refused, letor_folder, tmp_path):
    path = letor_folder / "Fold1/train.txt"
    assert "--folds is for a training file" in refused("ranksvm", letor_folder, "--folds", 3)
    assert "--folds 3 and --model exclude each other" in refused(
        "ranksvm", path, "--folds", 3, "--model", tmp_path / "m"
    )
    assert "--folds 3 and --test exclude each other" in refused("ranksvm", path, "--folds", 3, "--test", path)
    assert "--folds must be at least 3" in refused("ranksvm", path, "--folds", 2, "--c-grid", "1,2")
    assert "cannot be divided into 900 parts" in refused("ranksvm", path, "--folds", 900, "--quiet", *CPU)
