"""Arrays in various forms: their conversion, and the matching of rows."""

import numpy as np
import pandas
import pytest

from base.inputs import Capsule, OnDevice
from gpukit.base.arrays import align_rows, as_plain
from gpukit.errors import DataError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pandas.Series([1, 2], dtype="Int64"), np.array([1, 2])),
        (pandas.Series([1, None], dtype="Int64"), np.array([1, np.nan])),
        (pandas.array([0.5, None], dtype="Float32"), np.array([0.5, np.nan], np.float32)),
        (pandas.Series([True, False], dtype="boolean"), np.array([True, False])),
        (pandas.Series(["a", "b"]), np.array(["a", "b"], object)),
        (pandas.DataFrame({"a": [1, 2], "b": [0.5, 1]}), np.array([[1, 0.5], [2, 1]])),
        (
            pandas.DataFrame({"a": pandas.array([1, None], dtype="Int32"), "b": [0.5, 1]}),
            np.array([[1, 0.5], [np.nan, 1]]),
        ),
        (
            pandas.DataFrame({"a": pandas.array([1, None], dtype="Float32"), "b": np.ones(2, np.float32)}),
            np.array([[1, 1], [np.nan, 1]], np.float32),
        ),
        (np.ma.array([1, 2], mask=[False, True]), np.array([1, np.nan])),
        (np.ma.array(np.ones(2, np.float32), mask=[0, 1]), np.array([1, np.nan], np.float32)),
        (np.ma.array([3, 4]), np.array([3, 4])),
        (OnDevice(np.arange(3), "cupy"), np.arange(3)),
        (OnDevice(np.arange(3), "torch"), np.arange(3)),
        (Capsule(np.arange(3.0), 1), np.arange(3.0)),
    ],
)
def test_plain(given, expected):
    found = as_plain(given)
    assert type(found) is np.ndarray and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_what_is_plain_stays():
    array, listed = np.arange(3), [1, 2]
    assert as_plain(array) is array and as_plain(listed) is listed and as_plain(None) is None


def test_an_array_of_a_gpu_with_dlpack_alone_says_how_to_convert_it():
    with pytest.raises(DataError, match="Capsule is on a GPU and has DLPack alone. Convert it first: cupy.from_dlpack"):
        as_plain(Capsule(np.arange(3.0), 2))


def test_rows_go_by_label_never_by_position():
    X = pandas.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])
    y = pandas.Series([30, 10, 20], index=["z", "x", "y"])
    found, values, ids, nothing = align_rows(X=X, y=y, qid=np.array([5, 6, 7]), w=None)
    assert found is X and values.tolist() == [10, 20, 30] and ids.tolist() == [5, 6, 7] and nothing is None


def test_without_a_labelled_x_the_others_are_matched_with_each_other():
    y, qid = pandas.Series([1, 2], index=["a", "b"]), pandas.Series([8, 9], index=["b", "a"])
    _, _, found = align_rows(X=np.ones((2, 1)), y=y, qid=qid)
    assert found.tolist() == [9, 8]


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (["x", "y", "q"], "labels .* of y are not those of X: X has 'z', y has not"),
        (["x", "y", "z", "w"], "y has 'w', X has not"),
        (["x", "y", "y"], "y has 'y' more than once"),
    ],
)
def test_other_labels_are_refused(index, words):
    X = pandas.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])
    with pytest.raises(DataError, match=words):
        align_rows(X=X, y=pandas.Series(range(len(index)), index=index))


def test_equal_indices_may_repeat_labels():
    X, y = pandas.DataFrame({"a": [1, 2]}, index=[7, 7]), pandas.Series([3, 4], index=[7, 7])
    assert align_rows(X=X, y=y)[1] is y
