"""`gpukit train-lshmf`: output, files and errors."""

import json
import re

import numpy as np
import pytest
from cli_support import NAMED, SMALL, planted, write_rows

from gpukit.device import Device


def as_json(verb, *arguments, settings=NAMED):
    result = verb("train-lshmf", "--json", *settings, *arguments)
    assert result.code == 0 and result.err == "", result
    return json.loads(result.out)


def errors_of(result, predictor):
    return next(row for row in result["results"] if row["predictor"] == predictor)


PARTS = (
    "start",
    "compiling",
    "reading",
    "splitting",
    "preparing",
    "choosing",
    "neighbours",
    "training",
    "writing",
    "evaluating",
)


# --- output and files


def test_the_closing_table_and_every_part_of_the_time(verb, ratings_file, tmp_path):
    result = verb("train-lshmf", ratings_file, "--model", tmp_path / "m", *SMALL)
    assert result.code == 0 and "Traceback" not in result.err
    for words in ("train RMSE", "test RMSE", "MAE", "global mean", "damped biases", "LSHMF on cpu"):
        assert words in result.out
    for part in PARTS:
        assert re.search(rf"\b{part} \d+\.\d\d", result.out), part
    assert "held out for testing" in result.err and f"gpukit recommend {tmp_path / 'm'} --user" in result.err
    assert "\r" not in result.err  # no bar: stderr is not a terminal


def test_json_holds_the_table(verb, ratings_file):
    result = as_json(verb, ratings_file)
    assert result["estimator"] == "LSHMF" and result["device"].startswith("cpu") and result["epochs"] == 3
    users, items, values = planted()
    held_out = np.random.default_rng(0).random(len(values)) < 0.1
    assert (result["train_ratings"], result["test_ratings"]) == (np.sum(~held_out), np.sum(held_out))
    mean = values[~held_out].mean()
    rmse, mae = np.sqrt(np.mean((values[held_out] - mean) ** 2)), np.mean(np.abs(values[~held_out] - mean))
    assert errors_of(result, "global mean")["test_rmse"] == pytest.approx(rmse, abs=1e-4)
    assert errors_of(result, "global mean")["train_mae"] == pytest.approx(mae, abs=1e-4)
    assert set(result["seconds"]) == {*PARTS} - {"writing"}
    assert len(result["history"]) == 3
    assert result["history"][-1]["rmse"] == pytest.approx(errors_of(result, "LSHMF")["test_rmse"], abs=1e-5)


def test_early_stopping_does_not_look_at_the_test_set(verb, ratings_file):
    stopped = as_json(verb, ratings_file, "--early-stop", 2, "--neighbors", 0, settings=SMALL)
    rmse = [row["rmse"] for row in stopped["trials"][0]["curve"]]
    tested = errors_of(stopped, "MatrixFactorization")["test_rmse"]
    assert min(abs(value - tested) for value in rmse) > 1e-4
    assert len(stopped["history"]) == stopped["chosen"]["n_epochs"] == 1 + int(np.argmin(rmse))


def test_quiet_prints_the_result_alone(verb, ratings_file):
    result = verb("train-lshmf", ratings_file, "--quiet", *NAMED)
    assert result.err == "" and "LSHMF on cpu" in result.out


def test_the_seed_decides(verb, ratings_file):
    one, same, other = (as_json(verb, ratings_file, "--seed", seed) for seed in (1, 1, 2))
    assert one["results"][0] == same["results"][0] != other["results"][0]


@pytest.mark.parametrize("option", [(*SMALL[:4], "--no-neighbors"), (*NAMED, "--neighbors", 0)])
def test_without_neighbours_it_is_plain_factorization(verb, ratings_file, option):
    result = verb("train-lshmf", ratings_file, "--json", *option)
    assert json.loads(result.out)["estimator"] == "MatrixFactorization", result


@pytest.mark.slow
def test_a_test_file_and_what_is_unknown_in_it(verb, ratings_file, tmp_path):
    test = write_rows(tmp_path / "test.csv", [(100, "a01", 3), (101, "new", 4), (7, "new", 2), (100, "a02", 5)])
    result = as_json(verb, ratings_file, "--test", test)
    assert result["test_ratings"] == 4 and result["unknown_in_test"] == {"users": 1, "items": 2}
    assert result["train_ratings"] == len(planted()[2])
    messages = verb("train-lshmf", ratings_file, "--test", test, *NAMED).err
    assert "Of 4 test ratings, 1 are of users and 2 of items without a training rating" in messages


@pytest.mark.parametrize(
    "options, text",
    [
        (("--neighbors", 0, "--hash", "minhash"), "--lsh-q, --hash: no effect, as there are no neighbours."),
        (("--no-neighbors", "--influence-rate", 0.1), "--lsh-q, --influence-rate: no effect, as there are no neigh"),
        (("--search", "exact"), "--lsh-q: no effect, as --search exact reads no hash."),
        (
            ("--hash", "minhash", "--lsh-psi", 4),
            "--lsh-psi: no effect, as --hash minhash takes no power",
        ),
        (("--no-refit",), "--no-refit: no effect, as no model is trained again."),
        ((), None),
    ],
)
def test_options_without_effect_are_named(verb, ratings_file, options, text):
    words = (*NAMED, *options)
    if "--no-neighbors" in options:
        words = (*words, "--neighbors", 0)
    result = verb("train-lshmf", ratings_file, *words, "--json")
    warnings = json.loads(result.out)["warnings"]
    assert result.code == 0 and (warnings == [] if text is None else warnings[0].startswith(text))


def test_training_on_all_has_no_test_columns(verb, ratings_file):
    result = as_json(verb, ratings_file, "--test-fraction", 0)
    assert result["test_ratings"] is None and "test_rmse" not in result["results"][0]


def test_options_reach_the_estimator(verb, ratings_file):
    options = (
        *("--lsh-psi", 4, "--rates", "paper", "--beta", 0.2, "--influence-rate", 0.001),
        *("--influence-regularization", 0.05),
        "--lsh-p",
        2,
        "--lsh-bits",
        4,
        "--search",
        "buckets",
        "--hash",
        "minhash",
        "--seed",
        5,
        "--early-stop",
        2,
        "--deterministic",
        "--learning-rate",
        0.1,
        "--regularization",
        0.03,
        "--precision",
        "single",
    )
    parameters = as_json(verb, ratings_file, *options)["parameters"]
    wanted = {
        "n_factors": 4,
        "n_neighbors": 5,
        "n_epochs": 3,
        **{"lsh_psi": 4, "rates": "paper", "beta": 0.2, "influence_rate": 0.001, "influence_regularization": 0.05},
        "lsh_p": 2,
        "lsh_q": 8,
        "lsh_bits": 4,
        "search": "buckets",
        "hash": "minhash",
        "random_state": 5,
        "early_stopping": 2,
        "validation_fraction": 0.0,
        "deterministic": True,
        "learning_rate": 0.1,
        "regularization": 0.03,
        "precision": "single",
        "device": "cpu",
    }
    assert {name: parameters[name] for name in wanted} == wanted


def test_reading_options_reach_the_reader(verb, tmp_path):
    users, items, values = planted()
    rows = write_rows(tmp_path / "odd.txt", zip(values, items, ["x"] * len(users), users))
    options = ("--format", "csv", "--columns", "rating,item,-,user", "--sep", ",", "--duplicates", "error")
    result = as_json(verb, rows, *options)
    assert (result["users"], result["items"]) == (60, 40)


@pytest.mark.slow
def test_the_picture(verb, ratings_file, tmp_path):
    picture = tmp_path / "curve.png"
    assert verb("train-lshmf", ratings_file, "--plot", picture, *NAMED).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG") and list(tmp_path.iterdir()) == [picture]


# --- errors in one line, before the computation


def csv(tmp_path, text):
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    return path


def test_missing_file(refused, tmp_path):
    assert "does not exist" in refused("train-lshmf", tmp_path / "none.csv")


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("1,2,3\n1,3\n", "line 2"),
        ("1,2,3\n1,3,good\n", "line 2"),
        ("1,2,3\n1,3,nan\n", "line 2"),
        ("1,2,3\n1,3,inf\n", "line 2"),
        ("1,2,3\n1,3,4\n1,4,2\n", "from 1 user(s)"),
        ("1,2,3\n2,2,4\n3,2,1\n", "and 1 item(s)"),
    ],
)
def test_unusable_ratings(refused, tmp_path, text, words):
    assert words in refused("train-lshmf", csv(tmp_path, text), "--device", "cpu", "--test-fraction", 0, "--quiet")


def test_a_share_that_holds_out_nothing(refused, tmp_path):
    rows = csv(tmp_path, "1,2,3\n1,3,4\n2,2,2\n")
    assert "0.01 of 3 ratings is none" in refused("train-lshmf", rows, "--test-fraction", 0.01, "--device", "cpu")


def test_half_precision_without_a_gpu(refused, tmp_path):
    """Rejected before reading: the file does not exist."""
    line = refused("train-lshmf", tmp_path / "ratings.csv", "--precision", "half", "--device", "cpu")
    assert "--precision half needs a GPU" in line


def test_a_solver_without_neighbours(verb, refused, ratings_file):
    result = as_json(verb, ratings_file, "--neighbors", 0, "--solver", "als")
    assert result["parameters"]["solver"] == "als" and result["estimator"] == "MatrixFactorization"
    line = refused("train-lshmf", ratings_file, "--device", "cpu", "--solver", "als", "--neighbors", 8)
    assert "--solver als and --neighbors" in line and "exclude each other" in line
    line = refused("train-lshmf", ratings_file, "--no-neighbors", "--solver", "als", "--learning-rate", 0.1)
    assert "0.1" in line and "solves exactly" in line


def test_more_neighbours_and_factors_than_there_are(verb, ratings_file):
    options = ("--device", "cpu", "--epochs", 2, "--lsh-q", 8, "--regularization", 0.06)
    result = verb("train-lshmf", ratings_file, "--neighbors", 40, "--factors", 41, *options)
    assert result.code == 0
    assert "--neighbors 40 is more than 60 users and 40 items allow: 39 are used" in result.err
    assert "--factors 41 is more than 60 users and 40 items allow: 40 are used" in result.err
    assert "Settings: F=40, K=39, 2 epochs, lambda 0.06, biases learned (named)" in result.err


@pytest.mark.parametrize(
    "options, words",
    [
        (("--factors", 0), "--factors"),
        (("--epochs", 0), "--epochs"),
        (("--factors", 5000), "--factors must be an integer, between 1 and 1024; got 5000"),
        (("--lsh-bits", 64, "--lsh-q", 100000), "--lsh-p * --lsh-q * --lsh-bits"),
        (("--learning-rate", "nan"), "--learning-rate must be"),
        (("--search", "nearest"), "'nearest' is not one of 'hamming', 'buckets', 'exact', 'random'"),
        (("--hash", "cosine"), "'cosine' is not one of 'simlsh', 'minhash', 'projection'"),
        (("--hash", "minhash", "--search", "exact"), "--search exact reads no hash"),
        (("--hash", "projection", "--search", "random"), "leave --hash projection out"),
        (("--neighbors", -1), "--neighbors"),
        (("--neighbors", 8, "--no-neighbors"), "--no-neighbors and --neighbors 8 exclude each other"),
        (("--test-fraction", 1), "--test-fraction"),
        (("--resume",), "--checkpoint"),
        (("--test", "t.csv", "--test-fraction", 0.2), "exclude each other"),
        (("--model", "no/such/m"), "does not exist"),
        (("--checkpoint", "no/such/m"), "does not exist"),
        (("--plot", "no/such/c.png"), "does not exist"),
        (("--plot", "curve.doc"), ".png"),
        (("--plot", "curve.png", "--test-fraction", 0), "held out"),
        (("--checkpoint", "none.ck", "--resume"), "none.ck"),
        (("--device", "tpu"), "tpu"),
    ],
)
def test_options_that_cannot_work(refused, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpukit.cli.factorization.steps.read_ratings", lambda *_: pytest.fail("the work had begun"))
    assert words in refused("train-lshmf", "ratings.csv", *options)


def test_a_checkpoint_is_not_overwritten(refused, ratings_file, tmp_path):
    checkpoint = csv(tmp_path, "precious")
    assert "--resume" in refused("train-lshmf", ratings_file, "--checkpoint", checkpoint)
    assert checkpoint.read_text() == "precious"


def test_the_ratings_are_not_overwritten(refused, ratings_file):
    before = ratings_file.read_bytes()
    assert "overwrite" in refused("train-lshmf", ratings_file, "--model", ratings_file)
    assert ratings_file.read_bytes() == before


def test_cuda_without_a_gpu(refused, ratings_file, monkeypatch):
    monkeypatch.setattr("gpukit.device.place.gpu_count", lambda: 0)
    assert "--device cpu" in refused("train-lshmf", ratings_file, "--device", "cuda")


def test_a_gpu_without_enough_memory(verb, ratings_file, tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.device.place.gpu_count", lambda: 1)
    monkeypatch.setattr("gpukit.device.place.gpu", lambda index: Device("cuda", index, "Small GPU", (9, 0)))
    monkeypatch.setattr("gpukit.cli.factorization.train_lshmf.capability_of", lambda device: (9, 0))
    monkeypatch.setattr("gpukit.compilation.helpers.begin", lambda *jobs, **rules: 0)
    monkeypatch.setattr("gpukit.device.memory._free_on_gpu", lambda: 3 << 20)
    model = tmp_path / "m"
    result = verb("train-lshmf", ratings_file, "--device", "cuda", "--model", model, "--quiet", "--neighbors", 5)
    assert result.code == 1 and result.out == "" and not model.exists()
    said = (
        r"Error: Training on \d+ ratings, streamed from main memory, "
        r"needs \d\.\d+ GiB on cuda:0 \(Small GPU\), which has 0.00 GiB free\. "
        r"Use --device cpu, a smaller model or less data, or a GPU with more memory\.\n"
    )
    assert re.fullmatch(said, result.err), result.err


@pytest.mark.slow
def test_the_first_run_says_that_it_compiles(verb, ratings_file, tmp_path, monkeypatch):
    assert "compiles" not in verb("train-lshmf", ratings_file, *SMALL).err
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path))
    assert "The first run compiles" in verb("train-lshmf", ratings_file, *SMALL).err


# --- by time


@pytest.fixture
def dated(tmp_path):
    """A csv of the planted ratings with dates, the last rows the earliest."""
    rows = list(zip(*planted()))
    days = np.datetime64("2001-01-01") + np.arange(len(rows))[::-1]
    text = "user,item,rating,date\n" + "".join(f"{u},{i},{r},{d}\n" for (u, i, r), d in zip(rows, days))
    return csv(tmp_path, text)


@pytest.mark.slow
def test_the_last_ratings_by_time_are_held_out(verb, dated):
    result = verb("train-lshmf", dated, "--split", "time", *NAMED)
    n = len(planted()[2])
    since = np.datetime64("2001-01-01") + n - round(n / 10)
    assert (
        result.code == 0 and f"{round(n / 10)} of the ratings, the last ones, from {since} on, are held" in result.err
    )
    result = verb("train-lshmf", dated, "--split", "user-time", *NAMED)
    assert result.code == 0 and "of the ratings, the last of each user, are held out" in result.err


@pytest.mark.parametrize(
    ("split", "said"), [("user-last", "the last one of each user"), ("user-one", "one of each user")]
)
def test_one_rating_of_each_user_is_held_out(verb, dated, split, said):
    result = verb("train-lshmf", dated, "--split", split, *NAMED)
    assert result.code == 0 and f"60 of the ratings, {said}, are held out" in result.err


def test_users_are_held_out(verb, dated):
    result = verb("train-lshmf", dated, "--split", "users", "--test-fraction", 0.2, *NAMED)
    held = int((np.random.default_rng(0).random(60) < 0.2).sum())
    assert result.code == 0 and f"of the ratings, those of {held} users, are held out" in result.err


def test_tuning_by_time(verb, dated):
    grid = ("--grid", "factors=2 neighbors=0", "--cv", 2, "--epochs", 2, "--device", "cpu")
    result = verb("tune", dated, "--split", "time", *grid)
    assert result.code == 0 and "1 settings, 2 fold(s)" in result.out


def test_splits_by_time_that_cannot_be(refused, ratings_file, dated, tmp_path):
    line = refused("train-lshmf", ratings_file, "--split", "time", "--device", "cpu")
    assert "has no column of times (timestamp, time, date). Name it among the columns with --columns" in line
    line = refused("train-lshmf", dated, "--split", "time", "--test-fraction", 0, "--device", "cpu")
    assert "--split time says what --test-fraction holds out, and that is nothing here" in line
    assert "--split" in refused("train-lshmf", dated, "--split", "date", "--device", "cpu")
    line = refused("train-lshmf", dated, "--split", "user-last", "--test-fraction", 0.2, "--device", "cpu")
    assert "--split user-last holds one rating of each user out: leave --test-fraction out" in line
    alone = csv(tmp_path, "user,item,rating,date\n1,1,3,2001-01-01\n2,1,3,2001-01-01\n3,2,3,2001-01-01\n")
    line = refused("train-lshmf", alone, "--split", "user-time", "--device", "cpu")
    assert "0.1 of each user's ratings is none at all" in line
    line = refused("train-lshmf", alone, "--split", "user-one", "--device", "cpu")
    assert "--split user-one holds nothing out: no user has two ratings" in line
    line = refused("train-lshmf", alone, "--split", "users", "--test-fraction", 0.99, "--device", "cpu")
    assert "0.99 of the users is all of them" in line


@pytest.mark.parametrize("option, value", [("--regularization", 1e30), ("--learning-rate", 1000.0)])
def test_a_divergence_names_its_cause(refused, ratings_file, option, value):
    line = refused("train-lshmf", ratings_file, *SMALL, "--quiet", option, value, code=1)
    assert f"Training diverged ({option} {value})" in line and f"Use a smaller {option}" in line
