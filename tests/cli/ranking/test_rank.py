"""`gpukit rank`: scores of documents, one per line; models of other kinds."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy  # which loads scipy.stats when it is used: every process imports this file
from cli_support import CPU

from gpukit.documents import read_letor, write_letor
from gpukit.evaluation.ranking import evaluate
from gpukit.persist import load_model


@pytest.fixture
def test_file(letor_folder):
    return letor_folder / "Fold1/test.txt"


def test_scores_on_stdout_in_the_files_order(verb, ranking_model, test_file):
    result = verb("rank", ranking_model, test_file)
    documents = read_letor(test_file)
    assert result.code == 0, result
    scores = [float(line) for line in result.out.splitlines()]
    assert scores == load_model(ranking_model).predict(documents).tolist()
    assert f"{len(scores):,} scores of {len(documents.qids)} queries" in result.err and "predicting" in result.err


def test_to_a_file_and_the_same_as_training_wrote(verb, ranking_model, test_file, letor_folder, tmp_path):
    result = verb("rank", ranking_model, test_file, "--output", tmp_path / "out", "--quiet")
    assert result.out == result.err == ""
    verb("ranksvm", letor_folder, "--fold", 1, "--scores", tmp_path / "scores", "--quiet", *CPU)
    assert (tmp_path / "out").read_text() == (tmp_path / "scores").read_text() != ""


def test_scores_are_plain_decimals():
    from gpukit.cli.ranking.steps import plain_decimal

    for number in (1.0, -0.1, 1e-7, 1.2345678901234567e-12, -3e20, 0.0):
        text = plain_decimal(number)
        assert float(text) == number and "e" not in text


def test_metrics_go_to_stderr(verb, ranking_model, test_file):
    result = verb("rank", ranking_model, test_file, "--metrics")
    assert "NDCG@1" in result.err and "MAP" in result.err and "NDCG" not in result.out
    found = json.loads(verb("rank", ranking_model, test_file, "--metrics", "--json").out)
    assert f"{found['metrics']['map']:.4f}" in result.err
    assert found["scores"] == [float(line) for line in result.out.splitlines()]
    other = json.loads(verb("rank", ranking_model, test_file, "--metrics", "--json", "--ndcg", "standard").out)
    assert other["metrics"]["ndcg@10"] != found["metrics"]["ndcg@10"]
    assert other["metrics"]["pa"] == found["metrics"]["pa"]


def test_json_beside_a_file_of_scores(verb, ranking_model, test_file, tmp_path):
    result = verb("rank", ranking_model, test_file, "--json", "--output", tmp_path / "s")
    found = json.loads(result.out)
    assert result.err == "" and "scores" not in found and found["output"] == str(tmp_path / "s")
    assert len((tmp_path / "s").read_text().splitlines()) == found["documents"]


@pytest.mark.slow
def test_scaling_is_the_models(verb, letor_folder, test_file, tmp_path):
    for scale in ("minmax", "deviation"):
        model, scores = tmp_path / scale, tmp_path / f"{scale}.scores"
        options = ("--fold", 1, "--scale", scale, "--model", model, "--scores", scores, "--quiet")
        assert verb("ranksvm", letor_folder, *options, *CPU).code == 0
        assert verb("rank", model, test_file, "--quiet").out == scores.read_text()


def test_fewer_features_and_null(verb, ranking_model, tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("0 qid:1 1:NULL 3:0.5\n0 qid:1 1:0.5\n")
    scores = [float(line) for line in verb("rank", ranking_model, path, "--null", "zero").out.splitlines()]
    model = load_model(ranking_model)
    X = np.zeros((2, model.n_features_in_))
    X[0, 2] = X[1, 0] = 0.5
    assert scores == pytest.approx(model.predict(X).tolist())


def test_a_binary_copy(verb, ranking_model, test_file, tmp_path):
    write_letor(read_letor(test_file), tmp_path / "test.gkl")
    results = [verb("rank", ranking_model, path, "--quiet").out for path in (test_file, tmp_path / "test.gkl")]
    assert results[0] == results[1]


@pytest.fixture
def other_model(verb, letor_folder, tmp_path):
    """A worse model: of two documents."""
    path, train = tmp_path / "other.gpukit", tmp_path / "train.txt"
    train.write_text("1 qid:1 1:1 46:0\n0 qid:1 1:0 46:1\n")
    assert verb("ranksvm", train, "--c", 1, "--model", path, "--quiet", *CPU).code == 0
    return path


def test_more_metrics_are_shown_by_name(verb, ranking_model, test_file):
    result = verb("rank", ranking_model, test_file, "--show", "p@2, mrr,ndcg@10,err@7", "--ndcg", "linear")
    heading = next(line for line in result.err.splitlines() if "NDCG@1" in line)
    assert heading.split()[-4:] == ["MAP", "p@2", "mrr", "err@7"]
    found = json.loads(verb("rank", ranking_model, test_file, "--show", "p@2,mrr", "--json").out)["metrics"]
    documents = read_letor(test_file)
    expected = evaluate(documents.y, load_model(ranking_model).predict(documents), documents.offsets, more=["p@2"])
    assert found["p@2"] == expected["p@2"] and f"{found['p@2']:.4f}  {found['mrr']:.4f}" in result.err
    result = verb("rank", ranking_model, test_file, "--show", "tau")
    assert result.err.split("MAP")[1].split()[0] == "tau" and f"{expected['tau']:.4f}" in result.err


def test_metrics_that_a_query_does_not_define_are_nan(verb, tmp_path):
    """The mean of the file is the metric, by pandas too."""
    train, model, table = tmp_path / "train.txt", tmp_path / "m.gpukit", tmp_path / "queries.csv"
    train.write_text("2 qid:1 1:3\n0 qid:1 1:1\n0 qid:2 1:1\n0 qid:2 1:2\n1 qid:3 1:1\n0 qid:3 1:2\n")
    assert verb("ranksvm", train, "--c", 1, "--model", model, "--quiet", *CPU).code == 0
    options = "--ndcg", "skip-blank", "--show", "tau", "--per-query", table, "--json", "--against", model
    found = json.loads(verb("rank", model, train, *options).out)
    metrics, queries = found["metrics"], pd.read_csv(table)
    for name in ("tau", "ndcg@1", "mean_ndcg"):
        for column in (queries[name], queries[f"{name} --against"]):
            assert column.isna().tolist() == [False, True, False] and column.mean() == pytest.approx(metrics[name])
    for name in ("pa", "pa_ties"):
        assert queries[name].isna().tolist() == queries[f"{name} --against"].isna().tolist() == [False, True, False]
        paired = queries[queries["pairs"] > 0]
        assert np.average(paired[name], weights=paired["pairs"]) == pytest.approx(metrics[name])
    assert queries["map"].tolist()[1] == 0 and queries["pairs"].tolist() == [1, 0, 1]


def test_one_query_has_no_interval(verb, ranking_model, other_model, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("2 qid:1 1:3 40:1\n0 qid:1 1:1 46:2\n1 qid:1 2:5\n")
    words = "rank", ranking_model, path, "--against", other_model
    rows = json.loads(verb(*words, "--json").out)["comparison"]
    assert rows and {(row["low"], row["high"], row["p"]) for row in rows} == {(None, None, 1.0)}
    line = next(line for line in verb(*words).out.splitlines() if line.split()[:1] == ["map"])
    assert line.split()[-3:] == ["-", "-", "1.0000"]


def test_queries_are_compared_with_another_model(verb, ranking_model, other_model, test_file, tmp_path):
    """By scipy's randomization of signs, and the means of the file of queries."""
    words = "rank", ranking_model, test_file, "--against", other_model, "--show", "mrr", "--ndcg", "standard"
    table = tmp_path / "queries.csv"
    found = json.loads(verb(*words, "--per-query", table, "--json").out)
    queries = pd.read_csv(table)
    documents = read_letor(test_file)
    assert queries["query"].tolist() == documents.qids.tolist()
    assert queries["documents"].tolist() == np.diff(documents.offsets).tolist()
    rows = {row["metric"]: row for row in found["comparison"]}
    other = json.loads(verb("rank", other_model, test_file, "--show", "mrr", "--ndcg", "standard", "--json").out)
    for name in ("ndcg@5", "map", "mrr"):
        ours, theirs = queries[name], queries[f"{name} --against"]
        row = rows[name]
        assert row["model"] == pytest.approx(found["metrics"][name]) == pytest.approx(ours.mean())
        assert row["against"] == pytest.approx(other["metrics"][name]) == pytest.approx(theirs.mean())
        assert (
            row["difference"] == pytest.approx((ours - theirs).mean()) and row["low"] < row["difference"] < row["high"]
        )
        test = scipy.stats.permutation_test(
            (ours, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=4000, random_state=0
        )
        assert row["p"] == pytest.approx(test.pvalue, abs=0.03)
    queries = queries[queries["pairs"] > 0]
    weights = queries["pairs"]
    assert rows["pa"]["model"] == pytest.approx(np.average(queries["pa"], weights=weights))
    assert rows["pa"]["difference"] == pytest.approx(
        np.average(queries["pa"] - queries["pa --against"], weights=weights)
    )
    text = verb(*words, "--quiet")
    assert "NDCG@1" in text.err and "  mrr " in text.out
    assert text.out.startswith("Metrics of both models; ")


@pytest.mark.parametrize("ties", ["average", "file"])
def test_the_comparison_shows_the_metrics_of_the_table(verb, ranking_model, test_file, tmp_path, ties):
    """For a model with many ties, too."""
    flat, train = tmp_path / "flat.gpukit", tmp_path / "flat.txt"
    train.write_text("1 qid:1 40:1 46:0\n0 qid:1 46:0\n")
    assert verb("ranksvm", train, "--c", 1, "--model", flat, "--quiet", *CPU).code == 0
    rounded = tmp_path / "rounded.txt"
    documents = read_letor(test_file)
    write_letor(documents._replace(X=np.round(documents.X)), rounded)
    found = json.loads(verb("rank", flat, rounded, "--against", ranking_model, "--ties", ties, "--json").out)
    assert found["tied"]["pairs"] > 10 and found["metrics"]["pa"] < found["metrics"]["pa_ties"]
    for row in found["comparison"]:
        assert row["model"] == pytest.approx(found["metrics"][row["metric"]], rel=1e-12), row


def test_a_file_is_read_again_for_other_features_alone(
    verb, ranking_model, other_model, test_file, tmp_path, monkeypatch
):
    from gpukit.cli.ranking import steps

    reads, read_like = [], steps.read_like
    monkeypatch.setattr(steps, "read_like", lambda *given: reads.append(given) or read_like(*given))
    verb("rank", ranking_model, test_file, "--against", other_model)
    assert len(reads) == 1
    narrow, train = tmp_path / "narrow.gpukit", tmp_path / "narrow.txt"
    train.write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    assert verb("ranksvm", train, "--c", 1, "--model", narrow, "--quiet", *CPU).code == 0
    few = tmp_path / "few.txt"
    few.write_text("1 qid:1 1:1 2:0.5\n0 qid:1 2:1\n")
    assert verb("rank", narrow, few, "--against", ranking_model).code == 0 and len(reads) == 3


def test_the_same_model_does_not_differ(verb, ranking_model, test_file):
    rows = json.loads(verb("rank", ranking_model, test_file, "--against", ranking_model, "--json").out)["comparison"]
    assert len(rows) >= 8 and all(row["difference"] == row["low"] == row["high"] == 0 and row["p"] == 1 for row in rows)


# --- errors


def test_metrics_that_are_unknown_and_files_that_cannot_be_compared(
    refused, ranking_model, model_file, test_file, tmp_path
):
    rank = "rank", ranking_model, test_file
    for names in ("x@3", "p@0", "mrr,,map"):
        assert "is unknown. Use pa, pa_ties" in refused(*rank, "--show", names)
    assert "holds a LSHMF" in refused(*rank, "--against", model_file)
    assert "would overwrite" in refused(*rank, "--per-query", test_file)
    assert "both go to standard output" in refused(*rank, "--per-query", "-", "--output", "-")
    assert "--json prints on standard output" in refused(*rank, "--per-query", "-", "--json")
    other = tmp_path / "other.gpukit"
    other.write_bytes(ranking_model.read_bytes())
    assert "would overwrite" in refused(*rank, "--against", other, "--per-query", other, "--force")
    assert "standard input is read once" in refused("rank", ranking_model, "-", "--against", other)


def test_documents_that_cannot_be_scored(refused, ranking_model, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "out"
    for text, words in (
        ("", "empty"),
        ("0 qid:1 1:1\n0 1:1\n", "line 2: no query id"),
        ("0 qid:1 1:NULL\n", "--null"),
        ("0 qid:1 47:1\n", "has 47 features where 46 are expected"),
        ("0 qid:1 1:inf\n", "line 1"),
    ):
        path.write_text(text)
        assert words in refused("rank", ranking_model, path, "--output", out)
    assert "does not exist" in refused("rank", ranking_model, tmp_path / "none")
    assert "is a folder" in refused("rank", ranking_model, tmp_path)
    assert not out.exists()


def test_models_that_cannot_be_used(refused, ranking_model, model_file, test_file, tmp_path):
    cut = tmp_path / "cut"
    for size in (0, 3, 100, -200, -1):
        cut.write_bytes(ranking_model.read_bytes()[:size])
        assert str(cut) in refused("rank", cut, test_file)
    assert "no model file" in refused("rank", tmp_path / "none", test_file)
    assert "not a gpukit model" in refused("rank", test_file, test_file)
    line = refused("rank", model_file, test_file)
    assert "holds a LSHMF, which is for gpukit update, predict" in line and "a RankSVM is needed" in line


@pytest.mark.parametrize("arguments", [("predict", "pairs.csv"), ("recommend", "--all"), ("similar", "--item", 1)])
def test_a_ranking_model_is_not_for_ratings(refused, ranking_model, arguments):
    verb, *rest = arguments
    assert "holds a RankSVM, which is for gpukit rank" in refused(verb, ranking_model, *rest, *CPU)


def test_output_is_checked_first(refused, ranking_model, test_file, tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.persist.load_model", lambda *_: pytest.fail("the work had begun"))
    assert "does not exist" in refused("rank", ranking_model, test_file, "--output", tmp_path / "no" / "out")
    for path in (ranking_model, test_file):
        assert "overwrite" in refused("rank", ranking_model, test_file, "--output", path)


def test_what_letor_makes_of_short_queries_is_told(verb, tmp_path):
    file, model, few = tmp_path / "a.txt", tmp_path / "m.gpukit", "3 of 4 queries have fewer than 10"
    sizes = (9, 4, 2, 10)
    file.write_text("".join(f"{d % 2} qid:{q} 1:{d % 2}\n" for q, size in enumerate(sizes) for d in range(size)))
    trained = ("ranksvm", file, "--c", 1, "--model", model, "--force")
    for result_text in (verb(*trained), verb("rank", model, file, "--metrics")):
        assert result_text.code == 0 and few in result_text.err and "--ndcg standard" in result_text.err, result_text
    for other in (("--ndcg", "standard"), ("--quiet",)):
        assert "fewer than" not in verb(*trained, *other).err + verb("rank", model, file, "--metrics", *other).err
    file.write_text("".join(f"{d % 2} qid:{q} 1:{d % 2}\n" for q in range(4) for d in range(10)))
    assert "fewer than" not in verb(*trained).err


# --- metrics that labels or ties do not define


@pytest.fixture
def sorted_file(tmp_path):
    """Documents sorted by label, whose two features are constant within each query."""
    path = tmp_path / "sorted.txt"
    path.write_text("".join(f"{2 - place // 4} qid:{q} 1:{q} 2:3\n" for q in (1, 2) for place in range(12)))
    return path


def test_a_constant_model_is_not_perfect(verb, sorted_file, tmp_path):
    result = verb("ranksvm", sorted_file, "--model", tmp_path / "m", *CPU)
    row = next(line.split() for line in result.out.splitlines() if line.startswith("  train "))
    assert result.code == 0 and "1.0000" not in [row[3], *row[5:]]
    assert "All weights are 0: no feature differs within a query (feature 1, feature 2)" in result.err
    assert "96 pairs of different labels in 2 queries" in result.err
    found = json.loads(verb("rank", tmp_path / "m", sorted_file, "--metrics", "--json").out)
    assert found["tied"] == {"pairs": 96, "queries": 2} and found["metrics"]["ndcg@1"] == pytest.approx(4 / 9)
    by_file = json.loads(verb("rank", tmp_path / "m", sorted_file, "--metrics", "--json", "--ties", "file").out)
    assert by_file["metrics"]["map"] == 1 and by_file["ties"] == "file"


def test_a_constant_feature_is_named(verb, tmp_path):
    train = tmp_path / "train.txt"
    train.write_text("".join(f"{place % 3} qid:{q} 1:{place * q} 2:{q}\n" for q in (1, 2) for place in range(12)))
    result = verb("ranksvm", train, *CPU)
    assert "no score depends on feature 2" in result.err and "All weights" not in result.err


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ("-1 0 1", "label -1 is not a grade"),
        ("0.5 0 1", "label 0.5 is not a grade"),
        ("40 0 1", "label 40 is not a grade"),
        ("0 -1 -2", "no label reaches 1"),
        ("2 0 1", "no query has 5 documents"),
    ],
)
def test_a_dash_and_the_reason(verb, tmp_path, labels, reason):
    train = tmp_path / "train.txt"
    train.write_text("".join(f"{label} qid:1 1:{place**2} 2:{place}\n" for place, label in enumerate(labels.split())))
    result = verb("ranksvm", train, "--model", tmp_path / "m", *CPU)
    row = next(line.split() for line in result.out.splitlines() if line.startswith("  train "))
    assert result.code == 0 and "-" in row and reason in result.out
    judged = verb("rank", tmp_path / "m", train, "--metrics")
    assert reason in judged.err
    found = json.loads(verb("rank", tmp_path / "m", train, "--metrics", "--json").out)
    assert {name for name, value in found["metrics"].items() if value is None} == set(found["reasons"])
    assert any(reason in text for text in found["reasons"].values())


def test_a_run_of_trec_and_its_qrels(verb, ranking_model, test_file, tmp_path, refused):
    """The run holds the documents of each query by score; qrels of the file's own labels give its metrics."""
    run, qrels = tmp_path / "run.trec", tmp_path / "qrels"
    assert verb("rank", ranking_model, test_file, "--output", run, "--quiet").code == 0
    documents = read_letor(test_file)
    scores = load_model(ranking_model).predict(documents)
    rows = pd.read_csv(
        run,
        sep=" ",
        header=None,
        names=["query", "zero", "document", "rank", "score", "tag"],
        float_precision="round_trip",
    )
    assert rows["query"].tolist() == np.repeat(documents.qids, np.diff(documents.offsets)).tolist()
    names = (
        [text.split("docid =")[1].split()[0] for text in documents.comments] if documents.comments is not None else []
    )
    names = names or [str(number) for number in range(1, len(scores) + 1)]
    assert dict(zip(rows["document"].astype(str), rows["score"])) == dict(zip(names, scores))
    for _, own in rows.groupby("query"):
        assert own["rank"].tolist() == list(range(1, len(own) + 1)) and (np.diff(own["score"]) <= 0).all()
    queries = np.repeat(documents.qids, np.diff(documents.offsets))
    judged = [(q, name, int(y)) for q, name, y in zip(queries, names, documents.y) if y]
    qrels.write_text("".join(f"{q} 0 {name} {y}\n" for q, name, y in judged))
    own = json.loads(verb("rank", ranking_model, test_file, "--metrics", "--json").out)
    found = json.loads(verb("rank", ranking_model, test_file, "--qrels", qrels, "--json").out)
    assert found["metrics"] == own["metrics"] and found["qrels"] == str(qrels)
    qrels.write_text(f"{queries[0]} 0 {names[0]} 1\n")
    other = json.loads(verb("rank", ranking_model, test_file, "--qrels", qrels, "--json").out)
    labels = (np.arange(len(scores)) == 0).astype(float)
    assert other["metrics"]["map"] == evaluate(labels, scores, documents.offsets)["map"] != own["metrics"]["map"]
    assert "test.txt" not in refused("rank", ranking_model, test_file, "--qrels", tmp_path / "none")


@pytest.mark.parametrize("features", ["linear", "thresholds", "fourier"])
def test_a_score_and_a_difference_are_explained(verb, letor_folder, test_file, tmp_path, features):
    model = tmp_path / "m.gpukit"
    words = ("--fold", 1, "--c", 0.01, "--features", features, "--scale", "minmax", "--model", model, "--quiet", *CPU)
    assert verb("ranksvm", letor_folder, *words).code == 0
    documents = read_letor(test_file)
    scores = load_model(model).predict(documents)
    first = int(documents.offsets[1]) + 1
    found = json.loads(verb("rank", model, test_file, "--explain", first, "--json").out)
    assert found["query"] == documents.qids[1] and found["scores"] == pytest.approx([scores[first - 1]])
    assert sum(row["part"] for row in found["parts"]) == pytest.approx(scores[first - 1])
    assert all(row["value"] == documents.X[first - 1, row["feature"] - 1] for row in found["parts"] if "value" in row)
    pair = f"{first},{first + 1}"
    found = json.loads(verb("rank", model, test_file, "--explain", pair, "--json").out)
    assert sum(row["part"] for row in found["parts"]) == pytest.approx(scores[first - 1] - scores[first])
    assert ("waves of all features" in [row["feature"] for row in found["parts"]]) == (features == "fourier")
    sizes = [abs(row["part"]) for row in found["parts"]]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) > 10
    out = verb("rank", model, test_file, "--explain", pair).out
    assert out.startswith(f"Score of document {first} less that of {first + 1}, of query {documents.qids[1]}")
    assert f"{len(sizes) - 10} others" in out and f"{scores[first - 1] - scores[first]:.4f}" in out.splitlines()[-1]


def test_documents_to_explain_that_do_not_fit(refused, ranking_model, test_file, tmp_path):
    documents = read_letor(test_file)
    words = ("rank", ranking_model, test_file, "--explain")
    for text in ("0", "a", "1,2,3", "-1", "1.5"):
        assert "is not the number of a document" in refused(*words, text)
    assert f"the file has {len(documents.y)} documents" in refused(*words, len(documents.y) + 1)
    assert "queries 17 and 19" in refused(*words, f"1,{len(documents.y)}")
    assert "--output is for all scores" in refused(*words, 1, "--output", tmp_path / "s")


def test_weights_as_text(verb, ranking_model, tmp_path, refused):
    path = tmp_path / "w.txt"
    result = verb("export", ranking_model, path)
    model = load_model(ranking_model)
    lines = [line.split(":") for line in path.read_text().splitlines() if not line.startswith("#")]
    assert result.code == 0 and [float(line[1].split()[0]) for line in lines] == model.coef_.tolist()
    assert json.loads(verb("export", ranking_model, path, "--force", "--json").out)["features"] == len(model.coef_)
    assert "is there already" in refused("export", ranking_model, path)
    for output in (tmp_path / "w.csv", "-"):
        line = refused("export", ranking_model, output)
        assert f"holds a RankSVM: OUT must end in .txt or .onnx; got '{output}'" in line


def test_a_graph(verb, refused, ranking_model, tmp_path):
    onnxruntime, path, model = pytest.importorskip("onnxruntime"), tmp_path / "m.onnx", load_model(ranking_model)
    result = verb("export", ranking_model, path)
    assert result.code == 0 and f"m.onnx: scores of {model.n_features_in_} features." in result.err
    X = np.random.default_rng(0).normal(size=(7, model.n_features_in_))
    scores = onnxruntime.InferenceSession(path.read_bytes()).run(None, {"features": X})[0]
    np.testing.assert_allclose(scores, model.predict(X), rtol=1e-10)
    assert "--vectors is for models of ratings" in refused("export", ranking_model, path, "--vectors", "--force")


@pytest.mark.parametrize("option", [("--ndcg", "standard"), ("--relevant", "2"), ("--ties", "file")], ids=" ".join)
def test_rules_of_metrics_need_metrics(refused, verb, ranking_model, test_file, option):
    assert f"{option[0]} is a rule of metrics" in refused("rank", ranking_model, test_file, *option)
    assert verb("rank", ranking_model, test_file, "--json", "--metrics", *option).code == 0


@pytest.mark.parametrize(
    "option",
    [
        *(("--metrics",), ("--show", "mrr"), ("--show", "map"), ("--force",)),
        *(("--ndcg", "standard"), ("--relevant", "2"), ("--ties", "file")),
    ],
    ids=" ".join,
)
def test_metrics_of_all_documents_do_not_go_with_an_explanation(refused, ranking_model, test_file, option):
    line = refused("rank", ranking_model, test_file, "--explain", "1", *option)
    assert f"{option[0]} is for all scores" in line


def test_an_invalid_least_label_is_refused_before_the_scores_are_written(refused, ranking_model, test_file, tmp_path):
    line = refused("rank", ranking_model, test_file, "--relevant", "nan", "--metrics", "--output", tmp_path / "s.txt")
    assert "--relevant must be a finite number" in line and not list(tmp_path.iterdir())
