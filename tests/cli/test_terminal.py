"""Ids and titles from files: escaped on terminals, exact in csv and JSON."""

import csv
import io
import json

import pytest
from cli_support import planted

from gpukit.cli import report, standard
from gpukit.factorization import LSHMF

HOSTILE = {  # control characters of terminals: {id: its escaped form}
    "\x1b]52;c;ZXZpbA==\x07": r"\x1b]52;c;ZXZpbA==\x07",
    "\x1b[31mred\x1b[0m": r"\x1b[31mred\x1b[0m",
    "row\n  7     1     forged": r"row\n  7     1     forged",
    "back\rforged": r"back\rforged",
    "\x9b2Jcsi": r"\x9b2Jcsi",
    "bidi\u202egpj.exe": r"bidi\u202egpj.exe",
    "line\u2028para\u2029": r"line\u2028para\u2029",
    "zero\u200bwidth\ufeff": r"zero\u200bwidth\ufeff",
    "del\x7f": r"del\x7f",
    "next\x85line": r"next\x85line",
    "fine é 日本": "fine é 日本",
}


def prints(text):
    """Return True if every line of the text consists of printable characters."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture(scope="module")
def hostile_model(tmp_path_factory):
    """A model whose users and items have hostile ids and similar ratings."""
    users, items, values = planted(users=40, items=len(HOSTILE), share=0.6)
    ids = list(HOSTILE)
    user_ids = [ids[user] if user < len(ids) else f"u{user}" for user in users]
    model = LSHMF(n_factors=2, n_neighbors=2, n_epochs=2, device="cpu")
    model.fit((user_ids, [ids[item] for item in items], values))
    path = tmp_path_factory.mktemp("hostile") / "model.gpukit"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def hostile_titles(tmp_path_factory):
    """Hostile titles."""
    path = tmp_path_factory.mktemp("titles") / "titles.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("item", "title"), *((one, one) for one in HOSTILE)])
    return path


@pytest.mark.parametrize("text, shown", HOSTILE.items(), ids=range(len(HOSTILE)))
def test_what_does_not_print_is_escaped(capsys, text, shown):
    assert standard.printable(text) == shown
    report.print_table([{"id": text, "n": 1}], {"id": text, "n": "n"}, f"Of {text}")
    lines = capsys.readouterr().out.split("\n")
    assert [lines[0], *(line[2 : 2 + len(shown)] for line in lines[1:3])] == [f"Of {shown}", shown, shown]
    assert len({len(line) for line in lines[1:3]}) == 1 and len(lines) == 4
    report.remark(text)
    report.echo(text)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")
    assert standard.printable("\udcff") == r"\udcff"


def test_the_progress_bar_shows_escaped_names():
    assert prints(report.bar_line("\x1b[2Jfold", 1, 2, {"C": "\x07"}))


@pytest.mark.parametrize("options", [("--item",), ("--user",)])
def test_tables_of_hostile_ids_have_a_line_a_row(verb, hostile_model, hostile_titles, options):
    for one, shown in HOSTILE.items():
        titles = ("--titles", hostile_titles) if options == ("--item",) else ()
        result = verb("similar", hostile_model, *options, one, *titles, "--device", "cpu")
        assert result.code == 0 and prints(result.out) and prints(result.err), result
        assert shown in result.out.split("\n")[0]


@pytest.mark.slow
def test_recommended_and_explained_ids_are_escaped(verb, hostile_model, hostile_titles):
    for one, shown in HOSTILE.items():
        options = ("--user", one, "--device", "cpu", "--titles", hostile_titles)
        table = verb("recommend", hostile_model, "-n", 50, *options)
        assert table.code == 0 and prints(table.out) and prints(table.err), table
        assert all(line.startswith(f"  {shown} ") for line in table.out.split("\n")[1:-1])
        found = json.loads(verb("recommend", hostile_model, "-n", 50, *options, "--json").out)["recommendations"]
        assert len(found) == len(table.out.split("\n")) - 2 and {row["user"] for row in found} <= {one}
        assert {row["item"] for row in found} <= set(HOSTILE)
        why = verb("explain", hostile_model, "--user", one, "--titles", hostile_titles, "--item", one)
        assert why.code == 0 and prints(why.out) and prints(why.err) and shown in why.out


@pytest.mark.slow
def test_messages_about_hostile_words_are_one_line_that_prints(refused, verb, hostile_model, tmp_path):
    for one in HOSTILE:
        for line in (
            refused("recommend", hostile_model, "--user", f"no {one}"),
            refused("similar", hostile_model, "--item", f"no {one}"),
            refused("predict", hostile_model, tmp_path / f"no {one}"),
            refused("train-lshmf", tmp_path / f"no {one}"),
            refused("rank", hostile_model, f"no {one}"),
            refused(f"no {one}"),
            refused("similar", hostile_model, f"--no{one}"),
        ):
            assert line.isprintable()


def test_json_and_csv_carry_hostile_ids_exactly(verb, hostile_model, tmp_path):
    path = tmp_path / "lists.csv"
    assert verb("recommend", hostile_model, "--all", "-n", 3, "--output", path, "--device", "cpu").code == 0
    for text in (path.read_bytes().decode(), verb("recommend", hostile_model, "--all", "-n", 3, "--output", "-").out):
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert set(HOSTILE) <= {row["user"] for row in rows} and {row["item"] for row in rows} <= set(HOSTILE)
    for one in HOSTILE:
        out = verb("similar", hostile_model, "--user", one, "--json").out
        assert out.isascii() and prints(out) and json.loads(out)["user"] == one
