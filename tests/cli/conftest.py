"""Fixtures of the verbs' tests: runs, planted ratings, trained models."""

from types import SimpleNamespace

import pytest
from cli_support import CPU, NAMED, planted, write_rows


def run_verb(capsys, *arguments):
    """Return code, out and err of `gpukit ARGUMENTS`, run in this process."""
    from gpukit.cli.main import run

    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    return SimpleNamespace(code=code, **capsys.readouterr()._asdict())


@pytest.fixture
def verb(capsys):
    """verb("predict", model, pairs) -> code, out, err."""
    return lambda *arguments: run_verb(capsys, *arguments)


@pytest.fixture
def refused(verb):
    """Return refused("predict", ...) -> the one line of the error.

    The exit code is 2 unless another is passed.
    """

    def check(*arguments, code=2):
        result = verb(*arguments)
        assert result.code == code, result
        lines = result.err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("Error: ") and result.out == "", result
        return lines[0]

    return check


@pytest.fixture(scope="session")
def ratings_file(tmp_path_factory):
    """A csv of planted ratings: users 100, 101, ..; items a00, a01, .. (text)."""
    users, items, values = planted()
    rows = zip(users + 100, (f"a{item:02d}" for item in items), values)
    return write_rows(tmp_path_factory.mktemp("ratings") / "ratings.csv", rows)


@pytest.fixture(scope="session")
def model_file(ratings_file):
    """A model trained on ratings_file by the command."""
    from gpukit.cli.main import run

    path = ratings_file.with_name("model.gpukit")
    assert run([str(a) for a in ("train-lshmf", ratings_file, "--model", path, "--quiet", *NAMED)]) == 0
    return path


@pytest.fixture(scope="session")
def letor_folder(tmp_path_factory):
    """A LETOR folder of two folds, generated."""
    from gpukit.documents import synth_letor, write_folds

    folder = tmp_path_factory.mktemp("letor") / "sample"
    write_folds(synth_letor("mq2008", 0.04), folder, folds=2)
    return folder


@pytest.fixture(scope="session")
def ranking_model(letor_folder):
    """A RankSVM trained on Fold1 of letor_folder by the command."""
    from gpukit.cli.main import run

    path = letor_folder.parent / "rank.gpukit"
    assert run([str(a) for a in ("ranksvm", letor_folder, "--fold", 1, "--model", path, "--quiet", *CPU)]) == 0
    return path
