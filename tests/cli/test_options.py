"""Library messages name options instead of parameters."""

import pytest

from gpukit.cli.factorization.table import spoken as of_ratings
from gpukit.cli.imputation.impute import NAMING as OF_GRAPHS
from gpukit.cli.main import run
from gpukit.cli.options import Naming
from gpukit.cli.ranking.ranksvm import NAMING as OF_DOCUMENTS
from gpukit.errors import DataError

GRAPHS, DOCUMENTS = OF_GRAPHS.spoken, OF_DOCUMENTS.spoken


@pytest.mark.parametrize(
    "spoken, text, expected",
    [
        (of_ratings, "n_factors=40 is more than 3 users allow", "--factors 40 is more than 3 users allow"),
        (of_ratings, "deterministic=True works", "--deterministic works"),
        (of_ratings, "hash='minhash' and the hash of a row", "--hash minhash and the hash of a row"),
        (of_ratings, "hash must be one of 'simlsh'; got 'x'.", "--hash must be one of 'simlsh'; got 'x'."),
        (DOCUMENTS, "eps must be more than 0.0; got 0.0.", "--eps must be more than 0.0; got 0.0."),
        (DOCUMENTS, "steps of 1e-3 and epsilon", "steps of 1e-3 and epsilon"),
        (GRAPHS, "basis_size must be an integer", "--basis-size must be an integer"),
        (GRAPHS, "iterations must be an integer", "--iterations must be an integer"),
        (GRAPHS, "is -1; weights must be finite and", "is -1; weights must be finite and"),
        (GRAPHS, "after 20 iterations the weights are equal", "after 20 iterations the weights are equal"),
    ],
)
def test_messages_name_options(spoken, text, expected):
    assert spoken(text) == expected


def test_errors_keep_their_kind_and_code():
    """An error keeps its class and exit code."""
    error = DataError("eps must be 1.")
    error.exit_code = 7
    with pytest.raises(DataError, match="^--eps must be 1.$") as caught, Naming({"eps": "--eps"}).named():
        raise error
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["ranksvm", "nothing", "--eps", "0"], "Error: --eps must be a finite number, more than 0.0; got 0.0.\n"),
        (
            ["impute", "x.csv", "--iterations", "1000000"],
            "Error: --iterations must be an integer, between 1 and 100000;",
        ),
    ],
)
def test_commands_speak_of_options(arguments, line, capsys, tmp_path, monkeypatch):
    """Before reading."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").write_text("1 qid:1 1:0.5\n")
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(line)
