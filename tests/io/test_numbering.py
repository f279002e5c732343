"""Adjacent ids are numbered by a table, with the result of a search."""

import numpy as np
import pytest

from gpukit._pool import ROWS
from gpukit.io import ids as searched
from gpukit.io.ids import factorize, number_by_table


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 1000])
@pytest.mark.parametrize("low", [-40, 0, 7, 2**31 - 1100])
def test_rows_and_ids(n, low, dtype):
    ids = (low + np.random.default_rng(n).integers(0, 1000, n)).astype(dtype)
    rows, known = number_by_table(ids)
    expected, places = np.unique(ids, return_inverse=True)
    np.testing.assert_array_equal(known, expected)
    np.testing.assert_array_equal(rows, places)
    assert (rows.dtype, known.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("low, high", [(0, searched.SPAN), (-(2**63), 2**63 - 1), (-1, 2**62)])
def test_far_apart(low, high):
    assert number_by_table(np.array([low, high, low])) is None
    rows, known = factorize(np.array([low, high, low]))
    assert rows.tolist() == [0, 1, 0] and known.tolist() == [low, high]


def test_the_span_grows_with_the_ids(monkeypatch):
    monkeypatch.setattr(searched, "SPAN", 10)
    assert number_by_table(np.array([0, 10])) is None
    assert number_by_table(np.array([0, 9])) is not None
    assert number_by_table(np.r_[np.zeros(18, np.int64), 18]) is not None
    assert number_by_table(np.empty(0, np.int64)) is None


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.uint64, np.int64, bool, np.float64])
def test_factorize_numbers_them_as_a_search_does(dtype, monkeypatch):
    ids = np.random.default_rng(3).integers(0, 2 if dtype is bool else 100, 400).astype(dtype)
    rows, known = factorize(ids)
    monkeypatch.setattr(searched, "number_by_table", lambda ids: None)
    others, same = factorize(ids)
    np.testing.assert_array_equal(rows, others)
    np.testing.assert_array_equal(known, same)
    assert (rows.dtype, known.dtype) == (others.dtype, same.dtype)


@pytest.mark.parametrize("kind", ["U8", np.int64])
def test_rows_of_more_ids_than_a_block(kind):
    known = np.random.default_rng(1).permutation(3000)
    sought = np.random.default_rng(2).integers(0, 4000, 2 * ROWS + 5)
    rows = dict(zip(known.tolist(), range(len(known))))
    expected = [rows.get(number, -1) for number in sought.tolist()]
    np.testing.assert_array_equal(searched.rows_of(sought.astype(kind), known.astype(kind)), expected)


@pytest.mark.parametrize("kind", [object, str])
@pytest.mark.parametrize("words", [["b", " ", "é", "b", "a"], ["b\ud800", "a", "b\ud800"], ["a\0b", "a\0c"], []])
def test_text_is_numbered_as_a_search_does(words, kind):
    """Also with surrogates, which UTF-8 does not have, and with bytes of 0."""
    rows, known = factorize(np.array(words, kind))
    expected, places = np.unique(np.array(words, str), return_inverse=True)
    np.testing.assert_array_equal(known, expected)
    np.testing.assert_array_equal(rows, places)
    assert rows.dtype == np.int32 and known.dtype.kind == "U"
