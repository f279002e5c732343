"""Ids typed on the command line against ids of a model."""

import numpy as np
import pytest

from gpukit.cli import models
from gpukit.cli.factorization.table import check_known
from gpukit.errors import DataError

NUMBERS = np.array([3, 10, 2**40], dtype=np.int64)
TEXTS = np.array(["apple", "pear", "plum"])


def test_typed_text_finds_integers_and_texts():
    assert check_known(["10", "3"], NUMBERS, "user").tolist() == [10, 3]
    assert check_known(["plum"], TEXTS, "item").tolist() == ["plum"]


@pytest.mark.parametrize(
    "typed, known, nearest",
    [
        ("11", NUMBERS, "10"),
        ("4", NUMBERS, "3"),
        ("-5", NUMBERS, "3"),
        (str(10**30), NUMBERS, str(2**40)),
        ("x", NUMBERS, "3 "),
        ("peach", TEXTS, "pear"),
        ("zebra", TEXTS, "plum"),
        ("a" * 99, TEXTS, "apple"),
    ],
)
def test_unknown_id_is_named_with_the_nearest(typed, known, nearest):
    with pytest.raises(DataError) as error:
        check_known([str(known[0]), typed], known, "user")
    assert f"user {typed} is not in the model, which knows 3 users; the nearest id is {nearest}" in str(error.value)


def test_ids_are_matched_as_they_are_spelled():
    assert check_known(["7"], np.array([3, 7]), "user").tolist() == [7]
    with pytest.raises(DataError, match="user 007 is not"):
        check_known(["007"], np.array([3, 7]), "user")


def test_titles_are_found_by_integers_and_texts():
    rows = [{"item": 7}, {"item": "x"}]
    models.add_titles(rows, {})
    assert rows == [{"item": 7}, {"item": "x"}]
    models.add_titles(rows, {"7": "Seven"})
    assert rows == [{"item": 7, "title": "Seven"}, {"item": "x", "title": ""}]
